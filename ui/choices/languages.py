"""The examples of the pages, which not every model can be given."""

from collections.abc import Mapping

import streamlit as st

from transformer.checkpoints.checkpoint import Checkpoint
from transformer.checkpoints.openings import reads_examples


def fit_pairs(page: str, ckpt: Checkpoint, examples: Mapping[str, str]) -> None:
    """Removes untouched examples, by key, from boxes of another language, and puts them back; before their widgets."""
    state, left = st.session_state, f"{page}_examples_left"
    if not reads_examples(ckpt.description):
        if any(state[key] for key in examples) and all(state[key] == text for key, text in examples.items()):
            state.update(dict.fromkeys(examples, ""), **{left: True})
    elif state.pop(left, False) and not any(state[key] for key in examples):
        state.update(examples)
