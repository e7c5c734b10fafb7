"""What it costs to watch a run: a tick of the live curves in Chromium, and those who watch one that is being trained.

    python benchmarks/watch.py [--points 1000 --points 100000] [--people 1 --people 100] [--seconds 30] [--json]

A tick: a run's metrics file has grown by one row, the fragment runs again, and the browser has drawn the new point;
from the click that asks for it to the animation frame after, against a fragment of the same server that draws nothing.
Goal: at most 1.5 times that at 100,000 points. Opening: from the click that shows a run's curves for the first time to
the frame in which all its points are drawn; the page, the script and uPlot are there. Goal: 500 ms for 100,000 points.

Watching: people have the page of a small run open that trains meanwhile on the processors of this machine, and ask for
what is new as often as it says. Goals for one: 25 ms of the server's processor and 10 kB a second; a hundred slow the
training by at most a tenth. Its speed is measured before, meanwhile and after; `--people 0` leaves all that out.
"""

import platform
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Annotated

import orjson
import typer
from playwright.sync_api import Browser, Page

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.draw import chromium, clicked, measure, served, settled
from benchmarks.watchers import training, watched
from tests.raw.client import Server, serving

GOAL, OPEN_MS = 1.5, 500.0
CPU_MS, BYTES, SLOWER = 25.0, 10_000.0, 0.1
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


def main(
    points: Annotated[list[int], typer.Option(help="How long the run is; again for more.")] = [1_000, 100_000],  # noqa: B006
    repeats: Annotated[int, typer.Option(min=1)] = 20,
    people: Annotated[list[int], typer.Option(help="How many watch; again for another crowd.")] = [1, 100],  # noqa: B006
    seconds: Annotated[float, typer.Option(min=5, help="How long they watch.")] = 30,
    as_json: Annotated[bool, typer.Option("--json")] = False,
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
    if as_json:
        print(orjson.dumps({"machine": platform.processor() or platform.machine(), "rows": rows,
                            "watchers": crowds}).decode())
        return
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
