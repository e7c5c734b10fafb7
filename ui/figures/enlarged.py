"""A finished figure with larger type, for a projector, where nothing but type and its room grows with the window."""
from collections.abc import Mapping

from ui.figures.frame import Finished

LENGTHS = {"standoff", "thickness", "len", "ypad", "xpad", "fontSize", "labelFontSize", "titleFontSize", "labelLimit",
           "dx", "strokeWidth"}
AREAS = {"symbolSize"}
TOP = 8  # px above a chart's title
TITLE = 30  # px over a figure, where its title would stand


def enlarged(figure: Finished | dict, by: float) -> Finished | dict:
    """A plotly figure, or the specification of an altair chart, with type so many times as large, and without the small
    print under its title; its height is given where it is drawn."""
    if by == 1:
        return figure
    if isinstance(figure, Finished):
        return _plot(figure.to_dict(), by)
    chart = _grown(figure, by)
    if isinstance(chart.get("title"), dict):
        chart["title"] = {name: value for name, value in chart["title"].items() if name != "subtitle"}
    return chart | {"padding": {"left": 4, "right": 16 * by, "top": TOP, "bottom": 4}}


def _plot(figure: dict, by: float) -> Finished:
    layout = _grown({name: value for name, value in figure["layout"].items() if name != "template"}, by)
    said = any(trace.get("mode") == "text" for trace in figure["data"])  # cells with numbers need no scale
    small = bool(layout["title"].get("subtitle", {}).get("text"))
    layout["title"] = {name: value for name, value in layout["title"].items() if name != "subtitle"}
    room = figure["layout"]["margin"]
    untitled = not (figure["layout"]["title"].get("text") or "").strip()
    above, below = room["t"] - 26 * small - TITLE * untitled, 8 if said else room["b"] * by
    layout["margin"] = {"l": room["l"], "r": room["r"], "t": above * by, "b": below}
    layout["template"] = figure["layout"]["template"]
    traces = [_grown(trace, by) | ({"showscale": False} if said and trace["type"] == "heatmap" else {})
              for trace in figure["data"]]
    return Finished(traces, layout | {"showlegend": False if said else layout.get("showlegend")})


def _grown(part: object, by: float, name: str = "") -> object:
    """The same with every size of type and every length that goes with it grown; numbers that are drawn stay."""
    if isinstance(part, Mapping):
        font = name.lower().endswith("font")
        return {key: value * by if font and key == "size" and isinstance(value, int | float)
                else _grown(value, by, key) for key, value in part.items()}
    if isinstance(part, list) and all(isinstance(one, Mapping) for one in part):
        return [_grown(one, by, name) for one in part]
    if isinstance(part, bool) or not isinstance(part, int | float):
        return part
    return part * by if name in LENGTHS else part * by ** 2 if name in AREAS else part
