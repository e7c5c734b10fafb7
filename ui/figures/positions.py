"""Curves of a positional encoding, one for each dimension.

The curves and their tokens are given anew each time, so that a step, which adds a token, builds no chart.
"""
from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from ui.figures.chart import Chart, themed
from ui.figures.labels import plain_label
from ui.figures.palette import CATEGORICAL

DOTTED = 64  # positions up to which each has a dot
FLAT = 10  # tokens up to which labels lie flat
POSITIONS, TOKENS = "positions", "tokens"  # the names of the data that are replaced


def position_curves(dims: Sequence[int], *, column: str = "dim", tokens: bool = False, dotted: bool = False,
                    upright: bool = False, title: str = "Positional encoding", value: str = "value added to the vector",
                    source: str = "", dark: bool | None = None) -> Chart:
    """Dimensions `dims` of an encoding over the positions, named by their tokens or by numbers; `column` says what a
    dimension is called and `value` what is drawn. The encoding itself is `with_positions`."""
    if len(dims) > 2 * len(CATEGORICAL):
        raise ValueError(f"{len(dims)} dimensions are too many to tell apart: choose {2 * len(CATEGORICAL)} or fewer.")
    names, few = [f"{column} {dim}" for dim in dims], len(CATEGORICAL)
    colours = alt.Scale(domain=names, range=[CATEGORICAL[at % few] for at in range(len(names))])
    dashes = alt.Scale(domain=names, range=[[1, 0] if at < few else [6, 4] for at in range(len(names))])
    # at positions, labelled with tokens, so that equal tokens stay apart
    axis: dict[str, Any] = {
        "title": "token, in order of position", "values": alt.ExprRef(f"sequence(length({TOKENS}))"),
        "labelExpr": f"{TOKENS}[datum.value]", "labelOverlap": "greedy"} if tokens else {"title": "position"}
    curves = alt.Chart(alt.NamedData(POSITIONS)).mark_line(
        point=alt.OverlayMarkDef(size=45) if dotted else False, strokeWidth=2.5).encode(
        alt.X("position:Q", scale=alt.Scale(nice=False, zero=False, padding=8),
              axis=alt.Axis(grid=False, tickMinStep=1, format="d", labelAngle=-90 if upright else 0, **axis)),
        alt.Y("value:Q", title=value, axis=alt.Axis(tickCount=5, labelFlush=False)),
        alt.Color("dimension:N", scale=colours, legend=alt.Legend(title=None, columns=2, offset=8)),
        alt.StrokeDash("dimension:N", scale=dashes),
        tooltip=["token:N"] * tokens + ["position:Q", "dimension:N", alt.Tooltip("value:Q", format=".4f")])
    curves = curves.add_params(alt.param(name=TOKENS, value=[])) if tokens else curves
    return themed(curves.interactive(), title=title, source=source, dark=dark, height=480)


def with_positions(chart: dict, encoding: np.ndarray, dims: Sequence[int], *, column: str = "dim",
                   tokens: Sequence[str] | None = None) -> dict:
    """A finished `position_curves` with the encoding (positions, d_model) and the tokens there."""
    frame = pd.DataFrame({"position": np.tile(np.arange(len(encoding)), len(dims)),
                          "dimension": np.repeat([f"{column} {dim}" for dim in dims], len(encoding)),
                          "value": encoding[:, list(dims)].T.ravel()})
    if tokens is None:
        return chart | {"datasets": {POSITIONS: frame}}
    frame["token"] = [plain_label(token, longest=None) for token in tokens] * len(dims)
    labels = [plain_label(token) for token in tokens]
    return chart | {"datasets": {POSITIONS: frame}, "params": [
        param | ({"value": labels} if param["name"] == TOKENS else {}) for param in chart["params"]]}


def describe_positions(encoding: np.ndarray, dims: Sequence[int]) -> str:
    """A sentence for `alt=`: how many positions and which dimensions."""
    return (f"Positional encoding over {len(encoding)} positions, one curve each for dimensions "
            f"{', '.join(map(str, dims))} of {encoding.shape[1]}.")
