"""Four common mistakes, each made on the sentence beside what is right, and the number that gives it away."""

from math import exp

import numpy as np
import streamlit as st

from transformer.by_hand.experiments import PADS, Slip, mask_after_softmax, padding_masked, scales, softmax_over_queries
from transformer.by_hand.stages import ByHand
from transformer.model.masks import causal_mask
from ui import figures
from ui.views.by_hand.address import PAGE
from ui.views.by_hand.matrices import draw

NAMES = {"sqrt(d_k)": "√d_k", "1": "1 (not at all)", "sqrt(d_model)": "√d_model", "d_k": "d_k"}
BLOCKED = {"nothing": "no padding masked", "keys": "keys' padding masked", "queries": "queries' padding masked",
           "both": "both masked"}


def show_mistakes(hand: ByHand, *, query: int) -> None:
    """The four, in order of how often they are made in class."""
    st.markdown("None of these raises an error, because every shape fits. Each is shown on your sentence, in head 0, "
                "next to the correct version.")
    _wrong_axis(hand, query)
    with st.container(key=f"{PAGE}_late_mask"):
        _late_mask(hand, query)
    _wrong_width(hand, query)
    _padding(hand, query)


def _wrong_axis(hand: ByHand, query: int) -> None:
    slip = softmax_over_queries(hand)
    st.header("1 · Softmax over the wrong axis", anchor=False)
    st.markdown("`softmax(dim=-2)` shares each key out among the queries; `softmax(dim=-1)` shares each query's "
                "attention out among the keys. :gray[Vaswani et al. 2017, section 3.2.1.]")
    _beside(hand, slip, query, None if hand.settings.mask is None else hand.settings.mask.numpy(), "softmax(dim=-1)",
            "softmax(dim=-2)")
    sums = slip.wrong.sum(dim=-1)
    st.markdown(f"**What gives it away:** a row should add up to 1. In the wrong one, rows add up to anything from "
                f"**{float(sums.min()):.2f}** to **{float(sums.max()):.2f}**; it is the columns that add up to 1.")


def _late_mask(hand: ByHand, query: int) -> None:
    slip, leak = mask_after_softmax(hand)
    count = len(hand.settings.words)
    st.header("2 · The mask after the softmax", anchor=False)
    st.markdown("Setting weights to 0 after the softmax is too late: later words have already taken their share of "
                "the sum. Put −∞ in their scores before it. :gray[Vaswani et al. 2017, section 3.2.3.]")
    _beside(hand, slip, query, causal_mask(count, count)[0, 0].numpy(), "mask, then softmax", "softmax, then mask")
    st.markdown(f"**What gives it away:** the first row adds up to **{float(slip.wrong[0].sum()):.2f}**, not 1. And "
                "the future leaks: flip the last word's key, and the weights of earlier words change by up to "
                f"**{leak:.3f}**, though none of them may look there. Done right, it is 0.")


def _wrong_width(hand: ByHand, query: int) -> None:
    s, measured = hand.settings, scales(hand)
    st.header("3 · Dividing by the wrong d", anchor=False)
    st.markdown(f"The d under the root is the width of a head's queries and keys, d_k = {s.d_k}, because that is how "
                f"many terms a product adds up; not d_model = {s.d}, the width of a word. "
                ":gray[Vaswani et al. 2017, section 3.2.1.]")
    right, wrong = (next(row for row in measured if row.scale == scale) for scale in ("sqrt(d_k)", "sqrt(d_model)"))
    _beside(hand, Slip(right.weights, wrong.weights), query, None if s.mask is None else s.mask.numpy(),
            "divided by √d_k", "divided by √d_model")
    st.html(figures.plain_table(
        ["divided by", "which is", "spread of the scores", "entropy, nats", "effective number of words",
         "largest weight"],
        [(NAMES[row.scale], f"{row.divisor:.2f}", f"{row.deviation:.2f}", f"{row.entropy:.3f}",
          f"{exp(row.entropy):.1f}", f"{row.largest:.2f}") for row in measured],
        numbers=range(1, 6), label="ways to scale"))
    if s.d == s.d_k:
        st.markdown("**Nothing gives it away here:** d and d_k are the same. Change one of them.")
    else:
        st.markdown("**What gives it away:** rows add up to 1 all the same, so only the entropy tells (a mean over "
                    f"the words): **{right.entropy:.3f}** nats with √d_k, **{wrong.entropy:.3f}** with √d_model.")


def _padding(hand: ByHand, query: int) -> None:
    s = hand.settings
    found = {row.blocked: row for row in padding_masked(hand)}
    keys, queries, both = found["keys"], found["queries"], found["both"]
    words, count = [*s.words, *["<pad>"] * PADS], len(s.words)
    st.header("4 · Masking the queries' padding, not the keys'", anchor=False)
    st.markdown(f"In a batch, short sentences are filled up with padding, here {PADS} tokens. Words must not look at "
                "it, so mask its **columns**, as keys. Masking its **rows**, as queries, leaves the padding visible, "
                "and a row that has nowhere to look is 0 / 0 = NaN.")
    draw(*(figures.number_matrix(row.weights.numpy(), name=BLOCKED[row.blocked], note=note, rows=words, columns=words,
                                 row=query, kind="weights", allowed=row.mask.numpy(), sums="rows")
           for row, note in ((keys, "✓ right"), (queries, "✗ wrong"), (both, "✗ wrong"))))
    st.html(figures.plain_table(
        ["masked", "the words' attention that goes to padding", "rows of NaN after one layer", "after two layers"],
        [(BLOCKED[row.blocked], f"{row.wasted:.1%}", *(f"{rows} of {len(words)}" for rows in row.broken))
         for row in found.values()], numbers=(1, 2, 3), label="ways to mask padding"))
    st.markdown(f"**What gives it away:** with only the queries' padding masked, **{queries.wasted:.1%}** of the "
                "words' attention goes to padding. And NaN spreads: weight 0 times NaN is NaN, so "
                f"{both.broken[0]} rows of NaN become **{both.broken[1]} of {len(words)}** one layer later, although "
                "both were masked. Rows of padding may hold any numbers; nobody reads them, and the loss leaves them "
                f"out. {_even(count)}")


def _even(count: int) -> str:
    length = count + PADS
    return (f"With −1e9 in place of −∞ there is no NaN and no warning: the row becomes even, 1/{length} = "
            f"{1 / length:.2f} each.")


def _beside(hand: ByHand, slip: Slip, query: int, allowed: np.ndarray | None, right: str, wrong: str) -> None:
    words = hand.settings.words
    draw(*(figures.number_matrix(weights.numpy(), name=name, note=note, rows=words, columns=words, row=query,
                                 kind="weights", allowed=allowed, sums="rows")
           for weights, name, note in ((slip.right, right, "✓ right"), (slip.wrong, wrong, "✗ wrong"))))
