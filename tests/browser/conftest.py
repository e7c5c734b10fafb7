"""The real app in real Chromium: `visit("/translate?text=Go.")` gives a page whose script has ended.

Without Chromium these tests are skipped, saying so; HEADSUP_REQUIRE_BROWSER=1 makes every skipped one a failure.
"""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import numpy as np
import pytest
import torch
from playwright.sync_api import Error, expect, sync_playwright
from playwright.sync_api import TimeoutError as TooLate
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from tests.labels import labels_of
from tests.serving import Forked
from transformer.checkpoints.checkpoint import load, save
from transformer.jobs import run_files
from transformer.jobs.process import identify
from transformer.model.models import Transformer
from transformer.rooms.store import Store
from transformer.settings.config import ModelConfig
from ui.page.pages import EVERY_PAGE, HOME, menu

from .rooms import Class

HERE = Path(__file__).resolve().parent
REQUIRED = os.environ.get("HEADSUP_REQUIRE_BROWSER", "") not in ("", "0")
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking",
         "--disable-component-update", "--disable-sync")
CLOSED = "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost"  # no other host resolves
RULES = f"--host-resolver-rules={CLOSED}"
OURS = {"127.0.0.1", "localhost", f"{socket.gethostname().lower()}.local"}
WAIT_MS = 120_000  # the limit of every wait on a page: enough for a machine ten times slower, and no measurement
SIZES = [(1440, 900), (1280, 720), (390, 844)]  # a laptop, a projector, a telephone
FIELDS = {"rerun_script": BackMsg.RERUN_SCRIPT_FIELD_NUMBER, "early_for_rerun": ForwardMsg.FINISHED_EARLY_FOR_RERUN} | {
    name: getattr(ForwardMsg, f"{name.upper()}_FIELD_NUMBER")
    for name in ("hash", "metadata", "new_session", "script_finished")}
SETTLED = f"const FIELDS = {FIELDS};\n{(HERE / 'settle.js').read_text()}"


def pytest_collection_modifyitems(items):
    """Moves browser tests to the end: while Playwright runs, no other test of this process can use asyncio.run."""
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.browser)
            item.add_marker(pytest.mark.slow)  # whichever is the first starts the server, and compiles all scripts
    items.sort(key=lambda item: item.path.is_relative_to(HERE))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if REQUIRED and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"HEADSUP_REQUIRE_BROWSER is set, and this was skipped: {call.excinfo.value}"
    if report.failed and OPEN:
        report.sections += [*pages_open(), *logs()]
    return report


OPEN, LOGS = [], []  # the browser, and the logs of servers, of which a failure tells
MOST_SHOWN = 3_000  # characters of each


def pages_open() -> Iterator[tuple[str, str]]:
    """What stands on every page that is open: address -> text."""
    for context in OPEN[0].contexts:
        for page in context.pages:
            try:
                yield page.url, page.inner_text("body", timeout=2_000)[:MOST_SHOWN]
            except Error as error:
                yield page.url, str(error)


def logs() -> Iterator[tuple[str, str]]:
    """The ends of the logs of servers and of their runs, and of what a run says of itself."""
    for log in [path for path in LOGS if path.is_file()]:
        for path in (log, *log.parent.glob("home/runs/*/log.txt"), *log.parent.glob("home/runs/*/status.json")):
            yield f"{path.parent.name}/{path.name}", path.read_text("utf-8", "replace")[-MOST_SHOWN:]


def launched(kind, *flags):
    """A browser with these flags besides those that all have."""
    executable = next(filter(None, map(shutil.which, NAMES)), None)
    if executable is None:
        pytest.skip(f"no Chromium on the PATH (looked for {', '.join(NAMES)})")
    return kind.launch(executable_path=executable, args=[*FLAGS, *flags])


@pytest.fixture(scope="session")
def chromium():
    """One browser for all tests."""
    expect.set_options(timeout=WAIT_MS)
    with sync_playwright() as playwright:
        browser = launched(playwright.chromium, RULES)
        OPEN.append(browser)
        yield browser
        OPEN.clear()
        browser.close()


