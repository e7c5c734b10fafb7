"""Neurons: which fire where a prediction is made, what each adds to it and writes, and where else it fires."""

from functools import partial

import streamlit as st
from torch import Tensor

from transformer.analysis.neurons import (
    EXPLAINED,
    Stack,
    StrongestContexts,
    activations,
    contexts,
    strongest_contexts,
    writes,
)
from transformer.checkpoints.checkpoint import Checkpoint
from transformer.evaluation.held_out import held_out_sentences
from transformer.inference.run import Run, run_ids
from transformer.text.word_pieces import labelled
from ui import figures
from ui.page.link import Field, choice, optional
from ui.page.plain_text import say_error
from ui.page.presentation import columns, presenting
from ui.state.page_state import PageState
from ui.state.work_queue import Work, may_begin
from ui.views.heads.prediction import Prediction, kept

LISTED = 12
SAMPLE = 200  # held-out texts in which contexts are looked for
ORDERS = {"adds": "changes it most", "fires": "fires most here"}
Neuron = tuple[Stack, int, int]  # stack, layer, number


def _neuron(text: str) -> Neuron:
    stack, layer, number = text.split("-")
    if stack not in ("encoder", "decoder"):
        raise ValueError(f"{stack} has no neurons")
    return stack, int(layer), int(number)


class NeuronsState(PageState):
    """What is kept of this view: the chosen neuron, and the order of all."""

    neuron = optional(Field(None, _neuron, lambda one: "-".join(map(str, one))))
    neurons = choice("adds", list(ORDERS))


def show_neurons(page: str, prediction: Prediction, *, dark: bool) -> None:
    """The neurons of all layers at the prediction's position, beside the one that is chosen."""
    ckpt, stack = prediction.ckpt, _stack(prediction)
    if not ckpt.config.d_ff:
        st.info("This model has attention alone and no feed-forward parts, so it has no neurons.")
        return
    with st.container(horizontal=True, vertical_alignment="center", key=f"{page}_neurons_line"):
        st.markdown("Which neurons decide?", width="content", help=EXPLAINED)
        order = st.segmented_control("Order", list(ORDERS), key=NeuronsState.neurons.key(page), required=True,
                                     format_func=ORDERS.__getitem__, label_visibility="collapsed")
    try:
        fires, adds = kept(page, "fires", prediction.key, "Reading", lambda work: _fires_and_adds(prediction, stack))
    except ValueError as error:
        say_error(error)
        return
    here = fires[:, _rows(prediction)].mean(1)  # (L, N)
    ranked = (adds if order == "adds" else here).abs()
    chosen = _chosen(page, ckpt, stack, ranked)
    left, right = columns(page, [3, 4], gap="medium")
    if presenting(page):  # below each other, what the chosen one does first
        left, right = right, left
    with left, st.container(key=f"{page}_neuron_list"):
        _choose(page, stack, ranked, adds, here, chosen)
        what = figures.markdown_text(prediction.name(prediction.token))
        st.caption(f"adds: the neuron times the slope of the logit of “{what}” there, to first order")
    with right, st.container(key=f"{page}_neuron_one"):
        _show_one(page, prediction, chosen, fires, dark=dark)


def _stack(prediction: Prediction) -> Stack:
    """The stack that the prediction is read from."""
    return "encoder" if prediction.read.tgt is None else "decoder"


def _rows(prediction: Prediction) -> list[int]:
    """The positions whose neurons are listed: that of the prediction, or all where a text has one class."""
    if prediction.classifies:
        return [*range(len(prediction.read.ids))]
    return [prediction.position if prediction.answer.masked else len(prediction.read.ids) - 1]


def _fires_and_adds(prediction: Prediction, stack: Stack) -> tuple[Tensor, Tensor]:
    """The neurons at every position (L, T, N), and what each adds to the logit of the prediction (L, N)."""
    read = prediction.read
    passed = run_ids(read.ckpt, [(read.src, read.tgt, None)], texts=[prediction.answer.text], targets=[None],
                     capture=f"{stack}.*.mlp_post", change=read.changes)

    def logit(of: Run) -> Tensor:
        assert of.logits is not None
        rows = of.logits if prediction.classifies else of.logits[_rows(prediction)[0]]
        return rows[prediction.token]

    fires = activations(passed, stack)
    return fires, (fires * activations(passed.grad(logit), stack)).sum(1)


