"""How likely the same tokens, or classes, are before and after a change: two bars each, as a Vega-Lite dictionary."""
import json
from collections.abc import Sequence

import numpy as np

from ui.figures.frame import NOTE, TEXT
from ui.figures.labels import plain_label
from ui.figures.palette import CATEGORICAL, INK, MUTED

ALL = 20  # names that have room beside each other on a telephone; of more, some are left out
FLAT = 30  # characters beside each other on a telephone; names that have more stand


def probability_change(names: Sequence[str], probabilities: np.ndarray, *, what: str, series: tuple[str, str],
                       title: str, source: str = "", tokens: bool = True, dark: bool | None = None) -> dict:
    """Probabilities (names, 2) of tokens or classes, in the order given; equal names stay apart. what: what the names
    are; series: what the two columns are; tokens: their spaces are made visible."""
    assert probabilities.shape == (len(names), 2), f"{probabilities.shape} for {len(names)} names"
    def ink(*settings: str) -> dict:
        return {setting: INK[dark] for setting in settings if INK[dark]}

    labels = [plain_label(name) if tokens else name for name in names]
    values = [{"place": place, "name": plain_label(name, longest=None) if tokens else name, "series": series[at],
               "probability": float(probabilities[place, at])} for place, name in enumerate(names) for at in (0, 1)]
    text = {"labelFontSize": TEXT, "titleFontSize": TEXT, "titleFontWeight": "normal"} | ink("labelColor", "titleColor")
    return {
        "data": {"values": values},
        "title": {"text": title, "subtitle": source, "anchor": "start", "fontSize": 17, "subtitleFontSize": NOTE,
                  "subtitleColor": INK[dark] or MUTED},
        "height": 430 if tokens else 480, "padding": {"left": 4, "right": 12, "top": 32 if source else 8, "bottom": 4},
        "mark": {"type": "bar", "cornerRadius": 1},
        "encoding": {
            # by place, shown as names: two equal tokens stay two places
            "x": {"field": "place", "type": "ordinal", "axis": {
                "title": what, "labelExpr": f"{json.dumps(labels)}[datum.value]",
                "labelOverlap": "greedy" if len(labels) > ALL else False,
                "labelAngle": 0 if len(labels) * max(map(len, labels), default=0) <= FLAT else -90, **text}},
            "xOffset": {"field": "series", "type": "nominal", "sort": list(series)},
            "y": {"field": "probability", "type": "quantitative", "scale": {"domain": [0, 1]},
                  "axis": {"title": "probability", "values": [0, 0.5, 1], **text}},
            "color": {"field": "series", "type": "nominal", "sort": list(series),
                      "scale": {"domain": list(series), "range": [CATEGORICAL[0], CATEGORICAL[3]]},
                      "legend": {"title": None, "labelFontSize": TEXT, "labelLimit": 320, "orient": "top",
                                 "symbolType": "square", "columns": 2} | ink("labelColor")},
            "tooltip": [{"field": "name", "type": "nominal", "title": what},
                        {"field": "series", "type": "nominal", "title": "model"},
                        {"field": "probability", "type": "quantitative", "format": ".4f"}]},
    }


def describe_probability_change(names: Sequence[str], probabilities: np.ndarray) -> str:
    """A sentence for `alt=`: where the probability changes most."""
    change = probabilities[:, 1] - probabilities[:, 0]
    at = int(np.abs(change).argmax())
    return (f"Probabilities of {len(names)} before and after. Largest change: '{plain_label(names[at])}', from "
            f"{probabilities[at, 0]:.2f} to {probabilities[at, 1]:.2f}.")