@pytest.fixture(scope="session")
def serve(importer) -> Iterator[Callable]:
    """Starts a server and waits for its address; every server is killed when the tests end:
    `process, url = serve(log, "ui/server/serve.py", "--port", "0", HEADSUP_HOME=home)`."""
    started = []

    def serve(log: Path, *command: str, **environment: str) -> tuple[Forked, str]:
        process, found = importer.fork_server(command, log, r"http://[\w.:]+", **environment)
        started.append(process)
        LOGS.append(log)
        return process, found[0]

    yield serve
    for process in started:
        process.kill()
        process.wait()


@pytest.fixture(scope="session")
def app(chromium, serve, tmp_path_factory) -> tuple[Forked, str, Path]:
    """The app as `make app` serves it, on a free port and with a home of its own: its process, address and home."""
    folder = tmp_path_factory.mktemp("app")
    home = folder / "home"
    return *serve(folder / "log.txt", "ui/server/serve.py", "--port", "0", HEADSUP_HOME=str(home)), home


@pytest.fixture(scope="session")
def app_url(app) -> str:
    """The address of that app."""
    return app[1]


@pytest.fixture
def teachers_link(app) -> Callable[[], str]:
    """The last link that the app printed for its teacher."""
    log = app[2].with_name("log.txt")
    return lambda: re.findall(r"http://\S+/teacher#\S+", log.read_text())[-1]


@pytest.fixture(scope="module")
def put_model(beside, tiny_tokenizer) -> Callable[..., str]:
    """Saves a model with random weights beside the app's -> its id: `put_model("imports/deep", decoder_layers=30)`."""

    def put_model(name, **settings):
        config = ModelConfig(**{"vocab_size": tiny_tokenizer.vocab_size, **settings})
        save(beside(name), Transformer(config, generator=torch.Generator().manual_seed(1)), tokenizer=tiny_tokenizer,
             meta={"step": 1})
        return load(beside(name)).id

    return put_model


@pytest.fixture(scope="module")
def beside(app) -> Iterator[Callable[[str], Path]]:
    """Gives a path for another checkpoint of the app, `beside("imports/deep")`, and deletes it after the module's
    tests, so that other modules find only what the app comes with."""
    put = []

    def beside(name):
        put.append(app[2] / name)
        return put[-1]

    yield beside
    for folder in set(put):
        shutil.rmtree(folder)


@pytest.fixture
def theirs(app) -> Iterator[Path]:
    """The folder of a run that another browser started and that is running; its process only sleeps."""
    folder = app[2] / "runs" / "theirs"
    folder.mkdir(parents=True)
    sleeper = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
    run_files.write_json(folder / "launch.json", identify(sleeper.pid) | {"owner": "0" * 32, "ticket": 1})
    run_files.write_json(folder / "config.json", {})
    run_files.write_json(folder / "status.json", {"state": "running", "step": 0, "steps": 9})
    yield folder
    sleeper.kill()
    sleeper.wait()
    shutil.rmtree(folder)


@pytest.fixture
def room(app, visitor, shipped) -> Iterator[Class]:
    """A room of the app, which ends with the test."""
    found = Class(app[1], Store(app[2] / "rooms.sqlite"), visitor, shipped("translate"))
    yield found
    found.store.end(found.id)


def settle(page, *, timeout=WAIT_MS):
    """Waits until every rerun that a page requested has ended: `settle(page)`."""
    page.evaluate("settled(true)")
    try:
        page.wait_for_function("settled()", polling=50, timeout=timeout)
    except TooLate as error:
        raise TooLate(f"unsettled at {page.url}: {page.evaluate('whyUnsettled()')}") from error
    return page


def go(page, url):
    """Opens any address of an app in a tab, and waits until its script has ended: `go(page, url)`."""
    page.goto(url, wait_until="domcontentloaded")
    return settle(page)


FILLED = """() => {
  const trees = [document];
  for (const tree of trees)
    trees.push(...[...tree.querySelectorAll("*")].map((one) => one.shadowRoot).filter(Boolean));
  const probe = document.body.appendChild(document.createElement("i"));
  probe.style.color = "var(--accent)";
  const accent = getComputedStyle(probe).color;
  probe.remove();
  const seen = ({ left, top, right, bottom }) =>
    right - left > 4 && right > 0 && bottom > 0 && left < innerWidth && top < innerHeight;
  return trees.flatMap((tree) => [...tree.querySelectorAll("button, a, [role=button]")]).filter((one) =>
    getComputedStyle(one).backgroundColor === accent && one.checkVisibility() && seen(one.getBoundingClientRect())
  ).map((one) => one.textContent.trim());
}"""


