"""Tokens written against tokens read: a number for each pair, above or below zero or a share."""
from collections.abc import Sequence

import numpy as np

from ui.figures.frame import NOTE, Finished, axis, framed
from ui.figures.labels import axis_label, how_many, plain_label
from ui.figures.palette import colorscale, diverging_scale

LABELLED = 20  # tokens along an axis; beyond, positions are marked and hovering has the tokens
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
                             **_ticks(across)),
                  yaxis=axis("written", standoff=4, range=[len(down) - 0.5, -0.5], **_ticks(down)))


def describe_token_matrix(values: np.ndarray, down: Sequence[str], across: Sequence[str], *, what: str) -> str:
    """A sentence for `alt=`: the sizes, and the largest number."""
    found = np.nan_to_num(np.asarray(values))
    row, column = (int(at) for at in np.unravel_index(np.abs(found).argmax(), found.shape))
    return (f"{what}: {how_many(len(down), 'token')} written by {len(across)} read. Largest: "
            f"'{plain_label(down[row])}' from '{plain_label(across[column])}', {found[row, column]:+.2f}.")


def _ticks(tokens: Sequence[str]) -> dict:
    if len(tokens) <= LABELLED:
        return {"tickvals": list(range(len(tokens))), "ticktext": [axis_label(token) for token in tokens]}
    marked = list(range(0, len(tokens), 5 * -(-len(tokens) // 60)))
    return {"tickvals": marked, "ticktext": [str(at) for at in marked]}
