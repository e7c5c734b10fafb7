"""The numbers under a picture, for readers, screen readers and checks alike."""
from html import escape

import numpy as np

from ui.figures.labels import head_label, plain_label

STYLE = """<style>
.attention-table { overflow: auto; max-height: 26rem; font-size: 14px; }
.attention-table table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
.attention-table caption { text-align: left; padding-bottom: .4em; }
.attention-table th, .attention-table td { padding: .15em .6em; text-align: right; white-space: nowrap; }
.attention-table th { font-weight: 600; }
.attention-table td[data-masked] { opacity: .5; font-style: italic; }
</style>"""


def attention_table(weights: np.ndarray, queries: list[str], keys: list[str], *, kind: str, layer: int, head: int,
                    mask: np.ndarray | None = None, source: str = "") -> str:
    """An HTML table of weights (Tq, Tk), every number in the fewest digits that give it back exactly."""
    def header(piece: str, position: int, scope: str) -> str:
        name = escape(plain_label(piece, longest=None))
        return f'<th scope="{scope}" data-position="{position}"><bdi>{name}</bdi></th>'

    weights = np.asarray(weights)
    allowed = np.ones(weights.shape, bool) if mask is None else np.broadcast_to(mask, weights.shape)
    which = f'data-kind="{escape(kind)}" data-layer="{layer}" data-head="{head}"'
    rows = []
    for query, piece in enumerate(queries):
        cells = "".join(
            f'<td {which} data-query="{query}" data-key="{key}"{"" if allowed[query, key] else " data-masked"}>'
            f"{weights[query, key]!s}</td>" for key in range(len(keys)))
        rows.append(f"<tr>{header(piece, query, 'row')}{cells}</tr>")
    caption = f"Attention weights, {kind}, {head_label(layer, head)}: queries down, keys across. {source}"
    columns = "".join(header(piece, key, "col") for key, piece in enumerate(keys))
    return (f'{STYLE}<div class="attention-table" role="region" aria-label="attention weights" tabindex="0"><table>'
            f"<caption>{escape(caption)}</caption><thead><tr><td></td>{columns}</tr></thead>"
            f"<tbody>{''.join(rows)}</tbody></table></div>")
