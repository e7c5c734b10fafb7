"""How the numbers of a tensor are spread, as bars."""
from collections.abc import Sequence

from ui.figures.frame import NOTE, TEXT
from ui.figures.palette import BAR, INK, MUTED


def tensor_histogram(counts: Sequence[int], edges: Sequence[float], *, title: str, source: str = "",
                     dark: bool | None = None) -> dict:
    """Bars of counts (n,) between edges (n + 1,), as a Vega-Lite dictionary."""
    text = {"labelFontSize": TEXT, "titleFontSize": TEXT, "titleFontWeight": "normal"} | (
        {"labelColor": INK[dark], "titleColor": INK[dark]} if INK[dark] else {})
    values = [{"from": float(low), "to": float(high), "count": int(count)}
              for count, low, high in zip(counts, edges[:-1], edges[1:], strict=True)]
    return {
        "data": {"values": values}, "height": 300, "padding": {"left": 4, "right": 16, "top": 32, "bottom": 4},
        "title": {"text": title, "subtitle": source, "anchor": "start", "fontSize": 17, "subtitleFontSize": NOTE,
                  "subtitleColor": INK[dark] or MUTED},
        "mark": {"type": "bar", "color": BAR, "binSpacing": 0},
        "encoding": {
            "x": {"field": "from", "type": "quantitative", "bin": {"binned": True}, "axis": {
                "title": "value", "grid": False, **text}},
            "x2": {"field": "to"},
            "y": {"field": "count", "type": "quantitative", "axis": {"title": "elements", "tickCount": 5, **text}},
            "tooltip": [{"field": "from", "type": "quantitative", "format": ".4~g"},
                        {"field": "to", "type": "quantitative", "format": ".4~g"},
                        {"field": "count", "type": "quantitative", "format": ","}]}}


def describe_histogram(counts: Sequence[int], edges: Sequence[float]) -> str:
    """A sentence for `alt=`: the range, and where most elements lie."""
    at = max(range(len(counts)), key=counts.__getitem__)
    return (f"{sum(counts):,} elements from {edges[0]:.4g} to {edges[-1]:.4g}; most of them, {counts[at]:,}, between "
            f"{edges[at]:.4g} and {edges[at + 1]:.4g}.")
