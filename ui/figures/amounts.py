"""Amounts side by side: one stacked bar of shares, or a bar for each. Vega-Lite dictionaries."""
from collections.abc import Mapping

from ui.figures.frame import NOTE, TEXT
from ui.figures.palette import BAR, CATEGORICAL, INK, MUTED


def share_bar(amounts: Mapping[str, int], *, unit: str, title: str, dark: bool | None = None) -> dict:
    """One bar cut into shares by name, with the number and the share of each in its legend."""
    total = sum(amounts.values()) or 1
    names = {name: f"{name}: {count:,} ({count / total:.1%})" for name, count in amounts.items()}
    values = [{"name": names[name], "count": count, "place": place}
              for place, (name, count) in enumerate(amounts.items())]
    return {
        "data": {"values": values}, "height": 36, "mark": {"type": "bar", "cornerRadius": 3},
        "encoding": {
            "x": {"field": "count", "type": "quantitative", "stack": "zero", "axis": None,
                  "scale": {"domain": [0, total], "nice": False}},
            "order": {"field": "place"},
            "color": {"field": "name", "type": "nominal", "sort": None,
                      "scale": {"domain": list(names.values()), "range": list(CATEGORICAL[:len(names)])},
                      "legend": {"title": None, "orient": "bottom", "columns": 1, "labelFontSize": TEXT,
                                 "labelLimit": 320, "symbolType": "square"} | _ink(dark, "labelColor")},
            "tooltip": [{"field": "name", "type": "nominal", "title": unit}]},
        **_titled(title, f"in {unit}", dark)}


def amount_bars(amounts: Mapping[str, float], *, shown: Mapping[str, str], title: str, source: str = "",
                dark: bool | None = None) -> dict:
    """A horizontal bar for each amount, with the text that `shown` has for it at its end."""
    values = [{"name": name, "value": float(value), "shown": shown[name]} for name, value in amounts.items()]
    y = {"field": "name", "type": "nominal", "sort": None, "axis": {
        "title": None, "labelFontSize": TEXT, "labelLimit": 160, "ticks": False, "domain": False,
        **_ink(dark, "labelColor")}}
    x = {"field": "value", "type": "quantitative", "axis": None,
         "scale": {"domain": [0, 1.6 * max([*amounts.values(), 1e-9])], "nice": False}}  # room for the text
    return {
        "data": {"values": values}, "height": {"step": 34},
        "layer": [{"mark": {"type": "bar", "color": BAR, "cornerRadius": 2}, "encoding": {"x": x, "y": y, "tooltip": [
                      {"field": "name", "type": "nominal", "title": "part"},
                      {"field": "shown", "type": "nominal", "title": "amount"}]}},
                  {"mark": {"type": "text", "align": "left", "dx": 6, "fontSize": TEXT} | _ink(dark, "color"),
                   "encoding": {"x": x, "y": y, "text": {"field": "shown"}}}],
        **_titled(title, source, dark)}


def describe_amounts(amounts: Mapping[str, float], *, shown: Mapping[str, str] | None = None, what: str) -> str:
    """A sentence for `alt=`: every amount by name."""
    texts = shown or {name: f"{value:,}" for name, value in amounts.items()}
    return f"{what}: " + ", ".join(f"{name} {texts[name]}" for name in amounts) + "."


def _titled(title: str, source: str, dark: bool | None) -> dict:
    return {"title": {"text": title, "subtitle": source, "anchor": "start", "fontSize": 17, "subtitleFontSize": NOTE,
                      "subtitleColor": INK[dark] or MUTED},
            "padding": {"left": 4, "right": 12, "top": 32 if source else 8, "bottom": 4}}


def _ink(dark: bool | None, *settings: str) -> dict:
    return {setting: INK[dark] for setting in settings if INK[dark]}
