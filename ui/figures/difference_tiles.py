"""Every head's difference between two models, cell by cell: layers down, heads across, a small matrix each."""
from collections.abc import Sequence

import numpy as np

from ui.figures.difference import LEAST
from ui.figures.frame import NOTE, Finished, axis, framed
from ui.figures.labels import axis_label
from ui.figures.palette import ACCENT, diverging_scale

GAP = 1  # cells between two heads
MOST_NAMED = 4  # heads whose names stand beside each other on a phone; of more the numbers stand


def difference_tiles(first: np.ndarray, second: np.ndarray, queries: Sequence[str], keys: Sequence[str], *,
                     layers: Sequence[int], names: tuple[str, str], chosen: tuple[int, int] | None = None, title: str,
                     source: str = "", dark: bool | None = None) -> Finished:
    """`first - second`, both (layers, H, Tq, Tk), of the layers numbered `layers`, on one diverging scale; `chosen`
    (layer, head) is framed. Hover has the head, both tokens and all three numbers."""
    assert first.shape == second.shape, f"{first.shape} and {second.shape}"
    count, heads, rows, columns = first.shape
    assert (rows, columns) == (len(queries), len(keys)), f"{rows} x {columns} for {len(queries)} x {len(keys)} tokens"
    difference = first.astype(np.float64) - second
    limit = max(float(np.abs(difference).max()), LEAST)
    labels = [[f"<b>{axis_label(query)}</b> looks at <b>{axis_label(key)}</b>" for key in keys] for query in queries]
    text = np.array([[[[f"layer {layer} · head {head}<br>{label}" for label in row] for row in labels]
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
                   "line": {"color": ACCENT, "width": 2}}]
    height = int(min(640, max(80 * count, 700 / heads * rows / columns * count)))
    many = heads > MOST_NAMED
    return framed([heatmap], title=title, source=source, dark=dark, height=height, top=34 + 24 * many, bottom=70,
                  shapes=shapes,
                  xaxis=axis("head" * many, side="top", range=[-1, heads * wide - 0.5], tickangle=0,
                             ticktext=[f"{'' if many else 'head '}{at}" for at in range(heads)],
                             tickvals=[at * wide + (columns - 1) / 2 for at in range(heads)]),
                  yaxis=axis(range=[count * tall - 0.5, -1], ticktext=[f"layer {at}" for at in layers],
                             tickvals=[at * tall + (rows - 1) / 2 for at in range(count)]))


def _tiled(values: np.ndarray, gap: object) -> np.ndarray:
    """(layers, H, Tq, Tk) -> one matrix, a row or column of `gap` between two heads."""
    padded = np.pad(values, [(0, 0), (0, 0), (0, GAP), (0, GAP)], constant_values=gap)
    layers, heads, rows, columns = padded.shape
    return padded.transpose(0, 2, 1, 3).reshape(layers * rows, heads * columns)[:-GAP, :-GAP]
