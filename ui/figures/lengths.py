"""How long the training texts are, in pieces, with the length from which on nothing more is read."""
from collections.abc import Mapping

from ui.figures.frame import NOTE, TEXT
from ui.figures.palette import CATEGORICAL, INK, MUTED


def length_histogram(lengths: Mapping[str, Mapping[str, object]], *, max_len: int | None, title: str, source: str = "",
                     dark: bool | None = None) -> dict:
    """Outlined steps for each side of `transformer.text.look`'s histograms; `max_len` is a dashed line where it lies
    among them or near."""
    def ink(*settings: str) -> dict:
        return {setting: INK[dark] for setting in settings if INK[dark]}

    values = []
    for name, found in lengths.items():
        counts = [*found["counts"], 0]  # down to the axis at the end
        values += [{"side": name, "pieces": found["first"] + at * found["width"], "count": count,
                    "bin": _bin(found, at)} for at, count in enumerate(counts)]
    longest = max([1, *(found["longest"] for found in lengths.values())])
    text = {"labelFontSize": TEXT, "titleFontSize": TEXT, "titleFontWeight": "normal"} | ink("labelColor", "titleColor")
    across = {"field": "pieces", "type": "quantitative", "scale": {"zero": False, "nice": False},
              "axis": {"title": "length in pieces", "grid": False, "tickMinStep": 1, **text}}
    colour = {"field": "side", "type": "nominal", "sort": None,
              "scale": {"domain": list(lengths), "range": list(CATEGORICAL[:len(lengths)])},
              "legend": None if len(lengths) == 1 else {
                  "title": None, "orient": "bottom", "labelFontSize": TEXT, "symbolType": "stroke", "symbolSize": 400,
                  "symbolStrokeWidth": 3} | ink("labelColor")}
    layers = [{"mark": {"type": "area", "interpolate": "step-after", "line": {"strokeWidth": 2}, "fillOpacity": 0.18},
               "encoding": {"x": across, "color": colour, "y": {
                   "field": "count", "type": "quantitative", "stack": None, "axis": {
                       "title": "how many", "tickMinStep": 1, "tickCount": 6, **text}},
                   "tooltip": [{"field": "side", "type": "nominal", "title": "of"},
                               {"field": "bin", "type": "nominal", "title": "pieces"},
                               {"field": "count", "type": "quantitative", "format": ",", "title": "how many"}]}}]
    if max_len is not None and max_len <= 1.3 * longest:
        rule = {"data": {"values": [{"pieces": max_len, "name": f"max_len {max_len:,}"}]}}
        x = {"field": "pieces", "type": "quantitative"}
        late = max_len > 0.6 * longest
        layers += [
            rule | {"mark": {"type": "rule", "color": MUTED, "strokeDash": [6, 4], "strokeWidth": 2},
                    "encoding": {"x": x}},
            rule | {"mark": {"type": "text", "align": "right" if late else "left", "baseline": "top",
                             "dx": -6 if late else 6, "fontSize": TEXT} | ink("color"),
                    "encoding": {"x": x, "y": {"value": 2}, "text": {"field": "name"}}}]
    return {"title": {"text": title, "subtitle": source, "anchor": "start", "fontSize": 17, "subtitleFontSize": NOTE,
                      "subtitleColor": INK[dark] or MUTED},
            "height": 380, "padding": {"left": 4, "right": 16, "top": 32, "bottom": 4},
            "data": {"values": values}, "layer": layers}


def describe_lengths(lengths: Mapping[str, Mapping[str, object]], *, max_len: int) -> str:
    """A sentence for `alt=`: the middle and the longest of each side."""
    sides = "; ".join(f"{name} half at most {found['median']:g}, longest {found['longest']:,}"
                      for name, found in lengths.items())
    return f"Lengths in pieces: {sides}. max_len is {max_len:,}."


def _bin(found: Mapping[str, object], at: int) -> str:
    start, width = found["first"] + at * found["width"], found["width"]
    return f"{start}" if width == 1 else f"{start} to {start + width - 1}"
