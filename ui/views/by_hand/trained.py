"""The same matrices with the numbers of a head that was trained."""

from math import sqrt

import streamlit as st
import torch

from transformer.by_hand.stages import look
from transformer.checkpoint import Checkpoint
from transformer.inference.decoding import Step, start, steps
from transformer.model.attention import repeat_for_queries
from transformer.model.masks import additive
from ui import figures
from ui.choices.checkpoint import choose_checkpoint
from ui.choices.head import head_controls, head_in_range
from ui.components.attention_view import MEANING, source_line, window_said
from ui.page.plain_text import say_error
from ui.views.by_hand.address import PAGE, place
from ui.views.by_hand.matrices import difference, draw, spelled

SHOWN = 32  # tokens a side that are written out


def show_trained(text: str) -> None:
    """One head of a checkpoint on the sentence, from q, k and v to the context."""
    with st.container(key=f"{PAGE}_checkpoint_settings"):
        ckpt = choose_checkpoint(PAGE)
    try:
        step = read(ckpt, text)
    except ValueError as error:
        say_error(error)
        return
    kind, layer, at = head_in_range(PAGE, step.ckpt.config)
    head_controls(PAGE, step.ckpt.config)
    queries, keys = step.axes(kind)
    if "encoder" in ckpt.config.kinds and max(len(queries), len(keys)) > SHOWN:
        st.error(f"The sentence is {max(len(queries), len(keys)):,} tokens long for this model; at most {SHOWN} can "
                 "be written out. Please shorten it.")
        return
    if len(queries) > SHOWN:
        st.caption(f"The first {SHOWN} of {len(queries):,} tokens; no token looks at those after it, so their numbers "
                   "are the same without the rest.")
        queries, keys = queries[:SHOWN], keys[:SHOWN]
    mask, scoring = step.mask(kind, layer)[: len(queries), : len(keys)], ckpt.model.attention(kind, layer).scoring
    q, k, v = (repeat_for_queries(rows[layer], ckpt.config.n_heads)[at, :SHOWN] for rows in step.looked(kind))
    bias = step.bias(kind, layer=layer)
    bias = None if bias is None else bias[at, : len(queries), : len(keys)]
    d_k = q.shape[1]
    divisor, by = sqrt(d_k), f"√{d_k}"
    if scoring.scale is not None:
        divisor, by = 1 / scoring.scale, f"{1 / scoring.scale:.4g}"
    head = look(q, k, v, None if mask.all() else mask, bias=bias, divisor=divisor, cap=scoring.cap)

    chosen = []
    choices = ("row", queries, "Query token"), ("column", keys, "Key token")
    for box, (name, tokens, label) in zip(st.columns(2), choices, strict=True):
        place(name, len(tokens))
        with box:
            chosen.append(st.selectbox(
                figures.markdown_text(label), range(len(tokens)), key=f"{PAGE}_{name}", persist_state="session",
                format_func=lambda spot, tokens=tokens: f"{spot} · {figures.plain_label(tokens[spot])}"))
    query, key = chosen
    first = st.container()  # the weights: they are what it is all for
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
    if said := window_said(config, kind, layer):
        st.caption(said)
    allowed = None if mask.all() else mask.numpy()
    if scoring.cap is not None:
        st.caption(f"Each score is capped before the mask: {scoring.cap:g} · tanh(score / {scoring.cap:g}).")
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
        draw(figures.number_matrix(head.weights.numpy(), name="weights", kind="weights", allowed=allowed, sums="rows",
                                   **square))
    draw(*reversed(pictures))
    st.markdown("**One weight, spelled out**")
    st.html(spelled(head, queries, keys, query, key, divisor=divisor, divided_by=by, allowed=allowed))
    draw(*(figures.number_matrix(values.numpy(), name=name, rows=rows, row=row) for name, values, rows, row in (
        ("q", head.q, queries, query), ("k", head.k, keys, key), ("v", head.v, keys, key),
        ("context = weights v", head.context, queries, query))))
    theirs = step.attentions[kind][layer, at, : len(queries), : len(keys)]
    st.caption("Checked just now against this head's weights in the model's own forward pass: the largest "
               f"difference is {difference(theirs, head.weights)}.")


@torch.no_grad()
def read(ckpt: Checkpoint, text: str) -> Step:
    """The sentence read by a decoder alone, or translated to the end."""
    if "encoder" not in ckpt.config.kinds:
        return start(ckpt, text)
    *_, step = steps(ckpt, text, max_steps=SHOWN)
    return step
