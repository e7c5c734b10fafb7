"""The layout that all views of Heads share: the page's sizes, boxes that open on demand, matrices cut to what can be
drawn."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import streamlit as st

from ui import figures

STYLE = (Path(__file__).parent / "page_layout.css").read_text("utf-8")
LARGEST = 256  # tokens along a side
LABELLED = 60  # tokens; the axes of a picture with more have numbers alone


def style(page: str) -> None:
    """Sets the sizes of the page so that a view's first screen fits the window."""
    st.html(f"<style>{STYLE.replace('PAGE', page)}</style>")


@contextmanager
def behind(page: str, name: str, label: str) -> Iterator[bool]:
    """A closed box; yields whether it has been opened, so that its contents are made only then."""
    with st.expander(label, key=f"{page}_{name}", on_change="rerun") as box:
        yield bool(box.open)


def windowed(matrices: list[np.ndarray], queries: list[str], keys: list[str], mask: np.ndarray | None) -> tuple:
    """Matrices (Tq, Tk) of the same tokens, their labels and their mask; cut to the first tokens, with a caption that
    says so, where there are more than can be drawn."""
    if max(len(queries), len(keys)) > LARGEST:
        st.caption(f"{len(queries):,} queries and {len(keys):,} keys: the first {LARGEST} of each are drawn.")
    cut = np.s_[:LARGEST, :LARGEST]
    return ([matrix[cut] for matrix in matrices], queries[:LARGEST], keys[:LARGEST],
            None if mask is None else np.asarray(mask)[cut])


def say_tokens(queries: list[str], keys: list[str]) -> None:
    """The tokens with their positions, where they are too many for the axes."""
    sides = {"tokens": queries} if queries == keys else {"queries, down": queries, "keys, across": keys}
    for name, tokens in sides.items():
        if len(tokens) > LABELLED:
            st.caption(f"The axes count {figures.markdown_text(name)}:")
            st.html(figures.token_chips(tokens, label=f"{name} by position", small=True, numbered=True))
