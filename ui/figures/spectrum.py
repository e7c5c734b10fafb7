"""Singular values from the largest down, one curve in front and others behind it."""
from collections.abc import Mapping, Sequence

import altair as alt

from ui.figures.chart import Chart, chart_of, points, themed
from ui.figures.palette import ACCENT, MUTED


def spectrum(values: Sequence[float], *, name: str, others: Mapping[str, Sequence[float]], title: str, source: str = "",
             dark: bool | None = None) -> Chart:
    """The values of `name` in the accent colour with points, the `others` thin and grey."""
    places = [
        alt.X("at:Q", title="number, from the largest", scale=alt.Scale(nice=False, padding=4),
              axis=alt.Axis(grid=False, tickMinStep=1)),
        alt.Y("value:Q", title="singular value", axis=alt.Axis(tickCount=5))]
    tooltip = [alt.Tooltip("name:N", title="of"), alt.Tooltip("at:Q", title="number"),
               alt.Tooltip("value:Q", format=".4~g", title="singular value")]
    behind = chart_of(points(others, first=1)).mark_line(color=MUTED, strokeWidth=1, opacity=0.7).encode(
        *places, detail="name:N", tooltip=tooltip)
    front = chart_of(points({name: values}, first=1)).mark_line(
        color=ACCENT, strokeWidth=2.5, point={"color": ACCENT, "size": 30}).encode(*places, tooltip=tooltip)
    chart = alt.layer(*[behind] * bool(others), front).interactive()
    return themed(chart, title=title, source=source, dark=dark, height=280)
