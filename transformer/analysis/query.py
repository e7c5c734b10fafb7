"""What the query of a prediction sees: the weights of its row in every head, and the logits it leads to.

L layers, H heads, S keys, V vocabulary (or classes).
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from transformer.analysis.attribution import pooled_shares
from transformer.analysis.token_inputs import TokenInputs, check_classes
from transformer.basics.formatting import brief
from transformer.model.attention import AttentionOutput
from transformer.model.sites import Taps
from transformer.settings.config import Kind


@dataclass(frozen=True, eq=False)
class Query:
    """Where the heads that write to a prediction's own row look, and what is predicted."""

    logits: Tensor  # (V,)
    weights: dict[str, Tensor]  # kind -> (L, H, S), a share each

    __repr__ = brief


@torch.no_grad()
def last_query(read: TokenInputs) -> Query:
    """The last query's row of every decoder and cross-attention head, with the logits that follow.

    A classifier has no one query: its rows are averaged, each by its share of the pooled features. Raises ValueError
    for an encoder without classes.
    """
    model, taps = read.ckpt.model, read.taps
    if read.tgt is None:
        check_classes(read.ckpt)
        encoded = read.output()
        share = pooled_shares(model, encoded.x[0])  # (S,)
        weights = {"encoder": _rows(encoded.attention, "encoder", taps, share)}
        return Query(model.project(model.pool(encoded.x, read.row))[0].cpu(), weights)
    encoded = read.encode()
    decoded = read.decode(encoded)
    weights = {"decoder": _rows(decoded.attention, "decoder", taps)}
    if encoded is not None:
        weights["cross"] = _rows(decoded.cross, "cross", taps)
    return Query(model.project(decoded.x[0, -1]).cpu(), weights)


def _rows(layers: list[AttentionOutput], kind: Kind, taps: Taps, share: Tensor | None = None) -> Tensor:
    """Each layer's rows of the last query, which sees every key, or of all queries by their share -> (L, H, S)."""
    weights_of_layers = []
    for at, layer in enumerate(layers):
        count = layer.queries.shape[2]
        places = range(count) if share is not None else range(count - 1, count)
        rows = slice(places.start, places.stop)
        weights = layer.recompute(rows, tap=taps.at(places).of(kind, at))[2][0]
        weights_of_layers.append(weights[:, -1] if share is None else share @ weights)
    return torch.stack(weights_of_layers).cpu()
