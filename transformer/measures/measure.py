"""What a measure of heads is, and how several are asked of a batch at once.

B batch, H heads, Tq queries, Tk keys, M measures.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from transformer.config import KINDS, Kind
from transformer.formatting import brief
from transformer.measures.tokens import MissingInput, Tokens


@dataclass(frozen=True, kw_only=True)
class Measure:
    """A number for every query of a head; the head's is their mean. A query with fewer than two keys to choose from
    has all its weight there whatever the head does, and counts nowhere; nor does one that none of the keys asked for
    is open to.

    One of two functions computes it. keys: which keys (bool) the weight is added up on, or how much (a number) the
    weight on each counts, (B, Tq, Tk) or what broadcasts to it. rows: of weights (B, H, Tq, Tk) the value of each
    query, (B, H, Tq).
    """

    name: str
    title: str
    unit: str  # what the number is, in a few words
    cross_unit: str = ""  # in cross-attention, where these are others
    explained: str  # a paragraph: what it shows and what it does not
    keys: Callable[[Tokens], Tensor] | None = None
    rows: Callable[[Tensor, Tokens], Tensor] | None = None
    kinds: tuple[Kind, ...] = KINDS  # that it means something for
    share: bool = True  # of the weight, 0 to 1; False: another amount
    repeated: bool = False  # taken on random tokens that stand twice, and not on a text
    why_not: str = "no token of that sort is read"  # where it means something, and no query had one

    __repr__ = brief

    def unit_in(self, kind: str) -> str:
        return self.cross_unit or self.unit if kind == "cross" else self.unit


class BatchMeasures:
    """What measures ask of a batch: worked out once, answered by the weights of each layer."""

    def __init__(self, measures: Sequence[Measure], tokens: Tokens):
        self.tokens = tokens
        self.lacking: dict[str, str] = {}  # measure -> why it cannot be taken of these tokens
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
        self.counts = _stacked([*counts, *[free] * len(self._rows)], like=free)  # (B, Tq, M), the queries of each mean
        self.even = self.answers(tokens.even)[:, :, 0]  # (B, Tq, M), of a head that looks at all it may see alike

    def answers(self, weights: Tensor) -> Tensor:
        """Of weights (B, H, Tq, Tk) the value of every measure in the order of `names`, (B, Tq, H, M)."""
        rows = [measure.rows(weights, self.tokens).transpose(1, 2)[..., None] for measure in self._rows]
        return torch.cat([weights.transpose(1, 2) @ self._keys.to(weights.dtype), *rows], -1)


def _stacked(tensors: list[Tensor], *, like: Tensor) -> Tensor:
    """Tensors of the same shape beside each other, in a last axis; none of them too."""
    return torch.stack(tensors, -1) if tensors else like.new_zeros((*like.shape, 0))
