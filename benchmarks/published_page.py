"""A published file in Chromium, opened from a disk: its size, its first picture, and its steps.

    python benchmarks/published_page.py [--opens 5] [--steps 15] [--fetches 1000]

Milliseconds. first picture: by the clock, from the page's beginning to the first drawing, in a browser that has been
open for some seconds and that nobody debugs, since that has it decode the file twice. answer: what the worker takes of
the processor for a step, its picture with all heads' weights and the message, by the browser's own trace, which a busy
machine does not add to; `translate` behind 20 tokens (goal 60), `write` behind 100 (goal 30), 95th percentile. drawing:
what the page's own thread takes for the answer. Both again with the whole model in view. Goals of a file: 1.6 times
the bytes of its weights, and a first picture within a second.
With `--fetches`, Caddy also sends each file to so many people, fifty at a time: all that a host has to do for them.
"""

import base64
import hashlib
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import Queue
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Annotated
from urllib.parse import urlencode
from urllib.request import urlopen

import numpy as np
import orjson
import psutil
import typer
from playwright.sync_api import Browser, Page

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.draw import OPTIONS, chromium, executable
from benchmarks.people import cpu_seconds, resident_mb
from tests.waiting import listens, until
from transformer.basics.paths import ROOT
from transformer.publishing.page import publish
from ui.server import caddy
from ui.server.workers import hold

LONG = "We have to go home before it gets dark, because my brother is ill and we cannot drive."
STEPPED = {"translate": ({"text": LONG, "step": 5, "kind": "cross"}, 60),
           "write": ({"text": "ROMEO:", "step": 85, "temperature": 0.8}, 30)}  # address, and goal
AT_ONCE = 50  # fetches
QUIET_MS = 3_000  # by then a page is where its address leads, and knows what is to come
MAIN, WORKER = "CrRendererMain", "DedicatedWorker thread"
# Goes to an address with the milliseconds, once there is a picture.
FIRST = """new MutationObserver((_, watch) => {
  if (!document.querySelector(".attention-view[data-drawn]")) return;
  watch.disconnect();
  location.href = "ADDRESS" + performance.now();
}).observe(document, { subtree: true, childList: true, attributes: true, attributeFilter: ["data-drawn"] });"""
# Presses a key so many times, each once the last step has been drawn -> milliseconds of each.
PRESSES = """async ([key, count]) => {
  const view = document.querySelector(".attention-view");
  const drawn = (before) => new Promise((done) => {
    new MutationObserver((_, watch) => {
      if (view.dataset.drawn === before) return;
      watch.disconnect();
      done(performance.now());
    }).observe(view, { attributes: true, attributeFilter: ["data-drawn"] });
  });
  const taken = [];
  for (let press = 0; press < count; press++) {
    await new Promise((done) => setTimeout(done, 50));
    const [next, from] = [drawn(view.dataset.drawn), performance.now()];
    document.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
    taken.push((await next) - from);
  }
  return taken;
}"""


def opened(browser: Browser, address: str) -> Page:
    page = browser.new_context(viewport={"width": 1440, "height": 900}, offline=True).new_page()
    page.goto(address)
    page.locator(".attention-view[data-drawn]").wait_for(timeout=120_000)
    return page


