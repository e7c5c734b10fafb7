"""Texts to try with one click."""

import streamlit as st

from transformer.checkpoints.checkpoint import Checkpoint
from transformer.checkpoints.openings import quick_texts, reads_examples
from ui.choices.text_box import TextState
from ui.figures import markdown_text
from ui.page.plain_text import end_of
from ui.page.presentation import presenting
from ui.state.page_state import Kept

IDS = "1 2 3"  # what is read to begin with where there is no tokenizer


class Examples(TextState):
    """What is kept of the texts to try."""

    example: Kept[int | None] = Kept(None)  # the one that was clicked
    example_left: Kept[str | None] = Kept(None)  # by a checkpoint that cannot read it
    examples_before: Kept[list[str] | None] = Kept(None)  # for the checkpoint that was there before


def fit_example(page: str, ckpt: Checkpoint, examples: list[str], *, others: list[str] | None = None) -> None:
    """Before the text's widget: an example that nobody changed becomes one for the checkpoint that is there now: ids
    for one that reads ids, nothing for one of another language, and the example back for any other. others: examples
    for other checkpoints; without them those of the checkpoint that was there before."""
    state = Examples(page)
    text, others = state.text, others or state.examples_before
    state.examples_before = examples
    if others and others != examples and text in others and text not in examples:
        text = state.text = examples[0]
    about = ckpt.description
    ids, fits = not ckpt.reads_text, bool(quick_texts(about)) or reads_examples(about)
    if text in examples and (ids or not fits):
        state.example_left, state.text = text, IDS if ids else ""
    elif text in ("", IDS) and not ids and Examples.example_left.known(page):
        kept = Examples.example_left.pop(page)
        state.text = (kept if kept in examples else examples[0]) if fits else ""


def example_pills(page: str, examples: list[str]) -> None:
    """Texts to try with one click."""
    if presenting(page):
        return
    state = Examples(page)

    def use() -> None:
        if state.example is not None:
            state.text, state.example = examples[state.example], None

    st.pills("Examples", list(range(len(examples))), key=Examples.example.key(page), on_change=use,
             label_visibility="collapsed", wrap=True, format_func=lambda at: markdown_text(end_of(examples[at])))
