"""Comparison of two sentences or two branches: the chosen head of both, and their difference."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import streamlit as st

from transformer.analysis.difference import overlap
from transformer.attention_view.message import token_labels
from transformer.attention_view.message_fields import Selection
from transformer.inference.decoding import Sampling, Step
from transformer.inference.decoding_tree import DecodingTree, begin
from transformer.measures.catalogue import BY_NAME
from transformer.measures.matrices import measure_heads
from transformer.settings.config import Kind
from ui import figures
from ui.choices.text_box import as_learned
from ui.components.attention_details import source_line
from ui.page.link import Field, apart, choice
from ui.page.plain_text import say_error
from ui.page.presentation import presenting
from ui.page.text_limits import PASSAGE, taken
from ui.state.page_state import Kept, PageState
from ui.state.work_queue import heavy
from ui.views.stepper.address import choices_field
from ui.views.stepper.controller import decoding_of, keep_decoding, sampling_of

NAMES = "this", "other"
COMPARED = "entropy", "evenness", "diagonal"  # and the weight on the token where heads rest
WITH = {"sentence": "Another sentence", "branch": "Another branch"}


FIELDS = {"compare": apart(choice(None, list(WITH))), "compare_text": apart(Field("")),
          "compare_choices": replace(choices_field(), default=None)}


class Compared(PageState):
    """What is kept of the comparison."""

    compare = Kept(False)  # it is open
    compare_with: Kept[str | None] = Kept(None)  # a name of `WITH`
    compare_text: Kept[str | None] = Kept(None)
    compare_branch: Kept[int | None] = Kept(None)  # its place among the others
    compare_arrival: Kept[Mapping[str, Any] | None] = Kept(None)  # the last that was heeded
    compare_decoding: Kept[tuple[tuple[str, Sampling], DecodingTree[Step]] | None] = Kept(None)  # of the other sentence


def open_compared(page: str, decoding: DecodingTree[Step], arrival: Mapping[str, Any] | None) -> DecodingTree[Step]:
    """Opens the comparison of an address, once after an arrival; returns the decoding, with the other branch in
    it."""
    state = Compared(page)
    if arrival is None or state.compare_arrival is arrival:
        return decoding
    state.compare_arrival = arrival
    what, choices = arrival["compare"], arrival["compare_choices"]
    state.compare, state.compare_with = what is not None, what or "sentence"
    state.compare_text, state.compare_branch = arrival["compare_text"], 0
    if what == "branch" and choices is not None:
        other = begin(decoding.step.ckpt, decoding.step.text, choices=choices, index=decoding.index,
                      sampling=sampling_of(page)).branch
        if other.written != decoding.branch.written:
            decoding = keep_decoding(page, replace(decoding, others=(other,)))
    return decoding


def values(page: str) -> dict[str, Any]:
    """The parameters of an open comparison."""
    state = Compared(page)
    if not state.compare:
        return {}
    what = state.compare_with or "sentence"
    if what == "sentence":
        return {"compare": what, "compare_text": state.compare_text or None}
    decoding = decoding_of(page)
    if decoding is None or not decoding.others:
        return {"compare": what}
    others = decoding.others
    branch = others[min(state.compare_branch or 0, len(others) - 1)]
    return {"compare": what, "compare_choices": branch.departures(sampling_of(page))}


def show_compare(page: str, selection: Selection, *, dark: bool) -> None:
    """The chosen head at the decoding's step, and at the same step of another sentence or branch."""
    if presenting(page):
        return
    panel = st.expander("Compare", key=Compared.compare.key(page), on_change="rerun", icon=":material/compare:")
    decoding = decoding_of(page)
    if not panel.open or decoding is None:
        return
    with panel:
        if Compared(page).compare_with not in WITH:
            Compared(page).compare_with = "sentence"
        what = st.segmented_control("Compare with", list(WITH), key=Compared.compare_with.key(page), required=True,
                                    format_func=WITH.__getitem__, persist_state="session")
        other = _other_sentence(page, decoding) if what == "sentence" else _other_branch(page, decoding)
        if other is not None:
            _show_both(page, decoding.step, other, selection, dark=dark)


def _other_sentence(page: str, decoding: DecodingTree[Step]) -> Step | None:
    """The same step of the sentence typed here; None, with a message, if it cannot be read."""
    typed = taken(st.text_input("Second sentence", key=Compared.compare_text.key(page), persist_state="session",
                                placeholder="Type a second sentence and press Enter"), PASSAGE)
    text = as_learned(decoding.step.ckpt, typed, say=True)
    if not text.strip():
        st.info("Type a second sentence to compare the same head on both.")
        return None
    sampling, ckpt = sampling_of(page), decoding.step.ckpt
    known = Compared(page).compare_decoding
    other = None if known is None or known[0] != (text, sampling) else known[1]
    try:
        if other is None or other.step.ckpt.id != ckpt.id:
            other = begin(ckpt, text, sampling=sampling)
            with heavy("Reading the second sentence") as work:
                for index in range(decoding.index):
                    other = other.to(index, sampling)
                    work.watch()
        other = other.to(decoding.index, sampling)
    except ValueError as error:
        say_error(error)
        return None
    Compared(page).compare_decoding = (text, sampling), other
    return other.step


