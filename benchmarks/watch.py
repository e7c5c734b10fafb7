"""What it costs to watch a run: a tick of the live curves in Chromium, and those who watch one that is being trained.

    python benchmarks/watch.py [--points 1000 --points 100000] [--people 1 --people 100] [--seconds 30]

A tick: a run's metrics file has grown by one row, the fragment runs again, and the browser has drawn the new point;
from the click that asks for it to the animation frame after, against a fragment of the same server that draws nothing.
Goal: at most 1.5 times that at 100,000 points. Opening: from the click that shows a run's curves for the first time to
the frame in which all its points are drawn; the page, the script and uPlot are there. Goal: 500 ms for 100,000 points.

Watching: people have the page of a small run open that trains meanwhile on the processors of this machine, and ask for
what is new as often as it says. Goals for one: 25 ms of the server's processor and 10 kB a second; a hundred slow the
training by at most a tenth. Its speed is measured before, meanwhile and after; `--people 0` leaves all that out.
"""

import asyncio
import os
import platform
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Annotated
from urllib.parse import urlencode, urlsplit

import orjson
import typer
from playwright.sync_api import Browser, Page
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.asyncio.client import connect

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.draw import chromium, clicked, measure, served, settled
from benchmarks.people import ANSWER_S, ARRIVING, Wire, cpu_seconds, spread, total
from tests.raw.client import ENDS, Server, serving
from transformer.jobs import launch, run_files

GOAL, OPEN_MS = 1.5, 500.0
CPU_MS, BYTES, SLOWER = 25.0, 10_000.0, 0.1
RUN = "watched"
WARM_UP = 10.0  # seconds of training that are left out
SETTLED = 12.0  # seconds until the page has told all how often to ask
SETTINGS = {"steps": 1_000_000, "d_model": 64, "n_heads": 4, "decoder_layers": 2, "d_ff": 256, "max_len": 64,
            "batch_tokens": 1_024, "eval_every": 1_000, "save_every": 5_000}  # a small one, which logs often
OPENED = 5  # times, after the first
FRAGMENT = """import streamlit as st

@st.fragment
def tick():
    st.button("Tick", on_click=lambda: st.session_state.update(runs=st.session_state.get("runs", 0) + 1))
    st.html(f'<output id="runs">{st.session_state.get("runs", 0)}</output>')

tick()
"""
CURVES = """from pathlib import Path
import streamlit as st
from transformer.jobs import run_files
from ui.components.run_curves import show_curves

short, long = Path(SHORT), Path(LONG)

@st.fragment
def tick():
    if st.button("Tick"):
        step = run_files.last(long / "metrics.jsonl")["step"] + 10
        run_files.append(long / "metrics.jsonl", {"step": step, "seconds": step / 20, "time": step / 20,
                                                  "tokens": 1024 * step, "epoch": step / 5000, "loss": 1.0,
                                                  "accuracy": 0.5, "lr": 1e-3, "grad_norm": 1.0,
                                                  "tokens_per_sec": 5e3})
    st.button("Open", on_click=lambda: st.session_state.update(opened=True))
    show_curves("watch", [long if st.session_state.get("opened") else short], dark=False)

tick()
"""


def write_run(folder: Path, points: int) -> None:
    """Writes a run whose metrics have that many points."""
    folder.mkdir(parents=True)
    rows = ({"step": 10 * i, "seconds": i / 2, "time": i / 2, "tokens": 10_240 * i, "epoch": i / 500,
             "loss": 1 + 3 / (1 + i / 100) + 0.1 * (i % 7), "accuracy": 1 - 1 / (1 + i / 100), "lr": 1e-3 / i,
             "grad_norm": 1 + 0.1 * (i % 5), "tokens_per_sec": 5e3 + i % 100} for i in range(1, points + 1))
    (folder / "metrics.jsonl").write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))


def ticks(empty: Page, curves: Page) -> dict[str, Callable[[], float]]:
    """The two pages whose ticks are timed, each recognised by the counter that it shows."""
    runs, view = [0], curves.locator(".run-curves")

    def nothing() -> float:
        runs[0] += 1
        return clicked(empty, empty.locator("body"), None, str(runs[0]), empty.get_by_role("button", name="Tick"))

    def point() -> float:
        wanted = str(int(view.get_attribute("data-points")) + 1)
        return clicked(curves, view, "points", wanted, curves.get_by_role("button", name="Tick"))

    return {"empty fragment": nothing, "a new point": point}


