"""A sweep as small multiples: the curves of its runs, and their results, a panel or a cell for each."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import isfinite

import numpy as np

from ui.figures.frame import NOTE, TEXT, Finished, axis, framed
from ui.figures.labels import plotly_text, words_label
from ui.figures.palette import BAR, CLEAR, FORBIDDEN, INK, MARK, MUTED, faint, ink_on, ramp

MOST_POINTS = 200  # of a small curve
GAP, UNDER_NAMES = 0.06, 0.24  # between two panels, of the width or height of one; where rows have names over them
PANEL, CELL = 130, 64  # px, the height of a panel and of a cell
LABEL = 26  # px over a column
GROUND = faint(MUTED, 0.1)  # of a panel
HALVED = 4  # columns whose axes have room for two numbers
LONGEST = 28  # characters of a row's or a column's name


@dataclass(frozen=True)
class Panel:
    """A run of a sweep, as its small picture needs it."""

    words: str  # its state, or its newest number
    training: tuple[Sequence[float], Sequence[float]] = field(default=((), ()))  # steps and losses
    held_out: tuple[Sequence[float], Sequence[float]] = field(default=((), ()))
    exists: bool = True


def sweep_curves(panels: Sequence[Sequence[Panel]], rows: Sequence[str], columns: Sequence[str], *, last: int,
                 title: str, source: str = "", dark: bool | None = None) -> Finished:
    """The losses of runs over their steps, up to the `last`, in a grid on the same axes: a thin line for the loss of
    training, a bold one for the held-out loss. A panel is clicked; `picked_number` tells which, counted row by row."""
    heights = [loss for row in panels for panel in row for _, losses in (panel.training, panel.held_out)
               for loss in losses if isfinite(loss)]
    top = max(heights, default=1.0) * 1.08 or 1.0
    traces, layout, notes, ticks = [], {}, [], [last // 2, last] if len(columns) <= HALVED else [last]
    wide, tall, gap = len(columns), len(rows), UNDER_NAMES if any(rows) else GAP
    for at, panel in enumerate(panel for row in panels for panel in row):
        row, column = divmod(at, wide)
        number = "" if at == 0 else str(at + 1)
        axes = {"xaxis": f"x{number}", "yaxis": f"y{number}"}
        layout[f"xaxis{number}"] = _axis(_span(column, wide), [0, last], anchor=f"y{number}", labelled=row == tall - 1,
                                         dark=dark) | {"tickmode": "array", "tickvals": ticks, "ticktext": [
                                             f"{step:,}" for step in ticks]}
        layout[f"yaxis{number}"] = _axis(_span(tall - 1 - row, tall, gap), [0, top], anchor=f"x{number}",
                                         labelled=column == 0, dark=dark)
        name = plotly_text(f"{rows[row]} {columns[column]}".strip())
        traces.append({"type": "bar", "x": [last / 2], "width": [last], "y": [top], "customdata": [at], **axes,
                       "marker": {"color": GROUND if panel.exists else CLEAR}, "hoverinfo": "text",
                       "hovertext": ["<br>".join(filter(None, (name, plotly_text(panel.words))))],
                       "selected": {"marker": {"opacity": 1}}, "unselected": {"marker": {"opacity": 1}}})
        for (steps, losses), line in ((panel.training, {"color": MUTED, "width": 1.5}),
                                      (panel.held_out, {"color": BAR, "width": 3})):
            thin = -(-len(steps) // MOST_POINTS) or 1
            traces.append({"type": "scatter", "mode": "lines+markers" if len(steps) == 1 else "lines",
                           "x": [*steps[::thin], *steps[-1:]], "y": [*losses[::thin], *losses[-1:]], "line": line,
                           "hoverinfo": "skip", **axes})
        notes.append({"text": plotly_text(panel.words), "xref": f"x{number} domain", "yref": f"y{number} domain",
                      "x": 0.97, "y": 0.96, "xanchor": "right", "yanchor": "top", "showarrow": False,
                      "font": {"size": NOTE, "color": INK[dark]}})
    notes += _column_names(columns, 4 + 20 * any(rows), dark) + [
        _note(name, x=0, y=_span(tall - 1 - at, tall, gap)[1], xanchor="left", yanchor="bottom", dark=dark)
        for at, name in enumerate(rows) if name]
    first = {name: layout.pop(name) for name in ("xaxis", "yaxis")}
    return framed(traces, title=title, source=source, dark=dark, height=(PANEL + 24 * any(rows)) * tall,
                  top=LABEL + 20 * any(rows), bottom=40, showlegend=False, annotations=notes, hovermode="closest",
                  **first, **layout)


def _axis(span: list[float], limits: list[float], *, anchor: str, labelled: bool, dark: bool | None) -> dict:
    ink = {"color": INK[dark]} if INK[dark] else {}
    return axis() | {"domain": span, "range": limits, "anchor": anchor, "tickmode": "auto", "nticks": 4,
                     "showticklabels": labelled, "tickfont": {"size": NOTE} | ink}


def _span(at: int, count: int, gap: float = GAP) -> list[float]:
    """The part of the whole width or height that a panel takes."""
    size = 1 / (count + gap * (count - 1))
    return [at * size * (1 + gap), min(1.0, at * size * (1 + gap) + size)]


def _column_names(columns: Sequence[str], above: int, dark: bool | None) -> list[dict]:
    return [_note(name, x=sum(_span(at, len(columns))) / 2, y=1, xanchor="center", yanchor="bottom", dark=dark)
            | {"yshift": above} for at, name in enumerate(columns)]


def _name(text: str) -> str:
    return plotly_text(words_label(text, longest=LONGEST)) if text else ""


def _note(text: str, *, dark: bool | None, **place: object) -> dict:
    return {"text": _name(text), "xref": "paper", "yref": "paper", "showarrow": False,
            "font": {"size": TEXT, "color": INK[dark]}} | place


def sweep_results(values: np.ndarray, words: Sequence[Sequence[str]], rows: Sequence[str], columns: Sequence[str], *,
                  down: str, across: str, best: float | None, limits: tuple[float, float] | None = None, title: str,
                  source: str = "", dark: bool | None = None) -> Finished:
    """The results of runs (rows, columns) as coloured cells with their words, of one or two lines; NaN where there is
    none; the cells with the `best` value are outlined. limits: of the colours; the lowest and the highest result if not
    given. A cell is clicked, as in `sweep_curves`."""
    values = np.asarray(values, dtype=np.float64)
    known = values[np.isfinite(values)]
    low, high = limits or ((float(known.min()), float(known.max())) if len(known) else (0.0, 1.0))
    shades = ramp(256, dark=dark)
    tall, wide = values.shape
    at, fills, inks, edges = np.arange(tall * wide), [], [], []
    for value in values.ravel():
        if not isfinite(value):
            fills, inks, edges = [*fills, FORBIDDEN], [*inks, INK[bool(dark)]], [*edges, CLEAR]
            continue
        share = min(1.0, max(0.0, (value - low) / (high - low))) if high > low else 0.5
        shade = shades[[round(20 + 215 * share)]]
        red, green, blue = shade[0]
        fills, inks = [*fills, f"rgb({red}, {green}, {blue})"], [*inks, *ink_on(shade)]
        edges.append(MARK if value == best and known.min() < known.max() else CLEAR)
    cells = {"type": "bar", "orientation": "h", "base": (at % wide - 0.48).tolist(), "x": [0.96] * len(at),
             "y": (at // wide).tolist(), "width": 0.94, "customdata": at.tolist(),
             "text": [plotly_text(one).replace("\n", "<br>") for row in words for one in row],
             "textposition": "inside", "textangle": 0, "insidetextanchor": "middle", "constraintext": "none",
             "insidetextfont": {"size": TEXT + 1, "color": inks},
             "hoverinfo": "text", "hovertext": [plotly_text(f"{one} {other}".strip()) for one in rows
                                                for other in columns],
             "marker": {"color": fills, "line": {"color": edges, "width": 3}},
             "selected": {"marker": {"opacity": 1}}, "unselected": {"marker": {"opacity": 1}}}
    return framed([cells], title=title, source=source, dark=dark, height=CELL * tall, top=LABEL + 6, bottom=8,
                  showlegend=False, hovermode="closest",
                  xaxis=axis(plotly_text(across), side="top", range=[-0.5, wide - 0.5], tickvals=list(range(wide)),
                             ticktext=[_name(name) for name in columns]),
                  yaxis=axis(plotly_text(down), range=[tall - 0.5, -0.5], tickvals=list(range(tall)),
                             ticktext=[_name(name) for name in rows]))


def describe_sweep(words: Sequence[Sequence[str]], rows: Sequence[str], columns: Sequence[str], *, what: str) -> str:
    """A sentence for `alt=`: what is said of each run, after its row and column where they have names."""
    said = [(f"{row} {column}".strip(), " ".join(words[i][j].split())) for i, row in enumerate(rows)
            for j, column in enumerate(columns)]
    return f"{what}: " + ", ".join(": ".join(filter(None, one)) for one in said if one[1]) + "."
