"""Curves over one axis: a few lines with rules to compare with, quantities over the width of a head, spectra."""

from collections.abc import Mapping, Sequence
from math import ceil, isfinite, log10

import altair as alt

from ui.figures.chart import Chart, chart_of, ground, ink_of, points, rule, themed
from ui.figures.frame import TEXT
from ui.figures.palette import CATEGORICAL, INK, MARK, MUTED


def lines(series: dict[str, Sequence[float]], *, across: str, up: str, title: str, source: str = "", first: float = 0,
          step: float = 1, rules: dict[str, float] | None = None, log: bool = False, zero: bool = False,
          down: bool = False, height: int = 420, dark: bool | None = None) -> Chart:
    """Curves by name, with points `step` apart from `first` on; `rules`: names and heights of dashed lines. down: the
    smallest value is at the top, as for ranks."""
    frame = points(series, first=first, step=step)
    curves = chart_of(frame).mark_line(strokeWidth=2.5).encode(
        alt.X("at:Q", title=across, scale=alt.Scale(nice=False, padding=2),
              axis=alt.Axis(grid=False, tickMinStep=step)),
        _height(max(filter(isfinite, frame["value"]), default=1.0), up, log=log, zero=zero, down=down),
        alt.Color("name:N", scale=alt.Scale(domain=list(series), range=CATEGORICAL[:len(series)]),
                  legend=None if len(series) == 1 else alt.Legend(title=None, columns=2)),
        tooltip=[alt.Tooltip("at:Q", title=across), alt.Tooltip("name:N", title="curve"),
                 alt.Tooltip("value:Q", title=up, format=",.2f" if log else ".4~f")])
    return themed(alt.layer(curves, *_rules(rules or {}, dark)).interactive(), title=title, source=source, dark=dark,
                  height=height)


def describe_lines(series: Mapping[str, Sequence[float]], *, across: str, up: str) -> str:
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
    """Dashed lines, each with its name on a background at the right end."""
    if not rules:
        return []
    dashed = rule(alt.Y("value:Q"), rules)
    words = {"align": "right", "baseline": "bottom", "dx": -6, "dy": -8, "fontSize": TEXT}
    return [dashed, *(dashed.mark_text(**words, **mark).encode(x=alt.value("width"), text="name:N")
                      for mark in (ground(dark), ink_of(dark)))]


def width_curves(series: Mapping[str, Sequence[float]], widths: Sequence[int], *, title: str, quantity: str,
                 logarithmic: bool = False, theory: Sequence[str] = (), dark: bool | None = None) -> Chart:
    """Each of `series` over `widths` on a logarithmic axis; those in `theory` are dashed and without points."""
    names, measured = list(series), [name for name in series if name not in theory]
    colours = dict(zip(measured, CATEGORICAL, strict=False)) | dict.fromkeys(theory, INK[dark] or MUTED)
    base = chart_of(points(series, widths)).encode(
        alt.X("at:Q", title="d_k, the width of a head", scale=alt.Scale(type="log", base=2, nice=False, padding=6),
              axis=alt.Axis(values=list(widths), grid=False, labelOverlap="greedy")),
        alt.Y("value:Q", title=quantity, axis=alt.Axis(tickCount=6),
              scale=alt.Scale(type="log", base=2) if logarithmic else alt.Scale(zero=True)),
        alt.Color("name:N", sort=None, legend=alt.Legend(title=None, columns=1, offset=8),
                  scale=alt.Scale(domain=names, range=[colours[name] for name in names])),
        tooltip=[alt.Tooltip("name:N", title="curve"), alt.Tooltip("at:Q", title="d_k"),
                 alt.Tooltip("value:Q", format=".4f", title=quantity)])
    curves = base.mark_line(strokeWidth=2.5).encode(alt.StrokeDash("name:N", sort=None, scale=alt.Scale(
        domain=names, range=[[6, 4] if name in theory else [1, 0] for name in names])))
    dots = base.mark_point(filled=True, size=60, opacity=1).transform_filter(
        alt.FieldOneOfPredicate(field="name", oneOf=measured))
    return themed(alt.layer(curves, dots).interactive(), title=title, source="", dark=dark, height=470)


def describe_widths(series: Mapping[str, Sequence[float]], widths: Sequence[int], *, quantity: str) -> str:
    """A sentence for `alt=`: where each curve begins and ends."""
    ends = "; ".join(f"{name} from {float(curve[0]):.2f} to {float(curve[-1]):.2f}" for name, curve in series.items())
    return f"{quantity} for d_k from {widths[0]} to {widths[-1]}: {ends}."


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
        color=MARK, strokeWidth=2.5, point={"color": MARK, "size": 30}).encode(*places, tooltip=tooltip)
    chart = alt.layer(*[behind] * bool(others), front).interactive()
    return themed(chart, title=title, source=source, dark=dark, height=280)