def expect_filled(page, *names):
    """The buttons in sight that are filled with the accent: `expect_filled(page, "Next stop")`."""
    with suppress(TooLate):  # whose message would not say which are
        page.wait_for_function(f"names => JSON.stringify(({FILLED})()) === names", timeout=WAIT_MS / 4,
                               arg=json.dumps(names, ensure_ascii=False, separators=(",", ":")))
    assert page.evaluate(FILLED) == [*names]


ASKED_OUTSIDE = []  # requests to other hosts, made by any page of any test


def is_ours(name):
    return name in OURS or name.startswith("127.")


def listen_for_others(context):
    """Records every request of a visitor's pages, workers and websockets to another host."""

    def note(request):
        url = urlsplit(request.url)
        if url.scheme not in ("data", "blob", "about", "file") and not is_ours(url.hostname):
            ASKED_OUTSIDE.append(request.url)

    context.on("request", note)
    context.on("page", lambda page: page.on("websocket", note))


@pytest.fixture(autouse=True)
def nothing_from_outside():
    """Fails a test in which a page requested something from another host."""
    ASKED_OUTSIDE.clear()
    yield
    assert ASKED_OUTSIDE == []


BLANK = {"viewport": {"width": 1440, "height": 900}, "permissions": ["clipboard-read", "clipboard-write"]}


def new_tab(browser, **options):
    """Opens a tab of a new visitor, with the options of Playwright's contexts."""
    context = browser.new_context(**BLANK | options)
    context.add_init_script(SETTLED)
    context.set_default_timeout(WAIT_MS)
    listen_for_others(context)
    return context.new_page()


def forget(page) -> bool:
    """Resets a tab to that of a new visitor at an empty page; returns whether it succeeded."""
    context = page.context
    try:
        for other in context.pages:
            if other is not page:
                other.close()
        for routed in (page, context):
            routed.unroute_all(behavior="ignoreErrors")
        context.set_offline(False)
        page.evaluate("try { localStorage.clear(); sessionStorage.clear(); } catch {}")
        page.goto("about:blank")
        context.clear_cookies()
        session = context.new_cdp_session(page)
        session.send("Page.resetNavigationHistory")
        session.detach()
        page.set_viewport_size(BLANK["viewport"])
        page.emulate_media(reduced_motion="null", color_scheme="null")
        page.mouse.move(0, 0)
    except Error:
        return False
    return True


@pytest.fixture(scope="module")
def stayer(chromium):
    """One tab for all tests of a module."""
    page = new_tab(chromium)
    yield page
    page.context.close()


@pytest.fixture(scope="session")
def tabs() -> Iterator[list]:
    """Tabs that are free for the next test: they have compiled Streamlit's scripts, so a page opens in a third of the
    time."""
    tabs = []
    yield tabs
    for page in tabs:
        page.context.close()


@pytest.fixture
def visitor(request, chromium, tabs) -> Iterator[Callable]:
    """Makes visitors, each with an empty tab, no cookies and access to the clipboard: `page = visitor(390, 844)`.
    A test that changes more than `forget` can undo is marked `@pytest.mark.own_visitor` and gets new tabs."""
    own, taken = request.node.get_closest_marker("own_visitor"), []

    def visitor(width=1440, height=900):
        taken.append(new_tab(chromium) if own or not tabs else tabs.pop())
        taken[-1].set_viewport_size({"width": width, "height": height})
        return taken[-1]

    yield visitor
    for page in reversed(taken):
        if own or not forget(page):
            page.context.close()
        else:
            tabs.append(page)


@pytest.fixture
def page(request, visitor):
    """An empty tab of the first visitor. Where a file says ONE_VISITOR, the same tab for all its tests, in the window
    of a laptop again after each."""
    stays = getattr(request.module, "ONE_VISITOR", False)
    page = request.getfixturevalue("stayer") if stays else visitor()
    yield page
    if stays:
        page.set_viewport_size(BLANK["viewport"])


@pytest.fixture
def context(page):
    """The first visitor: cookies and all tabs."""
    return page.context


@pytest.fixture
def touch(page) -> Iterator[Callable[[bool], None]]:
    """Turns touch emulation of the page on or off."""
    session = page.context.new_cdp_session(page)

    def touch(on):
        session.send("Emulation.setTouchEmulationEnabled", {"enabled": on})

    yield touch
    touch(False)
    session.detach()


