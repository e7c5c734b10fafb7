"""Exercises: a matrix to fill in on the page, or a worksheet to print, with its answers on a separate sheet."""

from collections.abc import Sequence
from html import escape
from pathlib import Path

import numpy as np
import streamlit as st

from transformer.basics.design import property_style
from transformer.by_hand.exercises import Exercise, Matrix, written
from transformer.by_hand.stages import ByHand
from ui import figures
from ui.components.scripts import component
from ui.views.by_hand.matrices import NAMES, draw, numbers

_exercise = component("by_hand_exercise", Path(__file__).parent / "exercise.js", '<div class="exercise"></div>')
SQUARE = 8  # columns of a given matrix; wider ones are above the one to fill in
FEW = 5     # columns to fill in, with which the given matrices get the larger part of the width


def show_exercise(hand: ByHand, task: Exercise, *, query: int, whole: bool) -> None:
    """A step to work out; whole: all rows, not only the query's."""
    st.markdown(f"{figures.markdown_text(task.how)} Two decimals are enough; ±0.01 counts as right.")
    beside = max(len(one.seen[1]) for one in task.given) <= SQUARE
    shares = [3, 2] if len(task.answer.seen[1]) <= FEW else [2, 3]
    left, right = st.columns(shares, gap="medium") if beside else [st.container()] * 2
    with left:
        draw(*(given_matrix(one, query) for one in task.given))
    with right:
        _exercise(key="by_hand_exercise_cells", data=_data(hand, task, query=query, whole=whole))
    with st.container(key="by_hand_hint_settings"):
        st.caption("Enter checks a cell and moves on; the arrow keys and Tab move. ✓ right, ✗ not right, ○ shown.")


def given_matrix(one: Matrix, query: int | None = None) -> str:
    """A matrix of numbers to work with, as HTML."""
    rows = None if one.name.split()[0] in ("W_q", "k", "v") else query  # all their rows are used
    return numbers(one.values, one.name, one.first, rows=one.rows, columns=one.columns, row=rows, kind="plain")


def columns_of(one: Matrix) -> list[str]:
    """The names of the columns that are shown, by default numbers."""
    _, across = one.seen
    return [figures.plain_label(str(at) if one.columns is None else one.columns[at]) for at in across]


def shape_of(one: Matrix) -> str:
    """Its shape, and which part is shown if it is not all."""
    rows, columns = one.values.shape
    shape = rows, columns
    return " ".join(filter(None, (str(shape), figures.place_said(one.seen, shape))))


def _data(hand: ByHand, task: Exercise, *, query: int, whole: bool) -> dict:
    answer, (_, across) = task.answer, task.answer.seen
    low, high, values = (each[:, across.start:across.stop] for each in (*task.bounds(), answer.values))
    rows = range(len(answer.rows))
    negative = bool((values < 0).any())
    return {"name": f"{hand.settings} {task.step} {whole or query}{f' {across}' * (across.start > 0)}",
            "title": answer.name, "shape": shape_of(answer), "rows": [figures.plain_label(row) for row in answer.rows],
            "columns": columns_of(answer), "open": list(rows) if whole else [query],
            "answers": [[written(value) for value in row] for row in values.tolist()],
            "low": _bounds(low.numpy()), "high": _bounds(high.numpy()),
            "keyboard": "text" if negative else "decimal"}  # a phone's keyboard for decimals may have no minus


def _bounds(values: np.ndarray) -> list[list[float | None]]:
    """Numbers for JSON, with None for −∞."""
    return [[float(value) if np.isfinite(value) else None for value in row] for row in values]


