"""How positions are written into the vectors: one curve per dimension of the positional encoding.

A Vega-Lite dictionary for `st.vega_lite_chart`: building the same chart through altair takes some fifty times longer.
"""
import json
from collections.abc import Sequence

import numpy as np

from ui.figures.frame import NOTE, TEXT
from ui.figures.labels import plain_label
from ui.figures.palette import CATEGORICAL, INK, MUTED

DOTTED = 64      # positions; up to here every position has its dot


def position_curves(encoding: np.ndarray, dims: Sequence[int], *, tokens: Sequence[str] | None = None,
                    title: str = "Positional encoding", value: str = "value added to the vector", source: str = "",
                    dark: bool | None = None) -> dict:
    """Dimensions `dims` of an encoding (positions, d_model) over the positions, named by their tokens when given;
    `value` says what is drawn."""
    if len(dims) > 2 * len(CATEGORICAL):
        raise ValueError(f"{len(dims)} dimensions are too many to tell apart: choose {2 * len(CATEGORICAL)} or fewer.")

    def ink(*settings: str) -> dict:
        return {setting: INK[dark] for setting in settings if INK[dark]}

    names = [f"dim {dim}" for dim in dims]
    labels = [plain_label(token) for token in tokens] if tokens is not None else []
    values = [{"position": position, "dimension": name, "value": float(encoding[position, dim])}
              | ({"token": plain_label(tokens[position], longest=None)} if labels else {})
              for dim, name in zip(dims, names, strict=True) for position in range(len(encoding))]
    colours = {"domain": names, "range": [CATEGORICAL[i % len(CATEGORICAL)] for i in range(len(names))]}
    dashes = {"domain": names, "range": [[1, 0] if i < len(CATEGORICAL) else [6, 4] for i in range(len(names))]}
    text = {"labelFontSize": TEXT, "titleFontSize": TEXT, "titleFontWeight": "normal"} | ink("labelColor", "titleColor")
    every = next(n for n in (1, 2, 5, 10, 20, 50, 100) if len(encoding) / n <= 11 or n == 100)
    across = {"title": "position", "values": list(range(0, len(encoding), every)), "labelAngle": 0, **text}
    if labels:
        # by position, shown as tokens: two equal tokens stay two places
        across |= {"title": "token, in order of position", "values": list(range(len(labels))),
                   "labelOverlap": "greedy", "labelExpr": f"{json.dumps(labels)}[datum.value]",
                   "labelAngle": 0 if len(labels) <= 10 else -90}
    return {
        "data": {"values": values},
        "title": {"text": title, "subtitle": source, "anchor": "start", "fontSize": 17, "subtitleFontSize": NOTE,
                  "subtitleColor": INK[dark] or MUTED},
        "height": 480,
        "padding": {"left": 4, "right": 16, "top": 32, "bottom": 4},  # the fit forgets the subtitle
        "mark": {"type": "line", "point": {"size": 45} if len(encoding) <= DOTTED else False, "strokeWidth": 2.5},
        "encoding": {
            "x": {"field": "position", "type": "ordinal", "axis": across},
            "y": {"field": "value", "type": "quantitative", "axis": {"title": value, **text}},
            "color": {"field": "dimension", "type": "nominal", "scale": colours,
                      "legend": {"title": None, "labelFontSize": TEXT, "orient": "bottom", "columns": 3,
                                 "offset": 8, "symbolType": "stroke", "symbolSize": 400, "symbolStrokeWidth": 3}
                      | ink("labelColor")},
            "strokeDash": {"field": "dimension", "type": "nominal", "scale": dashes},
            "tooltip": [{"field": "token", "type": "nominal"}] * bool(labels) + [
                {"field": "position", "type": "ordinal"}, {"field": "dimension", "type": "nominal"},
                {"field": "value", "type": "quantitative", "format": ".4f"}],
        },
    }


def describe_positions(encoding: np.ndarray, dims: Sequence[int]) -> str:
    """A sentence for `alt=`: how many positions and which dimensions."""
    return (f"Positional encoding over {len(encoding)} positions, one curve each for dimensions "
            f"{', '.join(map(str, dims))} of {encoding.shape[1]}.")
