"""How the numbers of a tensor are spread, as bars."""
from collections.abc import Sequence

import altair as alt
import pandas as pd

from ui.figures.chart import Chart, chart_of, themed
from ui.figures.palette import BAR


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
