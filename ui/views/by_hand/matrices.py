"""Elements of all parts of By hand: a step's heading, matrices side by side, one weight spelled out."""

from collections.abc import Collection
from typing import NamedTuple

import streamlit as st
import torch

from transformer.by_hand.stages import Head
from transformer.by_hand.window import window
from ui import figures
from ui.page.presentation import presenting

PAGE = "by_hand"
CONTENTS = {
    "ids": "Ids", "embeddings": "Embeddings", "qkv": "Queries, keys, values", "products": "Unnormalised scores",
    "scaled": "Scaled scores", "mask": "Mask", "softmax": "Softmax", "context": "Context vectors",
    "heads": "Several heads", "concatenation": "Concatenation", "projection": "Output projection",
    "add-and-norm": "Add and normalise", "feed-forward": "Feed-forward", "block": "The block's output"}
NAMES = dict(enumerate(CONTENTS.values(), start=1))  # number -> step


class Places(NamedTuple):
    """What is marked and shown of a sentence."""

    query: int
    key: int
    first: int = 0  # of the numbers that wide matrices show


def heading(number: int, text: str, section: str) -> None:
    """The heading of a step, its text and its section in the paper."""
    if not presenting(PAGE):  # else the chooser above says it
        st.header(f"{number} · {NAMES[number]}", anchor=list(CONTENTS)[number - 1])
    st.markdown(f"{text} :gray[Vaswani et al. 2017, {section}.]")


def numbers(values: torch.Tensor, name: str, first: int, **options) -> str:
    """A matrix (R, C) as HTML, a window of it if it is wide; options: as of `figures.number_matrix`."""
    rows, columns = values.shape
    return figures.number_matrix(values.numpy(), name=name, seen=(window(rows, first), window(columns, first)),
                                 **options)


def draw(*matrices: str) -> None:
    """Draws matrices side by side, as many as there is room for."""
    st.html(figures.side_by_side(matrices))


def difference(one: torch.Tensor, other: torch.Tensor) -> str:
    """The largest difference between two tensors, as text."""
    largest = float((one - other).abs().max())
    return f"{largest:.1e}" if largest else "0"


def spelled(head: Head, queries: list[str], keys: list[str], query: int, key: int, *, divisor: float, divided_by: str,
            allowed, lines: Collection[str] | None = None, first: int | None = None,
            root: float | None = None) -> str:
    """One weight of a head spelled out, as HTML; lines: the steps to show, by default all; first: of the numbers of q
    and k that are written out if they are many, by default all; root: what q and k are each divided by, if they are."""
    return figures.spelled_cell(
        queries[query], keys[key], q=head.q[query].numpy(), k=head.k[key].numpy(),
        product=float(head.products[query, key]), divisor=divisor, divided_by=divided_by,
        scaled=head.scaled[query].tolist(), bias=None if head.bias is None else head.bias[query].tolist(), at=key,
        weight=float(head.weights[query, key]), allowed=None if allowed is None else allowed[query], lines=lines,
        seen=None if first is None else window(head.q.shape[1], first), root=root)
