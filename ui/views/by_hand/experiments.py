"""Experiments beside the steps: why scores are divided, how heads fold into the batch, four common mistakes beside the
right version, and the same steps in a trained head."""

from collections.abc import Sequence
from dataclasses import replace
from math import exp, log, sqrt

import numpy as np
import streamlit as st
import torch

from transformer.by_hand.experiments import (
    PADS,
    SAMPLES,
    Folding,
    Scaled,
    Slip,
    Spread,
    folding,
    mask_after_softmax,
    padding_masked,
    scales,
    softmax_over_queries,
    spreads,
)
from transformer.by_hand.stages import SCALES, ByHand, Settings
from transformer.by_hand.trained import trained_head
from transformer.checkpoints.checkpoint import Checkpoint
from transformer.inference.decoding import Step, start, steps
from transformer.model.masks import additive, causal_mask
from ui import figures
from ui.choices.checkpoint import choose_checkpoint
from ui.choices.head import head_controls, head_in_range
from ui.components.attention_details import MEANING, source_line, window_said
from ui.page.plain_text import say_error
from ui.page.presentation import chart_size, columns, enlarged
from ui.state.caches import chart
from ui.views.by_hand.matrices import difference, draw, spelled
from ui.views.by_hand.settings import PAGE, place

BELOW = 0.8  # of the window's height, for a chart under the heading during a presentation
FEW = 4  # heads, whose blocks side by side are narrow
WIDTHS = [2**power for power in range(11)]


def show_scale(hand: ByHand, *, dark: bool) -> None:
    """The spread of q.k and the entropy of the softmax over the width of a head, scaled and not."""
    s = hand.settings
    keys = max(2, len(s.words))
    result = spreads(WIDTHS, keys=keys, seed=s.seed)
    with st.container(key=f"{PAGE}_spreads"):
        _show_scale(s, result, keys, dark=dark)
    head = hand.heads[0]
    st.markdown(
        f"On your sentence the {head.products.numel()} products have a spread of "
        f"**{float(head.products.std(correction=0)):.2f}**, where theory says √{s.d_k} = {sqrt(s.d_k):.2f} for "
        "independent numbers. These are not: all words share one W_q and one W_k, so the spread can be well off.")
    measured = scales(hand)
    ways = {row.scale: row for row in measured}
    usual, split = ways["sqrt(d_k)"], ways["split"]
    st.subheader("Five ways to divide, on your sentence", anchor=False)
    _show_ways(measured)
    st.markdown(
        f"Many programs divide q and k by ⁴√d_k = {split.divisor**0.5:.2f} each, before they are multiplied. That "
        f"gives the weights of √d_k (largest difference **{difference(usual.weights, split.weights)}**), and the "
        f"products on the way stay as small as the scores: at most **{split.peak:,.2f}**, where q kᵀ reaches "
        f"**{usual.peak:,.2f}**. With 16 bits a number, 65,504 is the largest there is.")


def _show_scale(s: Settings, result: Sequence[Spread], keys: int, *, dark: bool) -> None:
    """Measurements on random vectors."""
    st.header("Why divide by √d_k?", anchor=False)
    st.markdown(
        "A product q · k of two vectors of d_k independent numbers, each of mean 0 and variance 1, is a sum of d_k "
        "terms of variance 1: its variance is d_k, its spread √d_k. The softmax of numbers so far apart puts nearly "
        "all weight on the largest, where its gradient is close to 0 and little is learned. Divided by √d_k the spread "
        "is 1 at any width. :gray[Vaswani et al. 2017, section 3.2.1 and its footnote 4.]")
    left, right = st.columns(2, gap="large")
    with left:
        series = {"q · k, measured": [row.unscaled_deviation for row in result],
                  "q · k / √d_k, measured": [row.scaled_deviation for row in result],
                  "√d_k, the theory": list(map(sqrt, WIDTHS))}
        quantity = "standard deviation"
        curves = chart(figures.width_curves, series, WIDTHS, title="The spread of the scores", quantity=quantity,
                       logarithmic=True, theory=["√d_k, the theory"], dark=dark)
        st.vega_lite_chart(enlarged(PAGE, curves), key="by_hand_spread", **chart_size(PAGE, BELOW),
                           alt=figures.describe_widths(series, WIDTHS, quantity=quantity))
    with right:
        even = f"log {keys} = {log(keys):.2f}, all keys equal"
        series = {"softmax of q · k": [row.unscaled_entropy for row in result],
                  "softmax of q · k / √d_k": [row.scaled_entropy for row in result],
                  even: [log(keys)] * len(WIDTHS)}
        quantity = "entropy, nats"
        curves = chart(figures.width_curves, series, WIDTHS, title="How even the softmax is",
                       quantity=quantity, theory=[even], dark=dark)
        st.vega_lite_chart(enlarged(PAGE, curves), key="by_hand_entropy", **chart_size(PAGE, BELOW),
                           alt=figures.describe_widths(series, WIDTHS, quantity=quantity))
    last = result[-1]
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
    s, result = hand.settings, folding(hand)
    with st.container(key=f"{PAGE}_folded"):
        _show_shapes(s, result)
    _show_transpose(s, result)


