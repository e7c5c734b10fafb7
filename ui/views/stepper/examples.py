"""Texts to try with one click."""

import streamlit as st

from transformer.checkpoints.checkpoint import Checkpoint
from transformer.checkpoints.openings import quick_texts, reads_examples
from ui.figures import markdown_text
from ui.page.plain_text import end_of
from ui.page.presentation import presenting

IDS = "1 2 3"  # what is read to begin with where there is no tokenizer


def fit_example(page: str, ckpt: Checkpoint, examples: list[str], *, others: list[str] | None = None) -> None:
    """Before the text's widget: an example that nobody changed becomes one for the checkpoint that is there now: ids
    for one that reads ids, nothing for one of another language, and the example back for any other. others: examples
    for other checkpoints; without them those of the checkpoint that was there before."""
    state = st.session_state
    text, left, before = state.get(f"{page}_text"), f"{page}_example_left", f"{page}_examples_before"
    others = others or state.get(before)
    state[before] = examples
    if others and others != examples and text in others and text not in examples:
        text = state[f"{page}_text"] = examples[0]
    about = ckpt.description
    ids, fits = not ckpt.reads_text, bool(quick_texts(about)) or reads_examples(about)
    if text in examples and (ids or not fits):
        state[left], state[f"{page}_text"] = text, IDS if ids else ""
    elif text in ("", IDS) and not ids and left in state:
        kept = state.pop(left)
        state[f"{page}_text"] = (kept if kept in examples else examples[0]) if fits else ""


def example_pills(page: str, examples: list[str]) -> None:
    """Texts to try with one click."""
    if presenting(page):
        return
    key = f"{page}_example"

    def use() -> None:
        if st.session_state[key] is not None:
            st.session_state[f"{page}_text"] = examples[st.session_state[key]]
            st.session_state[key] = None

    st.pills("Examples", list(range(len(examples))), key=key, on_change=use, label_visibility="collapsed", wrap=True,
             format_func=lambda at: markdown_text(end_of(examples[at])))
