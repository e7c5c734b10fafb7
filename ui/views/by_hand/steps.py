"""The steps, in order: all of them on one page, or one by one."""

from functools import partial
from pathlib import Path

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from transformer.by_hand.stages import ByHand
from ui.components.scripts import component
from ui.views.by_hand import one_head, whole_block
from ui.views.by_hand.address import ALL, PAGE
from ui.views.by_hand.matrices import NAMES

_narrow = component("by_hand_narrow", Path(__file__).parent / "narrow.js", "<span hidden></span>")
SHOWS = (one_head.show_ids, one_head.show_embeddings, one_head.show_qkv, one_head.show_products, one_head.show_scaled,
         one_head.show_mask, one_head.show_softmax, one_head.show_context, whole_block.show_heads,
         whole_block.show_concatenation, whole_block.show_projection, whole_block.show_add_and_norm,
         whole_block.show_feed_forward, whole_block.show_output)
ROWS = ((1, 2), (3,), (4, 5), (6, 7), (8,), (9,), (10, 11), (12,), (13,), (14,))  # side by side where there is room
WIDE = 12  # columns; with wider matrices every step has the whole width


def choose_word(name: str, short: str, meaning: str, words: list[str]) -> None:
    """The chooser of the query's or the key's word, in one line; words: as markdown."""
    with st.container(key=f"{PAGE}_{name}_line", horizontal=True, gap="xsmall", vertical_alignment="center",
                      width="content", wrap=False):
        st.markdown(short, width="content", help=f"{meaning.capitalize()}. Its row is marked in orange.")
        st.segmented_control(f"{short}: {meaning}", range(len(words)), key=f"{PAGE}_{name}", required=True,
                             format_func=words.__getitem__, persist_state="session", label_visibility="collapsed")


def begin_with_one() -> None:
    """Where a screen is narrow, all steps would be ten screens long: the first is shown alone, and the address says
    so."""
    _narrow(key=f"{PAGE}_narrow", on_narrow_change=_begin)


def _begin() -> None:
    if st.session_state[f"{PAGE}_step"] == ALL:
        st.session_state[f"{PAGE}_step"] = next(iter(NAMES))


def choose_step(place: DeltaGenerator, steps: list[int], *, all_of_them: bool) -> int | str:
    """The chooser of a step with the ways back and on; one of `steps` or ALL."""
    key, options = f"{PAGE}_step", [*([ALL] if all_of_them else []), *steps]
    wanted = st.session_state[key]
    if wanted not in options:
        st.session_state[key] = steps[0] if wanted == ALL else min(steps, key=lambda step: abs(step - wanted))
    at = options.index(st.session_state[key])
    with place:
        st.selectbox("Step", options, key=key, persist_state="session", width=235, filter_mode=None,
                     format_func=lambda step: "All steps" if step == ALL else f"{step} · {NAMES[step]}",
                     label_visibility="collapsed")
        st.button("Back", key=f"{PAGE}_back", disabled=at <= options.index(steps[0]), on_click=partial(
            _go, options, at - 1))
        st.button("Next", key=f"{PAGE}_next", disabled=at == len(options) - 1, type="primary", on_click=partial(
            _go, options, at + 1), help="The next step by itself")
    return st.session_state[key]


def _go(options: list[int | str], at: int) -> None:
    st.session_state[f"{PAGE}_step"] = options[at]


def show_steps(hand: ByHand, *, query: int, key: int, step: int | str) -> None:
    """One step, or every one, the query's row marked in each."""
    if step != ALL:
        with st.container(key=f"{PAGE}_one"):
            SHOWS[step - 1](hand, query, key)
        return
    s = hand.settings
    wide = max(s.d, s.d_k, s.d_v, len(s.words)) > WIDE
    for row in ROWS:
        places = [st.container()] * len(row) if wide or len(row) == 1 else st.columns(len(row), gap="large")
        for number, place in zip(row, places, strict=True):
            with place:
                SHOWS[number - 1](hand, query, key)
