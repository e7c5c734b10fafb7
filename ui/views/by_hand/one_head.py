"""Steps 1 to 8: from words to what one head has found."""

from math import sqrt

import streamlit as st
import torch

from transformer.by_hand.stages import ByHand
from transformer.model.masks import additive
from ui import figures
from ui.views.by_hand.matrices import DIVIDED_BY, draw, heading, spelled


def show_ids(hand: ByHand, query: int, key: int) -> None:
    s = hand.settings
    heading(1, f"A model reads numbers. Here the vocabulary is just the {len(s.vocabulary)} words of the sentence, "
            "sorted, capitals first; a word's id is its place in that order, counted from 0.", "section 3.4")
    draw(figures.number_matrix(torch.tensor([hand.ids]).numpy(), name="ids", rows=["id"], columns=s.words,
                               shape=(len(hand.ids),), decimals=0, kind="plain", cell=(0, query)))


def show_embeddings(hand: ByHand, query: int, key: int) -> None:
    s = hand.settings
    heading(2, f"The embedding table has a row of d = {s.d} numbers for each word, and an id picks a row. A model "
            "learns these numbers; here they are random.", "section 3.4")
    name = "embeddings" if s.positions else "x = embeddings"
    draw(figures.number_matrix(hand.table.numpy(), name="embedding table", rows=s.vocabulary, row=hand.ids[query]),
         figures.number_matrix(hand.embedded.numpy(), name=name, rows=s.words, row=query))
    if s.positions:
        st.markdown("Attention by itself cannot tell the order of words. Sines and cosines of the position are added "
                    "so that it can. :gray[Vaswani et al. 2017, section 3.5.]")
        draw(figures.number_matrix(hand.positions.numpy(), name="positions", rows=s.words, row=query),
             figures.number_matrix(hand.x.numpy(), name="x = embeddings + positions", rows=s.words, row=query))


def show_qkv(hand: ByHand, query: int, key: int) -> None:
    s, head = hand.settings, hand.heads[0]
    heading(3, f"Three matrices of weights turn each word's {s.d} numbers into a query (what it looks for), a key "
            "(what it can be found by) and a value (what it has to give). Queries and keys need the same width, "
            f"d_k = {s.d_k}; values may have another, d_v = {s.d_v}.", "sections 3.2.1 and 3.2.2")
    draw(*(figures.number_matrix(values.numpy(), name=name, rows=s.words, row=at) for name, values, at in
           (("q = x W_q", head.q, query), ("k = x W_k", head.k, key), ("v = x W_v", head.v, key))))
    with st.expander("The weights W_q, W_k and W_v"):
        draw(*(figures.number_matrix(values.numpy(), name=name, rows=list(map(str, range(s.d))))
               for name, values in zip(("W_q", "W_k", "W_v"), hand.projections[0], strict=True)))


def show_products(hand: ByHand, query: int, key: int) -> None:
    heading(4, "Every query is compared with every key: their numbers are multiplied one by one and added up. The "
            "more alike their directions, the larger the product. Rows are queries, columns keys.",
            "section 3.2.1, equation 1")
    draw(_square(hand, query, key, "q kᵀ", hand.heads[0].products), _spell(hand, query, key, "Product"))


def show_scaled(hand: ByHand, query: int, key: int) -> None:
    s, by = hand.settings, DIVIDED_BY[hand.settings.scale]
    paper = "" if s.scale == "sqrt(d_k)" else f" here; the paper divides by √d_k = {sqrt(s.d_k):.2f}"
    heading(5, f"Each product is divided by {by} = {s.divisor:.2f}{paper}. Wide vectors give large products; dividing "
            "by √d_k undoes that, so that the softmax does not put everything on one word.",
            "section 3.2.1, footnote 4")
    draw(_square(hand, query, key, f"q kᵀ / {by}", hand.heads[0].scaled), _spell(hand, query, key, "Scale"))


def show_mask(hand: ByHand, query: int, key: int) -> None:
    s, words = hand.settings, hand.settings.words
    heading(6, "−∞ is added to scores that must be hidden, 0 to all others. " + (
        "The causal mask hides later words, as in a decoder, which has not written them yet." if s.causal else
        "No mask is chosen, so nothing is hidden, as in an encoder."), "section 3.2.3")
    mask = torch.ones(len(words), len(words), dtype=torch.bool) if s.mask is None else s.mask
    draw(_square(hand, query, key, "mask", additive(mask), decimals=0),
         *([_square(hand, query, key, "scores + mask", hand.heads[0].scores)] if s.causal else []))


def show_softmax(hand: ByHand, query: int, key: int) -> None:
    heading(7, "e is raised to each score, and the result divided by the sum of its row. So every weight is between "
            "0 and 1 and every row adds up to 1. These are the attention weights.", "section 3.2.1, equation 1")
    draw(_square(hand, query, key, "weights", hand.heads[0].weights, kind="weights", sums="rows"),
         _spell(hand, query, key, "Mask", "Softmax"))


def show_context(hand: ByHand, query: int, key: int) -> None:
    s, head = hand.settings, hand.heads[0]
    heading(8, "Each word takes a share of every value, equal to its weight, and adds the shares up. A row is what "
            "the head has found for one word.", "section 3.2.1, equation 1")
    draw(figures.number_matrix(head.context.numpy(), name="context = weights v", rows=s.words, row=query),
         figures.spelled_sum(s.words[query], s.words, weights=head.weights[query].numpy(), v=head.v[:, 0].numpy(),
                             total=float(head.context[query, 0])))


def _square(hand: ByHand, query: int, key: int, name: str, values: torch.Tensor, **options) -> str:
    """Words by words, the query's row and the chosen cell marked."""
    words, mask = hand.settings.words, hand.settings.mask
    hidden = name in ("mask", "scores + mask", "weights") and mask is not None
    return figures.number_matrix(values.numpy(), name=name, rows=words, columns=words, row=query, cell=(query, key),
                                 allowed=mask.numpy() if hidden else None, **options)


def _spell(hand: ByHand, query: int, key: int, *lines: str) -> str:
    """How the chosen query and key come to their number in this step."""
    s = hand.settings
    return spelled(hand.heads[0], s.words, s.words, query, key, divisor=s.divisor, divided_by=DIVIDED_BY[s.scale],
                   allowed=None if s.mask is None else s.mask.numpy(), lines=lines)
