"""A matrix of numbers that are no weights: positions by dimensions, positions by positions, angles."""
import numpy as np
import plotly.graph_objects as go

from ui.figures.frame import NOTE, TEXT, axis, framed
from ui.figures.palette import CYCLIC, DIVERGING, colorscale

TICKS = 9  # numbers along an axis, at most about so many


def number_heatmap(values: np.ndarray, *, across: str, down: str, value: str, title: str, source: str = "",
                   angle: bool = False, height: int = 380, dark: bool | None = None) -> go.Figure:
    """Values (rows, columns) in colours from below zero to above, or from least to most where all are above zero, row
    0 on top; with `angle` they are radians and their colours go round at 2 pi, while hover tells the whole angle."""
    values = np.asarray(values, dtype=np.float32)
    assert values.ndim == 2 and values.size, f"a matrix and not {values.shape}"
    bar = {"orientation": "h", "x": 0, "xanchor": "left", "xpad": 0, "y": 0, "yanchor": "top", "ypad": 10,
           "lenmode": "pixels", "len": 230, "thickness": 12, "outlinewidth": 0, "tickfont": {"size": NOTE},
           "title": {"text": value, "side": "top", "font": {"size": NOTE}}}
    where = f"{down} %{{y}}, {across} %{{x}}<br>"
    heat = {"type": "heatmap", "colorbar": bar}
    if angle:
        bar |= {"tickvals": [0, np.pi / 2, np.pi, 3 * np.pi / 2, 2 * np.pi],
                "ticktext": ["0", "π/2", "π", "3π/2", "2π"]}
        stops = [[at / (len(CYCLIC) - 1), colour] for at, colour in enumerate(CYCLIC)]
        heat |= {"z": values % np.float32(2 * np.pi), "zmin": 0, "zmax": 2 * np.pi, "colorscale": stops,
                 "customdata": values, "hovertemplate": where + f"{value} <b>%{{customdata:.5~g}}</b><extra></extra>"}
    else:
        most = float(np.abs(values[np.isfinite(values)]).max(initial=0)) or 1.0
        low, middle, high = DIVERGING[bool(dark)]
        scale = {"zmin": -most, "zmax": most, "colorscale": [[0, low], [0.5, middle], [1, high]]}
        if values.min() > 0:
            scale = {"zmin": float(values.min()), "zmax": most, "colorscale": colorscale("linear", dark=dark)}
        heat |= scale | {"z": values, "hovertemplate": where + f"{value} <b>%{{z:.5~g}}</b><extra></extra>"}
        bar |= {"nticks": 5}
    rows, columns = values.shape
    return framed([heat], title=title, source=source, dark=dark, height=height, top=50, bottom=74, xaxis=axis(
        across, side="top", range=[-0.5, columns - 0.5], tickvals=_ticks(columns), ticktext=_ticks(columns)),
        yaxis=axis(down, range=[rows - 0.5, -0.5], tickvals=_ticks(rows), ticktext=_ticks(rows),
                   tickfont={"size": TEXT}))


def describe_numbers(values: np.ndarray, *, across: str, down: str, value: str) -> str:
    """A sentence for `alt=`: the sizes, and from where to where the numbers go."""
    rows, columns = values.shape
    return (f"{value.capitalize()} as colours, {rows} by {columns} ({down} by {across}), "
            f"from {np.nanmin(values):.4g} to {np.nanmax(values):.4g}.")


def _ticks(count: int) -> list[int]:
    steps = (1, 2, 5, 10, 20, 25, 50, 100, 200, 500)
    step = next((step for step in steps if count / step <= TICKS), steps[-1])
    return list(range(0, count, step))
