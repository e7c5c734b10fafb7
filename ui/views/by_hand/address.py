"""The address of By hand, and the settings that its widgets are set to."""

from pathlib import Path

import streamlit as st

from transformer.by_hand.random_numbers import GENERATORS
from transformer.by_hand.stages import BOUNDS, SCALES, SENTENCE, Settings
from ui.page.link import Field, choice, leave_at, optional, quiet, text, whole, wholes
from ui.views.by_hand.matrices import NAMES

PAGE = "by_hand"
STYLE = (Path(__file__).parent / "page.css").read_text("utf-8")
PARTS = {"steps": "Steps", "exercise": "Exercise", "scale": "Why √d_k", "batch": "Heads in the batch",
         "slips": "Four common mistakes", "trained": "A trained head"}
MASKS = ("none", "causal")
ALL = "all"  # the steps
FILLS = {"row": "The query's row", "matrix": "The whole matrix"}
FIRST = Settings()
FARTHEST = 1_000
TRAINED = {  # brought into range where the range is known; a head of the translator that aligns words
    "kind": Field(None), "layer": whole(1, 0, FARTHEST), "head": whole(3, 0, FARTHEST),
    "row": whole(FARTHEST, 0, FARTHEST), "column": whole(0, 0, FARTHEST)}
FIELDS = {
    "text": text(SENTENCE), **{name: whole(getattr(FIRST, name), *bounds) for name, bounds in BOUNDS.items()},
    "scale": choice(SCALES[0], SCALES), "mask": choice(MASKS[0], MASKS),
    "query": optional(whole(0, 0, FARTHEST)),  # the last word, without one
    "key": whole(0, 0, FARTHEST), "part": choice("steps", list(PARTS)), **TRAINED,
    "positions": Field(False, {"yes": True}.__getitem__, lambda on: "yes" if on else None),
    "numbers": quiet(choice(GENERATORS[0], GENERATORS)), "step": quiet(choice(ALL, [ALL, *NAMES])),
    "fill": quiet(choice("row", list(FILLS))), "sheet": quiet(wholes([4, 5, 7, 8], len(NAMES), count=len(NAMES)))}


def leave() -> None:
    """As `leave_at`; a trained head is in the address where it is looked at."""
    state, trained = st.session_state, st.session_state[f"{PAGE}_part"] == "trained"
    leave_at(PAGE, FIELDS, checkpoint=state[f"{PAGE}_checkpoint"] if trained else None,
             **({} if trained else dict.fromkeys(TRAINED)))


def settings() -> Settings:
    """What the widgets are set to. Raises ValueError for a sentence that cannot be written out."""
    state = st.session_state
    numbers = {name: int(state[f"{PAGE}_{name}"]) for name in BOUNDS}
    return Settings(state[f"{PAGE}_text"], scale=state[f"{PAGE}_scale"], causal=state[f"{PAGE}_mask"] == "causal",
                    positions=state[f"{PAGE}_positions"], numbers=state[f"{PAGE}_numbers"], **numbers)


def place(name: str, count: int) -> int:
    """A chosen place, brought into range of `count` places; the last where none is chosen."""
    key = f"{PAGE}_{name}"
    chosen = st.session_state.get(key)
    st.session_state[key] = count - 1 if chosen is None else max(0, min(int(chosen), count - 1))
    return st.session_state[key]


def move_word(by: int) -> None:
    """Swap the chosen query word with its neighbour; it stays chosen, and so does the key word."""
    state, words = st.session_state, settings().words
    here = state[f"{PAGE}_query"]
    there = here + by
    if 0 <= here < len(words) and 0 <= there < len(words):
        words[here], words[there] = words[there], words[here]
        state[f"{PAGE}_text"] = " ".join(words)
        state[f"{PAGE}_query"] = there
        state[f"{PAGE}_key"] = {here: there, there: here}.get(state[f"{PAGE}_key"], state[f"{PAGE}_key"])
