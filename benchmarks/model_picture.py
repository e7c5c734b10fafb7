"""Time of a frame of the picture of a whole model in Chromium, while it zooms and while a token rises.

    python benchmarks/model_picture.py [--json]

The Write page with random decoders of 12 layers x 12 heads at 128 tokens and of 30 x 9 at 60. Zooming: from the whole
to a number and back with the keyboard, while the server answers each level, and with a wheel. Rising: one step, at a
normal pace. For each: the time that painting a frame takes, the time from frame to frame, and stalls (tasks of the
browser above 50 ms). T tokens.
"""

import sys
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory
from typing import Annotated
from urllib.parse import urlencode

import orjson
import typer
from playwright.sync_api import Page

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.draw import build, chromium, served

MODELS = ((12, 12, 64, 128), (30, 9, 64, 60))  # layers, heads, width of a head, tokens
GOAL_MS, STALL_MS = 16.7, 50.0  # a frame, and a task of the browser that is felt
LEVELS = 5
# Frames, tasks above 50 ms, and how long painting took, from now on.
WATCH = """() => {
  const seen = window.seen = { frames: [], stalls: [], painted: [] };
  const observer = new PerformanceObserver((list) => seen.stalls.push(...list.getEntries().map((one) => one.duration)));
  observer.observe({ entryTypes: ["longtask"] });
  let before = performance.now(), going = true;
  const frame = (now) => {
    seen.frames.push(now - before);
    before = now;
    if (going) requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
  window.stopWatching = () => { going = false; observer.disconnect(); return seen; };
}"""
PAINT = """(root) => {
  const { model } = root.view;
  const context = model.context;
  const fill = context.fillRect.bind(context);
  let began = 0;
  // a frame begins with its background
  context.fillRect = (x, y, width, height) => {
    if (x === 0 && y === 0 && width === model.size[0] && height === model.size[1]) {
      began = performance.now();
      queueMicrotask(() => window.seen?.painted.push(performance.now() - began));
    }
    fill(x, y, width, height);
  };
}"""


def measured(page: Page, name: str, act) -> dict[str, object]:
    """The frames while something is done."""
    page.evaluate(WATCH)
    act()
    seen = page.evaluate("() => window.stopWatching()")
    painted, frames = seen["painted"], seen["frames"][1:]
    return {"what": name, "frames": len(painted), "paint_ms": median(painted),
            "paint_95_ms": quantiles(painted, n=20)[-1], "paint_most_ms": max(painted), "frame_ms": median(frames),
            "stalls": len(seen["stalls"]), "longest_stall_ms": max(seen["stalls"], default=0.0), "goal_ms": GOAL_MS}


def of_model(page: Page, address: str, checkpoint: str, tokens: int) -> list[dict[str, object]]:
    """The picture of one model, zoomed and stepped."""
    text = ("To be, or not to be, that is the question: " * 20)[:tokens - 1]
    page.goto(f"{address}/write?{urlencode({'text': text, 'checkpoint': checkpoint, 'step': 0, 'view': 'model'})}")
    root = page.locator(".attention-view.modelled[data-drawn]")
    root.wait_for(timeout=120_000)
    page.wait_for_timeout(2_000)
    root.evaluate(PAINT)
    canvas = page.locator("canvas.model")
    canvas.focus()

    def zoom(key: str, levels: int) -> None:
        for _ in range(levels):
            before = root.get_attribute("data-level")
            page.keyboard.press(key)
            page.wait_for_function("([root, before]) => root.dataset.level !== before && !root.view.model.flight",
                                   arg=[root.element_handle(), before], timeout=60_000)
            page.wait_for_timeout(600)

    def wheel() -> None:
        box = canvas.bounding_box()
        page.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + box["height"] * 0.5)
        for by in (-120,) * 6 + (120,) * 12:
            page.mouse.wheel(0, by)
            page.wait_for_timeout(60)
        page.wait_for_timeout(800)

    def rise() -> None:
        page.locator(".rise button").click()
        page.wait_for_timeout(3_500)

    return [measured(page, "zoom in", lambda: zoom("+", LEVELS)), measured(page, "zoom out", lambda: zoom("-", LEVELS)),
            measured(page, "wheel", wheel), measured(page, "rise", rise)]


def main(as_json: Annotated[bool, typer.Option("--json", help="print one line of JSON")] = False) -> None:
    """Prints the times."""
    rows = []
    with TemporaryDirectory() as folder, chromium() as browser:
        home = Path(folder)
        ids = {model: build(home / "imports" / f"random{at}", layers=model[0], heads=model[1], head_dim=model[2])
               for at, model in enumerate(MODELS)}
        with served(home, {}) as address:
            for model, checkpoint in ids.items():
                page = browser.new_page(viewport={"width": 1440, "height": 900})
                for row in of_model(page, address, checkpoint, model[3]):
                    rows.append({"model": f"{model[0]} x {model[1]}", "tokens": model[3]} | row)
                page.close()
    if as_json:
        print(orjson.dumps(rows).decode())
        return
    for row in rows:
        print(f"{row['model']:>8} {row['tokens']:>4} tokens  {row['what']:<9} {row['frames']:>4} frames  paint "
              f"{row['paint_ms']:.1f} ms, 95%: {row['paint_95_ms']:.1f}, most {row['paint_most_ms']:.1f};  frame to "
              f"frame {row['frame_ms']:.1f};  stalls {row['stalls']}, longest {row['longest_stall_ms']:.0f}")


if __name__ == "__main__":
    typer.run(main)
