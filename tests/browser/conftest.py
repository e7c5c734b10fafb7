"""The real app in real Chromium: `visit("/translate?text=Go.")` gives a page whose script has ended.

Without Chromium these tests are skipped, saying so; HEADSUP_REQUIRE_BROWSER=1 makes every skipped one a failure.
"""

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
REQUIRED = os.environ.get("HEADSUP_REQUIRE_BROWSER", "") not in ("", "0")
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
START_S = 120  # importing torch and streamlit on two busy cores
IDLE_MS = 30_000
# The script has ended and nothing still loads, for 300 ms in a row: a key press takes a moment to reach the server.
IDLE = """() => {
  const app = document.querySelector('[data-testid="stApp"]');
  const busy = !app || ["running", "initial", "rerunRequested"].includes(app.getAttribute("data-test-script-state"))
    || document.querySelector('[data-testid="stSkeleton"], [data-testid="stSpinner"]');
  if (busy) { window.idleSince = undefined; return false; }
  window.idleSince ??= performance.now();
  return performance.now() - window.idleSince > 300;
}"""


def pytest_collection_modifyitems(items):
    """Browser tests come last: while Playwright is started, no other test of this process can use asyncio.run."""
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.browser)
    items.sort(key=lambda item: item.path.is_relative_to(HERE))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if REQUIRED and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"HEADSUP_REQUIRE_BROWSER is set, and this was skipped: {call.excinfo.value}"
    return report


@pytest.fixture(scope="session")
def chromium():
    """One browser for all tests."""
    executable = next(filter(None, map(shutil.which, NAMES)), None)
    if executable is None:
        pytest.skip(f"no Chromium on the PATH (looked for {', '.join(NAMES)})")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def app_url(chromium, tmp_path_factory) -> Iterator[str]:
    """The address of the app as `make app` serves it, on a free port and with a home of its own."""
    folder = tmp_path_factory.mktemp("app")
    log = folder / "log.txt"
    environment = os.environ | {"STREAMLIT_SERVER_HEADLESS": "true", "HEADSUP_HOME": str(folder / "home")}
    with log.open("w") as output:
        server = subprocess.Popen(
            [sys.executable, "ui/serve.py", "--port", "0"],
            cwd=ROOT,
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        deadline = time.monotonic() + START_S
        while not (found := re.search(r"http://[\w.:]+", log.read_text())):
            assert server.poll() is None, f"the app ended with {server.returncode}:\n{log.read_text()}"
            assert time.monotonic() < deadline, f"the app did not start in {START_S} s:\n{log.read_text()}"
            time.sleep(0.1)
        yield found[0]
    finally:
        server.terminate()
        try:
            server.wait(15)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


@pytest.fixture
def settle() -> Callable:
    """Waits until the script of a page has ended: `settle(page)`."""

    def settle(page):
        page.evaluate("window.idleSince = undefined")
        page.wait_for_function(IDLE, timeout=IDLE_MS)
        return page

    return settle


@pytest.fixture
def context(chromium):
    """A visitor of its own: 1440 pixels wide, without cookies, with the clipboard."""
    context = chromium.new_context(
        viewport={"width": 1440, "height": 900}, permissions=["clipboard-read", "clipboard-write"]
    )
    context.set_default_timeout(IDLE_MS)
    yield context
    context.close()


@pytest.fixture
def page(context):
    """An empty page of that visitor."""
    return context.new_page()


@pytest.fixture
def visit(app_url, page, settle) -> Callable:
    """Opens an address of the app on the page and waits until its script has ended: `page = visit("/write")`."""

    def visit(address="/"):
        page.goto(app_url + address, wait_until="domcontentloaded")
        return settle(page)

    return visit
