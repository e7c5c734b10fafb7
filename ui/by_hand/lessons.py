"""What stands beside the steps: why the scores are divided, how heads fold into the batch, three well-known slips."""

from math import exp, log, sqrt

import streamlit as st

from transformer.by_hand.lessons import (
    SAMPLES,
    Slip,
    folding,
    mask_after_softmax,
    scales,
    softmax_over_queries,
    spreads,
)
from transformer.by_hand.stages import ByHand
from transformer.model.masks import causal_mask
from ui import figures
from ui.by_hand.steps import difference
from ui.resources import chart

WIDTHS = [2**power for power in range(11)]
NAMES = {"sqrt(d_k)": "√d_k", "1": "1 (not at all)", "sqrt(d_model)": "√d_model", "d_k": "d_k"}


def show_scale(hand: ByHand, *, dark: bool) -> None:
    """The spread of q.k and the entropy of the softmax over the width of a head, scaled and not."""
    s = hand.settings
    keys = max(2, len(s.words))
    found = spreads(WIDTHS, keys=keys, seed=s.seed)
    st.subheader("Why divide by √d_k?", anchor=False)
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
        st.vega_lite_chart(chart(figures.width_curves, series, WIDTHS, title="The spread of the scores",
                                 quantity=quantity, logarithmic=True, theory=["√d_k, the theory"], dark=dark),
                           key="by_hand_spread", alt=figures.describe_widths(series, WIDTHS, quantity=quantity))
    with right:
        even = f"log {keys} = {log(keys):.2f}, all keys equal"
        series = {"softmax of q · k, measured": [row.unscaled_entropy for row in found],
                  "softmax of q · k / √d_k, measured": [row.scaled_entropy for row in found],
                  even: [log(keys)] * len(WIDTHS)}
        quantity = "entropy of the weights, nats"
        st.vega_lite_chart(chart(figures.width_curves, series, WIDTHS,
                                 title="How evenly the softmax spreads its weight",
                                 quantity=quantity, theory=[even], dark=dark),
                           key="by_hand_entropy", alt=figures.describe_widths(series, WIDTHS, quantity=quantity))
    last = found[-1]
    st.markdown(
        f"At d_k = {last.d_k:,} the softmax looks at e^{last.unscaled_entropy:.2f} = "
        f"**{exp(last.unscaled_entropy):.1f} of {keys} keys** without dividing, and at "
        f"e^{last.scaled_entropy:.2f} = **{exp(last.scaled_entropy):.1f} of {keys}** with √d_k.")
    st.caption(f"Measured just now on {SAMPLES} random queries with {keys} random keys each, drawn from the seed. An "
               "entropy of 0 nats: all weight on one key.")
    head = hand.heads[0]
    st.markdown(
        f"On your sentence the {head.products.numel()} products have a spread of "
        f"**{float(head.products.std(correction=0)):.2f}**, where theory says √{s.d_k} = {sqrt(s.d_k):.2f} for "
        "independent numbers. These are not: all words share one W_q and one W_k, so the spread can be well off.")


def show_folding(hand: ByHand) -> None:
    """The shape after each step, which block lies where, and the check against a loop."""
    s, found = hand.settings, folding(hand)
    st.subheader("Folding the heads into the batch", anchor=False)
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

    st.subheader("Why the transpose is needed", anchor=False)
    st.markdown(
        "Each block below is one word's query of one head, d_k numbers side by side in memory; the small number and "
        "the colour say which head. Before the fold a row is a word with all its heads. After it a row must be a head "
        "with all its words. A `view` straight to `(B * h, T, d_k)` has the right shape and mixes the heads up: no "
        "error, but no sense either.")
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
    if s.heads == 1:
        st.info("With one head there is nothing to mix up. Choose two or more.")
    else:
        off = float((found.unturned - found.looped).abs().max())
        st.markdown(f"**Measured just now:** with the view alone, numbers of the concatenation are off by up to "
                    f"**{off:.2f}**.")


