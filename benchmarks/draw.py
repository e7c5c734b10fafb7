"""Time from a change to the picture of all heads in Chromium.

    python benchmarks/draw.py [--tokens 128 --tokens 1024]

The Write page with a random decoder of 12 layers x 12 heads, from the click (next step, another head, another layer) to
the first animation frame after the new picture, against a page of the same server that only runs again; the pages take
turns.
"""

import os
import platform
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Annotated
from urllib.parse import urlencode

import torch
import typer
from playwright.sync_api import Browser, Locator, Page, sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import transformer
from transformer.checkpoints.checkpoint import save
from transformer.model.models import Transformer
from transformer.settings.config import ModelConfig

ROOT = Path(__file__).resolve().parents[1]
LAYERS = HEADS = 12
GOALS = {128: 3.0, 1024: 6.0}  # times the empty rerun, at most
WARM_UP = 2
CHROMIUM = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
OPTIONS = ["--headless=new", "--no-sandbox", "--disable-gpu"]
EMPTY = """import streamlit as st
st.button("Run again", on_click=lambda: st.session_state.update(runs=st.session_state.get("runs", 0) + 1))
st.html(f'<output id="runs">{st.session_state.get("runs", 0)}</output>')
"""
SERVE = "import sys; sys.path.insert(0, sys.argv[1]); from pathlib import Path; from ui.server import serve; " \
        "serve.ROOT = Path(sys.argv[2]); serve.APP = serve.ROOT / 'app.py'; " \
        "serve.serve('127.0.0.1', 0, public=set(), framed_by=())"
# Whether the script has ended and nothing has changed for 300 ms.
IDLE = """() => {
  const app = document.querySelector('[data-testid="stApp"]');
  const busy = !app || ["running", "initial", "rerunRequested"].includes(app.getAttribute("data-test-script-state"))
    || document.querySelector('[data-testid="stSkeleton"], [data-testid="stSpinner"]');
  if (busy) { window.idleSince = undefined; return false; }
  window.idleSince ??= performance.now();
  return performance.now() - window.idleSince > 300;
}"""
# Milliseconds from the next click to the first animation frame after the element says what is wanted.
WATCH = """(root, [name, wanted]) => {
  let began;
  addEventListener("click", (event) => { began = event.timeStamp; }, { capture: true, once: true });
  const says = () => (name ? root.dataset[name] : document.querySelector("#runs").textContent) === wanted;
  window.taken = new Promise((resolve) => {
    const observer = new MutationObserver(() => {
      if (!says()) return;
      observer.disconnect();
      requestAnimationFrame(() => resolve(performance.now() - began));
    });
    observer.observe(root, { attributes: true, childList: true, characterData: true, subtree: !name });
  });
}"""


def build(folder: Path, *, layers: int = LAYERS, heads: int = HEADS, head_dim: int = 64, max_len: int = 1_100) -> str:
    """Saves a decoder of random weights that reads characters; returns its checkpoint's id."""
    ours = transformer.load(ROOT / "checkpoints" / "write")
    config = ModelConfig(d_model=heads * head_dim, n_heads=heads, encoder_layers=0, decoder_layers=layers, d_ff=768,
                         vocab_size=ours.config.vocab_size, max_len=max_len, eos_id=None)  # it never ends
    model = Transformer(config, generator=torch.Generator().manual_seed(1))
    save(folder, model, tokenizer=ours.tokenizer)
    return transformer.load(folder).id


def router(pages: Mapping[str, str]) -> str:
    """The app's router with more pages, in a section of their own."""
    text, before = (ROOT / "app.py").read_text(), "st.navigation(\n    {"
    assert before in text, "app.py lists its pages in another way"
    more = ", ".join(f'st.Page("{name}.py")' for name in pages)
    return text.replace(before, f'st.navigation(\n    {{"Benchmarks": [{more}]}} | {{', 1)


@contextmanager
def served(folder: Path, pages: Mapping[str, str]) -> Iterator[str]:
    """The address of the app as `make app` serves it, with more pages (name -> script) and `folder` as its home."""
    (folder / "app.py").write_text(router(pages))
    for name, script in pages.items():
        (folder / f"{name}.py").write_text(script)
    for name in ("pages", ".streamlit"):
        (folder / name).symlink_to(ROOT / name)
    log = folder / "log.txt"
    environment = os.environ | {"STREAMLIT_SERVER_HEADLESS": "true", "HEADSUP_HOME": str(folder)}
    with log.open("w") as output:
        server = subprocess.Popen([sys.executable, "-c", SERVE, str(ROOT), str(folder)], cwd=folder, env=environment,
                                  stdout=output, stderr=subprocess.STDOUT)
    try:
        deadline = time.monotonic() + 120
        while not (found := re.search(r"http://[\w.:]+", log.read_text())):
            assert server.poll() is None and time.monotonic() < deadline, f"no server:\n{log.read_text()}"
            time.sleep(0.1)
        yield found[0]
    finally:
        server.terminate()
        server.wait(30)


