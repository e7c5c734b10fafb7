"""Vectors as points of a plane, to hover and to click: those of texts small and faint, one's own large and named."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import altair as alt
import numpy as np
import pandas as pd

from transformer.basics.formatting import how_many
from ui.figures.chart import Chart, chart_of, ground, ink_of, themed
from ui.figures.frame import TEXT
from ui.figures.labels import plain_label
from ui.figures.palette import CATEGORICAL, MARK, MUTED

PICKED = "picked"  # the selection that a click makes; each point has its `number`
MARGIN = 1.1  # of the axes, times the points
SHAPES = ("circle", "square")
SIZES, SHADES = (34, 150), (0.4, 1.0)  # px² and opacity of the points of texts, and of one's own
ROOM, PRESENTED_ROOM = (640, 330), (480, 130)  # px for names, as if their type were no larger while presenting
HEIGHT = 370  # px, where nothing else is said
LETTER, LINE = 0.55, 1.15  # of a name, times the size of its type
# Where a name may stand about its point, the best first: px to the right and down, and how it is aligned.
SIDES: dict[str, tuple[int, int, Literal["left", "center", "right"]]] = {
    "above": (0, -12, "center"), "right": (12, 0, "left"), "left": (-12, 0, "right"), "below": (0, 14, "center"),
    "high": (0, -30, "center"), "low": (0, 32, "center")}


@dataclass(frozen=True)
class Points:
    """Points that are drawn alike."""

    name: str  # in the legend
    own: bool  # of the visitor's text
    square: bool  # else a circle
    places: np.ndarray  # (N, 2)
    tokens: Sequence[str]
    wheres: Sequence[str]  # where each stands, in words
    contexts: Sequence[str]


def space_map(groups: Sequence[Points], *, chosen: int, near: Sequence[int], axes: tuple[str, str], title: str = "",
              source: str = "", room: tuple[int, int] = ROOM, dark: bool | None = None) -> Chart:
    """The points of all groups, numbered through; `chosen` is ringed, those in `near` are outlined and named. A unit is
    as long on both axes, whatever the size of the picture. room: for which names are placed so that none overlap."""
    rows = _rows(groups, chosen, near, room)
    names = [group.name for group in groups]
    base = chart_of(rows).encode(*_axes(rows, axes), tooltip=[
        alt.Tooltip(f"{name}:N") for name in ("token", "where", "context", "of")])
    legend = alt.Legend(title=None, columns=2, symbolStrokeWidth=0)

    def by_group(channel: type, values: Sequence[str | float]) -> alt.Color:
        return channel("of:O", scale=alt.Scale(type="ordinal", domain=names, range=list(values)), sort=None,
                       legend=legend)

    hues = [CATEGORICAL[group.square] if group.own or len(groups) > 2 else MUTED for group in groups]
    dots = base.mark_point(filled=True, strokeWidth=0).encode(
        by_group(alt.Color, hues), by_group(alt.Shape, [SHAPES[group.square] for group in groups]),
        by_group(alt.Size, [SIZES[group.own] for group in groups]),
        by_group(alt.Opacity, [SHADES[group.own] for group in groups])).add_params(
            alt.selection_point(PICKED, fields=["number"], on="click", toggle="false", empty=False))
    rings = base.mark_point(filled=False, strokeWidth=2, size=150, **ink_of(dark)).transform_filter(
        alt.FieldOneOfPredicate("number", [*near]))
    ring = base.mark_point(filled=False, strokeWidth=4, size=520, color=MARK).transform_filter(
        alt.FieldEqualPredicate(chosen, "number"))
    labels = [base.mark_text(dx=dx, dy=dy, align=align, baseline="middle", fontSize=TEXT, **mark).encode(
        text="token:N").transform_filter(alt.FieldEqualPredicate(side, "side"))
        for mark in (ground(dark), ink_of(dark)) for side, (dx, dy, align) in SIDES.items()
        if side in set(rows["side"])]
    return themed(alt.layer(dots, rings, ring, *labels).interactive(), title=title, source=source, dark=dark,
                  height=HEIGHT)


def describe_space_map(groups: Sequence[Points], *, chosen: str, axes: tuple[str, str]) -> str:
    """A sentence for `alt=`: how many points of what, and which is asked about."""
    counts = ", ".join(f"{how_many(len(group.tokens), 'point')} of {group.name}" for group in groups)
    return f"A plane with {counts}. Across: {axes[0]}; up: {axes[1]}. Asked about: {chosen}."


def _rows(groups: Sequence[Points], chosen: int, near: Sequence[int], room: tuple[int, int]) -> pd.DataFrame:
    """A row for each point, in the order in which they are drawn."""
    rows = [(at, *place, group.name, plain_label(token), where, context)
            for group, first in zip(groups, _firsts(groups), strict=True)
            for at, place, token, where, context in zip(
                range(first, first + len(group.tokens)), group.places.tolist(), group.tokens, group.wheres,
                group.contexts, strict=True)]
    frame = pd.DataFrame(rows, columns=["number", "x", "y", "of", "token", "where", "context"])
    own = [first + at for group, first in zip(groups, _firsts(groups), strict=True) if group.own
           for at in range(len(group.tokens))]
    return frame.assign(side=_sides(frame, list(dict.fromkeys([chosen, *own, *near])), room))


def _firsts(groups: Sequence[Points]) -> list[int]:
    """The number of each group's first point."""
    return [sum(len(group.tokens) for group in groups[:at]) for at in range(len(groups))]