@pytest.fixture
def visit(app_url, page) -> Callable:
    """Opens an address of the app on the page and waits until its script has ended: `page = visit("/write")`."""
    return lambda address="/": go(page, app_url + address)


@pytest.fixture
def reach(request, visit, page, app_url) -> Iterator[Callable]:
    """Opens an address like `visit`. In an app that the test, or one before it that passed, has opened, it goes there
    as the back button does, and loads nothing again (except from a lesson, which would continue). For ONE_VISITOR."""
    failed, inside = request.session.testsfailed, "window.insideApp"

    def reach(address):
        guided = page.evaluate("Boolean(window.headsUpViews?.lesson?.view?.root.isConnected)")
        if (guided and "lesson=" not in address) or not page.evaluate(inside):
            visit(address)
            page.evaluate(f"{inside} = true")
            return page
        settle(page)  # what was pressed before, or a window that was resized, would lead back once Python has heard it
        page.evaluate("""address => {
          window.history.pushState(null, "", address);
          window.dispatchEvent(new PopStateEvent("popstate"));
        }""", app_url + address)
        return settle(page)

    yield reach
    intact = page.url.startswith(app_url) and request.session.testsfailed == failed
    page.evaluate(f"intact => {{ {inside} = intact; }}", intact)


@pytest.fixture
def visit_anew(app_url, visitor) -> Callable:
    """Opens an address as a new visitor: `page = visit_anew(link, width=390, height=844)`."""
    return lambda address, **size: go(visitor(**size), app_url + address.removeprefix(app_url))


def windows(page, sizes=SIZES):
    """Resizes the window of an open page, scrolled to its top, size by size: `for size in windows(page):`."""
    for size in sizes:
        page.set_viewport_size(dict(zip(("width", "height"), size, strict=True)))
        page.get_by_test_id("stMain").evaluate("main => main.scrollTo(0, 0)")
        settle(page)
        yield size


def choose(page, name):
    """Goes to a page by the menu, as somebody does with a mouse: `choose(page, "masks")`."""
    there = EVERY_PAGE[name]
    if there is HOME:
        page.get_by_test_id("stLogoLink").click()
    elif there in menu()[""]:
        page.get_by_test_id("stTopNavLink").filter(has_text=there.title).click()
    else:
        page.get_by_test_id("stTopNavSection").filter(has_text=there.group).click()
        page.get_by_role("menuitem", name=there.title).click()


def choose_option(page, name, option):
    """Chooses in a list, as somebody does with a mouse: `choose_option(page, "Part", "Exercise")`."""
    page.get_by_role("combobox", name=name).click()
    page.get_by_role("option", name=option, exact=True).click()


def address(page):
    """The parameters in the address bar: `address(page)["step"]`. Use `reached` to wait for a value."""
    return dict(parse_qsl(page.evaluate("location.search.slice(1)"), keep_blank_values=True))


def reached(page, **values):
    """Waits until the address has these values; None means absent: `reached(page, step=3, lit=None)`."""
    page.wait_for_function(
        """wanted => {
          const there = new URLSearchParams(location.search);
          return Object.entries(wanted).every(([name, value]) => there.get(name) === value);
        }""", arg={name: value if value is None else str(value) for name, value in values.items()})
    return settle(page)


def chips(page, label):
    """The tokens of a labelled row: `chips(page, "source tokens")`. Each is a <bdi>, which isolates its writing
    direction."""
    return page.get_by_role("group", name=label, exact=True).locator("bdi").all_text_contents()


OUTPUT = ".controls > output"  # says at which step a page is


def at_step(page, index, last=None):
    """Waits until that step is said, as it is before Python has answered; last: that of the text, which is said too."""
    of = r"( of \d+)?" if last is None else f" of {last}"
    expect(page.locator(OUTPUT)).to_have_text(re.compile(f"^step {index}{of}$"))
    return page


def shows(page, step):
    """Waits for a step of the library on Translate or Write, and compares its tokens and the text so far:
    `shows(page, path[3])`."""
    translates = "cross" in step.kinds
    of = r"( of \d+)?" if translates else ""  # elsewhere nobody knows how many steps there will be
    reached(page, text=step.text, step=step.index)
    expect(page.locator(OUTPUT)).to_have_text(re.compile(rf"^step {step.index}{of}$"))
    tokens = labels_of(step)
    assert chips(page, "target tokens" if translates else "tokens")[: len(tokens)] == tokens
    written = step.output if translates else step.text + step.output
    assert page.locator(".step-view .output .written").text_content() == written


