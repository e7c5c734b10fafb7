"""The order of heads where there are too many for one picture: each has a number, from its weights on the text that is
looked at.

L layers, H heads, R queries, Tk keys.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self, cast

import numpy as np
import torch
from torch import Tensor

from transformer.attention_view.shared import ORDERS
from transformer.basics.formatting import brief
from transformer.measures.catalogue import BY_NAME
from transformer.measures.tokens import Tokens
from transformer.settings.config import Kind

ROLES = ORDERS[2:]  # measures of `transformer.measures` that need no more than the text; before them "layers", "apart"


def apart(weights: Tensor) -> Tensor:
    """How far each head is from the others of its layer: of weights (..., H, R, Tk), half of what a row and the mean of
    the other heads' rows differ by, summed over keys -> (..., H, R). That is the total variation distance: the share of
    its weight that would have to move to make the two alike, 0 for a head like the others, 1 where they share no
    key."""
    heads = weights.shape[-3]
    if heads == 1:
        return torch.zeros_like(weights[..., 0])
    return (weights * heads - weights.sum(-3, keepdim=True)).abs().sum(-1) / (2 * (heads - 1))


@dataclass(frozen=True, eq=False)
class _Rows:
    """Some queries over all keys, as `Measure.keys` asks about them."""

    query: Tensor  # (R, 1)
    key: Tensor  # (Tk,)
    diagonal: Tensor  # (R, 1)
    same: Tensor  # (R, Tk)

    def keys(self, role: str) -> Tensor:
        """The keys (R, Tk) that a role means, which asks for no more of `Tokens` than these."""
        keys = BY_NAME[role].keys
        assert keys is not None
        return keys(cast(Tokens, self))


@dataclass(frozen=True, eq=False)
class Numbers:
    """What heads are ordered by: sums over queries, and of how many."""

    sums: np.ndarray  # (M, L, H), in the order of ORDERS[1:]
    counts: np.ndarray  # (M,)

    __repr__ = brief

    @classmethod
    def none(cls, layers: int, heads: int) -> Self:
        return cls(np.zeros((len(ORDERS) - 1, layers, heads)), np.zeros(len(ORDERS) - 1))

    def of(self, order: str) -> np.ndarray:
        """The numbers (L, H), from 0 to 1, that an order shows and goes by: the mean over queries."""
        at = max(0, ORDERS.index(order) - 1)  # layers have no number of their own, and are shown with the first
        return self.sums[at] / max(1, self.counts[at])

    def first(self, order: str, layer: int, most: int) -> list[tuple[int, int]]:
        """The heads drawn, at most so many: of whole layers round one, or those with the largest numbers."""
        layers, heads = self.sums.shape[1:]
        if order == "layers":
            group = max(1, most // heads)
            start = layer // group * group
            return [(at, head) for at in range(start, min(layers, start + group)) for head in range(heads)]
        largest = np.argsort(-self.of(order), axis=None, kind="stable")[:most]
        return [(int(at) // heads, int(at) % heads) for at in largest]


class RoleKeys:
    """The keys that each role means for some queries, worked out once for all layers."""

    def __init__(self, kind: Kind, rows: Sequence[int], axes: tuple[Sequence[str], Sequence[str]], allowed: Tensor):
        queries, keys = axes
        ids = {token: at for at, token in enumerate(dict.fromkeys((*queries, *keys)))}
        place = torch.tensor(rows)[:, None]
        same = torch.tensor([ids[queries[at]] for at in rows])[:, None] == torch.tensor([ids[key] for key in keys])
        if kind == "cross":
            same = torch.zeros_like(same)  # of two languages
        along = (2 * place + 1) * len(keys) // (2 * len(queries)) if kind == "cross" else place
        tokens = _Rows(place, torch.arange(len(keys)), along, same)
        free = allowed.sum(-1, keepdim=True) > 1  # a query with one key to choose from says nothing of its head
        self.keys = torch.stack([tokens.keys(name).expand(allowed.shape) & allowed & free for name in ROLES])
        self.free = free[:, 0]
        self.counts = np.array([int(self.free.sum()), *self.keys.any(-1).sum(-1).tolist()])

    def sums(self, weights: Tensor) -> np.ndarray:
        """Of weights (L, H, R, Tk) the sums (M, L, H) over these queries."""
        keys = self.keys.to(weights.device, weights.dtype).flatten(1)  # (M - 1, R Tk)
        roles = weights.flatten(2) @ keys.T  # (L, H, M - 1)
        own = apart(weights)[..., self.free.to(weights.device)].sum(-1, keepdim=True)
        return torch.cat([own, roles], -1).movedim(-1, 0).double().cpu().numpy()
