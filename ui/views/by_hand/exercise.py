"""A step as an exercise: what is given, and a matrix to fill in."""

from pathlib import Path

import numpy as np
import streamlit as st

from transformer.by_hand.exercises import Exercise, Matrix, written
from transformer.by_hand.stages import ByHand
from ui import figures
from ui.components.scripts import component
from ui.views.by_hand.matrices import draw

_exercise = component("by_hand_exercise", Path(__file__).parent / "exercise.js", '<div class="exercise"></div>')
SQUARE = 8  # columns; wider matrices that are given stand over the one to fill in
FEW = 5     # columns to fill in; the matrices given have the larger share of the width then


def show_exercise(hand: ByHand, task: Exercise, *, query: int, whole: bool) -> None:
    """One step to work out; whole: every row, and not the query's alone."""
    st.markdown(f"{figures.markdown_text(task.how)} Two decimals are enough; ±0.01 counts as right.")
    beside = max(one.values.shape[1] for one in task.given) <= SQUARE
    shares = [3, 2] if task.answer.values.shape[1] <= FEW else [2, 3]
    left, right = st.columns(shares, gap="medium") if beside else [st.container()] * 2
    with left:
        draw(*(given_matrix(one, query) for one in task.given))
    with right:
        _exercise(key="by_hand_exercise_cells", data=_data(hand, task, query=query, whole=whole))
    with st.container(key="by_hand_hint_settings"):
        st.caption("Enter checks a cell and moves on; the arrow keys and Tab move. ✓ right, ✗ not right, ○ shown.")


def given_matrix(one: Matrix, query: int | None = None) -> str:
    """A matrix of numbers to work with, as HTML."""
    rows = None if one.name.startswith("W") or one.name in ("k", "v") else query  # of which all rows are looked at
    return figures.number_matrix(one.values.numpy(), name=one.name, rows=one.rows, columns=one.columns, row=rows,
                                 kind="plain")


def columns_of(one: Matrix) -> list[str]:
    """The names over its columns, numbers where it has none."""
    return list(map(str, range(one.values.shape[1]))) if one.columns is None else one.columns


def _data(hand: ByHand, task: Exercise, *, query: int, whole: bool) -> dict:
    answer, (low, high) = task.answer, task.bounds()
    rows = range(len(answer.rows))
    negative = bool((answer.values < 0).any())
    return {"name": f"{hand.settings} {task.step} {whole or query}", "title": answer.name,
            "shape": str(tuple(answer.values.shape)), "rows": [figures.plain_label(row) for row in answer.rows],
            "columns": [figures.plain_label(column) for column in columns_of(answer)],
            "open": list(rows) if whole else [query],
            "answers": [[written(value) for value in row] for row in answer.values.tolist()],
            "low": _bounds(low.numpy()), "high": _bounds(high.numpy()),
            "keyboard": "text" if negative else "decimal"}  # a telephone's keys for decimals may have no minus


def _bounds(values: np.ndarray) -> list[list[float | None]]:
    """As JSON, which has no −∞: None."""
    return [[float(value) if np.isfinite(value) else None for value in row] for row in values]
