"""How likely the same tokens, or classes, are before and after a change: two bars each."""
import json
from collections.abc import Sequence

import altair as alt
import numpy as np
import pandas as pd

from ui.figures.chart import Chart, chart_of, themed
from ui.figures.labels import plain_label
from ui.figures.palette import CATEGORICAL

ALL = 20  # names that have room beside each other on a telephone; of more, some are left out
FLAT = 30  # characters beside each other on a telephone; names that have more stand


def probability_change(names: Sequence[str], probabilities: np.ndarray, *, what: str, series: tuple[str, str],
                       title: str, source: str = "", tokens: bool = True, dark: bool | None = None) -> Chart:
    """Probabilities (names, 2) of tokens or classes, in the order given; equal names stay apart. what: what the names
    are; series: what the two columns are; tokens: their spaces are made visible."""
    assert probabilities.shape == (len(names), 2), f"{probabilities.shape} for {len(names)} names"
    labels = [plain_label(name) if tokens else name for name in names]
    frame = pd.DataFrame({
        "place": np.arange(len(names)).repeat(2),
        "name": np.repeat([plain_label(name, longest=None) if tokens else name for name in names], 2),
        "series": [*series] * len(names), "probability": probabilities.ravel()})
    bars = chart_of(frame).mark_bar(cornerRadius=1).encode(
        # by place, shown as names: two equal tokens stay two places
        alt.X("place:O", title=what, axis=alt.Axis(
            labelExpr=f"{json.dumps(labels)}[datum.value]", labelOverlap="greedy" if len(labels) > ALL else False,
            labelAngle=0 if len(labels) * max(map(len, labels), default=0) <= FLAT else -90)),
        alt.Y("probability:Q", title="probability", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(values=[0, 0.5, 1])),
        alt.XOffset("series:N", sort=list(series)),
        alt.Color("series:N", sort=list(series),
                  scale=alt.Scale(domain=list(series), range=[CATEGORICAL[0], CATEGORICAL[3]]),
                  legend=alt.Legend(title=None, orient="top", columns=2, symbolType="square", symbolSize=100)),
        tooltip=[alt.Tooltip("name:N", title=what), alt.Tooltip("series:N", title="model"),
                 alt.Tooltip("probability:Q", format=".4f")])
    return themed(bars, title=title, source=source, dark=dark, height=430 if tokens else 480)


def describe_probability_change(names: Sequence[str], probabilities: np.ndarray) -> str:
    """A sentence for `alt=`: where the probability changes most."""
    change = probabilities[:, 1] - probabilities[:, 0]
    at = int(np.abs(change).argmax())
    return (f"Probabilities of {len(names)} before and after. Largest change: '{plain_label(names[at])}', from "
            f"{probabilities[at, 0]:.2f} to {probabilities[at, 1]:.2f}.")
