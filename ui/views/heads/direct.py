"""Direct effect: the contribution of each head, and of every other part, to the logit of a token."""

from functools import partial

import numpy as np
import streamlit as st
from torch import Tensor

from transformer.analysis.direct import EXPLAINED, EXPLAINED_OF_CLASSES, DirectEffect, direct_effect, strongest
from transformer.analysis.query import Query, last_query
from ui import figures
from ui.choices.head import caption_of, origin, plain_name
from ui.components.head_maps import show_head_maps
from ui.page.link import Field, optional
from ui.page.plain_text import say_error
from ui.page.presentation import presenting
from ui.state.page_state import PageState
from ui.views.heads.prediction import Prediction, kept

CANDIDATES, STRONGEST = 10, 6
ALONE = -1  # compared with no other token
Part = tuple[str, int, int]  # kind, layer, head


def _part(text: str) -> Part:
    kind, layer, head = text.split("-")
    return kind, int(layer), int(head)


def _against(text: str) -> int:
    return ALONE if text == "nothing" else int(text)


class DirectState(PageState):
    """What is kept of this view: the token compared with, and the chosen head."""

    against = optional(Field(None, _against, lambda id: "nothing" if id == ALONE else str(id)))
    effect = optional(Field(None, _part, lambda part: "-".join(map(str, part))))


def show_direct(page: str, prediction: Prediction, *, dark: bool) -> None:
    """Maps of the effects of all heads, beside where the chosen head looks, over bars of all parts."""
    try:
        query = kept(page, "query", prediction.key, "Reading", lambda work: last_query(prediction.read))
        with st.container(horizontal=True, vertical_alignment="center", key=f"{page}_direct_line"):
            st.markdown("What does each head add?", width="content",
                        help=EXPLAINED_OF_CLASSES if prediction.classifies else EXPLAINED)
            against = _choose_other(page, prediction, query)
        effect = kept(page, "direct", (*prediction.key, against), "Decomposing the logit", lambda work: direct_effect(
            prediction.read, prediction.token, against=against))
    except ValueError as error:
        say_error(error)
        return
    chosen = _head_in_range(page, effect)
    limit = max(float(values.abs().max()) for values in effect.heads.values())
    unit = "added to the logit" if against is None else "added to the difference"
    effects = {kind: values.numpy() for kind, values in _in_order(effect)}
    cards = [figures.change_card("effect", kind, values, None, unit=unit, limit=limit, ends=("against", "for"),
                                 title=kind.capitalize())
             for kind, values in effects.items()]
    left, right = st.columns([3, 2] if presenting(page) else 2, gap="medium")
    with left:
        st.markdown(f"Blue raises {_names(prediction, None)}, red lowers it. Click a head.")
        show_head_maps(f"{page}_effects", figures.head_maps(
            cards, alt=figures.describe_head_maps(cards, list(effects.values())), source=plain_name(prediction.ckpt),
            origin=origin(prediction.ckpt), chosen=chosen, columns=2, dark=dark), partial(_clicked, page))
    with right, st.container(key=f"{page}_effect_head"):
        _show_head(page, prediction, effect, query, dark=dark)
    with st.expander("All parts of the model, and their sum", key=f"{page}_effect_parts"):
        _say_sum(prediction, effect, query)
        _show_parts(prediction, effect, dark=dark)
        if prediction.ckpt.config.d_ff:
            st.button("The neurons of the feed-forward parts", key=f"{page}_to_neurons",
                      icon=":material/arrow_forward:", on_click=st.session_state.update,
                      args=[{f"{page}_view": "neurons"}])
    with st.expander("All heads as a table", key=f"{page}_effect_numbers"):
        _show_strongest(prediction, effect, query)
        st.html(figures.heads_table({"adds": effects}, caption=f"{unit}. {plain_name(prediction.ckpt)}",
                                    label="direct effects"))


def _in_order(effect: DirectEffect) -> list[tuple[str, Tensor]]:
    """The kinds of attention in the order of a layer."""
    return sorted(effect.heads.items(), key=lambda one: one[0] == "cross")


def _names(prediction: Prediction, against: int | None) -> str:
    """The predicted token, and the one it is compared with, as Markdown."""
    one, *other = (f"**{figures.markdown_text(prediction.name(id))}**"
                   for id in (prediction.token, against) if id is not None)
    return f"{one} rather than {other[0]}" if other else one


def _choose_other(page: str, prediction: Prediction, query: Query) -> int | None:
    """Draws the chooser of a token to compare with, by default the likeliest other one; returns None for no token."""
    state, size = DirectState(page), len(query.logits)
    probabilities = query.logits.softmax(-1)
    others = [id for id in query.logits.topk(min(CANDIDATES + 1, size)).indices.tolist() if id != prediction.token]
    if not isinstance(state.against, int) or state.against == prediction.token or not ALONE <= state.against < size:
        state.against = others[0] if others else ALONE
    options = list(dict.fromkeys([*others[:CANDIDATES], state.against, ALONE]))

    def name(id: int) -> str:
        if id == ALONE:
            return "nothing (the logit itself)"
        return f"{prediction.name(id)} · {figures.some_percent(float(probabilities[id]))} · id {id}"

    many = "classes" if prediction.classifies else "tokens"
    other = "nothing" if state.against == ALONE else prediction.name(state.against)
    with st.popover(f"vs {figures.markdown_text(other)}", help="What it is compared with.",
                    key=f"{page}_direct_settings"):
        chosen = st.selectbox(f"Rather than which of the other {many}?", options, format_func=name,
                              key=DirectState.against.key(page),
                              help=f"In a difference of two logits, whatever raises all {many} equally cancels out.")
    return None if chosen == ALONE else chosen


