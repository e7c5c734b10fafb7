"""The controls that step through a text, and what they have asked for: the place that presses add up to, and the
candidates said on the way."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import streamlit as st

from ui.components.scripts import HERE, component
from ui.present import presenting

if TYPE_CHECKING:
    from ui.stepper.walk import Walk

FARTHEST = 200  # steps that "last" goes at most

_controls = component("step_controls", HERE / "controls.js",
                      '<div class="controls" role="toolbar" aria-label="Steps" style="min-height: 2.5rem"></div>')


def show_controls(page: str, walk: "Walk") -> None:
    """First, back, step, play, last; keys; speed; copy the link."""
    _controls(key=f"{page}_controls", on_move_change=lambda: None,
              data={"index": walk.index, "last": walk.last, "walk": st.session_state[f"{page}_walks"],
                    "answered": st.session_state.get(f"{page}_answered", 0), "farthest": FARTHEST,
                    "large": presenting(page)})


def move_of(page: str) -> dict | None:
    """What the controls have sent: {index, number, walk, from, choices}; None where it is not what they send."""
    sent = st.session_state.get(f"{page}_controls")
    move = sent.get("move") if sent else None
    if not isinstance(move, Mapping) or not _whole(move, "index", "number"):
        return None
    choices = move.get("choices", ())
    return dict(move, walk=move.get("walk") if _whole(move, "walk") else None,
                **{"from": move["from"] if _whole(move, "from") else 0},
                choices=[one for one in choices if _whole(one, "number", "at", "nth")]
                if isinstance(choices, list) else [])


def _whole(sent: object, *names: str) -> bool:
    """Whether these of what was sent are whole numbers that a browser counts to."""
    return isinstance(sent, Mapping) and all(
        isinstance(sent.get(name), int) and 0 <= sent[name] < 10 ** 9 for name in names)