def _show_shapes(s: Settings, result: Folding) -> None:
    """The shape of the numbers after each line."""
    st.header("Folding the heads into the batch", anchor=False)
    table, words = columns(PAGE, [3, 2], gap="medium")
    table.html(figures.plain_table(["what", "shape", "written"],
                                   [(what, str(shape), how) for what, how, shape in result.shapes],
                                   code=(1, 2), label="shapes"))
    words.markdown(
        "Programs seldom loop over heads. One wide matrix projects for all heads, and then each head is treated as if "
        "it were a sentence of its own: h heads of B sentences are B · h sentences, multiplied in one batched product. "
        "The same numbers are multiplied as in a loop; they only change places. "
        ":gray[Vaswani et al. 2017, section 3.2.2.]")
    words.markdown(f"Here B = 2 sentences (yours, and yours backwards), T = {len(s.words)} words, h = {s.heads:d} "
                   f"heads, d = {s.d}, d_k = {s.d_k}, d_v = {s.d_v}.")
    words.markdown("**Checked just now:** folded, and in a loop over sentences and heads: largest difference "
                   f"**{difference(result.folded, result.looped)}**.")


def _show_transpose(s: Settings, result: Folding) -> None:
    """The order of the blocks with the transpose and without it."""
    st.subheader("Why the transpose is needed", anchor=False)
    st.markdown(
        "Each block below is one word's query of one head, d_k numbers side by side in memory; the small number and "
        "the colour say which head. Before the fold a row is a word with all its heads. After it a row must be a head "
        "with all its words. A `view` straight to `(B * h, T, d_k)` has the right shape and mixes the heads up: no "
        "error, but meaningless.")
    blocks = [[(word, head) for head in range(s.heads)] for word in s.words]
    flat = [block for row in blocks for block in row]
    length = len(s.words)
    before, after = st.columns([2, 5] if s.heads <= FEW else 2, gap="large")
    before.html(figures.head_blocks([(f"row {at}", row) for at, row in enumerate(blocks)],
                                    title="q of one sentence: a row is a word"))
    with after:
        st.html(figures.head_blocks([(f"batch {head}", [row[head] for row in blocks]) for head in range(s.heads)],
                                    title="✓ with the transpose: a head with all its words"))
        st.html(figures.head_blocks([(f"batch {at}", flat[at * length:(at + 1) * length]) for at in range(s.heads)],
                                    title="✗ view alone: words and heads mixed"))
    off = float((result.unturned - result.looped).abs().max())
    st.markdown(f"**Measured just now:** with the view alone, the concatenation is off by up to **{off:.2f}**.")


def _show_ways(measured: Sequence[Scaled]) -> None:
    """Every way to scale, measured."""
    st.html(figures.plain_table(
        ["divided by", "which is", "spread of the scores", "entropy, nats", "effective number of words",
         "largest weight", "largest product on the way"],
        [(SCALES[row.scale].said, f"{row.divisor:.2f}", f"{row.deviation:.2f}", f"{row.entropy:.3f}",
          f"{exp(row.entropy):.1f}", f"{row.largest:.2f}", f"{row.peak:,.2f}") for row in measured],
        numbers=range(1, 7), label="ways to scale"))


BLOCKED = {"nothing": "no padding masked", "keys": "keys' padding masked", "queries": "queries' padding masked",
           "both": "both masked"}


def show_mistakes(hand: ByHand, *, query: int) -> None:
    """Four mistakes, the most frequent first."""
    st.markdown("These four raise no error, because every shape fits. Each is shown on your sentence, in head 0, "
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
    _show_ways(measured)
    if s.d == s.d_k:
        st.markdown("**Nothing gives it away here:** d and d_k are the same. Change one of them.")
    else:
        st.markdown("**What gives it away:** rows add up to 1 all the same, so only the entropy tells (a mean over "
                    f"the words): **{right.entropy:.3f}** nats with √d_k, **{wrong.entropy:.3f}** with √d_model.")


def _padding(hand: ByHand, query: int) -> None:
    s = hand.settings
    result = {row.blocked: row for row in padding_masked(hand)}
    keys, queries, both = result["keys"], result["queries"], result["both"]
    words, count = [*s.words, *["<pad>"] * PADS], len(s.words)
    st.header("4 · Masking the queries' padding, not the keys'", anchor=False)
    st.markdown(f"In a batch, short sentences are filled up with padding, here {PADS} tokens. Words must not look at "
                "it, so mask its **columns**, as keys. Masking its **rows**, as queries, leaves the padding visible, "
                "and a row that has nowhere to look is 0 / 0 = NaN.")
    draw(*(figures.number_matrix(row.weights.numpy(), name=BLOCKED[row.blocked], note=note, rows=words, columns=words,
                                 row=query, kind="weights", allowed=row.mask.numpy())
           for row, note in ((keys, "✓ right"), (queries, "✗ wrong"), (both, "✗ wrong"))))
    st.html(figures.plain_table(
        ["masked", "the words' attention that goes to padding", "rows of NaN after one layer", "after two layers"],
        [(BLOCKED[row.blocked], f"{row.wasted:.1%}", *(f"{rows} of {len(words)}" for rows in row.broken))
         for row in result.values()], numbers=(1, 2, 3), label="ways to mask padding"))
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
                                 kind="weights", allowed=allowed)
           for weights, name, note in ((slip.right, right, "✓ right"), (slip.wrong, wrong, "✗ wrong"))))