def _say_sum(prediction: Prediction, effect: DirectEffect, query: Query) -> None:
    probability = figures.some_percent(float(query.logits.softmax(-1)[prediction.token]))
    what = f"The logit of {_names(prediction, None)} (probability {probability})"
    if effect.against is not None:
        other = f"**{figures.markdown_text(prediction.name(effect.against))}**"
        what += (f" is {float(query.logits[prediction.token]):.4f}, that of {other} "
                 f"{float(query.logits[effect.against]):.4f}. The difference")
    st.markdown(f"{what} is **{effect.logit:.4f}** as the model computes it; all parts below add up to "
                f"**{effect.total:.4f}**.")


def _head_in_range(page: str, effect: DirectEffect) -> Part:
    """The chosen head; the strongest if none is chosen or this model has no such head."""
    state = DirectState(page)
    heads = {(kind, *at) for kind, values in effect.heads.items() for at in np.ndindex(*values.shape)}
    if state.effect is None or state.effect not in heads:
        state.effect = strongest(effect, 1)[0][:3]
    return state.effect


def _clicked(page: str, pick: dict) -> None:
    DirectState(page).effect = (pick["kind"], pick["layer"], pick["head"])


def _show_head(page: str, prediction: Prediction, effect: DirectEffect, query: Query, *, dark: bool) -> None:
    """The chosen head: its effect, where the prediction's query looks in it, and a link to the whole head."""
    effects = {(kind, layer, head): value for kind, layer, head, value in _ordered(effect)}
    with st.container(key=f"{page}_effect_chosen_settings"):
        kind, layer, head = st.selectbox(
            "Head, strongest first", list(effects), key=DirectState.effect.key(page), format_func=lambda part:
            f"{part[0]}, {figures.head_label(*part[1:])}: {figures.signed_number(effects[part])}")
    weights = query.weights[kind][layer, head].tolist()
    purpose = ("the mean of its queries, weighted by their share of the pooled features" if prediction.classifies else
               f"to predict “{prediction.name(prediction.token)}”")
    st.html(figures.bar_table(
        _keys(prediction, kind), {"weight": weights},
        caption_of(prediction.ckpt, f"Where {kind}, {figures.head_label(layer, head)} looks", purpose),
        dark=dark, corner="key"))
    link = prediction.link(kind, layer, head)
    if link is not None:
        other, params = link
        st.page_link(other.script, label=f"Open this head in {other.title}",
                     icon=":material/arrow_forward:", query_params=params)


def _ordered(effect: DirectEffect) -> list[tuple[str, int, int, float]]:
    return strongest(effect, sum(values.numel() for values in effect.heads.values()))


def _keys(prediction: Prediction, kind: str) -> list[str]:
    return prediction.read.labels("tgt" if kind == "decoder" else "src")


def _show_strongest(prediction: Prediction, effect: DirectEffect, query: Query) -> None:
    rows = [[kind, str(layer), str(head), figures.signed_number(value), _looks_at(prediction, query, kind, layer, head)]
            for kind, layer, head, value in _ordered(effect)[:STRONGEST]]
    st.html(figures.plain_table(["kind", "layer", "head", "adds", "looks most at"], rows, numbers=(1, 2, 3),
                                label="strongest heads"))


def _looks_at(prediction: Prediction, query: Query, kind: str, layer: int, head: int) -> str:
    row = query.weights[kind][layer, head]
    at = int(row.argmax())
    return f"{figures.plain_label(_keys(prediction, kind)[at])} ({figures.part_of_one(float(row[at]))})"


def _show_parts(prediction: Prediction, effect: DirectEffect, *, dark: bool) -> None:
    """All parts that add to the logit, in the order of the model's computation."""
    parts = {"token embedding": effect.embedding}
    if effect.positions is not None:
        parts["positions"] = effect.positions
    for layer in range(len(effect.feed_forward)):
        parts |= {f"layer {layer}: {kind} heads": float(values[layer].sum()) for kind, values in _in_order(effect)}
        if prediction.ckpt.config.d_ff:
            parts[f"layer {layer}: feed-forward"] = float(effect.feed_forward[layer])
    parts["biases"] = effect.biases
    st.html(figures.bar_table(
        list(parts), {"adds": list(parts.values())},
        caption_of(prediction.ckpt, "All parts, from the first to the last"), signed={"adds"}, corner="part",
        tokens=False, dark=dark, total=["sum", figures.signed_number(effect.total)]))
    st.caption("Biases are listed last; they are the same for every text except for the scales of the norms. A norm "
               "divides by the magnitude of its input; its scale is that magnitude.")
