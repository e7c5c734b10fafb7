"""The curves of runs on a canvas: only points that the browser has not got travel."""

from functools import partial
from pathlib import Path

import streamlit as st

from transformer.attention_view.message import SHARED_SCRIPT, pack
from ui import resources
from ui.figures.palette import CATEGORICAL

HERE = Path(__file__).parent
MOST_RUNS = 12
REFERENCES = {  # corpus -> the published figure that a curve may be held against
    "tiny-shakespeare": (1.4697, "nanoGPT, 10.65M parameters, by characters: 1.4697")}

_view = st.components.v2.component("run_curves", html='<div class="run-curves"></div>',
                                   css=(HERE / "run_curves.css").read_text("utf-8"),
                                   js=f"{SHARED_SCRIPT}\n{(HERE / 'run_curves.js').read_text('utf-8')}")


def show_curves(prefix: str, folders: list[Path], *, dark: bool, unit: str = "nats a token",
                reference: tuple[float, str] | None = None) -> None:
    """Draw the curves of up to MOST_RUNS runs, and with the next call for the same ones what is new of them.

    What a browser was sent is kept in session state under <prefix>_curves_sent; it asks for all where it has less.
    """
    state = st.session_state
    sent: dict[str, dict[str, int]] = state.setdefault(f"{prefix}_curves_sent", {})
    runs, arrays = [], {}
    for number, folder in enumerate(folders[:MOST_RUNS]):
        curves = resources.curves(folder)
        curves.update()
        key = f"{folder.name}/{curves.generation}"
        have = sent.get(key, {})
        groups = {}
        for group in ("train", "held_out"):
            start = have.get(group, 0)
            columns = curves.since(group, start)
            count = len(columns["step"])
            groups[group] = {"start": start, "count": count, "columns": list(columns)}
            if count:
                arrays |= {f"{number}/{group}/{name}": column for name, column in columns.items()}
        sent[key] = {group: about["start"] + about["count"] for group, about in groups.items()}
        runs.append({"key": key, "name": folder.name, "colour": CATEGORICAL[number % len(CATEGORICAL)],
                     "dashed": number >= len(CATEGORICAL), "groups": groups, "skipped": curves.skipped})
    _view(key=f"{prefix}_curves", on_missing_change=partial(_send_all, prefix),
          data=pack({"runs": runs, "dark": dark, "unit": unit, "reference": reference}, arrays))


def _send_all(prefix: str) -> None:
    st.session_state.pop(f"{prefix}_curves_sent", None)
