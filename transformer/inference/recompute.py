"""Scores and weights, made of the queries and keys that were kept.

H heads, Tq queries, Tk keys, D width of a head.
"""

from collections.abc import Iterator
from typing import Protocol

import torch
from torch import Tensor

from transformer.checkpoints.checkpoint import Checkpoint
from transformer.model.attention import PLAIN, Scoring, dot_product_attention, repeat_for_queries
from transformer.model.sites import NO_TAP, Tap, Taps
from transformer.settings.config import Kind


class Kept(Protocol):
    """What keeps the queries, keys and values of its attention."""

    @property
    def ckpt(self) -> Checkpoint | None: ...
    @property
    def taps(self) -> Taps: ...
    def projections(self, kind: str) -> tuple[Tensor, Tensor, Tensor] | None: ...
    def mask(self, kind: Kind, layer: int | None = None) -> Tensor: ...
    def bias(self, kind: Kind, queries: slice = slice(None), layer: int = 0) -> Tensor | None: ...


@torch.no_grad()
def by_layer(kept: Kept, kind: Kind, layers: slice = slice(None), heads: slice = slice(None),
             queries: slice = slice(None)) -> Iterator[tuple[Tensor, Tensor]]:
    """Scores and weights of some queries and heads, each (H, Tq, Tk), of one layer after the other: the rows of all
    lie too far apart to be multiplied at once without a copy."""
    projections, masks, all_taps = kept.projections(kind), {}, kept.taps
    assert projections is not None, "nothing was kept to make weights of"
    count, n_heads = projections[0].shape[:2]
    places = range(projections[0].shape[2])[queries]
    taps = all_taps.at(places)
    for layer in range(count)[layers]:
        tap = taps.of(kind, layer)
        before, after = (heads, slice(None)) if tap is NO_TAP else (slice(None), heads)  # a tap is of all heads
        queries_keys_nothing = *projections[:2], projections[2][..., :0]  # values are not needed
        q, k, nothing = (repeat_for_queries(rows[layer], n_heads)[before] for rows in queries_keys_nothing)
        bias = kept.bias(kind, queries, layer)
        far = kept.ckpt is None or not kept.ckpt.config.has_window(layer)
        if far not in masks:  # for a mask is of all queries, and takes as long as a layer of a few of them
            masks[far] = kept.mask(kind, layer)[queries].to(q.device)
        _, scores, weights = dot_product_attention(
            q[:, queries], k, nothing, masks[far], readable=True, bias=None if bias is None else bias[before],
            scoring=scoring(kept, kind), tap=WeightsOnly(tap))
        assert scores is not None and weights is not None, "what is readable has both"
        yield scores[after], weights[after]


class WeightsOnly(Tap):
    """A tap of scores and weights alone: what comes after them is not made here."""

    def __init__(self, tap: Tap):
        self.tap = tap

    def __call__(self, site: str, x: Tensor, scores: Tensor | None = None) -> Tensor:
        return self.tap(site, x, scores) if site in ("scores", "pattern") else x


def scoring(kept: Kept, kind: Kind) -> Scoring:
    """How the model makes scores of products, where it is known."""
    return PLAIN if kept.ckpt is None else kept.ckpt.model.attention(kind, 0).scoring
