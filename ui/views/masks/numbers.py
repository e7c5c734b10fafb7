"""A mask as numbers that are added to scores, and what the softmax makes of each form of it."""

import re
from math import isfinite
from typing import NamedTuple

import numpy as np
import streamlit as st
import torch

from transformer.analysis.masks import ForcedReading, masked_softmax
from ui import figures
from ui.choices.head import origin
from ui.page.text_limits import SCORES, taken
from ui.views.masks.batch import PAGE
from ui.views.masks.switch_off import Head

MOST_SCORES, SCALES = 16, [1, 10, 100, 1_000, 3_000, 5_000, 10_000]
FORMS = {"True / False": None, "−inf": float("-inf"), "−1e9": -1e9, "−1e4": -1e4}
DTYPES = {"float32": torch.float32, "float16": torch.float16}


class Query(NamedTuple):
    """The scores of one query, and which of its keys it may attend to."""

    scores: torch.Tensor  # (Tk,)
    allowed: torch.Tensor  # (Tk,)
    labels: list[str]  # of the keys


def show_numbers(head: Head, reading: ForcedReading) -> None:
    """The softmax of one query's scores, typed or from the model, under each form of mask."""
    with st.container(horizontal=True, gap="medium"):
        where = st.segmented_control("Scores", ["typed", "from the model"], key=f"{PAGE}_scores", required=True)
        scale = st.select_slider("Multiply scores by", SCALES, key=f"{PAGE}_scale", format_func="{:,}".format)
        everything = st.toggle("Mask every key", key=f"{PAGE}_all")
    query = _typed_query(everything=everything) if where == "typed" else _query_of(head, reading)
    if query is None:
        return
    scores, allowed = query.scores * scale, query.allowed & (not everything)
    weights = {(form, dtype): masked_softmax(scores, allowed, blocked=blocked, dtype=DTYPES[dtype]).numpy()
               for form, blocked in FORMS.items() for dtype in DTYPES}
    hidden = ~allowed.numpy()
    _show_weights(scores, hidden, query.labels, weights)
    _say_what_breaks(hidden, weights)
    st.caption("float16 holds nothing beyond ±65,504: −1e9 becomes −inf when it is cast, and PyTorch refuses to fill a "
               "float16 tensor with it. True / False is `attend`, the function that the models here use, on PyTorch's "
               "fast path: a query with every key masked gets zeros there, and this library refuses to build such a "
               "mask.")


def _typed_query(*, everything: bool) -> Query | None:
    """Draws the box for scores and returns them; None, with a message, for anything else."""
    line, keys = st.columns(2)
    with line:
        typed = taken(st.text_input("Scores of one query, q·k / √d", key=f"{PAGE}_typed"), SCORES)
    parts = re.split(r"[\s,;]+", typed.strip())
    if parts == [""]:
        st.info("Type some numbers separated by spaces.")
        return None
    try:
        scores = [float(part) for part in parts]
        if len(scores) > MOST_SCORES or not all(isfinite(score) and abs(score) <= 1e6 for score in scores):
            raise ValueError
    except ValueError:
        st.error(f"The scores should be up to {MOST_SCORES} numbers from −1,000,000 to 1,000,000 with spaces between "
                 "them, such as `2.0 1.0 0.5 5.0`.")
        return None
    state, places = st.session_state, range(len(scores))
    state[f"{PAGE}_blocked"] = [at for at in state[f"{PAGE}_blocked"] if at in places]
    blocked = keys.multiselect("Masked keys", places, key=f"{PAGE}_blocked", disabled=everything)
    return Query(torch.tensor(scores), torch.tensor([at not in blocked for at in places]),
                 [f"key {at}" for at in places])


def _query_of(head: Head, reading: ForcedReading) -> Query:
    """Draws the chooser of a query of the head and returns its scores before any mask."""
    state, (queries, keys) = st.session_state, head.axes
    state[f"{PAGE}_query"] = min(state[f"{PAGE}_query"], len(queries) - 1)
    query = st.select_slider("Query", range(len(queries)), key=f"{PAGE}_query",
                             format_func=lambda at: f"{at} · {figures.plain_label(queries[at])}")
    labels = [f"{at} · {figures.plain_label(piece)}" for at, piece in enumerate(keys)]
    st.caption(f"{figures.markdown_text(head.name)}, pair {head.pair + 1} · {figures.markdown_text(origin(head.ckpt))}")
    return Query(head.of(reading.products)[query], head.mask()[query], labels)


def _show_weights(scores: torch.Tensor, hidden: np.ndarray, labels: list[str],
                  weights: dict[tuple[str, str], np.ndarray]) -> None:
    """The weight of every key under every form, faults outlined."""
    numbers = ["" if blocked is None else f"{torch.tensor(blocked).to(DTYPES[dtype]).item():g}"
               for blocked in FORMS.values() for dtype in DTYPES]
    rows = [("added to a masked score", ["", "", *numbers])]
    rows += [(label, [str(scores[at].numpy()), "no" if hidden[at] else "yes", *(str(w[at]) for w in weights.values())])
             for at, label in enumerate(labels)]
    rows += [("sum", ["", "", *(str(w.astype(np.float64).sum().round(6)) for w in weights.values())]),
             ("on masked keys", ["", "", *(str(_leak(w, hidden).round(6)) for w in weights.values())])]
    wrong = {(at + 1, column + 2) for column, w in enumerate(weights.values()) for at in range(len(labels))
             if np.isnan(w[at]) or (hidden[at] and w[at] > 0)}
    st.html(figures.number_table(
        ["score", "may look", *(dtype for _ in FORMS for dtype in DTYPES)], rows,
        label="the softmax of each form of mask", corner="key", groups=[("", 2), *((form, 2) for form in FORMS)],
        totals=2, marked=wrong,
        caption="Softmax for each form of mask, computed now. Outlined: not a number, or attention to a masked key"))


def _leak(weights: np.ndarray, hidden: np.ndarray) -> np.float64:
    """The weight that masked keys get in spite of the mask."""
    return weights[hidden].astype(np.float64).sum()


def _say_what_breaks(hidden: np.ndarray, weights: dict[tuple[str, str], np.ndarray]) -> None:
    """Names the forms that give no number, or attention to masked keys, and says why."""
    broken = [f"{form} in {dtype}" for (form, dtype), w in weights.items() if np.isnan(w).any()]
    leaks = [f"{form} in {dtype} {_leak(w, hidden):.1%}" for (form, dtype), w in weights.items() if w[hidden].sum() > 0]
    if broken:
        st.markdown(f"**Not a number**: {', '.join(map(figures.markdown_text, broken))}. " + (
            "Every score is −inf, and the softmax divides 0 by 0." if hidden.all() else
            "A score above 65,504 is more than float16 holds and becomes inf."))
    if leaks:
        st.markdown(f"**Attention to masked keys**: {', '.join(map(figures.markdown_text, leaks))}." + (
            " Where every key is masked, the same number is added to every score, so the softmax equals that without "
            "a mask, up to rounding; a number so large that rounding swallows the scores gives a uniform row."
            if hidden.all() else
            " The masked scores are lowered by a finite number, and these scores are further apart than that."))
    if not broken and not leaks and hidden.any():
        st.markdown("Here every form gives masked keys exactly 0. Mask every key, or multiply the scores, until they "
                    "differ.")
