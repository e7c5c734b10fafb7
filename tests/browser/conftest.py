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
from functools import cache
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import numpy as np
import pytest

import transformer
from transformer.checkpoint import Checkpoint

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
# The script has ended, nothing still loads and components have drawn themselves, for 300 ms in a row: a key press takes
# a moment to reach the server.
IDLE = """() => {
  const app = document.querySelector('[data-testid="stApp"]');
  const drawn = ({ shadowRoot }) => shadowRoot?.querySelector("div > div > *")
    && !shadowRoot.querySelector(".controls > output:empty, .attention-view:empty");
  const components = [...document.querySelectorAll('[data-testid="stBidiComponentIsolated"]')];
  const running = ["running", "initial", "rerunRequested"].includes(app?.getAttribute("data-test-script-state"));
  const busy = !app || running || !components.every(drawn)
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
def app_log(chromium, tmp_path_factory) -> Iterator[Path]:
    """What the app prints as `make app` serves it, on a free port and with a home of its own."""
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
        while not re.search(r"/teacher#\S+ ", log.read_text()):
            assert server.poll() is None, f"the app ended with {server.returncode}:\n{log.read_text()}"
            assert time.monotonic() < deadline, f"the app did not start in {START_S} s:\n{log.read_text()}"
            time.sleep(0.1)
        yield log
    finally:
        server.terminate()
        try:
            server.wait(15)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


@pytest.fixture(scope="session")
def app_url(app_log) -> str:
    """The app's address."""
    return re.search(r"http://[\w.:]+", app_log.read_text())[0]


@pytest.fixture
def teachers_link(app_log) -> Callable[[], str]:
    """The last link that the app printed for its teacher."""
    return lambda: re.findall(r"http://\S+/teacher#\S+", app_log.read_text())[-1]


@pytest.fixture
def settle() -> Callable:
    """Waits until the script of a page has ended: `settle(page)`."""

    def settle(page):
        page.evaluate("window.idleSince = undefined")
        page.wait_for_function(IDLE, timeout=IDLE_MS)
        return page

    return settle


@pytest.fixture
def visitor(chromium) -> Iterator[Callable]:
    """Makes visitors, each without cookies and with the clipboard: `visitor(width=390, height=844).new_page()`."""
    contexts = []

    def visitor(width=1440, height=900):
        contexts.append(chromium.new_context(
            viewport={"width": width, "height": height}, permissions=["clipboard-read", "clipboard-write"]))
        contexts[-1].set_default_timeout(IDLE_MS)
        return contexts[-1]

    yield visitor
    for context in contexts:
        context.close()


@pytest.fixture
def context(visitor):
    """A visitor of its own, 1440 pixels wide."""
    return visitor()


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


@pytest.fixture
def visit_anew(app_url, visitor, settle) -> Callable:
    """As `visit`, but by somebody who was never here: `page = visit_anew(link, width=390, height=844)`."""

    def visit_anew(address, **size):
        page = visitor(**size).new_page()
        page.goto(app_url + address.removeprefix(app_url), wait_until="domcontentloaded")
        return settle(page)

    return visit_anew


@pytest.fixture(scope="session")
def shipped() -> Callable[[str], Checkpoint]:
    """A checkpoint that comes with the app: `shipped("write")`."""
    return cache(lambda name: transformer.load(ROOT / "checkpoints" / name))


@pytest.fixture
def address() -> Callable:
    """What the address bar holds: `address(page)["step"]`."""
    return lambda page: dict(parse_qsl(urlsplit(page.url).query, keep_blank_values=True))


@pytest.fixture
def reached(settle) -> Callable:
    """Waits until the address has these values, which a page writes last: `reached(page, step=3)`."""

    def reached(page, **values):
        page.wait_for_function(
            """wanted => {
              const there = new URLSearchParams(location.search);
              return Object.entries(wanted).every(([name, value]) => there.get(name) === value);
            }""", arg={name: str(value) for name, value in values.items()})
        return settle(page)

    return reached


@pytest.fixture
def chips() -> Callable:
    """The tokens of the row of that label: `chips(page, "source tokens")`."""
    return lambda page, label: page.get_by_role("group", name=label, exact=True).locator("bdi").all_text_contents()


@pytest.fixture
def bars() -> Callable:
    """The tokens offered and what is written beside them, likeliest first: `bars(page)[0] == ("␣He", "54.1%")`.
    The digit before each token and the line of all others are left out."""

    def bars(page):
        return [tuple(row) for row in page.locator("[class*=_candidates_]").evaluate("""chart => {
          const texts = (kind) => [...chart.querySelectorAll(kind)].map((text) => text.textContent);
          const notes = texts(".bartext");
          return texts(".ytick").filter((token) => token !== "all others")
            .map((token, row) => [token.replace(/^\\d\\u2002/, ""), notes[row]]);
        }""")]

    return bars


@pytest.fixture
def click_bar(settle) -> Callable:
    """Clicks the nth candidate: `click_bar(page, 2)`."""

    def click_bar(page, nth):
        target = settle(page).locator("[class*=_candidates_] .trace:last-child .point").nth(nth)
        target.evaluate("target => target.scrollIntoView({ block: 'center' })")
        box = target.bounding_box()
        page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)

    return click_bar


@pytest.fixture
def numbers(settle) -> Callable:
    """The table under the picture, opened if it is not: (kind, layer, head) and the weights (Tq, Tk)."""

    def numbers(page):
        page.get_by_role("tab", name="Numbers").click()
        page.locator("td[data-kind]").first.wait_for()
        cells = settle(page).locator("td[data-kind]").evaluate_all(
            "cells => cells.map(({ dataset: d, textContent: t }) => [d.kind, +d.layer, +d.head, +d.query, +d.key, +t])")
        (head,) = {tuple(cell[:3]) for cell in cells}
        table = np.full((1 + max(cell[3] for cell in cells), 1 + max(cell[4] for cell in cells)), np.nan)
        for *_, query, key, weight in cells:
            table[query, key] = weight
        return head, table

    return numbers


@pytest.fixture
def picture(chips, bars, numbers) -> Callable:
    """All that a link should bring back, as one value to compare."""

    def picture(page):
        titles = page.locator(".attention-view h4, .gtitle").all_text_contents()
        which, table = numbers(page)
        return {
            "step": page.get_by_role("toolbar", name="Steps").get_by_role("status").first.text_content(),
            "chips": page.locator(".chips span").evaluate_all(
                "all => all.map((chip) => [chip.textContent, chip.className, chip.title])"),
            "titles": titles, "bars": bars(page), "head": which, "table": table.tolist()}

    return picture


@pytest.fixture
def complaints(context) -> list[str]:
    """What no page of the visitor may do: ask another host, open a dialog, fail, or say so in the console."""
    found = []

    def request(request):
        url = urlsplit(request.url)
        if url.scheme not in ("data", "blob", "about") and url.hostname != "127.0.0.1":
            found.append(f"request: {request.url}")

    def dialog(dialog):
        found.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def console(message):
        if message.type == "error":
            found.append(f"console: {message.text}")

    context.on("request", request)
    context.on("dialog", dialog)
    context.on("console", console)
    context.on("weberror", lambda error: found.append(f"page error: {error.error}"))
    return found