def in_browser(browser: Browser, points: int, repeats: int) -> dict[str, float]:
    """Median milliseconds of a tick of an empty fragment and of the curves of a run with so many points, and those
    until the curves are opened: by the first to look, for whom the server reads the run, and by the next."""
    with TemporaryDirectory() as name:
        home = Path(name)
        for run, count in (("short", 10), ("long", points)):
            write_run(home / "runs" / run, count)
        script = CURVES.replace("SHORT", repr(str(home / "runs" / "short"))).replace(
            "LONG", repr(str(home / "runs" / "long")))
        with served(home, {"fragment": FRAGMENT, "curves": script}) as url:
            context = browser.new_context(viewport={"width": 1440, "height": 1000})
            empty = context.new_page()
            empty.goto(f"{url}/fragment")
            opened = []
            for _ in range(1 + OPENED):
                curves = context.new_page()
                curves.goto(f"{url}/curves")
                view = curves.locator('.run-curves[data-points="10"]')
                view.wait_for()
                settled(curves)
                view = curves.locator(".run-curves")
                opened.append(clicked(curves, view, "points", str(points), curves.get_by_role("button", name="Open")))
            for tab in (empty, curves):
                settled(tab)
            return measure(ticks(empty, curves), repeats) | {"first": opened[0], "opened": median(opened[1:])}


@dataclass
class Watched:
    """What watching has cost."""

    ticks: list[float] = field(default_factory=list)  # milliseconds of each answer
    errors: list[str] = field(default_factory=list)


class Watcher:
    """One browser tab with a run that is under way."""

    def __init__(self, found: Watched):
        self.found = found
        self._page = self._fragment = ""
        self._every = 1.0

    async def open(self, server: Server, stack: AsyncExitStack) -> None:
        """Opens the page of the run."""
        self._socket: Wire = await stack.enter_async_context(connect(
            f"ws://{urlsplit(server.url).netloc}/_stcore/stream", subprotocols=["streamlit"], max_size=None,
            origin=server.url, create_connection=Wire, ping_interval=None, open_timeout=ANSWER_S))
        self._query = urlencode({"view": "watch", "run": RUN})
        message = BackMsg()
        message.rerun_script.page_name, message.rerun_script.query_string = "train", self._query
        await self._answer(message)
        assert self._fragment, "the page of the run does not look for what is new"

    @property
    def came(self) -> int:
        """Bytes received so far, as they came over the wire."""
        return self._socket.came

    async def watch(self, until: float) -> None:
        """Asks for what is new as often as the page wants to, until a moment of the monotonic clock."""
        while (due := time.perf_counter() + self._every) < until:
            await asyncio.sleep(due - time.perf_counter())
            message = BackMsg()
            rerun = message.rerun_script
            rerun.query_string, rerun.page_script_hash, rerun.fragment_id = self._query, self._page, self._fragment
            rerun.is_auto_rerun = True
            began = time.perf_counter()
            await self._answer(message)
            self.found.ticks.append(1_000 * (time.perf_counter() - began))

    async def _answer(self, message: BackMsg) -> None:
        await self._socket.send(message.SerializeToString())
        async with asyncio.timeout(ANSWER_S):
            while True:
                answer = ForwardMsg.FromString(await self._socket.recv(decode=False))
                kind = answer.WhichOneof("type")
                if kind == "auto_rerun":
                    self._every, self._fragment = answer.auto_rerun.interval, answer.auto_rerun.fragment_id
                elif kind == "navigation":
                    self._page = answer.navigation.page_script_hash
                elif kind == "delta" and answer.delta.new_element.WhichOneof("type") == "exception":
                    self.found.errors.append(answer.delta.new_element.exception.message)
                elif kind == "script_finished" and answer.script_finished in ENDS:
                    return


@contextmanager
def training(server: Server) -> Iterator[Path]:
    """A small run of the server's, being trained meanwhile."""
    folder = server.home / "runs" / RUN
    words = [word for name, value in SETTINGS.items() for word in ("--set", f"{name}={value}")]
    launch.launch(folder, ["--preset", "shakespeare", "--device", "cpu", *words])
    try:
        began = None
        while began is None or time.time() < began + WARM_UP:
            now = launch.progress(folder)
            if not now.under_way:
                raise SystemExit(f"the run {now.state}: {now.why}\n{launch.log_tail(folder)}")
            if began is None and now.step:
                began = time.time()
            time.sleep(0.1)
        yield folder
    finally:
        launch.stop(folder)
        while launch.alive(folder):
            time.sleep(0.1)


def speed(folder: Path, began: float, ended: float) -> float:
    """Steps a second of a run between two moments, the median over what it has logged."""
    rows = [row for row in run_files.read(folder / "metrics.jsonl") if "loss" in row and began <= row["time"] <= ended]
    return median((b["step"] - a["step"]) / (b["time"] - a["time"]) for a, b in pairwise(rows))


