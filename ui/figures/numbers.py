"""Heatmaps of numbers other than weights: positions, angles, similarities, and tokens against tokens."""

from collections.abc import Sequence

import numpy as np

from transformer.basics.formatting import how_many
from ui.figures.frame import NOTE, TEXT, Finished, axis, framed
from ui.figures.labels import axis_label, plain_label
from ui.figures.palette import CYCLIC, DIVERGING, colorscale, diverging_scale

TICKS = 9  # about the most numbers along an axis


def number_heatmap(values: np.ndarray, *, across: str, down: str, value: str, title: str, source: str = "",
                   angle: bool = False, height: int = 380, first: tuple[int, int] = (0, 0),
                   step: tuple[int, int] = (1, 1), dark: bool | None = None) -> Finished:
    """Values (rows, columns) in colours from below zero to above, or from least to most where all are above zero, row
    0 on top; with `angle` they are radians and their colours go round at 2 pi, while hover tells the whole angle.
    first and step: the numbers of the first row and column, and how many each cell stands for."""
    values = np.asarray(values, dtype=np.float32)
    assert values.ndim == 2 and values.size, f"a matrix and not {values.shape}"
    bar = {"orientation": "h", "x": 0, "xanchor": "left", "xpad": 0, "y": 0, "yanchor": "top", "ypad": 10,
           "lenmode": "pixels", "len": 230, "thickness": 12, "outlinewidth": 0, "tickfont": {"size": NOTE},
           "title": {"text": value, "side": "top", "font": {"size": NOTE}}}
    where = f"{down} %{{y}}, {across} %{{x}}<br>"
    heat = {"type": "heatmap", "colorbar": bar}
    if angle:
        bar |= {"tickvals": [0, np.pi / 2, np.pi, 3 * np.pi / 2, 2 * np.pi],
                "ticktext": ["0", "π/2", "π", "3π/2", "2π"]}
        stops = [[at / (len(CYCLIC) - 1), colour] for at, colour in enumerate(CYCLIC)]
        heat |= {"z": values % np.float32(2 * np.pi), "zmin": 0, "zmax": 2 * np.pi, "colorscale": stops,
                 "customdata": values, "hovertemplate": where + f"{value} <b>%{{customdata:.5~g}}</b><extra></extra>"}
    else:
        most = float(np.abs(values[np.isfinite(values)]).max(initial=0)) or 1.0
        low, middle, high = DIVERGING[bool(dark)]
        scale = {"zmin": -most, "zmax": most, "colorscale": [[0, low], [0.5, middle], [1, high]]}
        if values.min() > 0:
            scale = {"zmin": float(values.min()), "zmax": most, "colorscale": colorscale("linear", dark=dark)}
        heat |= scale | {"z": values, "hovertemplate": where + f"{value} <b>%{{z:.5~g}}</b><extra></extra>"}
        bar |= {"nticks": 5}
    rows, columns = values.shape
    if (first, step) != ((0, 0), (1, 1)):
        heat |= {f"{side}0": start for side, start in zip("yx", first, strict=True)}
        heat |= {f"d{side}": by for side, by in zip("yx", step, strict=True)}
    return framed([heat], title=title, source=source, dark=dark, height=height, top=50, bottom=74, xaxis=axis(
        across, side="top", **_numbered(columns, first[1], step[1])),
        yaxis=axis(down, **_numbered(rows, first[0], step[0], downward=True), tickfont={"size": TEXT}))


