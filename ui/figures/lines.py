"""A few curves over one axis, with rules for what they are compared with.

A Vega-Lite dictionary for `st.vega_lite_chart`: building the same chart through altair takes some fifty times longer.
"""
from collections.abc import Sequence
from math import ceil, log10

from ui.figures.frame import NOTE, TEXT
from ui.figures.palette import CATEGORICAL, INK, MUTED, ZERO


def lines(series: dict[str, Sequence[float]], *, across: str, up: str, title: str, source: str = "", first: float = 0,
          step: float = 1, rules: dict[str, float] | None = None, log: bool = False, zero: bool = False,
          down: bool = False, height: int = 420, dark: bool | None = None) -> dict:
    """Curves by name, their points `step` apart from `first` on; `rules` are dashed lines at a height, by name. down:
    the smallest value is at the top, as the first of some ranks."""
    def ink(*settings: str) -> dict:
        return {setting: INK[dark] for setting in settings if INK[dark]}

    text = {"labelFontSize": TEXT, "titleFontSize": TEXT, "titleFontWeight": "normal"} | ink("labelColor", "titleColor")
    values = [{"at": first + step * at, "name": name, "value": float(value)}
              for name, curve in series.items() for at, value in enumerate(curve)]
    most = max((one["value"] for one in values), default=1.0)
    powers = [10 ** power for power in range(max(1, ceil(log10(max(most, 1)))) + 1)]  # of a log scale with 1 on top
    y = {"field": "value", "type": "quantitative",
         "scale": ({"type": "log"} if log else {"zero": zero}) | ({"reverse": True} if down else {})
         | ({"domain": [1, powers[-1]]} if log and down else {}),
         "axis": {"title": up, **text} | ({"format": "~s", **({"values": powers} if down else {"tickCount": 6})}
                                          if log else {})}
    colour = {"field": "name", "type": "nominal", "legend": None if len(series) == 1 else {
        "title": None, "labelFontSize": TEXT, "orient": "bottom", "columns": 2, "labelLimit": 320,
        "symbolType": "stroke", "symbolSize": 400, "symbolStrokeWidth": 3} | ink("labelColor"),
        "scale": {"domain": list(series), "range": list(CATEGORICAL[:len(series)])}}
    layers = [{"mark": {"type": "line", "strokeWidth": 2.5, "interpolate": "linear"}, "encoding": {
        "x": {"field": "at", "type": "quantitative", "scale": {"nice": False},
              "axis": {"title": across, "grid": False, "tickMinStep": step, **text}}, "y": y, "color": colour,
        "tooltip": [{"field": "at", "type": "quantitative", "title": across},
                    {"field": "name", "type": "nominal", "title": "curve"},
                    {"field": "value", "type": "quantitative", "title": up, "format": ".4~f" if not log else ",.2f"}]}}]
    if rules:
        named = {"values": [{"value": value, "name": name} for name, value in rules.items()]}
        rule_y = {"field": "value", "type": "quantitative"}
        layers += [
            {"data": named, "mark": {"type": "rule", "strokeDash": [6, 4], "strokeWidth": 2, "color": MUTED},
             "encoding": {"y": rule_y}},
            *({"data": named, "mark": {"type": "text", "align": "right", "baseline": "bottom", "dx": -6, "dy": -8,
                                       "fontSize": TEXT} | mark,
               "encoding": {"y": rule_y, "x": {"value": "width"}, "text": {"field": "name"}}} for mark in (
                {"stroke": ZERO[bool(dark)], "strokeWidth": 5, "strokeJoin": "round"},  # a ground, where a curve passes
                {"color": INK[dark]} if INK[dark] else {}))]
    return {
        "data": {"values": values}, "layer": layers, "height": height,
        "padding": {"left": 4, "right": 16, "top": 32, "bottom": 4},  # the fit forgets the subtitle
        "title": {"text": title, "subtitle": source, "anchor": "start", "fontSize": 17, "subtitleFontSize": NOTE,
                  "subtitleColor": INK[dark] or MUTED}}


def describe_lines(series: dict[str, Sequence[float]], *, across: str, up: str) -> str:
    """A sentence for `alt=`: each curve's first and last value."""
    ends = "; ".join(f"{name} from {curve[0]:.4g} to {curve[-1]:.4g}" for name, curve in series.items())
    return f"{up} over {across}: {ends}."