async def _crowd(server: Server, folder: Path, count: int, seconds: float) -> dict[str, object]:
    found = Watched()
    async with AsyncExitStack() as stack:
        people, arriving = [Watcher(found) for _ in range(count)], asyncio.Semaphore(ARRIVING)

        async def arrive(watcher: Watcher) -> None:
            async with arriving:
                await watcher.open(server, stack)

        await asyncio.gather(*map(arrive, people))
        await _all_watch(people, SETTLED)
        found.ticks.clear()
        before, came = total(cpu_seconds, server.pid), sum(one.came for one in people)
        own, began = time.process_time(), time.time()
        await _all_watch(people, seconds)
        taken = time.time() - began
        return {"people": count, "steps_a_second": speed(folder, began, time.time()), "cpu_s": (
                    total(cpu_seconds, server.pid) - before) / taken, "own_cpu_s": (time.process_time() - own) / taken,
                "bytes": (sum(one.came for one in people) - came) / taken / max(1, count),
                "ticks": len(found.ticks) / taken, "tick_ms": spread(found.ticks), "errors": len(found.errors),
                "first_error": next(iter(found.errors), None), "load": os.getloadavg()[0]}


async def _all_watch(people: list[Watcher], seconds: float) -> None:
    until = time.perf_counter() + seconds
    await asyncio.gather(asyncio.sleep(seconds), *(watcher.watch(until) for watcher in people))


def watched(server: Server, folder: Path, count: int, seconds: float) -> dict[str, object]:
    """What so many who watch a run for some seconds cost, a second: `cpu_s` of the server, `bytes` for each of them,
    and the speed of the run meanwhile. None of them: how it is without."""
    return asyncio.run(_crowd(server, folder, count, seconds))


def main(
    points: Annotated[list[int], typer.Option(help="Points of the run; again for more.")] = [1_000, 100_000],  # noqa: B006
    repeats: Annotated[int, typer.Option(min=1)] = 20,
    people: Annotated[list[int], typer.Option(help="Who watch; again for another crowd.")] = [1, 100],  # noqa: B006
    seconds: Annotated[float, typer.Option(min=5, help="How long they watch.")] = 30,
) -> None:
    """Measure and print tables."""
    rows, crowds = [], []
    with chromium() as browser:
        for count in points:
            taken = in_browser(browser, count, repeats)
            ours, peer = taken["a new point"], taken["empty fragment"]
            rows.append({"points": count, "ours": ours, "peer": peer, "ratio": ours / peer, "met": ours / peer <= GOAL,
                         "first_ms": taken["first"], "open_ms": taken["opened"], "opens": taken["opened"] <= OPEN_MS})
    if any(people):
        with TemporaryDirectory() as name, serving(Path(name)) as server, training(server) as folder:
            crowds = list(compared(server, folder, [count for count in people if count], seconds))
    print(f"{platform.processor() or platform.machine()}, median of {repeats} ticks, milliseconds\n")
    print(f"{'points':>10} {'empty fragment':>15} {'a new point':>12} {'ratio':>6} {'opened first':>13} {'again':>6}")
    for row in rows:
        print(f"{row['points']:>10,} {row['peer']:>15.0f} {row['ours']:>12.0f} {row['ratio']:>6.2f} "
              f"{row['first_ms']:>13.0f} {row['open_ms']:>6.0f}")
    for crowd in crowds:
        print(f"\n{crowd['people']:,} watching: {crowd['cpu_ms']:.1f} ms of the server's processor and "
              f"{crowd['bytes'] / 1_000:.1f} kB a second each (goals {CPU_MS:g} and {BYTES / 1_000:g}); "
              f"{crowd['ticks']:.1f} answers a second, median {crowd['tick_ms']['median_ms']:.0f} ms; the training is "
              f"{crowd['slower']:+.0%} slower (goal {SLOWER:+.0%}) while the server takes {crowd['cpu_s']:.0%} of a "
              f"core and these people {crowd['own_cpu_s']:.0%}; load {crowd['load']:.1f}; {crowd['errors']} errors")


def compared(server: Server, folder: Path, people: list[int], seconds: float) -> Iterator[dict[str, object]]:
    """Each crowd with what it adds to nobody watching, which is measured before and after it."""
    before = watched(server, folder, 0, seconds)
    for count in people:
        crowd = watched(server, folder, count, seconds)
        after = watched(server, folder, 0, seconds)
        alone = [(before[name] + after[name]) / 2 for name in ("steps_a_second", "cpu_s")]
        yield crowd | {"alone": alone[0], "cpu_ms": 1_000 * (crowd["cpu_s"] - alone[1]) / count,
                       "slower": 1 - crowd["steps_a_second"] / alone[0]}
        before = after


if __name__ == "__main__":
    typer.run(main)
