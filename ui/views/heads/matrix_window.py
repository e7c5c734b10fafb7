"""As much of a head's matrix as a page draws."""

import numpy as np
import streamlit as st

from ui import figures

LARGEST = 256  # tokens along a side
LABELLED = 60  # beyond these the axes of a picture have numbers alone


def windowed(matrices: list[np.ndarray], queries: list[str], keys: list[str], mask: np.ndarray | None) -> tuple:
    """Matrices (Tq, Tk) of the same tokens, their labels and their mask, cut to the first tokens, with a word on it,
    where there are more than can be drawn."""
    if max(len(queries), len(keys)) > LARGEST:
        st.caption(f"{len(queries):,} queries and {len(keys):,} keys: the first {LARGEST} of each are drawn.")
    cut = np.s_[:LARGEST, :LARGEST]
    return ([matrix[cut] for matrix in matrices], queries[:LARGEST], keys[:LARGEST],
            None if mask is None else np.asarray(mask)[cut])


def say_tokens(queries: list[str], keys: list[str]) -> None:
    """The tokens with their positions, where there are too many to stand along the axes."""
    sides = {"tokens": queries} if queries == keys else {"queries, down": queries, "keys, across": keys}
    for name, tokens in sides.items():
        if len(tokens) > LABELLED:
            st.caption(f"The axes count {figures.markdown_text(name)}:")
            st.html(figures.token_chips(tokens, label=f"{name} by position", small=True, numbered=True))
