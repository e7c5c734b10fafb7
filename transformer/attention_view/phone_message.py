"""The message for a phone: one head near what it has, the others smaller, so that a step is a few kilobytes. Long texts
lose their beginning, which is said; js/message/phone.js makes of it what the attention view draws.

L layers, H heads, Tq queries, Tk keys.
"""

from collections.abc import Sequence
from dataclasses import asdict, replace

import numpy as np

from transformer.attention_view.heads import AttentionSource, Head, Pooled, quantise, weights
from transformer.attention_view.message import FINEST, about, about_kind, ahead, lower_of, pack
from transformer.attention_view.message_fields import AttentionKind, Selection
from transformer.attention_view.shared import EXACT, FAINTEST

MOST = 48          # tokens of a side that are drawn as cells
MOST_LINES = 6_000  # weights of a layer that are drawn as lines
MOST_CELLS = 4_500  # of all heads together
LARGEST = 16       # cells of one of them, along each side
MOST_HEADS = 24    # of many, beside their map


def small(source: AttentionSource, selection: Selection, pooled: Pooled, head: Head, *, newest: bool = True,
          most: int = MOST, coming: Sequence[tuple[str, str]] = (), **header: object) -> bytes:
    """One picture. newest: the last tokens are drawn where there are more than `most`, else the first; coming: as in
    `live`."""
    queries, keys = map(len, source.axes(selection.kind))
    layers, heads = pooled.cells.shape[:2]
    if selection.view == "lines":
        most = max(8, min(most, int((MOST_LINES / heads) ** 0.5)))
    rows = _window(queries, most, last=newest)
    columns = _window(keys, most, last=newest and selection.kind == "decoder")
    exact = selection.tokens == EXACT
    info = _cut(about_kind(source, selection.kind, exact=exact), rows, columns)
    all_of = info.get("whole", (queries, keys))
    whole = (len(info["queries"]), len(info["keys"])) == tuple(all_of)
    if coming and whole and selection.kind != "encoder":
        info["ahead"] = ahead(source, selection.kind, coming, exact=exact)
    count = layers * heads if pooled.numbers is None else MOST_HEADS
    arrays, block = pooled.drawn(selection.kind, selection.order, selection.layer, heads=MOST_HEADS,
                                 cells=min(MOST_CELLS, LARGEST ** 2 * count))
    if selection.view == "lines":
        layers = slice(selection.layer, selection.layer + 1)
        layer = weights(source, selection.kind, layers=layers)[0, :, rows, columns].cpu().numpy()
        arrays["faint"] = quantise(np.where(layer < FAINTEST, 0, layer))  # (H, Tq, Tk)
    else:
        fine = quantise(head.weights[rows, columns], FINEST)
        arrays["fine"] = np.stack([fine >> 8, fine & 255]).astype(np.uint8)  # (2, Tq, Tk); apart they pack smaller
    lower = lower_of(arrays)
    return pack({"about": about(source), "selection": asdict(replace(selection, pair=_pair(selection, rows, columns))),
                 "kinds": {selection.kind: info}, "newest": newest, "of": all_of, "block": {selection.kind: block},
                 "every": pooled.every, "maps": [selection.order], **header}, arrays, lower=lower)


def _window(count: int, most: int, *, last: bool) -> slice:
    return slice(max(0, count - most), count) if last else slice(0, min(count, most))


def _cut(info: AttentionKind, rows: slice, columns: slice) -> AttentionKind:
    """What is said of a kind, of some of its tokens; first: the places of the first ones."""
    first = [at + side.start for at, side in zip(info.get("first", (0, 0)), (rows, columns), strict=True)]
    out = info.copy()
    out["queries"], out["keys"], out["first"] = info["queries"][rows], info["keys"][columns], first
    if "makes" in info:
        out["makes"] = info["makes"][rows]
    if "sees" in info:
        out["sees"] = [max(0, sees - columns.start) for sees in info["sees"][rows]]
    near = info.get("near")
    if near and "sees" in near:
        sees = [(max(0, start - columns.start), max(0, end - columns.start)) for start, end in near["sees"][rows]]
        out["near"] = {"layers": near["layers"], "size": near["size"], "sees": sees}
    return out


def _pair(selection: Selection, rows: slice, columns: slice) -> tuple[int, int] | None:
    if selection.pair is None or not (rows.start <= selection.pair[0] < rows.stop and
                                 columns.start <= selection.pair[1] < columns.stop):
        return None
    return selection.pair[0] - rows.start, selection.pair[1] - columns.start
