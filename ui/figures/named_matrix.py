"""A small matrix whose rows and columns have names, each cell with its number."""
from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from ui.figures.frame import NOTE, TEXT, axis, framed
from ui.figures.labels import plotly_text
from ui.figures.palette import colorscale, ink_on, ramp

ROW = 30       # px
NUMBERED = 24  # rows; beyond, hover tells the numbers
TOP = 84       # px for the names of the columns, which stand askew


def named_matrix(values: np.ndarray, rows: Sequence[str], columns: Sequence[str], *, quantity: str, title: str,
                 source: str = "", least_high: float = 0.0, dark: bool | None = None) -> go.Figure:
    """Values (rows, columns) of 0 and more, from 0 to the largest (or to `least_high`); NaN is left empty."""
    values = np.asarray(values, dtype=np.float64)
    assert values.shape == (len(rows), len(columns)), f"{values.shape} for {len(rows)} x {len(columns)} names"
    high = max([least_high, *values[np.isfinite(values)].tolist()]) or 1.0
    heatmap = {"type": "heatmap", "z": values.astype(np.float32), "zmin": 0, "zmax": high, "hoverongaps": False,
               "colorscale": colorscale("linear", dark=dark), "xgap": 1, "ygap": 1,
               "hovertemplate": f"%{{y}}, %{{x}}<br>{quantity} <b>%{{z:.4~g}}</b><extra></extra>",
               "colorbar": {"orientation": "h", "x": 0, "xanchor": "left", "xpad": 0, "y": 0, "yanchor": "top",
                            "ypad": 8, "lenmode": "pixels", "len": 180, "thickness": 12, "outlinewidth": 0, "nticks": 4,
                            "tickfont": {"size": NOTE},
                            "title": {"text": quantity, "side": "top", "font": {"size": NOTE}}}}
    traces = [heatmap]
    if len(rows) <= NUMBERED:
        at = np.argwhere(np.isfinite(values))
        shown = [values[i, j] for i, j in at]
        shades = ramp(256, dark=dark)[[min(255, int(255 * value / high)) for value in shown]]
        traces.append({"type": "scatter", "mode": "text", "x": at[:, 1], "y": at[:, 0], "hoverinfo": "skip",
                       "text": [f"{value:.2f}" for value in shown], "showlegend": False,
                       "textfont": {"size": TEXT, "color": ink_on(shades)}})
    return framed(traces, title=title, source=source, dark=dark, height=ROW * len(rows), top=TOP, bottom=70,
                  xaxis=axis(side="top", tickvals=list(range(len(columns))), ticktext=[plotly_text(name)
                                                                                      for name in columns],
                             range=[-0.5, len(columns) - 0.5], tickangle=-50),
                  yaxis=axis(tickvals=list(range(len(rows))), ticktext=[plotly_text(name) for name in rows],
                             range=[len(rows) - 0.5, -0.5]))


def describe_named(values: np.ndarray, rows: Sequence[str], columns: Sequence[str], *, quantity: str) -> str:
    """A sentence for `alt=`: the sizes, and where it is largest."""
    if not np.isfinite(values).any():
        return f"{quantity} of {len(rows)} by {len(columns)}: none is known."
    i, j = np.unravel_index(np.nanargmax(values), values.shape)
    return (f"{quantity} of {len(rows)} by {len(columns)}: from {np.nanmin(values):.3g} to {values[i, j]:.3g}, "
            f"{rows[i]}, {columns[j]}.")
