"""Singular values from the largest down, one curve in front and others behind it."""
from collections.abc import Mapping, Sequence

from ui.figures.frame import NOTE, TEXT
from ui.figures.palette import ACCENT, INK, MUTED


def spectrum(values: Sequence[float], *, name: str, others: Mapping[str, Sequence[float]], title: str, source: str = "",
             dark: bool | None = None) -> dict:
    """A Vega-Lite dictionary: the values of `name` in the accent colour with points, the `others` thin and grey."""
    text = {"labelFontSize": TEXT, "titleFontSize": TEXT, "titleFontWeight": "normal"} | (
        {"labelColor": INK[dark], "titleColor": INK[dark]} if INK[dark] else {})

    def rows(which: Mapping[str, Sequence[float]]) -> dict:
        return {"values": [{"name": called, "number": at + 1, "value": float(value)}
                           for called, found in which.items() for at, value in enumerate(found)]}

    tooltip = [{"field": "name", "type": "nominal", "title": "of"}, {"field": "number", "type": "quantitative"},
               {"field": "value", "type": "quantitative", "format": ".4~g", "title": "singular value"}]
    encoding = {"x": {"field": "number", "type": "quantitative", "scale": {"nice": False}, "axis": {
                    "title": "number, from the largest", "grid": False, "tickMinStep": 1, **text}},
                "y": {"field": "value", "type": "quantitative", "axis": {"title": "singular value", "tickCount": 5,
                                                                         **text}}, "tooltip": tooltip}
    return {
        "title": {"text": title, "subtitle": source, "anchor": "start", "fontSize": 17, "subtitleFontSize": NOTE,
                  "subtitleColor": INK[dark] or MUTED},
        "height": 280, "padding": {"left": 4, "right": 16, "top": 32, "bottom": 4},
        "layer": [
            {"data": rows(others), "mark": {"type": "line", "color": MUTED, "strokeWidth": 1, "opacity": 0.7},
             "encoding": encoding | {"detail": {"field": "name"}}},
            {"data": rows({name: values}), "mark": {"type": "line", "color": ACCENT, "strokeWidth": 2.5,
                                                    "point": {"color": ACCENT, "size": 30}}, "encoding": encoding}]}
