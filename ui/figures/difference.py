"""The difference of two heads cell by cell, and of every head of two models."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from transformer.basics.formatting import how_many
from ui.figures.attention import NUMBERED, WHERE, matrix, stripes
from ui.figures.frame import NOTE, TEXT, Finished, axis, framed
from ui.figures.html_table import header_rows, heading, numeric_table, tag, tr
from ui.figures.labels import axis_label, plain_label
from ui.figures.palette import MARK, diverging, diverging_scale, ink_on

UNLIKE = "≠"
LEAST = 0.01  # the smallest end of the scale, so that rounding errors form no pattern


def difference_heatmap(first: np.ndarray, second: np.ndarray, queries: Sequence[str], keys: Sequence[str], *,
                       names: tuple[str, str] = ("first", "second"), title: str, source: str = "",
                       mask: np.ndarray | None = None, dark: bool | None = None) -> Finished:
    """`first - second`, both (Tq, Tk), on a diverging scale centred at 0; `mask` (Tq, Tk). Hover has all three
    numbers. Labels of positions that hold two tokens come from `paired`."""
    first, second = np.asarray(first), np.asarray(second)
    shape = len(queries), len(keys)
    assert first.shape == second.shape == shape, f"{first.shape} and {second.shape} for {shape} queries and keys"
    allowed = np.broadcast_to(True if mask is None else np.asarray(mask, dtype=bool), shape)
    difference = first.astype(np.float64) - second
    limit = max(float(np.abs(difference).max()), LEAST)
    heatmap = {
        "type": "heatmap", "z": np.where(allowed, difference, np.nan).astype(np.float32), "zmin": -limit,
        "zmax": limit, "zmid": 0, "hoverongaps": False, "colorscale": diverging_scale(dark=dark),
        "customdata": np.stack([first, second], axis=-1).astype(np.float32),
        "hovertemplate": f"<b>%{{y}}</b> looks at <b>%{{x}}</b><br>{names[0]} %{{customdata[0]:.6~g}}, {names[1]} "
                         "%{customdata[1]:.6~g}<br>difference <b>%{z:+.6~g}</b>" + WHERE,
        "colorbar": {"orientation": "h", "x": 0, "xanchor": "left", "xpad": 0, "y": 0, "yanchor": "top", "ypad": 8,
                     "lenmode": "pixels", "len": 180, "thickness": 12, "outlinewidth": 0, "tickfont": {"size": NOTE},
                     "tickvals": [-limit, 0, limit], "ticktext": [f"−{limit:.2g}", "0", f"+{limit:.2g}"],
                     "title": {"text": f"{names[0]} minus {names[1]}", "side": "top", "font": {"size": NOTE}}}}
    traces = [heatmap, *_numbers(difference, allowed, limit, dark), *stripes(allowed)]
    return matrix(traces, list(queries), list(keys), newest=False, legend_at=70, title=title, source=source, dark=dark,
                  upright=any(UNLIKE in key for key in keys))


def paired(first: Sequence[str], second: Sequence[str]) -> list[str]:
    """A label for each position that both have: its token, or both tokens, cut to fit, where they differ."""
    return [one if one == other else f"{plain_label(one, longest=7)}{UNLIKE}{plain_label(other, longest=7)}"
            for one, other in zip(first, second, strict=False)]


def describe_difference(first: np.ndarray, second: np.ndarray, queries: Sequence[str], keys: Sequence[str]) -> str:
    """A sentence for `alt=`: where the two differ most."""
    difference = np.asarray(first, dtype=np.float64) - second
    row, column = (int(at) for at in np.unravel_index(np.abs(difference).argmax(), difference.shape))
    over = f"Difference of two heads over {how_many(len(queries), 'query', 'queries')} and {how_many(len(keys), 'key')}"
    if not difference[row, column]:
        return f"{over}: 0 everywhere."
    return (f"{over}. Largest: "
            f"'{plain_label(queries[row])}' looks at '{plain_label(keys[column])}', {difference[row, column]:+.2f}.")


def _numbers(difference: np.ndarray, allowed: np.ndarray, limit: float, dark: bool | None) -> list[dict]:
    """The numbers in the cells, except those that round to 0."""
    if max(difference.shape) > NUMBERED:
        return []
    rows, columns = np.nonzero(allowed & (np.abs(difference) >= 0.005))
    values = difference[rows, columns]
    text = [f"{value:+.2f}".replace("0.", ".", 1).replace("-", "−") for value in values]
    colours = ink_on(diverging(257, dark=dark)[(128 + 128 * values / limit).round().astype(int).clip(0, 256)])
    return [{"type": "scatter", "mode": "text", "x": columns, "y": rows, "text": text, "hoverinfo": "skip",
             "textfont": {"size": TEXT, "color": colours}, "showlegend": False}]


def measures_table(first: dict[str, np.ndarray], second: dict[str, np.ndarray], *, chosen: int,
                   names: tuple[str, str], caption: str) -> str:
    """HTML of measures, name -> (H,), of the heads of a layer, side by side for two pictures."""
    def cell(head: int, measure: str, of: str, value: float) -> str:
        return tag("td", "–" if np.isnan(value) else f"{value:.3f}", data_head=head, data_measure=measure, data_of=of)

    body = [tr(heading(f"head {head}", scope="row"), *(
        cell(head, measure, of, values[measure][head]) for measure in first
        for of, values in zip(names, (first, second), strict=True)), class_="chosen" * (head == chosen))
        for head in range(len(next(iter(first.values()))))]
    head_rows = header_rows(["", *names * len(first)], [(measure, 2) for measure in first])
    return numeric_table(head_rows, body, label="measures of the heads", caption=caption)


GAP = 1  # cells between two heads
MOST_NAMED = 4  # heads whose names have room side by side on a phone; with more there are numbers


def difference_tiles(first: np.ndarray, second: np.ndarray, queries: Sequence[str], keys: Sequence[str], *,
                     layers: Sequence[int], names: tuple[str, str], chosen: tuple[int, int] | None = None, title: str,
                     source: str = "", dark: bool | None = None) -> Finished:
    """`first - second`, both (layers, H, Tq, Tk), for the layers numbered `layers`, on one diverging scale; `chosen`
    (layer, head) is framed. Hover has the head, both tokens and all three numbers."""
    assert first.shape == second.shape, f"{first.shape} and {second.shape}"
    count, heads, rows, columns = first.shape
    assert (rows, columns) == (len(queries), len(keys)), f"{rows} x {columns} for {len(queries)} x {len(keys)} tokens"
    difference = first.astype(np.float64) - second
    limit = max(float(np.abs(difference).max()), LEAST)
    labels = [[f"<b>{axis_label(query)}</b> looks at <b>{axis_label(key)}</b>" for key in keys] for query in queries]
    text = np.array([[[[f"layer {layer}, head {head}<br>{label}" for label in row] for row in labels]
                      for head in range(heads)] for layer in layers], dtype=object)
    tall, wide = rows + GAP, columns + GAP
    heatmap = {
        "type": "heatmap", "z": _tiled(difference.astype(np.float32), np.nan), "text": _tiled(text, ""),
        "customdata": np.stack([_tiled(part.astype(np.float32), np.nan) for part in (first, second)], -1),
        "zmin": -limit, "zmax": limit, "zmid": 0, "hoverongaps": False, "colorscale": diverging_scale(dark=dark),
        "hovertemplate": f"%{{text}}<br>{names[0]} %{{customdata[0]:.4~g}}, {names[1]} %{{customdata[1]:.4~g}}<br>"
                         "difference <b>%{z:+.4~g}</b><extra></extra>",
        "colorbar": {"orientation": "h", "x": 0, "xanchor": "left", "xpad": 0, "y": 0, "yanchor": "top", "ypad": 8,
                     "lenmode": "pixels", "len": 180, "thickness": 12, "outlinewidth": 0, "tickfont": {"size": NOTE},
                     "tickvals": [-limit, 0, limit], "ticktext": [f"−{limit:.2g}", "0", f"+{limit:.2g}"],
                     "title": {"text": f"{names[0]} minus {names[1]}", "side": "top", "font": {"size": NOTE}}}}
    shapes = []
    if chosen and chosen[0] in layers and chosen[1] < heads:
        top, left = layers.index(chosen[0]) * tall - 0.75, chosen[1] * wide - 0.75
        shapes = [{"type": "rect", "x0": left, "x1": left + columns + 0.5, "y0": top, "y1": top + rows + 0.5,
                   "line": {"color": MARK, "width": 2}}]
    height = int(min(640, max(80 * count, 700 / heads * rows / columns * count)))
    many = heads > MOST_NAMED
    return framed([heatmap], title=title, source=source, dark=dark, height=height, top=34 + 24 * many, bottom=70,
                  shapes=shapes,
                  xaxis=axis("head" * many, side="top", range=[-1, heads * wide - 0.5], tickangle=0,
                             ticktext=[f"{'' if many else 'head '}{at}" for at in range(heads)],
                             tickvals=[at * wide + (columns - 1) / 2 for at in range(heads)]),
                  yaxis=axis(range=[count * tall - 0.5, -1], ticktext=[f"layer {at}" for at in layers],
                             tickvals=[at * tall + (rows - 1) / 2 for at in range(count)]))


def _tiled(values: np.ndarray, gap: ArrayLike) -> np.ndarray:
    """(layers, H, Tq, Tk) -> one matrix, a row or column of `gap` between two heads."""
    padded = np.pad(values, [(0, 0), (0, 0), (0, GAP), (0, GAP)], constant_values=gap)
    layers, heads, rows, columns = padded.shape
    return padded.transpose(0, 2, 1, 3).reshape(layers * rows, heads * columns)[:-GAP, :-GAP]