class Live:
    """The Write page and the empty page of one server, each in a tab, and what can be clicked there."""

    def __init__(self, browser: Browser, url: str, checkpoint: str, tokens: int):
        text = ("To be, or not to be, that is the question. " * 30)[:tokens]
        context = browser.new_context(viewport={"width": 1440, "height": 1000})
        context.set_default_timeout(120_000)
        self.empty, self.write = context.new_page(), context.new_page()
        self.empty.goto(f"{url}/empty")
        address = {"checkpoint": checkpoint, "text": text, "temperature": 0, "step": 0}
        self.write.goto(f"{url}/write?{urlencode(address)}")
        self.view = self.write.locator(".attention-view[data-drawn]")
        self.view.wait_for()
        for tab in (self.empty, self.write):
            settled(tab)
        self.runs = 0

    @property
    def drawn(self) -> tuple[int, ...]:
        """Layer, head and tokens of the picture."""
        return tuple(map(int, self.view.get_attribute("data-drawn").split(",")[1:]))

    def again(self) -> float:
        self.runs += 1
        button = self.empty.get_by_role("button", name="Run again")
        return clicked(self.empty, self.empty.locator("body"), None, str(self.runs), button)

    def next_step(self) -> float:
        layer, head, tokens = self.drawn
        return self.changed((layer, head, tokens + 1), self.write.locator('[data-action="step"]'))

    def another_head(self) -> float:
        layer, head, tokens = self.drawn
        return self.chosen(layer, (head + 1) % HEADS, tokens)

    def another_layer(self) -> float:
        layer, head, tokens = self.drawn
        return self.chosen((layer + 1) % LAYERS, head, tokens)

    def chosen(self, layer: int, head: int, tokens: int) -> float:
        """Click that head's tile in the picture of all heads."""
        tiles = self.view.evaluate("view => view.view.tiles")
        place = {"x": tiles["left"] + (head + 0.5) * (tiles["width"] + tiles["gap"]),
                 "y": tiles["top"] + (layer + 0.5) * (tiles["height"] + tiles["gap"])}
        return self.changed((layer, head, tokens), self.view.locator("canvas.grid"), place)

    def changed(self, wanted: tuple[int, ...], target: Locator, place: dict | None = None) -> float:
        return clicked(self.write, self.view, "drawn", ",".join(map(str, ("decoder", *wanted))), target, place)


def settled(tab: Page) -> None:
    tab.bring_to_front()
    tab.evaluate("window.idleSince = undefined")
    tab.wait_for_function(IDLE)


def clicked(tab: Page, root: Locator, name: str | None, wanted: str, target: Locator,
            place: dict | None = None) -> float:
    """Milliseconds from a click on `target` until `root` has been drawn as wanted."""
    tab.bring_to_front()
    target.hover(position=place)
    settled(tab)
    root.evaluate(WATCH, [name, wanted])
    target.click(position=place)
    return tab.evaluate("window.taken")


def live(browser: Browser, tokens: int, repeats: int) -> dict[str, float]:
    """Median milliseconds of each change and of the empty rerun; the last step has read `tokens` tokens."""
    with TemporaryDirectory() as folder:
        home = Path(folder)
        checkpoint = build(home / "uploads" / "random")
        with served(home, {"empty": EMPTY}) as url:
            found = Live(browser, url, checkpoint, tokens - repeats - WARM_UP)
            changes = {"empty rerun": found.again, "next step": found.next_step, "another head": found.another_head,
                       "another layer": found.another_layer}
            return measure(changes, repeats)


def measure(sides: dict[str, Callable[[], float]], repeats: int) -> dict[str, float]:
    """The median that each side reports; they take turns."""
    taken: dict[str, list[float]] = {name: [] for name in sides}
    for repeat in range(repeats + WARM_UP):
        for name, side in sides.items():
            milliseconds = side()
            if repeat >= WARM_UP:
                taken[name].append(milliseconds)
    return {name: median(times) for name, times in taken.items()}


def cpu_name() -> str:
    """The processor's name."""
    known = Path("/proc/cpuinfo")
    lines = known.read_text().splitlines() if known.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def live_rows(browser: Browser, tokens: int, repeats: int) -> Iterator[dict[str, object]]:
    taken = live(browser, tokens, repeats)
    empty = taken.pop("empty rerun")
    for change, milliseconds in taken.items():
        ratio, goal = milliseconds / empty, GOALS.get(tokens)
        yield {"row": f"{change}, {tokens:,} tokens", "ours": milliseconds, "peer": empty, "ratio": ratio,
               "goal": goal, "met": None if goal is None else ratio <= goal}


def executable() -> str:
    """Chromium's place."""
    found = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if found is None:
        raise typer.BadParameter(f"no Chromium on the PATH (looked for {', '.join(CHROMIUM)})")
    return found


@contextmanager
def chromium() -> Iterator[Browser]:
    """A headless browser."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable(), args=OPTIONS)
        yield browser
        browser.close()


def main(
    tokens: Annotated[list[int], typer.Option(help="Tokens of the pictures.")] = (128, 1024),
    repeats: Annotated[int, typer.Option(min=1, help="How often each change is timed.")] = 9,
) -> None:
    """Times drawing in Chromium; prints each figure with its goal."""
    with chromium() as browser:
        print(f"{cpu_name()}, Chromium {browser.version}, {repeats} times\n")
        print(f"{f'{LAYERS} x {HEADS} heads; medians':35}{'ms':>8}{'empty rerun':>13}{'ratio':>9}{'goal':>9}")
        for count in tokens:
            for row in live_rows(browser, count, repeats):
                goal = "" if row["goal"] is None else f"at most {row['goal']:g}"
                print(f"{row['row']:35}{row['ours']:8,.0f}{row['peer']:13,.0f}{row['ratio']:9.1f}  {goal}"
                      f"{'' if row['met'] in (None, True) else ', missed'}", flush=True)


if __name__ == "__main__":
    typer.run(main)