def _other_branch(page: str, decoding: DecodingTree[Step]) -> Step | None:
    """The same step of another branch, which is decoded that far if necessary."""
    if not decoding.others:
        st.info("Only one branch so far. Choose another token (click a candidate or a box of the beam search) to "
                "compare both paths here.")
        return None
    Compared(page).compare_branch = min(Compared(page).compare_branch or 0, len(decoding.others) - 1)
    at = st.selectbox("Other branch", range(len(decoding.others)), key=Compared.compare_branch.key(page),
                      persist_state="session", format_func=lambda at: decoding.others[at].tip.output or "(nothing yet)")
    other = replace(decoding, branch=decoding.others[at], others=()).to(decoding.index, sampling_of(page))
    if other.branch is not decoding.others[at]:
        others = (*decoding.others[:at], other.branch, *decoding.others[at + 1:])
        keep_decoding(page, replace(decoding, others=others))
    return other.step


def _show_both(page: str, step: Step, other: Step, selection: Selection, *, dark: bool) -> None:
    kind, layer, head = selection.kind, selection.layer, selection.head
    source, axes = source_line(step), tuple(token_labels(one, kind)[:2] for one in (step, other))
    weights = [of.attentions[kind][layer].numpy() for of in (step, other)]
    masks = [of.mask(kind).numpy() for of in (step, other)]
    if other.index < step.index:
        st.caption(f"The other ends at step {other.index}: that step is shown.")
    which = f"{kind.capitalize()}, {figures.head_label(layer, head)}"
    for place, name, of, mask, matrix, (queries, keys) in zip(
            st.columns(2, gap="large"), NAMES, (step, other), masks, weights, axes, strict=True):
        with place:
            st.text(f"{name.capitalize()}: {of.text} → {of.output}")
            figure = figures.attention_heatmap(matrix[head], queries, keys, title=f"{which} · {name}", source=source,
                                               mask=mask, newest=kind != "encoder", dark=dark)
            st.plotly_chart(figure, key=f"{page}_compare_{name}", config=figures.PLOTLY_CONFIG,
                            alt=figures.describe_attention(matrix[head], queries, keys, newest=kind != "encoder"))
    st.caption("One colour scale for both.")
    left, right = st.columns(2, gap="large")
    with left:
        _show_difference(page, kind, layer, head, weights, masks[0], axes, source=source, dark=dark)
    with right:
        both = [measures(of, kind, layer) for of in (step, other)]
        st.html(figures.measures_table(
            *({BY_NAME[name].title: heads for name, heads in one.items()} for one in both), chosen=head, names=NAMES,
            caption=f"{kind.capitalize()}, layer {layer}: means over queries. {source}"))
        st.caption("Means over queries that see more than one token. " + " ".join(
            f"{figures.markdown_text(BY_NAME[name].title)}: {BY_NAME[name].unit_in(kind)}." for name in both[0]))


def _show_difference(page: str, kind: str, layer: int, head: int, weights: list[np.ndarray], mask: np.ndarray,
                     axes: tuple, *, source: str, dark: bool) -> None:
    (queries, keys), (other_queries, other_keys) = axes
    shape = overlap(kind, weights[0].shape[1:], weights[1].shape[1:])
    if shape is None:
        st.info(f"One has {len(keys)} source tokens and the other {len(other_keys)}, so cells do not correspond and "
                f"no difference is drawn. The measures of each head can be compared.")
        return
    rows, columns = shape
    first, second = (matrix[head, :rows, :columns] for matrix in weights)
    down, across = figures.paired(queries, other_queries)[:rows], figures.paired(keys, other_keys)[:columns]
    title = f"{kind.capitalize()}, {figures.head_label(layer, head)} · {NAMES[0]} minus {NAMES[1]}"
    figure = figures.difference_heatmap(first, second, down, across, names=NAMES, title=title, source=source,
                                        mask=mask[:rows, :columns], dark=dark)
    st.plotly_chart(figure, key=f"{page}_compare_difference", config=figures.PLOTLY_CONFIG,
                    alt=figures.describe_difference(first, second, down, across))
    lines = [f"Blue: more weight in this one; red: in the other. {_same(queries, other_queries, rows)} queries and "
            f"{_same(keys, other_keys, columns)} keys hold the same token; where they differ, the label names both."]
    if rows < max(len(queries), len(other_queries)):
        lines.append(f"Only the first {rows} queries, which both have.")
    if kind == "encoder" and not np.any(first != second):
        lines.append("The encoder reads only the source, which both branches share.")
    st.caption(" ".join(lines))


def measures(step: Step, kind: Kind, layer: int) -> dict[str, np.ndarray]:
    """The measures in `COMPARED` of the heads of a layer at a step: name -> (H,); NaN if no query counts."""
    names = (*COMPARED, "first" if kind == "decoder" else "end")
    keys = step.ids["tgt" if kind == "decoder" else "src"]
    return measure_heads(step.attentions[kind][layer], names, kind=kind, keys=keys, end_id=step.ckpt.config.eos_id)


def _same(first: list[str], second: list[str], count: int) -> str:
    agreed = sum(one == other for one, other in zip(first[:count], second[:count], strict=True))
    return f"all {count}" if agreed == count else f"{agreed} of {count}"
