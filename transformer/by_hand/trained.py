"""One head that learned, on one text: all that its scores are made of, and its query and keys in a plane.

Tq queries, Tk keys, d_k width of a head.
"""

from dataclasses import dataclass, field
from math import sqrt
from typing import NamedTuple

import torch
from torch import Tensor

from transformer.basics.formatting import brief
from transformer.by_hand.stages import Head, look
from transformer.inference.decoding import Step
from transformer.model.attention import repeat_for_queries
from transformer.settings.config import Kind


@dataclass(frozen=True)
class TrainedHead:
    """A head of a model, computed again from its q, k and v. divisor: of q . k, named by `divided_by`; cap: of the
    scores, see `Scoring`; mask (Tq, Tk): True where a query may look."""

    step: Step = field(repr=False)
    kind: Kind
    layer: int
    head: int
    queries: list[str] = field(repr=False)
    keys: list[str] = field(repr=False)
    mask: Tensor
    numbers: Head = field(repr=False)
    divisor: float
    divided_by: str
    cap: float | None = None

    __repr__ = brief

    @property
    def weights(self) -> Tensor:
        """What the model's own forward pass has in this head (Tq, Tk)."""
        return self.step.attentions[self.kind][self.layer, self.head, : len(self.queries), : len(self.keys)]


def trained_head(step: Step, kind: Kind, layer: int, head: int, *, longest: int) -> TrainedHead:
    """A head of a step's model. longest: tokens along a side; a decoder's later ones are left out, since no token looks
    at those after it. Raises ValueError where an encoder's text is longer."""
    ckpt = step.ckpt
    queries, keys = step.axes(kind)
    tokens = max(len(queries), len(keys))
    if "encoder" in ckpt.config.kinds and tokens > longest:
        raise ValueError(f"The sentence is {tokens:,} tokens long for this model; at most {longest} can be written "
                         "out. Please shorten it.")
    queries, keys = queries[:longest], keys[:longest]
    mask, scoring = step.mask(kind, layer)[: len(queries), : len(keys)], ckpt.model.attention(kind, layer).scoring
    q, k, v = (repeat_for_queries(rows[layer], ckpt.config.n_heads)[head, :longest] for rows in step.projections(kind))
    bias = step.bias(kind, layer=layer)
    bias = None if bias is None else bias[head, : len(queries), : len(keys)]
    divisor, divided_by = sqrt(q.shape[1]), f"√{q.shape[1]}"
    if scoring.scale is not None:
        divisor, divided_by = 1 / scoring.scale, f"{1 / scoring.scale:.4g}"
    numbers = look(q, k, v, None if mask.all() else mask, bias=bias, divisor=divisor, cap=scoring.cap)
    return TrainedHead(step, kind, layer, head, queries, keys, mask, numbers, divisor, divided_by, scoring.cap)


class Plane(NamedTuple):
    """A query and its keys in a plane. query (2,); keys (Tk, 2); kept (Tk,): the share of each key's squared length
    that lies in the plane."""

    query: Tensor
    keys: Tensor
    kept: Tensor

    __repr__ = brief


def in_plane(query: Tensor, keys: Tensor) -> Plane:
    """A query (d_k,) and keys (Tk, d_k) in the plane of the query's direction and of what else the keys have most of.

    The first axis is the direction of the query, so the query is (|q|, 0) and every product q . k is exact. The second
    is the first principal component, through the origin, of what is left of the keys; the longest key points up.
    """
    query, keys = query.double(), keys.double()
    length = query.norm()
    along = query / length if length > 0 else torch.zeros_like(query)
    across = keys @ along
    rest = keys - across[:, None] * along
    up = rest @ torch.linalg.svd(rest, full_matrices=False).Vh[0]
    up = up * (1 if up[up.abs().argmax()] >= 0 else -1)
    places = torch.stack([across, up], dim=1)
    squares = keys.square().sum(1)
    kept = torch.where(squares > 0, places.square().sum(1) / squares.clamp(min=1e-30), 1.0)
    return Plane(torch.stack([length, torch.zeros_like(length)]).float(), places.float(), kept.float())
