"""What is measured as a head grows wider: one curve a quantity over d_k, as a Vega-Lite dictionary."""
from collections.abc import Mapping, Sequence

from ui.figures.frame import NOTE, TEXT
from ui.figures.palette import CATEGORICAL, INK, MUTED


def width_curves(series: Mapping[str, Sequence[float]], widths: Sequence[int], *, title: str, quantity: str,
                 logarithmic: bool = False, theory: Sequence[str] = (), dark: bool | None = None) -> dict:
    """Each of `series` over `widths` on a logarithmic axis; those in `theory` are dashed and without points."""
    def ink(*settings: str) -> dict:
        return {setting: INK[dark] for setting in settings if INK[dark]}

    values = [{"d_k": width, "what": name, "value": float(value)} for name, found in series.items()
              for width, value in zip(widths, found, strict=True)]
    names, measured = list(series), [name for name in series if name not in theory]
    colours = dict(zip(measured, CATEGORICAL, strict=False)) | dict.fromkeys(theory, INK[dark] or MUTED)
    text = {"labelFontSize": TEXT, "titleFontSize": TEXT, "titleFontWeight": "normal"} | ink("labelColor", "titleColor")
    encoding = {
        "x": {"field": "d_k", "type": "quantitative", "scale": {"type": "log", "base": 2, "nice": False},
              "axis": {"title": "d_k, the width of a head", "values": list(widths), "grid": False,
                       "labelOverlap": "greedy", **text}},
        "y": {"field": "value", "type": "quantitative",
              "scale": {"type": "log", "base": 2} if logarithmic else {"zero": True},
              "axis": {"title": quantity, "tickCount": 6, **text}},
        "color": {"field": "what", "type": "nominal", "sort": None,
                  "scale": {"domain": names, "range": [colours[name] for name in names]},
                  "legend": {"title": None, "labelFontSize": TEXT, "labelLimit": 320, "orient": "bottom", "columns": 1,
                             "offset": 8, "symbolType": "stroke", "symbolSize": 400, "symbolStrokeWidth": 3}
                  | ink("labelColor")},
        "tooltip": [{"field": "what", "type": "nominal", "title": "curve"}, {"field": "d_k", "type": "quantitative"},
                    {"field": "value", "type": "quantitative", "format": ".4f", "title": quantity}],
    }
    line = {"field": "what", "type": "nominal", "sort": None,
            "scale": {"domain": names, "range": [[6, 4] if name in theory else [1, 0] for name in names]}}
    return {
        "data": {"values": values},
        "title": {"text": title, "anchor": "start", "fontSize": 17, "subtitleFontSize": NOTE},
        "height": 470, "padding": {"left": 4, "right": 16, "top": 8, "bottom": 4}, "encoding": encoding,
        "layer": [
            {"mark": {"type": "line", "strokeWidth": 2.5}, "encoding": {"strokeDash": line}},
            {"transform": [{"filter": {"field": "what", "oneOf": measured}}],
             "mark": {"type": "point", "filled": True, "size": 60, "opacity": 1}},
        ],
    }


def describe_widths(series: Mapping[str, Sequence[float]], widths: Sequence[int], *, quantity: str) -> str:
    """A sentence for `alt=`: where each curve begins and ends."""
    ends = "; ".join(f"{name} from {float(found[0]):.2f} to {float(found[-1]):.2f}" for name, found in series.items())
    return f"{quantity} for d_k from {widths[0]} to {widths[-1]}: {ends}."