LONGEST = 32  # tokens along a side that are written out


def show_trained(text: str) -> None:
    """One head of a checkpoint on the sentence, from q, k and v to the context."""
    ckpt = choose_checkpoint(PAGE)
    try:
        step = read(ckpt, text)
    except ValueError as error:
        say_error(error)
        return
    kind, layer, at = head_in_range(PAGE, step.ckpt.config)
    head_controls(PAGE, step.ckpt.config)
    try:
        one = trained_head(step, kind, layer, at, longest=LONGEST)
    except ValueError as error:
        say_error(error)
        return
    queries, keys, mask, head, bias = one.queries, one.keys, one.mask, one.numbers, one.numbers.bias
    if (count := len(step.axes(kind)[0])) > LONGEST:
        st.caption(f"The first {LONGEST} of {count:,} tokens; no token looks at those after it, so their numbers are "
                   "the same without the rest.")
    d_k, divisor, by = head.q.shape[1], one.divisor, one.divided_by

    chosen = []
    choices = ("row", queries, "Query token"), ("column", keys, "Key token")
    for box, (name, tokens, label) in zip(st.columns(2), choices, strict=True):
        place(name, len(tokens))
        with box:
            chosen.append(st.selectbox(
                figures.markdown_text(label), range(len(tokens)), key=f"{PAGE}_{name}", persist_state="session",
                format_func=lambda spot, tokens=tokens: f"{spot} · {figures.plain_label(tokens[spot])}"))
    query, key = chosen
    first = st.container()  # for the weights, which matter most
    st.caption(f"{MEANING[kind]} {figures.markdown_text(source_line(step))} · d_model {ckpt.config.d_model:d} · "
               f"{figures.head_label(layer, at)} · d_k = d_v = {d_k}")
    if kind != "encoder" and "encoder" in ckpt.config.kinds:
        st.markdown("What the model wrote, and the decoder read:")
        st.text(step.output)

    positions = ckpt.model.positions
    if positions.attended and kind != "cross":
        st.caption(f"The numbers are those with the model's {figures.markdown_text(positions.name)} positions. "
                   f"{figures.markdown_text(positions.describe(ckpt.config))}")
    config = ckpt.config
    if config.groups < config.n_heads:
        size = config.n_heads // config.groups
        served = at // size
        st.caption(f"Its keys and values are those of key-value head {served}, which serves heads "
                   f"{served * size} to {(served + 1) * size - 1}.")
    if sentence := window_said(config, kind, layer):
        st.caption(sentence)
    allowed = None if mask.all() else mask.numpy()
    if one.cap is not None:
        st.caption(f"Each score is capped before the mask: {one.cap:g} · tanh(score / {one.cap:g}).")
    square = {"rows": queries, "columns": keys, "row": query, "cell": (query, key)}
    pictures = [figures.number_matrix(head.products.numpy(), name="q kᵀ", **square),
                figures.number_matrix(head.scaled.numpy(), name=f"q kᵀ / {by}", **square)]
    if bias is not None:
        pictures.append(figures.number_matrix(bias.numpy(), name="bias of the positions", **square))
    if allowed is None:
        st.caption("There is no mask: every query may look at every key.")
    else:
        pictures += [figures.number_matrix(additive(mask).numpy(), name="mask", allowed=allowed, decimals=0, **square),
                     figures.number_matrix(head.scores.numpy(), name="scores + mask", allowed=allowed, **square)]
    with first:
        draw(figures.number_matrix(head.weights.numpy(), name="weights", kind="weights", allowed=allowed, **square))
    draw(*reversed(pictures))
    st.markdown("**One weight, spelled out**")
    st.html(spelled(head, queries, keys, query, key, divisor=divisor, divided_by=by, allowed=allowed))
    draw(*(figures.number_matrix(values.numpy(), name=name, rows=rows, row=row) for name, values, rows, row in (
        ("q", head.q, queries, query), ("k", head.k, keys, key), ("v", head.v, keys, key),
        ("context = weights v", head.context, queries, query))))
    st.caption("Checked just now against this head's weights in the model's own forward pass: the largest "
               f"difference is {difference(one.weights, head.weights)}.")


@torch.no_grad()
def read(ckpt: Checkpoint, text: str) -> Step:
    """The sentence, read by a decoder alone or translated to the end."""
    if "encoder" not in ckpt.config.kinds:
        return start(ckpt, text)
    *_, step = steps(ckpt, text, max_steps=LONGEST)
    return step
