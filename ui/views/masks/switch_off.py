"""A mask switched off: where a head looks then, what it costs, and what training without it teaches."""

from dataclasses import dataclass
from math import log

import numpy as np
import streamlit as st
import torch

from transformer.analysis.masks import DIGITS, LENGTH, ForcedReading, batch_masks, read_forced
from transformer.checkpoints.checkpoint import Checkpoint
from transformer.settings.config import Kind
from ui import figures
from ui.choices.head import head_controls, head_in_range, origin
from ui.page.presentation import chart_size, columns, enlarged, presenting
from ui.state.caches import chart, digit_runs
from ui.views.masks.batch import PAGE, Batch
from ui.views.masks.five_masks import in_window

BELOW = 0.7  # of the window's height, under the choosers of head and masks while presenting
BOTH, ACAUSAL = "both masks", "no causal mask"
VARIANTS = {BOTH: (True, True), ACAUSAL: (False, True), "no padding mask": (True, False), "neither": (False, False)}
MASK_OF = {"encoder": "source", "decoder": "decoder", "cross": "cross"}  # an attention -> its mask


@dataclass(frozen=True)
class Head:
    """A head of a model on one pair of a batch."""

    ckpt: Checkpoint
    batch: Batch
    pair: int
    kind: Kind
    layer: int
    head: int

    @property
    def name(self) -> str:
        """Its name on figures."""
        return f"{self.kind.capitalize()}, {figures.head_label(self.layer, self.head)}"

    @property
    def axes(self) -> tuple[list[str], list[str]]:
        """Its queries and its keys."""
        return self.batch.axes(self.kind, self.pair)

    def of(self, numbers: dict[str, torch.Tensor]) -> torch.Tensor:
        """The numbers of this head (Tq, Tk), of kind -> (layers, B, H, Tq, Tk)."""
        return numbers[self.kind][self.layer, self.pair, self.head]

    def mask(self, *, causal: bool = True, padding: bool = True) -> torch.Tensor:
        """The mask (Tq, Tk) of its layer, with the causal and the padding mask or without one of them."""
        masks = batch_masks(self.batch.src, self.batch.tgt, self.ckpt.config, causal=causal, padding=padding)
        return in_window(getattr(masks, MASK_OF[self.kind])[self.pair], self.ckpt, self.kind, self.layer)


def show_switched_off(ckpt: Checkpoint, batch: Batch, pair: int, *, dark: bool) -> tuple[Head, ForcedReading]:
    """Draws a head with both masks and with the chosen ones; returns it, and the batch as read with both."""
    head = Head(ckpt, batch, pair, *head_in_range(PAGE, ckpt.config))
    picture = st.container(key=f"{PAGE}_leak")
    with picture, st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        head_controls(PAGE, ckpt.config)
        with st.container(width="content", gap=None):
            causal = st.toggle("Causal mask", key=f"{PAGE}_causal")
            padding = st.toggle("Padding mask", key=f"{PAGE}_padding")
    readings = {name: read_forced(ckpt.model, batch.src, batch.tgt, batch.labels, causal=masks[0], padding=masks[1])
                for name, masks in VARIANTS.items()}
    variant = next(name for name, masks in VARIANTS.items() if masks == (causal, padding))
    with picture:
        _say_what_leaks(head, readings[variant], causal=causal)
        left, right = st.columns(2)
    with left:  # next to the switches, on a telephone too
        _show_reading(head, variant, readings[variant], "changed", dark=dark)
    with right:
        if variant == BOTH:
            st.markdown("Switch a mask off, and the picture with both stays here to compare.")
        else:
            _show_reading(head, BOTH, readings[BOTH], "trained", dark=dark)
    _show_costs(batch, readings, variant, source=origin(ckpt))
    _show_token_costs(ckpt, batch, pair, readings)
    _say_what_costs_mean(readings)
    return head, readings[BOTH]


def _show_reading(head: Head, name: str, reading: ForcedReading, key: str, *, dark: bool) -> None:
    causal, padding = VARIANTS[name]
    mask, weights = head.mask(causal=causal, padding=padding).numpy(), head.of(reading.attentions).numpy()
    title = name.capitalize() if presenting(PAGE) else f"{head.name}: {name}"
    figure = figures.attention_heatmap(weights, *head.axes, title=title, newest=False, source=origin(head.ckpt),
                                       mask=mask, dark=dark)
    st.plotly_chart(enlarged(PAGE, figure, BELOW), key=f"{PAGE}_{key}", config=figures.PLOTLY_CONFIG,
                    **chart_size(PAGE, BELOW), alt=figures.describe_attention(weights, *head.axes, newest=False))


