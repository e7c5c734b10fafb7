"""Time from a change to the picture of all heads in Chromium, and one offline page against BertViz's head view.

    python benchmarks/draw.py [--json] [--only live|pages] [--libraries FOLDER]

Live: the Write page with a random decoder of 12 layers x 12 heads, from the click (next step, another head, another
layer) to the first animation frame after the new picture, against a page of the same server that only runs again; the
pages take turns. Offline: build (Python) and paint (navigation to the frame after the first picture, from a file) and
bytes, for the same weights: softmax of normal scores of deviation 2 behind a causal mask. BertViz's page asks a CDN for
require.js, d3 and jQuery; here they lie beside it (from npm, or in --libraries), so its time has no network in it.
H heads, T tokens.
"""

import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Annotated
from urllib.parse import urlencode

import orjson
import torch
import typer
from playwright.sync_api import Browser, Locator, Page, sync_playwright
from torch import Tensor

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import transformer
from transformer.attention_view.external_weights import Tensors
from transformer.attention_view.offline_page import page
from transformer.checkpoints.checkpoint import save
from transformer.model.models import Transformer
from transformer.settings.config import ModelConfig

ROOT = Path(__file__).resolve().parents[1]
LAYERS = HEADS = 12
LIVE_GOALS = {128: 3.0, 1024: 6.0}  # times the empty rerun, at most
PAGE_GOALS = {"pooled": (30.0, 50.0), "exact": (15.0, 25.0)}  # at 128 tokens: times faster, times fewer bytes
WARM_UP = 2
CHROMIUM = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
OPTIONS = ["--headless=new", "--no-sandbox", "--disable-gpu"]
LIBRARIES = {"require.min.js": ("requirejs@2.3.6", "package/require.js"),
             "d3.min.js": ("d3@5.7.0", "package/dist/d3.min.js"),
             "jquery.min.js": ("jquery@2.1.0", "package/dist/jquery.min.js")}  # npm has no 2.0.0, which BertViz names
CDN = "https://cdnjs.cloudflare.com/ajax/libs/(?:require.js/2.3.6|d3/5.7.0|jquery/2.0.0)/"
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
# Milliseconds from navigation to the animation frame after the one that has the picture.
PAINTED = """(done) => {
  window.painted = new Promise((resolve, reject) => {
    setTimeout(() => reject(new Error(`no ${done} after five minutes`)), 300_000);
    const seen = () => requestAnimationFrame(() => resolve(performance.now()));
    const look = () => (document.querySelector(done) ? seen() : requestAnimationFrame(look));
    look();
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


def made_up(tokens: int, *, layers: int = LAYERS, heads: int = HEADS, deviation: float = 2.0) -> list[Tensor]:
    """Weights of each layer, (1, H, T, T): softmax of normal scores behind a causal mask."""
    generator = torch.Generator().manual_seed(3)
    scores = deviation * torch.randn(layers, 1, heads, tokens, tokens, generator=generator)
    return list(scores.masked_fill(~torch.ones(tokens, tokens).tril().bool(), float("-inf")).softmax(dim=-1))


def ours(weights: list[Tensor], tokens: list[str], *, exact: bool) -> str:
    return page(Tensors({"decoder": torch.cat(weights)}, {"decoder": (tokens, tokens)}), exact=exact)


def bertviz(weights: list[Tensor], tokens: list[str]) -> str:
    """BertViz's head view as a page, its three libraries looked for beside it."""
    from bertviz import head_view

    view = head_view(weights, tokens, html_action="return").data
    return f'<!doctype html><html><head><meta charset="utf-8"></head><body>{re.sub(CDN, "", view)}</body></html>'


def libraries(folder: Path) -> None:
    """Put require.js, d3 and jQuery into a folder, out of npm's packages."""
    for name, (package, inside) in LIBRARIES.items():
        packed = subprocess.run(["npm", "pack", "--silent", package], cwd=folder, check=True, capture_output=True,
                                text=True).stdout.strip()
        with tarfile.open(folder / packed) as archive:
            (folder / name).write_bytes(archive.extractfile(inside).read())


def painted(browser: Browser, file: Path, done: str) -> float:
    """Milliseconds from navigation to the frame after the first in which the selector `done` finds something."""
    context = browser.new_context(viewport={"width": 1440, "height": 1000}, offline=True)
    tab = context.new_page()
    tab.add_init_script(f"({PAINTED})({done!r})")
    tab.goto(file.as_uri(), timeout=300_000, wait_until="commit")
    taken = tab.evaluate("window.painted")
    context.close()
    return taken