def first_picture(file: Path, folder: Path) -> float:
    """Milliseconds until the first picture of a file."""
    told = Queue()

    class Hears(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path.startswith("/first/"):
                told.put(float(self.path.removeprefix("/first/")))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Says nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Hears) as server, TemporaryDirectory() as profile:
        Thread(target=server.serve_forever, daemon=True).start()
        script = FIRST.replace("ADDRESS", f"http://127.0.0.1:{server.server_port}/first/")
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        page = file.read_text("utf-8").replace("script-src ", f"script-src 'sha256-{digest}' ", 1)
        timed, door = folder / "timed.html", folder / "door.html"
        timed.write_text(page.replace('<div id="page">', f'<script>{script}</script><div id="page">', 1), "utf-8")
        door.write_text(f'<meta http-equiv="refresh" content="{QUIET_MS // 1000}; url={timed.as_uri()}">', "utf-8")
        browser = subprocess.Popen([executable(), *OPTIONS, f"--user-data-dir={profile}", "--window-size=1440,900",
                                    door.as_uri()], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            return told.get(timeout=60)
        finally:
            browser.kill()
            browser.wait()
            server.shutdown()


def traced(browser: Browser, page: Page, work: Callable[[], object],
           ) -> tuple[dict[tuple[str, str], list[float]], object]:
    """Processor milliseconds of each event, by thread and name, while something is done, and what that gave."""
    browser.start_tracing(page=page, categories=["devtools.timeline", "v8"])
    try:
        given = work()
    finally:
        events = orjson.loads(browser.stop_tracing())["traceEvents"]
    threads = {(one["pid"], one["tid"]): one["args"]["name"] for one in events if one["name"] == "thread_name"}
    taken = defaultdict(list)
    for one in events:
        if one["ph"] == "X" and "tdur" in one:
            taken[threads.get((one["pid"], one["tid"])), one["name"]].append(one["tdur"] / 1000)
    return taken, given


def spread(taken: Sequence[float]) -> dict[str, float]:
    return {"p50": float(np.median(taken)), "p95": float(np.percentile(taken, 95))}


def measure(browser: Browser, name: str, folder: Path, opens: int, steps: int) -> dict[str, object]:
    """One model in a file of its own."""
    source = ROOT / "checkpoints" / name
    file = publish(source, folder / f"{name}.html")
    address, goal = STEPPED[name]
    first = [first_picture(file, folder) for _ in range(opens)]
    row = {"model": name, "bytes": file.stat().st_size, "goal": goal,
           "times_weights": file.stat().st_size / (source / "model.safetensors").stat().st_size,
           "first_picture": spread(first)}
    for view, called in (("matrix", ""), ("model", "model_")):
        page = opened(browser, f"{file.as_uri()}#{urlencode(address | {'view': view})}")
        page.wait_for_timeout(QUIET_MS)
        taken, pressed = traced(browser, page, partial(page.evaluate, PRESSES, ["ArrowRight", steps]))
        page.context.close()
        row |= {f"{called}answer": spread(taken[WORKER, "TimerFire"]),
                f"{called}drawing": spread(taken[MAIN, "HandlePostMessage"]), f"{called}step_clock": spread(pressed)}
    return row


def fetched(file: Path, count: int) -> dict[str, float]:
    """What a file takes of a static host that so many people fetch it from, over this machine's loopback."""
    with hold("127.0.0.1", [0]) as held:
        port = held.getsockname()[1]
    place = f"127.0.0.1:{port}"
    host = subprocess.Popen([caddy.program(), "file-server", "--listen", place, "--root", str(file.parent)],
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def fetch(_: int) -> int:
        with urlopen(f"http://{place}/{file.name}", timeout=120) as answer:
            return sum(map(len, iter(lambda: answer.read(1 << 20), b"")))

    try:
        until(lambda: listens(port), seconds=20)
        process, began = psutil.Process(host.pid), time.monotonic()
        before = cpu_seconds(process)
        with ThreadPoolExecutor(AT_ONCE) as people:
            sent = set(people.map(fetch, range(count)))
        assert sent == {file.stat().st_size}
        return {"fetches": count, "seconds": time.monotonic() - began, "processor_s": cpu_seconds(process) - before,
                "memory_mb": resident_mb(process)}
    finally:
        host.kill()
        host.wait()


def main(opens: Annotated[int, typer.Option(help="How often each file is opened.")] = 5,
         steps: Annotated[int, typer.Option(help="Steps of each model; the shortest text has 20.")] = 15,
         fetches: Annotated[int, typer.Option(help="How many people fetch each file from one host.")] = 0) -> None:
    """Time published files in Chromium."""
    with TemporaryDirectory() as folder, chromium() as browser:
        for name in STEPPED:
            row = measure(browser, name, Path(folder), opens, steps)
            said = {key: f"{value['p50']:.0f} ms ({value['p95']:.0f})" for key, value in row.items()
                    if isinstance(value, dict)}
            print(f"{name}: {row['bytes']:,} bytes, {row['times_weights']:.2f} of its weights; first picture "
                  f"{said['first_picture']}, goal 1,000; a step's answer {said['answer']}, goal {row['goal']}, "
                  f"its drawing {said['drawing']}, by the clock {said['step_clock']}; with the whole model in view "
                  f"{said['model_answer']}, {said['model_drawing']}, {said['model_step_clock']}")
            if fetches:
                host = fetched(Path(folder) / f"{name}.html", fetches)
                print(f"{name}: {fetches:,} fetches take the host {host['processor_s']:.1f} s of a processor, "
                      f"{host['seconds']:.0f} s in all, {host['memory_mb']:.0f} MB")


if __name__ == "__main__":
    typer.run(main)
