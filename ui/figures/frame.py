"""The frame of every plotly figure: title and source, sizes, buttons; and larger type for a projector."""

from collections.abc import Mapping
from functools import cache
from typing import Any

import plotly.graph_objects as go
import plotly.io
from plotly.basedatatypes import BaseFigure

from ui.figures.labels import plotly_text
from ui.figures.palette import INK

TEXT = 14  # px, the smallest that can be read from the back row; NOTE: for additions
NOTE = 13

# For st.plotly_chart(config=): only the picture button, with three times the pixels, for a projector or a paper.
PLOTLY_CONFIG = {
    "displaylogo": False,
    "modeBarButtonsToRemove": ["zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "autoScale2d", "resetScale2d", "select2d",
                               "lasso2d"],
    "toImageButtonOptions": {"format": "png", "scale": 3, "filename": "heads-up"},
}


class Finished(BaseFigure):
    """A plotly figure that is sent to the browser unchecked: checking every property would take most of the time of
    drawing a step. `data` and `layout`, which the tests read, are checked."""

    def __init__(self, data: list[dict], layout: dict):
        self._data, self._layout, self._frame_objs = data, layout, ()  # read by `to_dict`

    @property
    def data(self) -> tuple:  # pyright: ignore[reportIncompatibleMethodOverride]: it is not set
        return tuple(go.Figure(self._data, self._layout).data)

    @property
    def layout(self) -> go.Layout:  # pyright: ignore[reportIncompatibleMethodOverride]: it is not set
        return go.Figure(self._data, self._layout).layout


@cache
def _template(name: str) -> dict:
    return go.Figure(layout={"template": name}).to_dict()["layout"]["template"]


def framed(traces: list[dict], *, xaxis: dict, yaxis: dict, title: str, source: str, dark: bool | None, height: int,
           top: int = 0, bottom: int = 0, **layout) -> Finished:
    """A figure with its title, its source in small type, and room in pixels above and below for its labels."""
    head = 10 + 26 * bool(title) + 26 * bool(source)
    ink = {"color": INK[dark]}
    # The background is left to Streamlit's theme, so that an exported picture has one too.
    return Finished(traces, {
        "template": _template(plotly.io.templates.default),
        "title": {"text": plotly_text(title), "font": {"size": 17}, "x": 0, "xref": "container", "xanchor": "left",
                  "y": 1, "yref": "container", "yanchor": "top", "pad": {"t": 4},
                  "subtitle": {"text": plotly_text(source), "font": {"size": NOTE} | ink}},
        "xaxis": _inked(xaxis, ink), "yaxis": _inked(yaxis, ink), "font": {"size": TEXT} | ink,
        "height": height + head + top + bottom, "margin": {"l": 8, "r": 8, "t": head + top, "b": bottom},
        "hoverlabel": {"font": {"size": TEXT + 1}, "align": "left"}, "bargap": 0, "barmode": "overlay"} | layout)


def axis(title: str = "", *, standoff: int = 8, **settings) -> dict:
    """An axis with labels only, for `framed`."""
    return {"showgrid": False, "zeroline": False, "showline": False, "ticks": "", "tickmode": "array",
            "fixedrange": True, "tickfont": {"size": TEXT},
            "title": {"text": title, "font": {"size": TEXT}, "standoff": standoff}} | settings


def picked_number(event) -> int | None:
    """The number of the clicked part in the state of `st.plotly_chart(on_select=)`, or None."""
    try:
        number = event["selection"]["points"][0]["customdata"]
    except (TypeError, KeyError, IndexError):
        return None
    return number if isinstance(number, int) and number >= 0 else None


def _inked(settings: dict, ink: dict) -> dict:
    title = settings["title"]
    return settings | {"tickfont": settings["tickfont"] | ink, "title": title | {"font": title["font"] | ink}}


LENGTHS = {"standoff", "thickness", "len", "ypad", "xpad", "fontSize", "labelFontSize", "titleFontSize", "labelLimit",
           "dx", "dy", "strokeWidth"}
AREAS = {"symbolSize"}
TOP = 8  # px above a chart's title
TITLE = 30  # px over a figure for its title
LOWEST = 80  # px of a chart between its labels
AROUND = 110  # px that a chart's title, axes and key take
LINE_HEIGHT, LETTER_WIDTH = 1.1, 0.5  # times the size of the type


