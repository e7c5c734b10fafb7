"""What stands beside the steps: why the scores are divided, and how heads fold into the batch."""

from collections.abc import Sequence
from dataclasses import replace
from math import exp, log, sqrt

import streamlit as st

from transformer.by_hand.experiments import SAMPLES, Folding, Spread, folding, spreads
from transformer.by_hand.stages import ByHand, Settings
from ui import figures
from ui.page.presentation import enlarged, room
from ui.state.caches import chart
from ui.views.by_hand.address import PAGE
from ui.views.by_hand.matrices import difference

BELOW = 0.8  # of the window's height, a chart under the heading while presenting
WIDTHS = [2**power for power in range(11)]


def show_scale(hand: ByHand, *, dark: bool) -> None:
    """The spread of q.k and the entropy of the softmax over the width of a head, scaled and not."""
    s = hand.settings
    keys = max(2, len(s.words))
    found = spreads(WIDTHS, keys=keys, seed=s.seed)
    with st.container(key=f"{PAGE}_spreads"):
        _show_scale(s, found, keys, dark=dark)
    head = hand.heads[0]
    st.markdown(
        f"On your sentence the {head.products.numel()} products have a spread of "
        f"**{float(head.products.std(correction=0)):.2f}**, where theory says √{s.d_k} = {sqrt(s.d_k):.2f} for "
        "independent numbers. These are not: all words share one W_q and one W_k, so the spread can be well off.")


def _show_scale(s: Settings, found: Sequence[Spread], keys: int, *, dark: bool) -> None:
    """What is measured on random vectors."""
    st.header("Why divide by √d_k?", anchor=False)
    st.markdown(
        "A product q · k of two vectors of d_k independent numbers, each of mean 0 and variance 1, is a sum of d_k "
        "terms of variance 1: its variance is d_k, its spread √d_k. The softmax of numbers so far apart puts nearly "
        "all weight on the largest, where its gradient is close to 0 and little is learned. Divided by √d_k the spread "
        "is 1 at any width. :gray[Vaswani et al. 2017, section 3.2.1 and its footnote 4.]")
    left, right = st.columns(2, gap="large")
    with left:
        series = {"q · k, measured": [row.unscaled_deviation for row in found],
                  "q · k / √d_k, measured": [row.scaled_deviation for row in found],
                  "√d_k, the theory": list(map(sqrt, WIDTHS))}
        quantity = "standard deviation"
        curves = chart(figures.width_curves, series, WIDTHS, title="The spread of the scores", quantity=quantity,
                       logarithmic=True, theory=["√d_k, the theory"], dark=dark)
        st.vega_lite_chart(enlarged(PAGE, curves), key="by_hand_spread", **room(PAGE, BELOW),
                           alt=figures.describe_widths(series, WIDTHS, quantity=quantity))
    with right:
        even = f"log {keys} = {log(keys):.2f}, all keys equal"
        series = {"softmax of q · k": [row.unscaled_entropy for row in found],
                  "softmax of q · k / √d_k": [row.scaled_entropy for row in found],
                  even: [log(keys)] * len(WIDTHS)}
        quantity = "entropy, nats"
        curves = chart(figures.width_curves, series, WIDTHS, title="How even the softmax is",
                       quantity=quantity, theory=[even], dark=dark)
        st.vega_lite_chart(enlarged(PAGE, curves), key="by_hand_entropy", **room(PAGE, BELOW),
                           alt=figures.describe_widths(series, WIDTHS, quantity=quantity))
    last = found[-1]
    st.markdown(
        f"At d_k = {last.d_k:,} the softmax looks at e^{last.unscaled_entropy:.2f} = "
        f"**{exp(last.unscaled_entropy):.1f} of {keys} keys** without dividing, and at "
        f"e^{last.scaled_entropy:.2f} = **{exp(last.scaled_entropy):.1f} of {keys}** with √d_k.")
    st.caption(f"Measured just now on {SAMPLES} random queries with {keys} random keys each, drawn from the seed. An "
               "entropy of 0 nats: all weight on one key.")


def show_folding(hand: ByHand) -> None:
    """The shape after each step, which block lies where, and the check against a loop."""
    if hand.settings.heads == 1:
        hand = ByHand(replace(hand.settings, heads=2))
        st.caption("With one head there is nothing to fold, so there are two here. Choose more in the settings.")
    s, found = hand.settings, folding(hand)
    with st.container(key=f"{PAGE}_folded"):
        _show_shapes(s, found)
    _show_transpose(s, found)


def _show_shapes(s: Settings, found: Folding) -> None:
    """What shape the numbers have after each line."""
    st.header("Folding the heads into the batch", anchor=False)
    st.markdown(
        "Programs seldom loop over heads. One wide matrix projects for all heads, and then each head is treated as if "
        "it were a sentence of its own: h heads of B sentences are B · h sentences, multiplied in one batched product. "
        "The same numbers are multiplied as in a loop; they only change places. "
        ":gray[Vaswani et al. 2017, section 3.2.2.]")
    st.markdown(f"Here B = 2 sentences (yours, and yours backwards), T = {len(s.words)} words, h = {s.heads:d} heads, "
                f"d = {s.d}, d_k = {s.d_k}, d_v = {s.d_v}.")
    st.html(figures.plain_table(["what", "shape", "written"],
                                [(what, str(shape), how) for what, how, shape in found.shapes],
                                code=(1, 2), label="shapes"))
    st.markdown("**Checked just now:** folded, and in a loop over sentences and heads: largest difference "
                f"**{difference(found.folded, found.looped)}**.")


def _show_transpose(s: Settings, found: Folding) -> None:
    """Which block lies where, with the transpose and without it."""
    st.subheader("Why the transpose is needed", anchor=False)
    st.markdown(
        "Each block below is one word's query of one head, d_k numbers side by side in memory; the small number and "
        "the colour say which head. Before the fold a row is a word with all its heads. After it a row must be a head "
        "with all its words. A `view` straight to `(B * h, T, d_k)` has the right shape and mixes the heads up: no "
        "error, but meaningless.")
    blocks = [[(word, head) for head in range(s.heads)] for word in s.words]
    flat = [block for row in blocks for block in row]
    length = len(s.words)
    before, after = st.columns([2, 5], gap="large")
    before.html(figures.head_blocks([(f"row {at}", row) for at, row in enumerate(blocks)],
                                    title="q of one sentence: a row is a word"))
    with after:
        st.html(figures.head_blocks([(f"batch {head}", [row[head] for row in blocks]) for head in range(s.heads)],
                                    title="✓ with the transpose: a head with all its words"))
        st.html(figures.head_blocks([(f"batch {at}", flat[at * length:(at + 1) * length]) for at in range(s.heads)],
                                    title="✗ view alone: words and heads mixed"))
    off = float((found.unturned - found.looped).abs().max())
    st.markdown(f"**Measured just now:** with the view alone, the concatenation is off by up to **{off:.2f}**.")