def pages(browser: Browser, count: int, repeats: int, given: Path | None = None) -> dict[str, dict[str, float]]:
    """Median build and paint in milliseconds, and bytes, of BertViz's page and of ours, pooled and exact."""
    weights, tokens = made_up(count), [f"token{i}" for i in range(count)]
    sides = {"BertViz": (lambda: bertviz(weights, tokens), "#attention line[stroke-opacity]"),
             "pooled": (lambda: ours(weights, tokens, exact=False), "[data-drawn]"),
             "exact": (lambda: ours(weights, tokens, exact=True), "[data-drawn]")}
    found: dict[str, dict[str, list[float]]] = {name: {"build": [], "paint": [], "bytes": []} for name in sides}
    with TemporaryDirectory() as folder:
        if given is None:
            libraries(Path(folder))
        else:
            for name in LIBRARIES:
                shutil.copy(given / name, folder)
        for repeat in range(repeats + 1):
            for name, (make, done) in sides.items():
                began = perf_counter()
                text = make()
                took = 1_000 * (perf_counter() - began)
                file = Path(folder) / f"{name}.html"
                file.write_text(text, "utf-8")
                paint = painted(browser, file, done)
                if repeat:  # the first is a warm-up
                    for what, value in (("build", took), ("paint", paint), ("bytes", file.stat().st_size)):
                        found[name][what].append(value)
    return {name: {what: median(values) for what, values in side.items()} for name, side in found.items()}


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
        ratio, goal = milliseconds / empty, LIVE_GOALS.get(tokens)
        yield {"row": f"{change}, {tokens:,} tokens", "unit": "ms", "ours": milliseconds, "peer": empty, "ratio": ratio,
               "goal": goal, "met": None if goal is None else ratio <= goal}


def page_rows(browser: Browser, tokens: int, repeats: int, given: Path | None) -> Iterator[dict[str, object]]:
    found = pages(browser, tokens, repeats, given)
    theirs = found.pop("BertViz")
    for name, side in found.items():
        goals = PAGE_GOALS[name] if tokens == 128 else (None, None)
        for what, unit, goal, scale in (("build + paint", "ms", goals[0], 1), ("bytes", "kB", goals[1], 1_000)):
            one, other = ((side["build"] + side["paint"], theirs["build"] + theirs["paint"]) if unit == "ms" else
                          (side["bytes"], theirs["bytes"]))
            yield {"row": f"page {name}, {tokens} tokens: {what}", "unit": unit, "ours": one / scale,
                   "peer": other / scale, "ratio": other / one, "goal": goal,
                   "met": None if goal is None else other / one >= goal, "parts": {"ours": side, "peer": theirs}}


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
    only: Annotated[str | None, typer.Option(help="live or pages; without it both.")] = None,
    live_tokens: Annotated[list[int], typer.Option(help="Tokens of the live pictures.")] = (128, 1024),
    page_tokens: Annotated[list[int], typer.Option(help="Tokens of the offline pages.")] = (32, 64, 128),
    repeats: Annotated[int, typer.Option(min=1, help="How often each live change is timed.")] = 9,
    page_repeats: Annotated[int, typer.Option(min=1, help="How often each offline page is built and painted.")] = 3,
    libraries: Annotated[Path | None, typer.Option(help="Folder with BertViz's three libraries.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as one JSON line, last.")] = False,
) -> None:
    """Times drawing in Chromium; prints each figure with its goal."""
    torch.set_num_threads(1)
    rows: list[dict[str, object]] = []
    with chromium() as browser:
        about = {"cpu": cpu_name(), "cores": os.cpu_count(), "python": platform.python_version(),
                 **{name: version(name) for name in ("torch", "streamlit", *(("bertviz",) if only != "live" else ()))},
                 "chromium": browser.version, "repeats": repeats, "page_repeats": page_repeats}
        print(*(f"{name} {value}" for name, value in about.items()), sep=", ")
        print(f"\n{f'{LAYERS} x {HEADS} heads; medians':45}{'ours':>10}{'peer':>10}{'ratio':>9}{'goal':>9}")
        for part, sizes, each in (("live", live_tokens, lambda size: live_rows(browser, size, repeats)),
                                  ("pages", page_tokens, lambda size: page_rows(browser, size, page_repeats,
                                                                                libraries))):
            for size in sizes if only in (None, part) else ():
                for row in each(size):
                    rows.append(row)
                    goal = "" if row["goal"] is None else f"{'at most' if part == 'live' else 'over'} {row['goal']:g}"
                    print(f"{row['row']:45}{row['ours']:7,.0f} {row['unit']}{row['peer']:7,.0f} {row['unit']}"
                          f"{row['ratio']:9.1f}  {goal}{'' if row['met'] in (None, True) else ', missed'}", flush=True)
    if as_json:
        print(orjson.dumps({"benchmark": "draw", "ratio": "live: ours / empty rerun; pages: BertViz / ours", **about,
                            "rows": rows}).decode())


if __name__ == "__main__":
    typer.run(main)
