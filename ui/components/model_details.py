"""The table beside the picture of the whole model: each number that is drawn there, at the level that is looked at."""

from typing import Any

import streamlit as st

from transformer.attention_view.heads import AttentionSource
from transformer.attention_view.message import token_labels
from transformer.attention_view.message_fields import Selection
from transformer.attention_view.model_message import FROM_ELSEWHERE, pair_in_whole
from transformer.attention_view.model_numbers import (
    TITLES,
    ModelNumbers,
    PartNumbers,
    model_numbers,
    number_parts,
    products,
)
from transformer.attention_view.window import window
from transformer.basics.formatting import how_many
from transformer.inference.decoding import Step
from transformer.inference.reading import Reading
from ui import figures
from ui.components.attention_view import Drawn
from ui.page.plain_text import say_error

NORM, ADDED, EFFECT, WEIGHT = "length after it", "length added", "direct effect", "largest weight"
MOST_PRODUCTS = 1_024  # rows of a table of products


def show_model_numbers(page: str, source: AttentionSource, selection: Selection, *, origin: str) -> None:
    """The numbers of the picture of the whole model; at the levels of a cell and of a number what that is made of
    first. origin: where all of it comes from."""
    if not isinstance(source, Step | Reading):
        st.info(FROM_ELSEWHERE)
        return
    drawn = window(source, selection.start, last=isinstance(source, Step))
    try:
        numbers = model_numbers(drawn, selection, Drawn(page).carried)
        if selection.level in ("cell", "number"):
            _show_products(source, selection, _pair(source, selection, drawn, numbers))
    except ValueError as error:
        say_error(error)
        return
    rows = [_row(source, one) for one in numbers.rows]
    st.html(figures.parts_table(rows, columns=[NORM, ADDED, EFFECT, WEIGHT],
                                caption=_caption(page, source, selection, numbers, origin)))


def _pair(source: Step | Reading, selection: Selection, drawn: Any, numbers: ModelNumbers) -> tuple[int, int]:
    """The query and the key of the cell that is looked at: of the newest query where it looks most, if none is
    selected."""
    chosen = pair_in_whole(drawn, selection)
    if chosen is not None:
        return chosen
    query = len(source.axes(selection.kind)[0]) - 1
    own = [row for row in numbers.rows if (row.kind, row.layer, row.head) == (
        selection.kind, selection.layer, selection.head)]
    return query, (own[0].key or 0) if own else 0


def _row(source: Step | Reading, one: PartNumbers,
         ) -> tuple[dict[str, object], str, dict[str, float | None], str | None]:
    """One row, as the table takes it."""
    part = "head" if one.head is not None else one.part
    place = "" if one.layer is None else f" layer {one.layer}"
    what = TITLES[one.part] if one.head is None else f"{TITLES[one.part]} head {one.head}"
    key = None if one.key is None or one.kind is None else token_labels(source, one.kind)[1][one.key]
    return ({"kind": one.kind or one.stack, "layer": one.layer, "head": one.head, "part": part, "key": one.key},
            f"{one.stack}{place}, {what}",
            {NORM: one.norm, ADDED: one.added, EFFECT: one.effect, WEIGHT: one.weight}, key)


def _caption(page: str, source: Step | Reading, selection: Selection, numbers: ModelNumbers, origin: str) -> str:
    """What the numbers are of, and what is left out."""
    axis = source.axes("encoder" if numbers.stack == "encoder" else "decoder")[0]
    hidden = bool(Drawn(page).hide)  # what comes next is to be guessed
    effect_of = "the hidden token" if hidden else f"“{numbers.effect_of}”, {numbers.logit or 0:.4f}"
    token, effect = figures.plain_label(axis[numbers.position]), f" of {effect_of}" * bool(numbers.effect_of)
    words = [f"The vector of “{token}” (token {numbers.position}) on its way through the model: its length after each "
             "part, the length of what the part adds, and what that adds directly to the logit"
             f"{effect}, with norms held fixed and what it changes through later layers left out. "
             f"{'' if numbers.effect_of else numbers.why}".strip()]
    words += [f"The {stack} follows no token: its lengths are means over {how_many(count, 'token')}."
              for stack, count in numbers.means.items()]
    if numbers.rest is not None:
        _, positions, biases = numbers.rest
        words.append(f"Positions add {positions:.4f} to the logit, and biases {biases:.4f}.")
    if numbers.left_out:
        words.append(f"Heads have a row in {selection.kind} layer {selection.layer} alone; {numbers.left_out:,} others "
                     "are left out, choose their layer.")
    return " ".join([*words, origin])


def _show_products(source: Step | Reading, selection: Selection, pair: tuple[int, int]) -> None:
    """What a score is made of, or one number of a query."""
    kind, layer, head = selection.kind, selection.layer, selection.head
    query, key = (figures.plain_label(axis[at]) for axis, at in zip(source.axes(kind), pair, strict=True))
    if selection.level == "number":
        width = source.ckpt.config.width
        number = min(selection.feature or 0, width - 1)
        weights, row, bias, value = number_parts(source, kind, layer, head, pair[0], number)
        made = "" if bias is None else f", with the bias {bias:.4g},"
        st.html(figures.products_table(
            "weight", "row", list(zip(weights.tolist(), row.tolist(), strict=True))[:MOST_PRODUCTS],
            label="what one number is made of",
            caption=f"Number {number} of the query of “{query}” in {kind}, {figures.head_label(layer, head)}: the "
                    f"products{made} add up to {float(weights @ row) + (bias or 0):.6g}; the model has {value:.6g}."
                    + _cut(len(weights))))
        return
    both = products(source, kind, layer, head, pair)
    if both is None:
        st.info("Queries and keys are not here.")
        return
    st.html(figures.products_table(
        "query", "key", list(zip(*(vector.tolist() for vector in both), strict=True))[:MOST_PRODUCTS],
        label="what a score is made of",
        caption=f"The query of “{query}” times the key of “{key}” in {kind}, {figures.head_label(layer, head)}: the "
                f"products add up to {float(both[0] @ both[1]):.6g}." + _cut(len(both[0]))))


def _cut(count: int) -> str:
    return f" {count - MOST_PRODUCTS:,} of {count:,} are left out." if count > MOST_PRODUCTS else ""
