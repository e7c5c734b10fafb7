"""All heads of one kind in one picture, to choose one from.

Shapes: L layers, H heads, Tq queries, Tk keys.
"""
import base64
import struct
import zlib

import numpy as np
import plotly.graph_objects as go

from ui.figures.frame import axis, framed
from ui.figures.labels import head_label
from ui.figures.palette import ACCENT, CLEAR, MUTED, ramp

POOLED = 48      # px of the picture, along the longer side of one head
GAP = 4          # px of the picture, between heads
TILE = 96        # px on the page, the height of one head
MASKED = 1       # the shade where the mask forbids; 0 lies between heads, weights start after it
SHADES = 255     # the last shade, weight 1


def head_grid(weights: np.ndarray, *, kind: str, selected: tuple[int, int], source: str = "",
              mask: np.ndarray | None = None, dark: bool | None = None) -> go.Figure:
    """Every head of `weights` (L, H, Tq, Tk) as a small picture, the selected one outlined; `mask` is (Tq, Tk)."""
    layers, heads = weights.shape[:2]
    shades, rows, columns = tile(weights, mask=mask)
    # A picture and not a heatmap: 12 x 12 heads are one image element where a heatmap has 300,000 cells to draw.
    png = base64.b64encode(palette_png(shades, ramp(SHADES - MASKED, dark=dark))).decode()
    picture = {"type": "image", "source": f"data:image/png;base64,{png}", "x0": 0.5, "y0": 0.5, "hoverinfo": "skip"}
    # Pictures send no clicks, bars do: a see-through one over each head, in data units so that it fits at any width.
    at = [(layer, head) for layer in range(layers) for head in range(heads)]
    peaks = np.nan_to_num(weights).max(axis=(2, 3))
    targets = {
        "type": "bar", "width": columns + GAP, "x": [head * (columns + GAP) + columns / 2 for _, head in at],
        "y": [rows + GAP] * len(at), "base": [layer * (rows + GAP) - GAP / 2 for layer, _ in at],
        "customdata": [[layer, head] for layer, head in at],
        "hovertext": [f"<b>{head_label(*spot)}</b><br>largest weight {peaks[spot]:.2f}" for spot in at],
        "hovertemplate": "%{hovertext}<br>click to look closer<extra></extra>", "showlegend": False,
        "marker": {"color": CLEAR, "line": {"color": ACCENT, "width": [4 * (spot == tuple(selected)) for spot in at]}},
        "selected": {"marker": {"opacity": 1}}, "unselected": {"marker": {"opacity": 1}}}
    width, height = heads * (columns + GAP), layers * (rows + GAP)
    return framed(
        [picture, targets], title=f"All {kind} heads, showing {head_label(*selected)}", source=source, dark=dark,
        height=TILE * layers, top=54, bottom=6,
        xaxis=axis("head", side="top", range=[-GAP, width], ticktext=list(range(heads)),
                   tickvals=[head * (columns + GAP) + columns / 2 for head in range(heads)]),
        yaxis=axis("layer", range=[height, -GAP], ticktext=list(range(layers)), scaleanchor=False,
                   tickvals=[layer * (rows + GAP) + rows / 2 for layer in range(layers)]))


def tile(weights: np.ndarray, *, mask: np.ndarray | None = None) -> tuple[np.ndarray, int, int]:
    """Heads (L, H, Tq, Tk) as one picture of shades (0 between heads, 1 masked, then by the square root of the weight)
    and the rows and columns of one head; long heads are pooled by their maximum, so no strong weight disappears."""
    layers, heads, queries, keys = weights.shape
    down, across = np.arange(0, queries, -(-queries // POOLED)), np.arange(0, keys, -(-keys // POOLED))
    pooled = np.nan_to_num(np.fmax.reduceat(np.fmax.reduceat(weights, across, axis=3), down, axis=2)).clip(0, 1)
    shades = (np.sqrt(pooled) * (SHADES - MASKED - 1)).round().astype(np.uint8) + MASKED + 1
    if mask is not None:
        allowed = np.broadcast_to(mask, (queries, keys))
        allowed = np.logical_or.reduceat(np.logical_or.reduceat(allowed, across, axis=1), down, axis=0)
        shades = np.where(allowed, shades, MASKED).astype(np.uint8)
    # short heads are blown up to about the same size, so that the gap looks the same beside one query and forty
    shades = shades.repeat(max(1, POOLED // len(down)), axis=2).repeat(max(1, POOLED // len(across)), axis=3)
    rows, columns = shades.shape[2:]
    shades = np.pad(shades, ((0, 0), (0, 0), (0, GAP), (0, GAP))).swapaxes(1, 2)  # (L, rows + GAP, H, columns + GAP)
    return shades.reshape(layers * (rows + GAP), heads * (columns + GAP))[:-GAP, :-GAP], rows, columns


def picked_head(event) -> tuple[int, int] | None:
    """The head clicked in what `st.plotly_chart(head_grid(...), on_select="rerun")` returned, or None."""
    points = event["selection"]["points"] if event else []
    return tuple(points[0]["customdata"]) if points else None


def describe_grid(weights: np.ndarray, *, kind: str, selected: tuple[int, int]) -> str:
    """A sentence for `alt=`: how many heads there are and which one is chosen."""
    layers, heads = weights.shape[:2]
    return f"Small pictures of all {kind} heads: {layers} layers of {heads} heads, {head_label(*selected)} is chosen."


def palette_png(shades: np.ndarray, colours: np.ndarray) -> bytes:
    """A palette PNG: shade 0 see-through, MASKED half so, the ones after it the colours (n, 3)."""
    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    height, width = shades.shape
    lines = np.pad(shades, ((0, 0), (1, 0)))  # each line starts with its filter, 0 for none
    palette = bytes(3) + bytes.fromhex(MUTED[1:]) + colours.tobytes()
    return b"".join([b"\x89PNG\r\n\x1a\n", chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)),
                     chunk(b"PLTE", palette), chunk(b"tRNS", bytes([0, 70])),
                     chunk(b"IDAT", zlib.compress(lines.tobytes(), 6)), chunk(b"IEND", b"")])
