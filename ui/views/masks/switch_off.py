"""A mask switched off: where a head looks then, and what it costs."""

import numpy as np
import streamlit as st

from transformer.analysis.masks import ForcedReading, read_forced
from transformer.checkpoint import Checkpoint
from ui import figures
from ui.choices.head import head_controls, head_in_range, origin
from ui.page.presentation import enlarged, presenting, room
from ui.views.masks.address import PAGE
from ui.views.masks.batch import Batch
from ui.views.masks.head import Head

BELOW = 0.56  # of the window's height, under the choosers of head and masks while presenting
BOTH, ACAUSAL = "both masks", "no causal mask"
VARIANTS = {BOTH: (True, True), ACAUSAL: (False, True), "no padding mask": (True, False), "neither": (False, False)}


def show_switched_off(ckpt: Checkpoint, batch: Batch, pair: int, *, dark: bool) -> tuple[Head, ForcedReading]:
    """A head with both masks and with those chosen -> the head, and the batch as read with both."""
    head = Head(ckpt, batch, pair, *head_in_range(PAGE, ckpt.config))
    head_controls(PAGE, ckpt.config)
    with st.container(horizontal=True, gap="medium"):
        causal = st.toggle("Causal mask", key=f"{PAGE}_causal")
        padding = st.toggle("Padding mask", key=f"{PAGE}_padding")
    readings = {name: read_forced(ckpt.model, batch.src, batch.tgt, batch.labels, causal=masks[0], padding=masks[1])
                for name, masks in VARIANTS.items()}
    variant = next(name for name, masks in VARIANTS.items() if masks == (causal, padding))
    _say_what_leaks(head, readings[variant], causal=causal)
    left, right = st.columns(2)
    with left:  # what a switch changes stands next to it, on a telephone too
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
    title = name.capitalize() if presenting(PAGE) else f"{head.name}: {name}"  # its choosers stand right above
    figure = figures.attention_heatmap(weights, *head.axes, title=title, newest=False, source=origin(head.ckpt),
                                       mask=mask, dark=dark)
    st.plotly_chart(enlarged(PAGE, figure), key=f"{PAGE}_{key}", config=figures.PLOTLY_CONFIG,
                    **room(PAGE, BELOW), alt=figures.describe_attention(weights, *head.axes, newest=False))


def _say_what_leaks(head: Head, reading: ForcedReading, *, causal: bool) -> None:
    """The share of the head's attention that goes where a mask would not let it."""
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