def show_slips(hand: ByHand, *, query: int) -> None:
    """Each mistake beside what is right, and the number that gives it away."""
    s, words = hand.settings, hand.settings.words
    allowed = None if s.mask is None else s.mask.numpy()
    st.markdown("Three mistakes that raise no error, because every shape fits. Each is made here on your sentence, in "
                "head 0, beside what is right.")

    slip = softmax_over_queries(hand)
    st.subheader("1 · Softmax over the wrong axis", anchor=False)
    st.markdown("`softmax(dim=-2)` shares each key out among the queries, where `softmax(dim=-1)` shares each query's "
                "attention out among the keys. :gray[Vaswani et al. 2017, section 3.2.1.]")
    _beside(slip, words, query, allowed, "softmax(dim=-1)", "softmax(dim=-2)")
    sums = slip.wrong.sum(dim=-1)
    st.markdown(f"**What gives it away:** a row should add up to 1. In the wrong one, rows add up to anything from "
                f"**{float(sums.min()):.2f}** to **{float(sums.max()):.2f}**; it is the columns that add up to 1.")

    slip, leak = mask_after_softmax(hand)
    st.subheader("2 · The mask after the softmax", anchor=False)
    st.markdown("Setting weights to 0 after the softmax is too late: the words to come have already taken their share "
                "of the sum. Put −∞ in their scores before it. The causal mask is on here, whatever is chosen above. "
                ":gray[Vaswani et al. 2017, section 3.2.3.]")
    causal = causal_mask(len(words), len(words))[0, 0].numpy()
    _beside(slip, words, query, causal, "mask, then softmax", "softmax, then mask")
    st.markdown(f"**What gives it away:** the first row adds up to **{float(slip.wrong[0].sum()):.2f}**, not 1. And "
                "the future leaks: flip the last word's key, and the weights of earlier words change by up to "
                f"**{leak:.3f}**, though none of them may look there. Done right, it is 0.")

    measured = scales(hand)
    st.subheader("3 · Dividing by the wrong d", anchor=False)
    st.markdown(f"The d under the root is the width of a head's queries and keys, d_k = {s.d_k}, because that is how "
                f"many terms a product adds up; not d_model = {s.d}, the width of a word. And it goes under a square "
                f"root. "
                ":gray[Vaswani et al. 2017, section 3.2.1.]")
    right, wrong = (next(row for row in measured if row.scale == scale) for scale in ("sqrt(d_k)", "sqrt(d_model)"))
    _beside(Slip(right.weights, wrong.weights), words, query, allowed, "divided by √d_k", "divided by √d_model")
    st.html(figures.plain_table(
        ["divided by", "which is", "spread of the scores", "entropy, nats", "effective number of words",
         "largest weight"],
        [(NAMES[row.scale], f"{row.divisor:.2f}", f"{row.deviation:.2f}", f"{row.entropy:.3f}",
          f"{exp(row.entropy):.1f}", f"{row.largest:.2f}") for row in measured],
        numbers=range(1, 6), label="ways to scale"))
    if s.d == s.d_k:
        st.markdown("**Nothing gives it away here:** d and d_k are the same. Change one of them.")
    else:
        st.markdown(
            "**What gives it away:** rows add up to 1 all the same, so only the entropy tells: "
            f"**{right.entropy:.3f}** nats with √d_k, **{wrong.entropy:.3f}** with √d_model. In a model of "
            "several heads d_model is usually the larger, and then the weights blur instead of sharpening.")
    st.caption("Entropy and largest weight are means over the words. Try the choices in *Divide q · k by* above.")


def _beside(slip: Slip, words: list[str], query: int, allowed, right: str, wrong: str) -> None:
    sides = (slip.right, right, "✓ right"), (slip.wrong, wrong, "✗ wrong")
    for box, (weights, name, note) in zip(st.columns(2, gap="large"), sides, strict=True):
        with box:
            st.html(figures.number_matrix(weights.numpy(), name=name, note=note, rows=words, columns=words, row=query,
                                          kind="weights", allowed=allowed, sums="rows"))

