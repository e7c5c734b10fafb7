"""What is done in a browser, whatever drives it: `Tab` waits, clicks and types, and what the pages say of themselves is
asked by scripts. A browser's own module says how it is started and how it is spoken to."""

import json
import time
from abc import ABC, abstractmethod

WAIT_S = 120  # for anything on a page: no measurement, and enough for a machine ten times slower
LOOK_S = 0.05  # between two looks
QUIET_LOOKS = 5  # in a row at which a page that has settled is quiet
QUIET = """((app) => app === null || (app?.dataset.testScriptState === "notRunning"
  && !one('[data-testid=stSkeleton], [data-testid=stSpinner]')))(document.querySelector("[data-testid=stApp]"))"""
KEYS = {"Enter": "\ue007", "Home": "\ue011", "End": "\ue010", "ArrowLeft": "\ue012", "ArrowRight": "\ue014",
        "Escape": "\ue00c", "Control": "\ue009", "Backspace": "\ue003"}
# Components stand in trees of their own: `all("canvas")` looks into each, and `one(...)` is the first that is in sight.
LOOK = """
  const below = (tree) => [...tree.querySelectorAll("*")].flatMap((e) => e.shadowRoot ? trees(e.shadowRoot) : []);
  const trees = (tree) => [tree, ...below(tree)];
  const all = (selector) => trees(document).flatMap((tree) => [...tree.querySelectorAll(selector)]);
  const seen = (e) => e.checkVisibility({ visibilityProperty: true }) && e.getBoundingClientRect().width > 1;
  const one = (selector, words) =>
    all(selector).find((e) => seen(e) && (words === undefined || e.textContent.trim() === words));
"""


class Tab(ABC):
    """One tab of a browser of its own."""

    name: str

    @abstractmethod
    def go(self, url: str) -> None:
        """To an address."""

    @abstractmethod
    def run(self, body: str) -> object:
        """What the body of a function gives, in the page."""

    @abstractmethod
    def perform(self, actions: list[dict]) -> None:
        """W3C input sources with their actions."""

    @abstractmethod
    def resize(self, width: int, height: int) -> None:
        """The window, to that many pixels inside."""

    def look(self, expression: str) -> object:
        """The value of an expression that may use `all` and `one`."""
        return self.run(f"{LOOK} return {expression};")

    def until(self, expression: str) -> object:
        """Waits until an expression is true, and gives its value; an error counts as not yet."""
        deadline = time.monotonic() + WAIT_S
        while not (value := self.run(f"{LOOK} try {{ return {expression}; }} catch {{ return null; }}")):
            assert time.monotonic() < deadline, f"{self.name}: never true in {WAIT_S} s: {expression}"
            time.sleep(LOOK_S)
        return value

    def settle(self) -> None:
        """Waits until a page of the app has been quiet for some looks; one that is not Streamlit's always is."""
        deadline, quiet = time.monotonic() + WAIT_S, 0
        while quiet < QUIET_LOOKS:
            quiet = quiet + 1 if self.look(QUIET) else 0
            assert time.monotonic() < deadline, f"{self.name}: not settled in {WAIT_S} s"
            time.sleep(LOOK_S)

    def click(self, selector: str, words: str | None = None, at: tuple[float, float] | None = None) -> None:
        """With the mouse: the first such element in sight, in its middle or so many pixels from its top left corner."""
        found = f"one({json.dumps(selector)}{'' if words is None else f', {json.dumps(words)}'})"
        self.until(found + " !== undefined")
        self.settle()
        self.run(f"{LOOK} {found}.scrollIntoView({{ block: 'nearest', behavior: 'instant' }});")
        left, top, width, height = self.look(
            f"(({{left, top, width, height}}) => [left, top, width, height])({found}.getBoundingClientRect())")
        x, y = at or (width / 2, height / 2)
        self.perform([{"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": [
            {"type": "pointerMove", "x": round(left + x), "y": round(top + y)},
            {"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0}]}])

    def press(self, *keys: str, held: str | None = None) -> None:
        """One key after the other; `held`: one that is down meanwhile."""
        self.settle()
        strokes = [{"type": kind, "value": KEYS.get(key, key)} for key in keys for kind in ("keyDown", "keyUp")]
        if held:
            strokes = [{"type": "keyDown", "value": KEYS[held]}, *strokes, {"type": "keyUp", "value": KEYS[held]}]
        self.perform([{"type": "key", "id": "keyboard", "actions": strokes}])
