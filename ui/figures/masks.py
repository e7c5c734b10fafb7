"""The masks of a whole batch, small: a row for each pair, a column for each mask."""

import base64
import io
from collections.abc import Sequence

import numpy as np
from PIL import Image

from ui.figures.frame import Finished, axis, framed
from ui.figures.labels import axis_label, plain_label
from ui.figures.palette import ALLOWED, CLEAR, MARK, MUTED

TILE = 48   # px of the picture, the side of one mask
GAP = 6     # px of the picture, between masks
ROW = 84    # px on the page, the height of one mask


def mask_grid(masks: dict[str, np.ndarray], pairs: Sequence[str], *, selected: int, title: str, source: str = "",
              dark: bool | None = None) -> Finished:
    """Masks by name, each boolean (pairs, Tq, Tk), the selected pair's row outlined. Filled: may be attended to."""
    shades = _tiled(list(masks.values()))
    png = base64.b64encode(_png(shades)).decode()
    picture = {"type": "image", "source": f"data:image/png;base64,{png}", "x0": 0.5, "y0": 0.5, "hoverinfo": "skip"}
    step, (height, width) = TILE + GAP, shades.shape
    counts = [[f"<b>{axis_label(pair, longest=40)}</b><br>{name}: {mask[row].sum()} of {mask[row].size} may be "
               "attended to" for name, mask in masks.items()] for row, pair in enumerate(pairs)]
    targets = {"type": "bar", "width": step, "x": [at * step + TILE / 2 for at in range(len(masks))] * len(pairs),
               "y": [step] * (len(masks) * len(pairs)), "marker": {"color": CLEAR}, "showlegend": False,
               "base": [row * step - GAP / 2 for row in range(len(pairs)) for _ in masks],
               "hovertext": [text for row in counts for text in row], "hovertemplate": "%{hovertext}<extra></extra>"}
    outline = {"type": "rect", "x0": -GAP / 2, "x1": width + GAP / 2, "y0": selected * step - GAP / 2,
               "y1": selected * step + TILE + GAP / 2, "line": {"color": MARK, "width": 3}}
    names = [f"<b>{at + 1}</b>" if at == selected else str(at + 1) for at in range(len(pairs))]
    return framed(
        [picture, targets], title=title, source=source, dark=dark, height=ROW * len(pairs), top=58, bottom=6,
        xaxis=axis(side="top", range=[-GAP, width + GAP], ticktext=[name.replace(" ", "<br>") for name in masks],
                   tickvals=[at * step + TILE / 2 for at in range(len(masks))]),
        yaxis=axis("pair", range=[height + GAP, -GAP], ticktext=names, scaleanchor=False,
                   tickvals=[row * step + TILE / 2 for row in range(len(pairs))]), shapes=[outline])


def describe_mask_grid(masks: dict[str, np.ndarray], pairs: Sequence[str], *, selected: int) -> str:
    """A sentence for `alt=`: which masks, how many pairs, and how much each mask of the chosen pair allows."""
    shares = ", ".join(f"{name} {mask[selected].sum()} of {mask[selected].size}" for name, mask in masks.items())
    return (f"Small pictures of {len(masks)} masks for each of {len(pairs)} pairs. "
            f"Allowed for '{plain_label(pairs[selected], longest=40)}': {shares}.")


def _tiled(masks: list[np.ndarray]) -> np.ndarray:
    """Masks (pairs, Tq, Tk) stretched to squares and set side by side: 0 between them, 1 forbidden, 2 allowed."""
    columns = []
    for mask in masks:
        rows, keys = (np.arange(TILE) * size // TILE for size in mask.shape[1:])
        tiles = np.where(mask[:, rows][:, :, keys], 2, 1).astype(np.uint8)  # (pairs, TILE, TILE)
        columns.append(np.pad(tiles, ((0, 0), (0, GAP), (0, GAP))).reshape(-1, TILE + GAP))
    return np.hstack(columns)[:-GAP, :-GAP]


def _png(shades: np.ndarray) -> bytes:
    image = Image.fromarray(shades)
    image.putpalette(bytes(3) + bytes.fromhex(MUTED[1:] + ALLOWED[1:]))
    buffer = io.BytesIO()
    image.save(buffer, "PNG", transparency=bytes([0, 70, 255]))
    return buffer.getvalue()
