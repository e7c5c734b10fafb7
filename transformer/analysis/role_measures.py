"""What is asked of attention weights to tell heads apart, and the answers added up over batches.

B batch, H heads, Tq queries, Tk keys, M measures.
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from transformer.analysis.roles import entropy
from transformer.brief import brief
from transformer.config import ModelConfig

OWN = ("entropy", "distance", "itself", "previous", "next", "same", "first", "end", "punctuation", "induction")
CROSS = ("entropy", "distance", "diagonal", "first", "end", "punctuation", "alignment", "alignment_read")
ENOUGH = 5  # queries that a sentence needs, to be shown as the best one

ByKind = dict[str, dict[str, NDArray]]  # kind -> measure -> (layers, H)


class Asked(NamedTuple):
    """What the M measures ask of a batch's weights."""

    names: tuple[str, ...]  # (M,), "entropy" last, where it is asked for
    of: Tensor  # (B, Tq, Tk, M), what each weight counts: 1 on a measure's keys, the tokens in between for distance
    counts: Tensor  # (B, Tq, M), the queries that a measure is a mean over
    even: Tensor  # (B, Tq, M), what looking at all keys alike gives

    __repr__ = brief

    @classmethod
    def places(cls, allowed: Tensor, where: dict[str, Tensor], distance: Tensor | None = None) -> "Asked":
        """The weight on some keys, each boolean (B, Tq, Tk), of those that a query may look at; with the distance of
        every key (B, Tq, Tk) the mean distance too, and the entropy."""
        sizes = allowed.sum(-1)[:, :, None]  # (B, Tq, 1)
        of = torch.stack([keys & allowed for keys in where.values()], -1)
        counts = of.any(2) & (sizes > 1)
        of, names = of.float(), tuple(where)
        if distance is not None:
            of = torch.cat([of, (distance * allowed)[..., None]], -1)
            counts, names = torch.cat([counts, sizes > 1, sizes > 1], -1), (*names, "distance", "entropy")
        even = of.sum(2) / sizes.clamp(min=1)
        if distance is not None:
            even = torch.cat([even, sizes.clamp(min=1).log()], -1)
        return cls(names, of, counts, even)


class Totals:
    """Sums over all queries so far, and the best sentence so far."""

    def __init__(self, config: ModelConfig, short: Collection[int] = ()):
        """short: the numbers of sentences that are short enough to be read at a glance; of these too the best."""
        self.names = {kind: CROSS if kind == "cross" else OWN for kind in config.kinds}
        shapes = {kind: (config.layers(kind), config.n_heads) for kind in config.kinds}
        self.short = frozenset(short)
        self.sums, self.most, self.most_short = (
            {kind: {name: np.full(shapes[kind], start) for name in names} for kind, names in self.names.items()}
            for start in (0.0, -np.inf, -np.inf))
        self.best, self.best_short = ({kind: {name: np.full(shapes[kind], -1) for name in names}
                                       for kind, names in self.names.items()} for _ in range(2))
        self.count, self.evens = ({kind: dict.fromkeys(names, 0.0) for kind, names in self.names.items()}
                                  for _ in range(2))

    def add(self, kind: str, layer: int, weights: Tensor, asked: Asked, which: Sequence[int]) -> None:
        """One layer's weights (B, H, Tq, Tk) of sentences number `which`; -1 stands for none that can be shown."""
        values = weights.transpose(1, 2) @ asked.of  # (B, Tq, H, M)
        if asked.names[-1] == "entropy":
            values = torch.cat([values, entropy(weights).transpose(1, 2)[..., None]], -1)
        each = (values.double() * asked.counts[:, :, None]).sum(1).cpu().numpy()  # (B, H, M)
        number = asked.counts.sum(1).cpu().numpy()  # (B, M)
        if layer == 0:
            even = (asked.even.double() * asked.counts).sum((0, 1)).tolist()
        for at, name in enumerate(asked.names):
            self.sums[kind][name][layer] += each[..., at].sum(0)
            if layer == 0:
                self.count[kind][name] += int(number[:, at].sum())
                self.evens[kind][name] += even[at]
            self._find_best(kind, layer, name, each[..., at], number[:, at], which)

    def _find_best(self, kind: str, layer: int, name: str, each: NDArray, number: NDArray,
                   which: Sequence[int]) -> None:
        all_of_them, short = ((most[kind][name][layer], best[kind][name][layer]) for most, best in (
            (self.most, self.best), (self.most_short, self.best_short)))
        for row, (sentence, queries) in enumerate(zip(which, number, strict=True)):
            if sentence >= 0 and queries:
                mean = each[row] / queries - (0 if queries >= ENOUGH else 1e6)  # few queries where there are no more
                for most, best in (all_of_them, short) if sentence in self.short else (all_of_them,):
                    better = mean > most
                    most[better], best[better] = mean[better], sentence

    def means(self) -> ByKind:
        return {kind: {name: (total / (self.count[kind][name] or np.nan)).astype(np.float32)
                       for name, total in found.items()} for kind, found in self.sums.items()}

    def even(self) -> dict[str, dict[str, float]]:
        return {kind: {name: total / (self.count[kind][name] or np.nan) for name, total in found.items()}
                for kind, found in self.evens.items()}

    def queries(self) -> dict[str, dict[str, int]]:
        return {kind: {name: int(value) for name, value in found.items()} for kind, found in self.count.items()}
