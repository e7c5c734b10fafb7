"""The base of all altair charts: rows of a pandas frame, a title over its source, sizes, ink, zoom.

`ui.state.caches.chart` makes each only once for the same arguments, because altair takes about 20 ms.
"""
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import pandas as pd

from ui.figures.frame import NOTE, TEXT
from ui.figures.palette import INK, MUTED, ZERO

Chart = alt.Chart | alt.LayerChart | alt.FacetChart
HOW_TO_ZOOM = "Drag a chart to move it, Ctrl + wheel to zoom, double-click to go back."
# The wheel alone scrolls the page, even over a chart.
ZOOM: dict[str, Any] = {"zoom": "wheel![event.ctrlKey || event.metaKey]"}


def chart_of(frame: pd.DataFrame) -> alt.Chart:
    """A chart of all rows of a frame; numbers that are not finite become null and are not drawn."""
    # altair's own conversion refuses more than 5,000 rows, a limit that all threads share
    return alt.Chart(alt.to_values(frame))


def points(series: Mapping[str, Sequence[float]], places: Sequence[float] | None = None, *, first: float = 0,
           step: float = 1) -> pd.DataFrame:
    """A row (at, name, value) for each point of some curves, at the `places` or `step` apart from `first` on."""
    rows = [(first + step * at if places is None else places[at], name, float(value))
            for name, curve in series.items() for at, value in enumerate(curve)]
    return pd.DataFrame(rows, columns=["at", "name", "value"])


def themed(chart: Chart, *, title: str, source: str, dark: bool | None, height: int | alt.Step) -> Chart:
    """The chart for a dark or a bright page."""
    ink = INK[dark] or alt.Undefined
    text = {"labelFontSize": TEXT, "labelColor": ink}
    return chart.properties(
        title=alt.TitleParams(title, subtitle=source or alt.Undefined), height=height,
        padding={"left": 4, "right": 16, "top": 32 if source else 8, "bottom": 4},  # the fit forgets the subtitle
    ).configure(
        axis=alt.AxisConfig(**text, titleFontSize=TEXT, titleFontWeight="normal", titleColor=ink),
        legend=alt.LegendConfig(**text, orient="bottom", labelLimit=320, symbolType="stroke", symbolSize=400,
                                symbolStrokeWidth=3),
        title=alt.TitleConfig(anchor="start", fontSize=17, subtitleFontSize=NOTE, subtitleColor=INK[dark] or MUTED),
        selection=alt.SelectionConfig(interval=alt.IntervalSelectionConfigWithoutType(**ZOOM)))


def rule(axis: alt.X | alt.Y, places: Mapping[str, float]) -> alt.Chart:
    """Named dashed lines to compare the curves with."""
    frame = pd.DataFrame({"value": [float(value) for value in places.values()], "name": list(places)})
    return chart_of(frame).mark_rule(color=MUTED, strokeDash=[6, 4], strokeWidth=2).encode(axis)


def ink_of(dark: bool | None) -> dict:
    """The colour of text, for `mark_text(**ink_of(dark))`; the theme's own where the page is unknown."""
    return {"color": INK[dark]} if INK[dark] else {}


def ground(dark: bool | None) -> dict:
    """A background for text where a curve passes."""
    return {"stroke": ZERO[bool(dark)], "strokeWidth": 5, "strokeJoin": "round"}
