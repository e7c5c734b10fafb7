"""Histograms: the lengths of training texts, and the numbers of a tensor."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import pandas as pd

from ui.figures.chart import Chart, chart_of, ink_of, rule, themed
from ui.figures.frame import TEXT
from ui.figures.palette import BAR, CATEGORICAL


def length_histogram(lengths: Mapping[str, Mapping[str, Any]], *, max_len: int | None, title: str, source: str = "",
                     dark: bool | None = None) -> Chart:
    """Histograms of a corpus preview as outlined steps, one for each side; `max_len` is a dashed line if it is near."""
    rows = [(name, side["first"] + at * side["width"], count, _bin(side, at))
            for name, side in lengths.items() for at, count in enumerate([*side["counts"], 0])]  # 0: back to the axis
    steps = chart_of(pd.DataFrame(rows, columns=["side", "pieces", "count", "bin"])).mark_area(
        interpolate="step-after", line={"strokeWidth": 2}, fillOpacity=0.18).encode(
        alt.X("pieces:Q", title="length in pieces", scale=alt.Scale(zero=False, nice=False),
              axis=alt.Axis(grid=False, tickMinStep=1)),
        alt.Y("count:Q", title="how many", stack=None, axis=alt.Axis(tickMinStep=1, tickCount=6)),
        alt.Color("side:N", sort=None, scale=alt.Scale(domain=list(lengths), range=CATEGORICAL[:len(lengths)]),
                  legend=None if len(lengths) == 1 else alt.Legend(title=None)),
        tooltip=[alt.Tooltip("side:N", title="of"), alt.Tooltip("bin:N", title="pieces"),
                 alt.Tooltip("count:Q", title="how many", format=",")])
    longest = max([1, *(side["longest"] for side in lengths.values())])
    limit = [] if max_len is None or max_len > 1.3 * longest else _limit(max_len, max_len > 0.6 * longest, dark)
    return themed(alt.layer(steps, *limit).interactive(bind_y=False), title=title, source=source, dark=dark, height=380)


def describe_lengths(lengths: Mapping[str, Mapping[str, Any]], *, max_len: int) -> str:
    """A sentence for `alt=`: the median and the longest of each side."""
    sides = "; ".join(f"{name} half at most {side['median']:g}, longest {side['longest']:,}"
                      for name, side in lengths.items())
    return f"Lengths in pieces: {sides}. max_len is {max_len:,}."


def _limit(max_len: int, late: bool, dark: bool | None) -> list[alt.Chart]:
    """The dashed line with its name, on the side where there is more room."""
    dashed = rule(alt.X("value:Q"), {f"max_len {max_len:,}": max_len})
    return [dashed, dashed.mark_text(align="right" if late else "left", baseline="top", dx=-6 if late else 6,
                                     fontSize=TEXT, **ink_of(dark)).encode(y=alt.value(2), text="name:N")]


def _bin(side: Mapping[str, Any], at: int) -> str:
    start, width = side["first"] + at * side["width"], side["width"]
    return f"{start}" if width == 1 else f"{start} to {start + width - 1}"


def tensor_histogram(counts: Sequence[int], edges: Sequence[float], *, title: str, source: str = "",
                     dark: bool | None = None) -> Chart:
    """Bars of counts (n,) between edges (n + 1,)."""
    frame = pd.DataFrame({"from": edges[:-1], "to": edges[1:], "count": counts})
    bars = chart_of(frame).mark_bar(color=BAR, binSpacing=0).encode(
        alt.X("from:Q", bin="binned", title="value", axis=alt.Axis(grid=False)), alt.X2(field="to"),
        alt.Y("count:Q", title="elements", axis=alt.Axis(tickCount=5)),
        tooltip=[alt.Tooltip("from:Q", format=".4~g"), alt.Tooltip("to:Q", format=".4~g"),
                 alt.Tooltip("count:Q", format=",")])
    return themed(bars.interactive(), title=title, source=source, dark=dark, height=300)


def describe_histogram(counts: Sequence[int], edges: Sequence[float]) -> str:
    """A sentence for `alt=`: the range, and where most elements lie."""
    at = max(range(len(counts)), key=counts.__getitem__)
    return (f"{sum(counts):,} elements from {edges[0]:.4g} to {edges[-1]:.4g}; most of them, {counts[at]:,}, between "
            f"{edges[at]:.4g} and {edges[at + 1]:.4g}.")