PRINTED = property_style() + """
:root { color-scheme: light; }
@page { size: A4; margin: 14mm; }
body { font: var(--body)/1.4 var(--font); color: var(--ink); background: var(--paper); max-width: 1000px;
  margin: 1rem auto; padding: 0 1rem; }
h1 { font-size: var(--title); margin: 0; } h2 { font-size: var(--body); margin: 1.2em 0 .2em; } p { margin: .3em 0; }
.name { display: flex; justify-content: space-between; gap: var(--gap-4); }
.name span { flex: 1; border-bottom: 1px solid; }
.row { display: flex; flex-wrap: wrap; gap: var(--gap-2) var(--gap-4); align-items: flex-start; overflow-x: auto; }
figure { margin: .4em 0; break-inside: avoid; } figcaption { padding-bottom: .2em; }
section.step { break-inside: avoid-page; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: var(--small); }
th { font-weight: 400; padding: .1em .4em; text-align: right; white-space: nowrap; } thead th { text-align: center; }
td { border: 1px solid var(--edge); padding: .15em .35em; text-align: right; min-width: 2.7em; height: 1.4em; }
td.open { border: 2px solid; min-width: 3.4em; height: 2em; }
.answers { break-before: page; }
@media screen { .answers { border-top: 3px double; margin-top: 3rem; padding-top: 1rem; } }
"""


def worksheet(hand: ByHand, tasks: Sequence[Exercise], *, query: int | None) -> str:
    """A worksheet of the chosen steps; query: the only row to fill in, or None for all."""
    s = hand.settings
    about = (f"Seed {s.seed:,} ({_source_of(s.numbers)}), d = {s.d}, d_k = {s.d_k}, d_v = {s.d_v}, divided by "
             f"{escape(s.scaling.said)}, {'causal mask' if s.causal else 'no mask'}"
             f"{', positions added' if s.positions else ''}. Two decimals.")
    earlier, sheets = set(), []
    for task in tasks:
        given = [one for one in task.given if one.name not in earlier]
        earlier.add(task.answer.name)
        taken = [one.name for one in task.given if one.name in earlier]
        carried = f" Use your own {escape(' and '.join(taken))} from above." if taken and query is None else ""
        known = task.given if query is not None else given
        sheets.append(_step(task, f"{escape(task.how)}{carried}", [*(_table(one) for one in known),
                                                                   _table(task.answer, blank=True, query=query)]))
    answers = "".join(_step(task, "", [_table(task.answer, query=query, answer=True)]) for task in tasks)
    heading = f"<h1>Attention by hand</h1><p>“{escape(s.sentence)}”</p><p>{about}</p>"
    return (f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Attention by hand: worksheet</title>'
            f'<meta name="viewport" content="width=device-width"><style>{PRINTED}</style></head><body>'
            f'<p class="name">Name <span></span> Date <span></span></p>{heading}{"".join(sheets)}'
            f'<div class="answers"><h1>Answers</h1><p>“{escape(s.sentence)}”</p><p>{about}</p>{answers}</div>'
            f"</body></html>")


def _source_of(numbers: str) -> str:
    return "drawn by Heads Up" if numbers == "ours" else "torch.manual_seed"


def _step(task: Exercise, how: str, tables: list[str]) -> str:
    return (f'<section class="step"><h2>{task.step} · {escape(NAMES[task.step])}</h2><p>{how}</p>'
            f'<div class="row">{"".join(tables)}</div></section>')


def _table(one: Matrix, *, blank: bool = False, answer: bool = False, query: int | None = None) -> str:
    """A matrix as HTML; blank: with empty cells to fill in, all or those in the query's row."""
    head = "".join(f"<th>{escape(name)}</th>" for name in columns_of(one))
    body, (down, across) = [], one.seen
    for at in down:
        row, values = one.rows[at], one.values[at, across.start:across.stop].tolist()
        opened = (blank or answer) and query in (None, at)
        cells = "".join(f'<td{" class=open" if opened else ""}>{"" if blank and opened else written(value)}</td>'
                        for value in values)
        body.append(f"<tr><th>{escape(figures.plain_label(row))}</th>{cells}</tr>")
    return (f"<figure><figcaption><b>{escape(one.name)}</b> {shape_of(one)}</figcaption><table><thead><tr>"
            f"<th></th>{head}</tr></thead><tbody>{''.join(body)}</tbody></table></figure>")
