"""A few curves over one axis, with rules for what they are compared with."""
from collections.abc import Sequence
from math import ceil, log10

import altair as alt
import numpy as np

from ui.figures.chart import Chart, chart_of, ground, ink_of, points, rule, themed
from ui.figures.frame import TEXT
from ui.figures.palette import CATEGORICAL


def lines(series: dict[str, Sequence[float]], *, across: str, up: str, title: str, source: str = "", first: float = 0,
          step: float = 1, rules: dict[str, float] | None = None, log: bool = False, zero: bool = False,
          down: bool = False, height: int = 420, dark: bool | None = None) -> Chart:
    """Curves by name, their points `step` apart from `first` on; `rules` are dashed lines at a height, by name. down:
    the smallest value is at the top, as the first of some ranks."""
    frame = points(series, first=first, step=step)
    curves = chart_of(frame).mark_line(strokeWidth=2.5).encode(
        alt.X("at:Q", title=across, scale=alt.Scale(nice=False, padding=2),
              axis=alt.Axis(grid=False, tickMinStep=step)),
        _height(frame["value"][np.isfinite(frame["value"])].max(), up, log=log, zero=zero, down=down),
        alt.Color("name:N", scale=alt.Scale(domain=list(series), range=CATEGORICAL[:len(series)]),
                  legend=None if len(series) == 1 else alt.Legend(title=None, columns=2)),
        tooltip=[alt.Tooltip("at:Q", title=across), alt.Tooltip("name:N", title="curve"),
                 alt.Tooltip("value:Q", title=up, format=",.2f" if log else ".4~f")])
    return themed(alt.layer(curves, *_rules(rules or {}, dark)).interactive(), title=title, source=source, dark=dark,
                  height=height)


def describe_lines(series: dict[str, Sequence[float]], *, across: str, up: str) -> str:
    """A sentence for `alt=`: each curve's first and last value."""
    ends = "; ".join(f"{name} from {curve[0]:.4g} to {curve[-1]:.4g}" for name, curve in series.items())
    return f"{up} over {across}: {ends}."


def _height(most: float, up: str, *, log: bool, zero: bool, down: bool) -> alt.Y:
    if not log:
        return alt.Y("value:Q", title=up, scale=alt.Scale(zero=zero, reverse=down or alt.Undefined))
    if not down:
        return alt.Y("value:Q", title=up, scale=alt.Scale(type="log"), axis=alt.Axis(format="~s", tickCount=6))
    powers = [10 ** power for power in range(max(1, ceil(log10(max(1, most)))) + 1)]
    return alt.Y("value:Q", title=up, scale=alt.Scale(type="log", reverse=True, domain=[1, powers[-1]]),
                 axis=alt.Axis(format="~s", values=powers))


def _rules(rules: dict[str, float], dark: bool | None) -> list[alt.Chart]:
    """Dashed lines, each with its name on a ground of its own at the right end."""
    if not rules:
        return []
    dashed = rule(alt.Y("value:Q"), rules)
    words = {"align": "right", "baseline": "bottom", "dx": -6, "dy": -8, "fontSize": TEXT}
    return [dashed, *(dashed.mark_text(**words, **mark).encode(x=alt.value("width"), text="name:N")
                      for mark in (ground(dark), ink_of(dark)))]