def _say_what_leaks(head: Head, reading: ForcedReading, *, causal: bool) -> None:
    """The share of the head's attention that a mask would forbid."""
    weights, (source, target) = head.of(reading.attentions).numpy(), head.batch.lengths(head.pair)
    if head.kind == "decoder":
        ahead = np.triu(weights[:target, :target], 1).sum() / target
        st.markdown(f"**{ahead:.1%}** of this head's attention goes to tokens that had not been written yet."
                    + ("" if causal else " That is the leak."))
    else:
        queries = target if head.kind == "cross" else source
        st.markdown(f"**{weights[:queries, source:].sum() / queries:.1%}** of this head's attention goes to padding.")


def _show_costs(batch: Batch, readings: dict[str, ForcedReading], variant: str, *, source: str) -> None:
    st.markdown("**What it costs**, in nats per token: −log of the probability of the next token, with the decoder "
                "given the translation above")
    rows = [(str(pair + 1), [f"{float(reading.nats[pair].nanmean()):.4f}" for reading in readings.values()])
            for pair in range(len(batch.pairs))]
    rows.append(("all tokens", [f"{reading.loss:.4f}" for reading in readings.values()]))
    st.html(figures.number_table(list(readings), rows, label="loss with and without masks", corner="pair", totals=1,
                                 caption=source, marked={(len(rows) - 1, list(readings).index(variant))}))


def _show_token_costs(ckpt: Checkpoint, batch: Batch, pair: int, readings: dict[str, ForcedReading]) -> None:
    _, count = batch.lengths(pair)
    with st.expander("Token by token"):
        tokens = [figures.plain_label(ckpt.tokenizer.piece(id)) for id in batch.labels[pair, :count].tolist()]
        st.html(figures.number_table(
            tokens, [(name, [f"{float(nats):.3f}" for nats in reading.nats[pair, :count]])
                     for name, reading in readings.items()], label="loss of each token", corner="nats for",
            caption=f"Pair {pair + 1} · {origin(ckpt)}"))


def _say_what_costs_mean(readings: dict[str, ForcedReading]) -> None:
    st.caption("This model was **trained with both masks**. Without the causal mask it can read the answer, " + (
        "and its loss is lower." if readings[ACAUSAL].loss < readings[BOTH].loss else
        "yet its loss is higher: it never learned to use it.")
        + " Without the padding mask shorter sentences look at padding; on the target side that changes nothing as "
          "long as the causal mask is on.")


def show_training(*, dark: bool) -> None:
    """Two tiny decoders trained on random digits, with the causal mask and without: their losses and what leaks."""
    honest, cheat = digit_runs()
    left, right = columns(PAGE, 2)
    curves, weights = {"with the causal mask": honest.losses, "without it": cheat.losses}, cheat.weights.numpy()
    with left:
        st.vega_lite_chart(enlarged(PAGE, chart(
            figures.lines, curves, across="training step", up="nats per digit", first=1,
            title="Loss on unseen digits",
            source="one layer, one head, d_model 32, 12 random digits a row", zero=True, dark=dark,
            rules={figures.guessing_label(log(DIGITS)): log(DIGITS),
                   f"log 10 / 12 = {log(DIGITS) / LENGTH:.3f}: all but the last copied": log(DIGITS) / LENGTH})),
            key=f"{PAGE}_learned", **chart_size(PAGE),
            alt=figures.describe_lines(curves, across="training step", up="nats per digit"))
    with right:
        figure = figures.attention_heatmap(
            weights, cheat.digits, cheat.digits, title="Trained without: each token attends to the next",
            newest=False, source="on an unseen row", dark=dark)
        st.plotly_chart(
            enlarged(PAGE, figure), key=f"{PAGE}_cheat", config=figures.PLOTLY_CONFIG, **chart_size(PAGE),
            alt=figures.describe_attention(weights, cheat.digits, cheat.digits, newest=False))
    honest_end, cheat_end = (np.mean(run.losses[-20:]) for run in (honest, cheat))
    st.caption(f"Random digits cannot be predicted: no honest loss stays below log 10 = {log(DIGITS):.3f} nats, and "
               f"with the mask the last twenty steps average {honest_end:.3f}. Without it they average "
               f"{cheat_end:.3f}: the head copies the next digit, and only the last of a row is left to guess. When "
               "such a model generates, there is no next digit to copy.")