def _sides(frame: pd.DataFrame, named: Sequence[int], room: tuple[int, int]) -> list[str]:
    """The side on which each point's name stands, so that no two overlap: the first of `named` first. Empty for points
    without a name, and where there is no room."""
    (middle_x, reach_x), (middle_y, reach_y) = (_reach(frame, name) for name in ("x", "y"))
    unit = min(room[0] / reach_x, room[1] / reach_y) / 2  # px
    sides, boxes = [""] * len(frame), []
    for at in named:
        x, y = (frame["x"][at] - middle_x) * unit, (middle_y - frame["y"][at]) * unit
        wide, high = TEXT * LETTER * len(frame["token"][at]), TEXT * LINE
        for side, (dx, dy, align) in SIDES.items():
            left = x + dx - wide * {"left": 0, "center": 0.5, "right": 1}[align]
            box = left, y + dy - high / 2, left + wide, y + dy + high / 2
            if not any(box[0] < other[2] and other[0] < box[2] and box[1] < other[3] and other[1] < box[3]
                       for other in boxes):
                sides[at] = side
                boxes.append(box)
                break
    return sides


def _reach(frame: pd.DataFrame, name: str) -> tuple[float, float]:
    """The middle of an axis, and how far it goes both ways."""
    values = pd.Series(frame[name])
    low, high = float(values.min()), float(values.max())
    return (low + high) / 2, MARGIN * (high - low) / 2 or 1.0


def _axes(rows: pd.DataFrame, titles: tuple[str, str]) -> list[alt.X | alt.Y]:
    """Two axes without numbers, on which a unit is as long, and all points have room."""
    (middle_x, reach_x), (middle_y, reach_y) = (_reach(rows, name) for name in ("x", "y"))
    axes = []
    for channel, name, middle, title, reach in (
            (alt.X, "x", middle_x, titles[0], f"max({reach_x}, {reach_y} * width / height)"),
            (alt.Y, "y", middle_y, titles[1], f"max({reach_y}, {reach_x} * height / width)")):
        low, high = (alt.ExprRef(f"{middle} {sign} {reach}") for sign in "-+")
        axes.append(channel(f"{name}:Q", title=title, axis=alt.Axis(labels=False, ticks=False, grid=False),
                            scale=alt.Scale(domainMin=low, domainMax=high, nice=False, zero=False)))
    return axes
