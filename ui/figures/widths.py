"""What is measured as a head grows wider: one curve a quantity over d_k."""
from collections.abc import Mapping, Sequence

import altair as alt

from ui.figures.chart import Chart, chart_of, points, themed
from ui.figures.palette import CATEGORICAL, INK, MUTED


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
