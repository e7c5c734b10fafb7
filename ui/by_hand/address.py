"""What the address of By hand says, brought into range, and the settings that its widgets are set to."""

from collections.abc import Mapping

import streamlit as st

from transformer.by_hand.stages import BOUNDS, SCALES, SENTENCE, Settings
from ui.arrival import arrived, put_address
from ui.walk import fits_a_link

PAGE = "by_hand"
PARTS = {"steps": "Step by step", "scale": "Why √d_k", "batch": "Heads in the batch", "slips": "Three slips",
         "trained": "A trained head"}
MASKS = ("none", "causal")
FIRST = Settings()
PLACES = ("query", "key", "layer", "head", "row", "column")  # brought into range where the range is known
FARTHEST = 1_000


def read(params: Mapping[str, str]) -> dict[str, object]:
    """The values of all widgets; what is missing or cannot be read is as at the start."""
    def number(name: str, least: int, most: int, otherwise: int) -> int:
        try:
            value = float(params[name])
        except (KeyError, ValueError):
            return otherwise
        return int(max(least, min(value, most)))  # nan compares as false and ends up as the least

    def one_of(name: str, options: tuple[str, ...]) -> str:
        return params[name] if params.get(name) in options else options[0]

    numbers = {name: number(name, *bounds, getattr(FIRST, name)) for name, bounds in BOUNDS.items()}
    text = params.get("text", SENTENCE)
    words = max(1, len(text.split()))
    places = {"query": words - 1, "key": 0, "layer": 0, "head": 0, "row": FARTHEST, "column": 0}
    return numbers | {name: number(name, 0, FARTHEST, otherwise) for name, otherwise in places.items()} | {
        "text": text, "scale": one_of("scale", SCALES), "mask": one_of("mask", MASKS),
        "positions": params.get("positions") == "yes", "part": one_of("part", tuple(PARTS)),
        "checkpoint": params.get("checkpoint"), "kind": params.get("kind")}


def arrive() -> None:
    """Put the address into the widgets where somebody has just come by it."""
    state = st.session_state
    params = arrived(PAGE, known=f"{PAGE}_text" in state)
    if params is None:
        for name in ("part", "mask", "positions", *BOUNDS):  # a browser cannot leave them without a value
            if state.get(f"{PAGE}_{name}") is None:
                state[f"{PAGE}_{name}"] = read({})[name]
        return
    for name, value in read(params).items():
        state[f"{PAGE}_{name}"] = value


def leave_address() -> None:
    """Put all that decides the picture into the address bar."""
    state = st.session_state
    names = ["text", *BOUNDS, "scale", "mask", "query", "key", "part"]
    if state[f"{PAGE}_part"] == "trained":
        names += ["checkpoint", "kind", "layer", "head", "row", "column"]
    params = {name: str(state[f"{PAGE}_{name}"]) for name in names if state.get(f"{PAGE}_{name}") is not None}
    if state[f"{PAGE}_positions"]:
        params["positions"] = "yes"
    if not fits_a_link(params):
        st.caption("This sentence is too long for a link: the address leaves it out.")
        del params["text"]
    put_address(PAGE, params)


def settings() -> Settings:
    """What the widgets are set to. Raises ValueError for a sentence that cannot be written out."""
    state = st.session_state
    numbers = {name: int(state[f"{PAGE}_{name}"]) for name in BOUNDS}
    return Settings(state[f"{PAGE}_text"], scale=state[f"{PAGE}_scale"], causal=state[f"{PAGE}_mask"] == "causal",
                    positions=state[f"{PAGE}_positions"], **numbers)


def place(name: str, count: int) -> int:
    """A chosen place, brought into range of `count` places."""
    key = f"{PAGE}_{name}"
    st.session_state[key] = max(0, min(int(st.session_state.get(key) or 0), count - 1))
    return st.session_state[key]


def move_word(by: int) -> None:
    """Swap the chosen query word with its neighbour; it stays chosen, and so does the key word."""
    state, words = st.session_state, st.session_state[f"{PAGE}_text"].split()
    here = state[f"{PAGE}_query"]
    there = here + by
    if 0 <= here < len(words) and 0 <= there < len(words):
        words[here], words[there] = words[there], words[here]
        state[f"{PAGE}_text"] = " ".join(words)
        state[f"{PAGE}_query"] = there
        state[f"{PAGE}_key"] = {here: there, there: here}.get(state[f"{PAGE}_key"], state[f"{PAGE}_key"])