def strongest(values: np.ndarray, *, most: int) -> tuple[np.ndarray, tuple[int, int]]:
    """Values (rows, columns) pooled to at most `most` along each side: of each block the element farthest from zero;
    and how many rows and columns a block has."""
    block = tuple(-(-size // most) for size in values.shape)
    short = [-size % by for size, by in zip(values.shape, block, strict=True)]
    padded = np.pad(values, [(0, more) for more in short])
    blocks = padded.reshape(padded.shape[0] // block[0], block[0], padded.shape[1] // block[1], block[1])
    blocks = blocks.transpose(0, 2, 1, 3).reshape(blocks.shape[0], blocks.shape[2], -1)
    return np.take_along_axis(blocks, np.abs(blocks).argmax(-1)[..., None], -1)[..., 0], block


def describe_numbers(values: np.ndarray, *, across: str, down: str, value: str) -> str:
    """A sentence for `alt=`: the sizes and the range of the numbers."""
    rows, columns = values.shape
    return (f"{value.capitalize()} as colours, {rows} by {columns} ({down} by {across}), "
            f"from {np.nanmin(values):.4g} to {np.nanmax(values):.4g}.")


def _numbered(count: int, first: int, by: int, *, downward: bool = False) -> dict:
    """The range and ticks of an axis with `count` cells of `by` numbers each."""
    low, high = first - by / 2, first + by * (count - 0.5)
    ticks = _ticks(first, first + by * count)
    return {"range": [high, low] if downward else [low, high], "tickvals": ticks, "ticktext": ticks}


def _ticks(first: int, end: int) -> list[int]:
    steps = (1, 2, 5, 10, 20, 25, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000)
    step = next((step for step in steps if (end - first) / step <= TICKS), steps[-1])
    return list(range(-(-first // step) * step, end, step))


LABELLED = 20  # tokens along an axis; with more, positions are marked and hover has the tokens
LETTER = 8     # px, about the width of a character


def token_matrix(values: np.ndarray, down: Sequence[str], across: Sequence[str], *, signed: bool, unit: str,
                 title: str, source: str = "", dark: bool | None = None) -> Finished:
    """Values (tokens written, tokens read); signed ones in two colours from the middle, shares in one by their square
    root."""
    values = np.asarray(values, dtype=np.float32)
    assert values.shape == (len(down), len(across)), f"{values.shape} for {len(down)} by {len(across)} tokens"
    most = max(float(np.abs(np.nan_to_num(values)).max(initial=0)), 1e-6)
    heat = {"type": "heatmap", "z": values, "zmin": -most if signed else 0, "zmax": most, "hoverongaps": False,
            "colorscale": diverging_scale(dark=dark) if signed else colorscale("sqrt", dark=dark),
            "text": [[f"<b>{axis_label(one)}</b> from <b>{axis_label(other)}</b>" for other in across] for one in down],
            "hovertemplate": f"%{{text}}<br>positions %{{y}} and %{{x}}<br>{unit} <b>%{{z:.4~g}}</b><extra></extra>",
            "colorbar": {"orientation": "h", "x": 0, "xanchor": "left", "xpad": 0, "y": 0, "yanchor": "top", "ypad": 8,
                         "lenmode": "pixels", "len": 180, "thickness": 12, "outlinewidth": 0,
                         "tickfont": {"size": NOTE}, "tickvals": [-most, 0, most] if signed else [0, most],
                         "ticktext": [f"−{most:.2g}", "0", f"+{most:.2g}"] if signed else ["0", f"{most:.2g}"],
                         "title": {"text": unit, "side": "top", "font": {"size": NOTE}}}}
    longest = max((len(plain_label(token)) for token in across), default=1)
    room = LETTER * longest if len(across) <= LABELLED else 0
    return framed([heat], title=title, source=source, dark=dark, height=min(34 * max(len(down), 2), 620),
                  top=56 + max(room, 10), bottom=74,
                  xaxis=axis("read", standoff=14, side="top", range=[-0.5, len(across) - 0.5], tickangle=-90,
                             **_token_ticks(across)),
                  yaxis=axis("written", standoff=4, range=[len(down) - 0.5, -0.5], **_token_ticks(down)))


def describe_token_matrix(values: np.ndarray, down: Sequence[str], across: Sequence[str], *, what: str) -> str:
    """A sentence for `alt=`: the sizes, and the largest number."""
    finite = np.nan_to_num(np.asarray(values))
    row, column = (int(at) for at in np.unravel_index(np.abs(finite).argmax(), finite.shape))
    return (f"{what}: {how_many(len(down), 'token')} written by {len(across)} read. Largest: "
            f"'{plain_label(down[row])}' from '{plain_label(across[column])}', {finite[row, column]:+.2f}.")


def _token_ticks(tokens: Sequence[str]) -> dict:
    if len(tokens) <= LABELLED:
        return {"tickvals": list(range(len(tokens))), "ticktext": [axis_label(token) for token in tokens]}
    marked = list(range(0, len(tokens), 5 * -(-len(tokens) // 60)))
    return {"tickvals": marked, "ticktext": [str(at) for at in marked]}
