"""A measure of heads, and how all of them are taken of a batch at once.

B batch, H heads, Tq queries, Tk keys, M measures.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from numpy.typing import NDArray
from torch import Tensor

from transformer.basics.formatting import brief
from transformer.measures.tokens import MissingInput, Tokens
from transformer.settings.config import KINDS, Kind


@dataclass(frozen=True, kw_only=True)
class Role:
    """What a high value says of a head, and what is high."""

    words: str  # after the head's name: "looks at the previous token"
    share: float = 0.4  # of the weight: from here on the head has the role
    kinds: tuple[Kind, ...] = KINDS  # attention kinds in which that says something


@dataclass(frozen=True, kw_only=True)
class Measure:
    """A number for every query of a head; the head's number is their mean. A query does not count if it has fewer than
    two keys to choose from, as all its weight is there whatever the head does, or if it may attend to none of the keys
    in question.

    One of two functions computes it. keys: the keys (bool) whose weight is summed, or the number by which the weight on
    each key counts, (B, Tq, Tk) or broadcastable. rows: the value of each query (B, H, Tq) from weights (B, H, Tq, Tk).
    """

    name: str
    title: str
    unit: str  # what the number is, in a few words
    cross_unit: str = ""  # in cross-attention, if it differs
    explained: str  # a paragraph: what it shows and what it does not
    keys: Callable[[Tokens], Tensor] | None = None
    rows: Callable[[Tensor, Tokens], Tensor] | None = None
    kinds: tuple[Kind, ...] = KINDS  # attention kinds for which it means something
    share: bool = True  # True: a share of the weight, 0 to 1; False: another amount
    repeated: bool = False  # taken on random tokens, repeated once, instead of a text
    why_not: str = "no token of that sort is read"  # said if no query could be counted
    role: Role | None = None  # None: a high value says nothing in particular

    __repr__ = brief

    def unit_in(self, kind: str) -> str:
        return self.cross_unit or self.unit if kind == "cross" else self.unit


class BatchMeasures:
    """The measures of one batch of tokens: prepared once, applied to the weights of each layer."""

    def __init__(self, measures: Sequence[Measure], tokens: Tokens):
        self.tokens = tokens
        self.lacking: dict[str, str] = {}  # measure -> the reason why it cannot be taken
        self._rows, keys, by_keys, free = [], [], [], tokens.sizes > 1
        for measure in measures:
            if measure.keys is None:
                self._rows.append(measure)
                continue
            try:
                keys.append(measure.keys(tokens) & tokens.allowed if measure.share else
                            measure.keys(tokens) * tokens.allowed)
                by_keys.append(measure)
            except MissingInput as reason:
                self.lacking[measure.name] = str(reason)
        self.names = [measure.name for measure in (*by_keys, *self._rows)]
        self._keys = _stacked(keys, like=tokens.allowed)
        counts = [one.any(-1) & free if measure.share else free for one, measure in zip(keys, by_keys, strict=True)]
        self.counts = _stacked([*counts, *[free] * len(self._rows)], like=free)  # (B, Tq, M), the queries that count
        self.even = self.answers(tokens.even)[:, :, 0]  # (B, Tq, M), of uniform attention

    def answers(self, weights: Tensor) -> Tensor:
        """The value of every measure, in the order of `names`, of weights (B, H, Tq, Tk) -> (B, Tq, H, M)."""
        rows = [measure.rows(weights, self.tokens).transpose(1, 2)[..., None] for measure in self._rows]
        return torch.cat([weights.transpose(1, 2) @ self._keys.to(weights.dtype), *rows], -1)

    @cached_property
    def _counted(self) -> NDArray:
        """The keys of the queries that count (B, Tq * Tk, M of those by keys)."""
        return (self._keys * self.counts[:, :, None, :self._keys.shape[-1]]).flatten(1, 2).float().numpy()

    def sums(self, weights: Tensor) -> Tensor:
        """The sum of `answers` over the queries that count, of float32 weights (B, H, Tq, Tk) on the CPU -> (B, H, M).

        By numpy, whose product of small matrices never waits for threads of a busy machine, as PyTorch's does.
        """
        by_keys = torch.from_numpy(weights.flatten(2).numpy() @ self._counted)
        free = (self.tokens.sizes > 1)[:, None]
        rows = [(measure.rows(weights, self.tokens) * free).sum(-1, keepdim=True) for measure in self._rows]
        return torch.cat([by_keys, *rows], -1)


def _stacked(tensors: list[Tensor], *, like: Tensor) -> Tensor:
    """Tensors of the same shape stacked in a last axis; also for an empty list."""
    return torch.stack(tensors, -1) if tensors else like.new_zeros((*like.shape, 0))
