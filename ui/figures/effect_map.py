"""A number for each head of a kind, above or below zero: layers down, heads across, and a click chooses one."""
import numpy as np
import plotly.graph_objects as go

from ui.figures.bar_table import signed_number
from ui.figures.frame import NOTE, TEXT, axis, framed
from ui.figures.labels import head_label
from ui.figures.palette import ACCENT, CLEAR, diverging, diverging_scale, ink_on

ROW = 36       # px
NUMBERED = 8   # heads; beyond, only hovering and the table have the numbers


def effect_map(values: np.ndarray, *, limit: float, chosen: tuple[int, int] | None, unit: str, title: str,
               source: str = "", dark: bool | None = None) -> go.Figure:
    """Values (layers, heads) in colours from -limit to limit; the head chosen is outlined."""
    values = np.asarray(values, dtype=np.float64)
    layers, heads = values.shape
    limit = max(limit, 1e-9)
    places = [(layer, head) for layer in range(layers) for head in range(heads)]
    shades = diverging(257, dark=dark)[(128 + 128 * values.ravel() / limit).round().astype(int).clip(0, 256)]
    # bars and not a heatmap: the points of a heatmap cannot be chosen by a click
    cells = {"type": "bar", "orientation": "h", "y": [layer for layer, _ in places], "x": [0.96] * len(places),
             "base": [head - 0.48 for _, head in places], "width": 0.94, "customdata": places,
             "text": [signed_number(value) if heads <= NUMBERED else "" for value in values.ravel()],
             "textposition": "inside", "insidetextanchor": "middle", "textangle": 0, "constraintext": "none",
             "insidetextfont": {"size": TEXT, "color": ink_on(shades)},
             "marker": {"color": [f"rgb({red}, {green}, {blue})" for red, green, blue in shades],
                        "line": {"width": [4 * (place == chosen) for place in places], "color": ACCENT}},
             "hovertext": [f"<b>{head_label(*place)}</b><br>{value:+.5g} {unit}"
                           for place, value in zip(places, values.ravel(), strict=True)],
             "hovertemplate": "%{hovertext}<br>click to see where it looks<extra></extra>",
             "selected": {"marker": {"opacity": 1}}, "unselected": {"marker": {"opacity": 1}}}
    scale = {"type": "scatter", "mode": "markers", "x": [None], "y": [None], "hoverinfo": "skip", "marker": {
        "color": [0], "cmin": -limit, "cmax": limit, "colorscale": diverging_scale(dark=dark), "showscale": True,
        "colorbar": {"orientation": "h", "x": 0, "xanchor": "left", "xpad": 0, "y": 0, "yanchor": "top", "ypad": 8,
                     "lenmode": "pixels", "len": 200, "thickness": 12, "outlinewidth": 0, "tickfont": {"size": NOTE},
                     "tickvals": [-limit, 0, limit],
                     "ticktext": [f"−{limit:.2g}", "0", f"+{limit:.2g}"],
                     "title": {"text": unit, "side": "top", "font": {"size": NOTE}}}}}
    return framed([scale, cells], title=title, source=source, dark=dark, height=ROW * max(layers, 2), top=46, bottom=70,
                  showlegend=False, plot_bgcolor=CLEAR,
                  xaxis=axis("head", side="top", range=[-0.5, heads - 0.5], tickvals=list(range(heads)),
                             ticktext=[str(head) for head in range(heads)]),
                  yaxis=axis(range=[layers - 0.5, -0.5], tickvals=list(range(layers)),
                             ticktext=[f"layer {layer}" for layer in range(layers)]))


def picked_head(event) -> tuple[int, int] | None:
    """The layer and the head clicked in what `st.plotly_chart(effect_map(...), on_select=...)` has kept, or None."""
    points = event["selection"]["points"] if event else []
    return tuple(points[0]["customdata"][:2]) if points else None


def describe_effects(values: np.ndarray, *, unit: str) -> str:
    """A sentence for `alt=`: the sizes, and the strongest head for and against."""
    values = np.asarray(values)
    most, least = (tuple(int(at) for at in np.unravel_index(found, values.shape))
                   for found in (values.argmax(), values.argmin()))
    return (f"{values.shape[0]} layers by {values.shape[1]} heads, {unit}. Most for: {head_label(*most)} with "
            f"{values[most]:+.2f}; most against: {head_label(*least)} with {values[least]:+.2f}.")