def enlarged(figure: Finished | dict, by: float, height: int) -> Finished | dict:
    """A plotly figure, or the specification of an altair chart, with its type enlarged `by` a factor and without the
    source under its title. height: in pixels, as the caller draws it; rows that are lower than the type make it smaller
    again."""
    if by == 1:
        return figure
    if isinstance(figure, Finished):
        return _plot(figure.to_dict(), by, height)
    chart = _grown(figure, by)
    if isinstance(chart.get("title"), dict):
        chart["title"] = {name: value for name, value in chart["title"].items() if name != "subtitle"}
    return chart | {"padding": {"left": 4, "right": 16 * by, "top": TOP, "bottom": 4}}


def shortened(figure: Finished | dict, most: int) -> Finished | dict:
    """A plotly figure, or the specification of an altair chart, at most so many pixels high, with its labels."""
    if not isinstance(figure, Finished):
        height, least = figure.get("height"), max(LOWEST, most - AROUND)
        return figure | {"height": least} if isinstance(height, int) and height > least else figure
    whole = figure.to_dict()
    layout = whole["layout"]
    around = layout["margin"]["t"] + layout["margin"]["b"]
    most = max(most, around + LOWEST)
    if layout["height"] <= most:
        return figure
    legend = layout.get("legend")
    if legend:  # which is placed by parts of the height between the margins
        legend = {"legend": legend | {"y": legend["y"] * (layout["height"] - around) / (most - around)}}
    return Finished(whole["data"], layout | {"height": most} | (legend or {}))


def _plot(figure: dict, by: float, height: int) -> Finished:
    layout = _grown({name: value for name, value in figure["layout"].items() if name != "template"}, by)
    numbered = any(trace.get("mode") == "text" for trace in figure["data"])  # cells with numbers need no scale
    small = bool(layout["title"].get("subtitle", {}).get("text"))
    layout["title"] = {name: value for name, value in layout["title"].items() if name != "subtitle"}
    room = figure["layout"]["margin"]
    untitled = not (figure["layout"]["title"].get("text") or "").strip()
    above, below = room["t"] - 26 * small - TITLE * untitled, 8 if numbered else room["b"] * by
    layout["margin"] = {"l": room["l"], "r": room["r"], "t": above * by, "b": below}
    layout["template"] = figure["layout"]["template"]
    traces = [_grown(trace, by) | ({"showscale": False} if numbered and trace["type"] == "heatmap" else {})
              for trace in figure["data"]]
    _fit_rows(layout["yaxis"], traces, height - layout["margin"]["t"] - layout["margin"]["b"], layout["margin"]["b"])
    return Finished(traces, layout | {"showlegend": False if numbered else layout.get("showlegend")})


def _fit_rows(axis: dict, traces: list[dict], height: float, below: float) -> None:
    """Makes the type of rows no higher than they are, and a title beside them no longer than there is room for: at most
    `height`, and as much more at either end as there is below."""
    rows, title = axis.get("ticktext") or (), axis.get("title", {})
    if rows and axis.get("showticklabels", True):
        most = max(TEXT, height / len(rows) / LINE_HEIGHT)
        for font in [axis["tickfont"], *(trace["textfont"] for trace in traces if "textfont" in trace)]:
            font["size"] = min(font["size"], most)
    if len(title.get("text") or "") * LETTER_WIDTH * title["font"]["size"] > height + 2 * below:
        title["text"] = title["text"].partition(":")[0]


def _grown(part: Any, by: float, name: str = "") -> Any:
    """A part of a figure with its sizes of type, and the lengths that depend on them, enlarged; data stay."""
    if isinstance(part, Mapping):
        font = name.lower().endswith("font")
        return {key: value * by if font and key == "size" and isinstance(value, int | float)
                else _grown(value, by, key) for key, value in part.items()}
    if isinstance(part, list) and all(isinstance(one, Mapping) for one in part):
        return [_grown(one, by, name) for one in part]
    if isinstance(part, bool) or not isinstance(part, int | float):
        return part
    return part * by if name in LENGTHS else part * by ** 2 if name in AREAS else part
