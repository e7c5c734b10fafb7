"""Sums of measures over batches, and the sentence that shows each measure best.

B batch, H heads, Tq queries, Tk keys, M measures.
"""

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from transformer.measures.catalogue import measures_of
from transformer.measures.measure import BatchMeasures
from transformer.settings.config import ModelConfig

ENOUGH = 5  # queries that a sentence needs, to be shown as the best one

ByKind = dict[str, dict[str, NDArray]]  # kind -> measure -> (layers, H)


class Totals:
    """Sums over all queries so far, and the best sentence so far."""

    def __init__(self, config: ModelConfig, short: Collection[int] = ()):
        """short: the numbers of sentences that are short enough to be read at a glance, which have a best one of their
        own."""
        self.names = {kind: [measure.name for measure in measures_of(kind)] for kind in config.kinds}
        shapes = {kind: (config.layers(kind), config.n_heads) for kind in config.kinds}
        self.short = frozenset(short)
        self.lacking: dict[str, str] = {}  # measure -> why it could not be taken
        self.sums, self.most, self.most_short = (
            {kind: {name: np.full(shapes[kind], start) for name in names} for kind, names in self.names.items()}
            for start in (0.0, -np.inf, -np.inf))
        self.best, self.best_short = ({kind: {name: np.full(shapes[kind], -1) for name in names}
                                       for kind, names in self.names.items()} for _ in range(2))
        self.count, self.evens = ({kind: dict.fromkeys(names, 0.0) for kind, names in self.names.items()}
                                  for _ in range(2))

    def add(self, kind: str, weights: Sequence[Tensor], batch: BatchMeasures, which: Sequence[int]) -> None:
        """Adds the weights (B, H, Tq, Tk) of each layer on sentences number `which`; -1 for a row that cannot be
        shown."""
        self.lacking |= batch.lacking
        number = batch.counts.sum(1).cpu().numpy()  # (B, M)
        evens = (batch.even.double() * batch.counts).sum((0, 1)).tolist()
        for place, name in enumerate(batch.names):
            self.count[kind][name] += int(number[:, place].sum())
            self.evens[kind][name] += evens[place]
        for layer, one in enumerate(weights):
            answers = batch.answers(one).double() * batch.counts[:, :, None]
            each = answers.sum(1).cpu().numpy()  # (B, H, M)
            for place, name in enumerate(batch.names):
                self.sums[kind][name][layer] += each[..., place].sum(0)
                self._find_best(kind, layer, name, each[..., place], number[:, place], which)

    def _find_best(self, kind: str, layer: int, name: str, each: NDArray, number: NDArray,
                   which: Sequence[int]) -> None:
        of_all, of_short = ((most[kind][name][layer], best[kind][name][layer]) for most, best in (
            (self.most, self.best), (self.most_short, self.best_short)))
        for row, (sentence, queries) in enumerate(zip(which, number, strict=True)):
            if sentence >= 0 and queries:
                mean = each[row] / queries - (0 if queries >= ENOUGH else 1e6)  # few queries where there are no more
                for most, best in (of_all, of_short) if sentence in self.short else (of_all,):
                    better = mean > most
                    most[better], best[better] = mean[better], sentence

    def means(self) -> ByKind:
        return {kind: {name: (total / (self.count[kind][name] or np.nan)).astype(np.float32)
                       for name, total in sums.items()} for kind, sums in self.sums.items()}

    def even(self) -> dict[str, dict[str, float]]:
        return {kind: {name: total / (self.count[kind][name] or np.nan) for name, total in evens.items()}
                for kind, evens in self.evens.items()}

    def queries(self) -> dict[str, dict[str, int]]:
        return {kind: {name: int(value) for name, value in counts.items()} for kind, counts in self.count.items()}
