"""How long a tick of the live curves takes in Chromium, against a fragment of the same server that draws nothing.

    python benchmarks/watch.py [--points 1000 --points 100000] [--json]

A tick: a run's metrics file has grown by one row, the fragment runs again, and the browser has drawn the new point;
from the click that asks for it to the animation frame after. Goal: at most 1.5 times the empty fragment's at 100,000
points.
"""

import platform
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import orjson
import typer
from playwright.sync_api import Browser, Page

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.draw import chromium, clicked, measure, served, settled

GOAL = 1.5
FRAGMENT = """import streamlit as st

@st.fragment
def tick():
    st.button("Tick", on_click=lambda: st.session_state.update(runs=st.session_state.get("runs", 0) + 1))
    st.html(f'<output id="runs">{st.session_state.get("runs", 0)}</output>')

tick()
"""
CURVES = """from pathlib import Path
import streamlit as st
from transformer.training import metrics
from ui.components.run_curves import show_curves

folder = Path(FOLDER)

@st.fragment
def tick():
    if st.button("Tick"):
        step = metrics.last(folder / "metrics.jsonl")["step"] + 10
        metrics.append(folder / "metrics.jsonl", {"step": step, "seconds": step / 20, "loss": 1.0, "lr": 1e-3,
                                                  "grad_norm": 1.0, "tokens_per_sec": 5e3})
    show_curves("watch", [folder], dark=False)

tick()
"""


def write_run(folder: Path, points: int) -> None:
    """Writes a run whose metrics have that many points."""
    folder.mkdir(parents=True)
    rows = ({"step": 10 * i, "seconds": i / 2, "loss": 1 + 3 / (1 + i / 100) + 0.1 * (i % 7), "lr": 1e-3 / i,
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


def tick(browser: Browser, points: int, repeats: int) -> dict[str, float]:
    """Median milliseconds of a tick of an empty fragment and of the curves of a run with so many points."""
    with TemporaryDirectory() as name:
        home = Path(name)
        write_run(home / "runs" / "long", points)
        script = CURVES.replace("FOLDER", repr(str(home / "runs" / "long")))
        with served(home, {"fragment": FRAGMENT, "curves": script}) as url:
            context = browser.new_context(viewport={"width": 1440, "height": 1000})
            empty, curves = context.new_page(), context.new_page()
            empty.goto(f"{url}/fragment")
            curves.goto(f"{url}/curves")
            curves.locator(f'.run-curves[data-points="{points}"]').wait_for()
            for tab in (empty, curves):
                settled(tab)
            return measure(ticks(empty, curves), repeats)


def main(
    points: Annotated[list[int], typer.Option(help="How long the run is; again for more.")] = [1_000, 100_000],  # noqa: B006
    repeats: Annotated[int, typer.Option(min=1)] = 20,
    as_json: Annotated[bool, typer.Option("--json")] = False,
) -> None:
    """Measure and print a table."""
    rows = []
    with chromium() as browser:
        for count in points:
            taken = tick(browser, count, repeats)
            ours, peer = taken["a new point"], taken["empty fragment"]
            rows.append({"points": count, "ours": ours, "peer": peer, "ratio": ours / peer, "met": ours / peer <= GOAL})
    if as_json:
        print(orjson.dumps({"machine": platform.processor() or platform.machine(), "rows": rows}).decode())
        return
    print(f"{platform.processor() or platform.machine()}, median of {repeats} ticks, milliseconds\n")
    print(f"{'points':>10} {'empty fragment':>15} {'a new point':>12} {'ratio':>6}")
    for row in rows:
        print(f"{row['points']:>10,} {row['peer']:>15.0f} {row['ours']:>12.0f} {row['ratio']:>6.2f}")


if __name__ == "__main__":
    typer.run(main)