def bars(page):
    """The candidates with their probabilities, likeliest first: `bars(page)[0] == ("He", "54.1%")`. Without the digit
    before each token and the row of all others."""
    rows = ".step-view .next-tokens > button:not(.others)"
    return [tuple(row) for row in page.locator(rows).evaluate_all(
        "rows => rows.map((row) => ['bdi', 'span'].map((name) => row.querySelector(name).textContent))")]


def numbers(page):
    """Reads the table under the picture, opening it first: (kind, layer, head) and the weights (Tq, Tk)."""
    if not page.locator("td[data-kind]").count():
        page.get_by_role("radio", name="All numbers").click()
    page.locator("td[data-kind]").first.wait_for()
    cells = settle(page).locator("td[data-kind]").evaluate_all(
        "cells => cells.map(({ dataset: d, textContent: t }) => [d.kind, +d.layer, +d.head, +d.query, +d.key, +t])")
    (head,) = {tuple(cell[:3]) for cell in cells}
    table = np.full((1 + max(cell[3] for cell in cells), 1 + max(cell[4] for cell in cells)), np.nan)
    for *_, query, key, weight in cells:
        table[query, key] = weight
    return head, table


def picture(page):
    """Everything that a link should restore, as one value to compare."""
    titles = page.locator(".attention-view h2, .gtitle").all_text_contents()
    which, table = numbers(page)
    return {
        "step": page.get_by_role("toolbar", name="Steps").get_by_role("status").first.text_content(),
        "chips": page.locator(".tokens span").evaluate_all(
            "all => all.map((chip) => [chip.textContent, chip.className, chip.title])"),
        "titles": titles, "bars": bars(page), "head": which, "table": table.tolist()}


@pytest.fixture
def complaints(context) -> Iterator[list[str]]:
    """Collects what no page may do: open a dialog, raise an error or log one to the console. To ask another host fails
    every test by itself."""
    found = []

    def dialog(dialog):
        found.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    heard = {"dialog": dialog, "weberror": lambda error: found.append(f"page error: {error.error}"),
             "console": lambda one: one.type == "error" and found.append(f"console: {one.text}")}
    for event, listener in heard.items():
        context.on(event, listener)
    yield found
    for event, listener in heard.items():
        context.remove_listener(event, listener)


@pytest.fixture
def alone(page, context, complaints) -> Iterator[Callable]:
    """Opens a file where there is no network, which may complain of nothing: `page = alone(file)`."""

    def alone(file):
        context.set_offline(True)
        page.goto(file.as_uri())
        return page

    yield alone
    context.set_offline(False)
    assert complaints == []


def wait_until(page, condition, *, seconds=300):
    """Until that holds here, while what the page hears and asks for is worked on."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        page.wait_for_timeout(50)


def saved(page, action):
    """The name and the bytes of the file that an action saves: `saved(page, button.click)`."""
    with page.expect_download() as caught:
        action()
    return caught.value.suggested_filename, Path(caught.value.path()).read_bytes()


# How many colours a canvas has.
INKED = """canvas => new Set(new Uint32Array(
    canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.buffer)).size"""


def on_tile(view, layer, head):
    """Where the small picture of a head is, in the canvas of a view that has all heads."""
    tiles = view.evaluate("root => root.view.tiles")
    return {"x": tiles["left"] + (head + 0.5) * (tiles["width"] + tiles["gap"]),
            "y": tiles["top"] + (layer + 0.5) * (tiles["height"] + tiles["gap"])}


def on_cell(view, query, key):
    """Where a cell of the matrix is, in its canvas."""
    made = view.evaluate("({ view }) => view.layout ?? view.made")
    return {"x": made["gutter"]["left"] + (key + 0.5) * made["cell"][0],
            "y": made["gutter"]["top"] + (query + 0.5) * made["cell"][1]}


def in_window(page, *locators):
    """All of each is in the window, but for what reaches beyond its right edge."""
    size = page.viewport_size
    for locator in locators:
        box = locator.bounding_box()
        assert box["y"] >= 0 and box["y"] + box["height"] <= size["height"], (locator, box)
        assert 0 <= box["x"] < size["width"], (locator, box)
