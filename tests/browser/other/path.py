"""The main path through the app, once for every browser: PATH names each part of it, and what is done there.

A part gets a tab and the server's address, begins at an address of its own, and asserts or waits for what a person
would see. A page that joins the path is one function and one line here.
"""

from collections.abc import Callable
from urllib.parse import urlencode

from .webdriver import Tab

SENTENCE = "Do you know where he lives?"
STEP = "one('.controls output').textContent"
# Whether a canvas has been drawn on: one that has not is of one colour.
INK = """((canvas) => {
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  return new Set(new Uint32Array(data.buffer)).size > 3;
})(one("%s"))"""


def home(tab: Tab, url: str) -> None:
    """The front page takes its steps by itself, and both of its pictures are drawn."""
    tab.go(f"{url}/")
    tab.until(f"{STEP}.startsWith('step 3 of')")
    for canvas in (".attention-view canvas", ".growing canvas"):
        tab.until(INK % canvas)


def translate(tab: Tab, url: str) -> None:
    """A sentence is typed and stepped, a cell is clicked, another candidate is taken."""
    tab.go(f"{url}/translate")
    tab.click("textarea, input[type=text]")
    tab.press("a", held="Control")
    tab.press(*SENTENCE, "Enter")
    tab.until("one('[aria-label=\"source tokens\"]').textContent.includes('lives')")
    tab.until(f"/step (\\d+) of \\1$/.test({STEP})")  # a text opens finished
    tab.press("Home")
    tab.until(f"{STEP}.startsWith('step 0')")
    tab.press("ArrowRight", "ArrowRight")
    tab.until(f"{STEP}.startsWith('step 2')")
    tab.until(INK % "canvas.matrix")
    cell = tab.until("""(({ gutter, cell }) => [gutter.left + cell[0] / 2, gutter.top + cell[1] / 2])(
        one('.attention-view').view.made)""")
    tab.click("canvas.matrix", at=tuple(cell))
    tab.until("one('[data-part=product]') !== undefined")
    tab.click('.step-view [data-nth="1"]')
    tab.until(f"{STEP}.startsWith('step 3')")
    tab.until("all('*').some((e) => e.textContent === 'Branches · 2')")
    tab.until("new URLSearchParams(location.search).get('step') === '3'")


def copied(tab: Tab, url: str) -> None:
    """A link is copied where no page has the clipboard of now, and what is pasted is the address."""
    tab.go(f"{url}/translate?{urlencode({'text': 'Go on.', 'step': 2})}")
    assert not tab.look("isSecureContext")
    tab.until(f"{STEP}.startsWith('step 2')")
    tab.click("button.copy, [data-action=copy]")
    tab.until("all('button').some((button) => button.textContent.trim() === 'Copied')")
    tab.run("document.body.append(Object.assign(document.createElement('textarea'), { id: 'paste' }));"
            "document.querySelector('#paste').focus();")
    tab.press("v", held="Control")
    assert tab.until("document.querySelector('#paste').value") == tab.look("location.href")


def write(tab: Tab, url: str) -> None:
    """A text is stepped, character by character."""
    tab.go(f"{url}/write?{urlencode({'text': 'KING', 'step': 0})}")
    tab.until(f"{STEP}.startsWith('step 0')")
    tab.press("ArrowRight")
    tab.until(f"{STEP}.startsWith('step 1')")
    tab.until(INK % "canvas.matrix")


def heads(tab: Tab, url: str) -> None:
    """Every measure has its map, and one head its picture."""
    tab.go(f"{url}/heads")
    tab.until("one('h1', 'Heads') && all('table, canvas, svg').filter(seen).length > 3")
    tab.until("all('*').some((e) => seen(e) && e.textContent === 'Previous token')")


def positions(tab: Tab, url: str) -> None:
    """The curves are drawn."""
    tab.go(f"{url}/positions?view=Sinusoidal")
    tab.until("one('[data-testid=stVegaLiteChart] canvas, [data-testid=stVegaLiteChart] svg') !== undefined")
    tab.until("one('[data-testid=stPlotlyChart] .main-svg') !== undefined")


def lesson(tab: Tab, url: str) -> None:
    """A question of a lesson is answered, judged, and left for the next stop."""
    tab.go(f"{url}/lessons?{urlencode({'lesson': 'query-and-key', 'stop': 2})}")
    tab.click(".lesson-bar button.choice")
    tab.until("one('.lesson-bar .verdict')?.textContent.includes('%')")
    tab.click(".lesson-bar button", "Next stop")
    tab.until("one('.lesson-bar h2')?.textContent.includes('Where it looks')")


def present(tab: Tab, url: str) -> None:
    """F shows the page to a room, Escape comes back."""
    tab.go(f"{url}/translate?{urlencode({'text': 'Go on.', 'step': 1})}")
    tab.until(f"{STEP}.startsWith('step 1')")
    tab.press("f")
    tab.until("location.search.includes('present=1') && !one('.stHeading h1') && one('canvas.matrix') !== undefined")
    tab.press("ArrowRight")
    tab.until(f"{STEP}.startsWith('step 2')")
    tab.press("Escape")
    tab.until("!location.search.includes('present') && one('.stHeading h1') !== undefined")


PATH: dict[str, Callable[[Tab, str], None]] = {
    "home": home, "translate": translate, "copied": copied, "write": write, "heads": heads, "positions": positions,
    "lesson": lesson, "present": present}