def _chosen(page: str, ckpt: Checkpoint, stack: Stack, ranked: Tensor) -> Neuron:
    """The neuron that was chosen; the first of the list if none was, or this model has it not."""
    one = NeuronsState(page).neuron
    if one is not None and one[0] == stack and 0 <= one[1] < len(ranked) and 0 <= one[2] < ckpt.config.d_ff:
        return one
    layer, number = divmod(int(ranked.argmax()), ranked.shape[1])
    return stack, layer, number


def _take(page: str, neuron: Neuron) -> None:
    NeuronsState(page).neuron = neuron


def _choose(page: str, stack: Stack, ranked: Tensor, adds: Tensor, here: Tensor, chosen: Neuron) -> None:
    """The list, a button for each neuron."""
    order = ranked.flatten().topk(min(LISTED, ranked.numel())).indices.tolist()
    for place in order:
        layer, number = divmod(place, ranked.shape[1])
        one = (stack, layer, number)
        st.button(f"layer {layer} · neuron {number:,}: fires {float(here[layer, number]):.2f}, adds "
                  f"{figures.signed_number(float(adds[layer, number]))}", key=f"{page}_neuron_{layer}_{number}",
                  type="primary" if one == chosen else "secondary", on_click=partial(_take, page, one), width="stretch")


def _show_one(page: str, prediction: Prediction, chosen: Neuron, fires: Tensor, *, dark: bool) -> None:
    """The chosen neuron: where it fires in this text, what it writes, and its strongest contexts elsewhere."""
    ckpt, (stack, layer, number) = prediction.ckpt, chosen
    values = fires[layer, :, number]
    tokens = prediction.read.labels("src" if stack == "encoder" else "tgt")
    st.markdown(f"**{stack.capitalize()}, layer {layer} · neuron {number:,}** in this text, up to "
                f"{float(values.max()):.2f}")
    most = max(float(values.max()), 1e-9)
    st.html(figures.token_chips(tokens, label="where it fires", small=True,
                                weights=[max(0.0, float(value)) / most for value in values]))
    if stack == "decoder":
        written = writes(ckpt, layer, number)
        for name, found in (("It makes likelier", written.promoted), ("and less likely", written.suppressed)):
            st.markdown(f"{name}: " + " · ".join(f"**{figures.markdown_text(figures.plain_label(one.piece))}**"
                                                 for one in found))
    _show_contexts(page, ckpt, chosen)


def _show_contexts(page: str, ckpt: Checkpoint, chosen: Neuron) -> None:
    """Its strongest contexts in held-out text, once they are asked for of a large model."""
    stack, layer, number = chosen
    key = ckpt.id, stack, layer
    if not may_begin(ckpt, f"{page}_contexts", key, "Find where else it fires", reads=SAMPLE):
        return
    try:
        found: StrongestContexts = kept(page, "contexts", key, "Reading held-out text",
                                        partial(_read, ckpt, stack, layer))
    except ValueError as error:
        st.caption(figures.markdown_text(f"Its contexts in other texts: {error}."))
        return
    st.markdown(f"Where it fires most in {len(found.sentences):,} held-out texts (above 0 at "
                f"{figures.some_percent(float(found.share[number]))} of their tokens):")
    for one in contexts(found, ckpt, stack, number)[:6]:
        weights = [1.0 if at == one.at else 0.0 for at in range(len(one.tokens))]
        place = f"{page}_fires_in_{one.sentence}_{one.position}"
        with st.container(horizontal=True, vertical_alignment="center", key=place):
            st.markdown(f"{one.value:.2f}", width="content")
            tokens = labelled(one.tokens, ckpt.source_tokenizer if stack == "encoder" else ckpt.tokenizer)
            st.html(figures.token_chips(tokens, label=f"context at {one.value:.2f}", small=True, weights=weights))


def _read(ckpt: Checkpoint, stack: Stack, layer: int, work: Work) -> StrongestContexts:
    return strongest_contexts(ckpt, stack, layer, held_out_sentences(ckpt, limit=SAMPLE), watch=work.watch)

