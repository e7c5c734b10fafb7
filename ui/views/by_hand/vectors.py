"""Query and keys of a trained head as arrows to drag: products, softmax with a temperature, and what is carried."""

from collections.abc import Mapping
from pathlib import Path

import streamlit as st
import torch
from streamlit.delta_generator import DeltaGenerator

from transformer.by_hand.trained import TrainedHead, in_plane, trained_head
from transformer.checkpoints.checkpoint import Description
from ui import figures
from ui.choices.checkpoint import choose_checkpoint
from ui.choices.head import head_controls, head_in_range, origin
from ui.components.scripts import component
from ui.figures.palette import BAR, NEGATIVE
from ui.page.plain_text import say_error
from ui.page.presentation import settings
from ui.views.by_hand.dragged import COLDEST, HOTTEST, MOVED, QUERY
from ui.views.by_hand.experiments import LONGEST, read
from ui.views.by_hand.settings import PAGE, place

_vectors = component("by_hand_vectors", Path(__file__).parent / "vectors.js", '<div class="vectors"></div>')
DRAWN = 6  # keys, those with the largest weights


def show_vectors(text: str, *, arrived: bool, choosers: DeltaGenerator, bar: DeltaGenerator) -> None:
    """One query of a head and its keys, to drag. arrived: by a link, whose dragged places are those of its head;
    choosers, bar: where the head and the query are chosen."""
    with choosers, st.popover("Head", icon=":material/tune:", key=f"{PAGE}_vectors_settings"):
        one = _choose_head(text)
    if isinstance(one, str):
        say_error(one)
        return
    row = place("row", len(one.queries))
    with bar, settings(PAGE, "row"):
        st.selectbox("Query token", range(len(one.queries)), key=f"{PAGE}_row", persist_state="session", width=190,
                     format_func=lambda spot: f"Query {spot} · {figures.plain_label(one.queries[spot])}",
                     label_visibility="collapsed", filter_mode=None)
    picture = message(one, row, one.step.ckpt.description)
    state = st.session_state
    if not arrived and state.get(f"{PAGE}_moved_in", picture["name"]) != picture["name"]:
        state[f"{PAGE}_moved"] = {}
    state[f"{PAGE}_moved_in"] = picture["name"]
    with st.container(key=f"{PAGE}_vectors_picture"):
        _vectors(key=f"{PAGE}_vectors", on_dragged_change=_take_over, data=picture | {
            "moved": state[f"{PAGE}_moved"], "temperature": state[f"{PAGE}_temperature"],
            "coldest": COLDEST, "hottest": HOTTEST})
    st.caption("The horizontal axis is the query's direction, so every q · k is exact; the vertical axis shows most of "
               "what remains of the keys. weight × |v| is how much of each key's value is added to the sum.")
    st.caption(f"{figures.markdown_text(origin(one.step.ckpt))} · {one.kind} "
               f"{figures.head_label(one.layer, one.head)} · d_k = {one.numbers.q.shape[1]} · "
               f"{picture['kept']:.0%} of |k|² is in the plane")


def _choose_head(text: str) -> TrainedHead | str:
    """Draws the choosers; a message where the sentence cannot be read."""
    ckpt = choose_checkpoint(PAGE)
    try:
        step = read(ckpt, text)
        kind, layer, at = head_in_range(PAGE, ckpt.config)
        head_controls(PAGE, ckpt.config)
        return trained_head(step, kind, layer, at, longest=LONGEST)
    except ValueError as error:
        return str(error)


def _take_over() -> None:
    """Keeps what was dragged and turned in the browser; nothing that could not be read."""
    state, sent = st.session_state, getattr(st.session_state.get(f"{PAGE}_vectors"), "dragged", None)
    if not isinstance(sent, Mapping):
        return
    for name, field in MOVED.items():
        try:
            state[f"{PAGE}_{name}"] = field.read(str(sent.get(name, "")))
        except ValueError:
            continue


def message(one: TrainedHead, row: int, about: Description) -> dict:
    """What the script draws: the query of a row and all keys that it may look at, the largest weights first."""
    numbers, weights = one.numbers, one.weights[row]
    seen = [at for at in range(len(one.keys)) if bool(one.mask[row, at])]
    plane = in_plane(numbers.q[row], numbers.k[seen])
    places = dict(zip(seen, plane.keys, strict=True))
    order = sorted(seen, key=lambda at: -float(weights[at]))
    labels = [figures.plain_label(token) for token in one.keys]

    def key(at: int) -> dict:
        twice = sum(labels[at] == labels[other] for other in seen) > 1
        return {"id": str(at), "label": f"{labels[at]} ({at})" if twice else labels[at],
                "place": _plain(places[at]), "value": _plain(numbers.v[at]), "weight": float(weights[at]),
                "bias": 0.0 if numbers.bias is None else float(numbers.bias[row, at])}

    return {"name": f"{about.id} {one.kind} {one.layer} {one.head} {row} {one.step.text} {' '.join(one.queries)}",
            "kept": float(plane.kept.mean()),
            "query": {"id": QUERY, "label": figures.plain_label(one.queries[row]), "place": _plain(plane.query)},
            "keys": [key(at) for at in order], "drawn": DRAWN, "divisor": one.divisor, "divided_by": one.divided_by,
            "cap": one.cap, "bar": BAR, "negative": NEGATIVE}


def _plain(values: torch.Tensor) -> list[float]:
    """Numbers for JSON, with as many digits as a float has."""
    return [float(f"{value:.7g}") for value in values.tolist()]
