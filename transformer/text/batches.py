"""Batches as a function of their number, so that training resumes at any of them without replaying the earlier ones."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import lru_cache
from operator import itemgetter
from typing import NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor

from transformer.basics.formatting import brief, how_many
from transformer.text.augmentation import AugmentedPairs

Pair = tuple[list[int], list[int]]  # source ids, target ids


class Batch(NamedTuple):
    """B sequences, with S tokens of a source if there is one, and a target if there is a decoder."""

    src: Tensor | None  # (B, S)
    tgt: Tensor | None  # (B, T), what the decoder reads
    labels: Tensor  # (B, T), the right answers, pad_id for those that do not count; or (B,), the class of each source
    tokens: int  # labels that count

    __repr__ = brief

    def to(self, device: torch.device) -> "Batch":
        return self.each(lambda x: x.to(device, non_blocking=True))

    def pin(self) -> "Batch":
        """The batch in pinned memory, from which a GPU copies while it computes."""
        return self.each(Tensor.pin_memory)

    def each(self, change: Callable[[Tensor], Tensor]) -> "Batch":
        """The batch with its tensors changed."""
        src, tgt = (None if x is None else change(x) for x in self[:2])
        return Batch(src, tgt, change(self.labels), self.tokens)

    def cut(self, positions: int | None) -> list["Batch"]:
        """Parts of whole rows with at most that many positions of the longer side, or one row each; all have the
        `tokens` of the whole batch. With positions None, the whole batch."""
        if positions is None:
            return [self]
        longest = max(x.shape[1] for x in self[:2] if x is not None)
        rows = max(1, positions // longest)
        places = [slice(at, at + rows) for at in range(0, len(self.labels), rows)]
        return [self.each(itemgetter(place)) for place in places]


class Batches(Protocol):
    """Batches for training."""

    longest: int  # tokens of the longest row

    def __len__(self) -> int:
        """Batches in an epoch."""
        ...

    def __getitem__(self, index: int) -> Batch:
        """Batch number `index`, counted over all epochs."""
        ...


class Prefetched:
    """Batches prepared by a thread, a few ahead of the one in use."""

    AHEAD = 3

    def __init__(self, batches: Batches, *, pin: bool = False):
        self.batches, self.pin = batches, pin
        self._thread: ThreadPoolExecutor | None = None
        self._coming: dict[int, Future[Batch]] = {}

    def _make(self, index: int) -> Batch:
        batch = self.batches[index]
        return batch.pin() if self.pin else batch

    def __getitem__(self, index: int) -> Batch:
        self._thread = self._thread or ThreadPoolExecutor(1, thread_name_prefix="batches")
        for i in range(index, index + self.AHEAD):
            if i not in self._coming:
                self._coming[i] = self._thread.submit(self._make, i)
        for i in [i for i in self._coming if not index <= i < index + self.AHEAD]:
            self._coming.pop(i).cancel()
        return self._coming.pop(index).result()

    def close(self) -> None:
        if self._thread:
            self._thread.shutdown(wait=False, cancel_futures=True)
        self._thread = None
        self._coming.clear()


def pad(rows: list[list[int]], pad_id: int) -> Tensor:
    """Rows of different lengths, padded on the right -> (B, longest)."""
    out = np.full((len(rows), max(map(len, rows))), pad_id, dtype=np.int64)
    for i, row in enumerate(rows):
        out[i, : len(row)] = row
    return torch.from_numpy(out)


def by_length(lengths: np.ndarray, budget: int) -> list[slice]:
    """Cuts a sorted list of lengths so that rows x longest stays within `budget`; each part has at least one row."""
    cuts, start = [], 0
    for i, length in enumerate(lengths):
        if (i + 1 - start) * length > budget and i > start:
            cuts.append(slice(start, i))
            start = i
    return [*cuts, slice(start, len(lengths))]


class _Sorted:
    """Items in batches of similar length, shuffled anew each epoch.

    lengths: (items, sides) tokens; batch_tokens counts positions of the longer side, padding included. longest: tokens
    of the longest row of any epoch; None: of the items.
    """

    def __init__(self, items: Sequence, lengths: np.ndarray, *, batch_tokens: int, seed: int,
                 longest: int | None = None):
        self.items, self.lengths, self.seed = items, lengths, seed
        self.order = lru_cache(maxsize=1)(self._order)
        longer = self.drawn(0)[1].max(axis=1)
        self.longest = longest or int(longer.max())
        # Rows are sorted by length in every epoch, and cut alike in all; where lengths are drawn anew, a batch can have
        # a few tokens more than the budget.
        self.cuts = by_length(np.sort(longer), batch_tokens)

    def __len__(self) -> int:
        """Batches in an epoch."""
        return len(self.cuts)

    def drawn(self, epoch: int) -> tuple[Sequence, np.ndarray]:
        """The items of an epoch, and their lengths (items, sides)."""
        return self.items, self.lengths

    def _order(self, epoch: int) -> tuple[Sequence, np.ndarray, np.ndarray]:
        random = np.random.default_rng((self.seed, epoch))
        items, lengths = self.drawn(epoch)
        rows = np.lexsort((random.random(len(items)), lengths.min(axis=1), lengths.max(axis=1)))
        return items, rows, random.permutation(len(self.cuts))

    def make(self, chosen: list) -> Batch:
        """These items as one batch."""
        raise NotImplementedError

    def __getitem__(self, index: int) -> Batch:
        """Batch number `index`, counted over all epochs."""
        epoch, k = divmod(index, len(self))
        items, rows, shuffled = self.order(epoch)
        return self.make([items[i] for i in rows[self.cuts[shuffled[k]]]])

    def in_order(self) -> list[Batch]:
        """All items once, for evaluation."""
        rows = np.argsort(self.lengths.max(axis=1), kind="stable")
        return [self.make([self.items[i] for i in rows[cut]]) for cut in self.cuts]


class PairBatches(_Sorted):
    """Sentence pairs: (source ids, target ids) without special tokens. A source gets EOS, a target starts with start_id
    and ends with EOS. augmented: the pairs of an epoch by its number, where they differ from one to the next."""

    def __init__(self, pairs: list[Pair], *, batch_tokens: int, pad_id: int, start_id: int, eos_id: int, seed: int,
                 augmented: AugmentedPairs | None = None):
        if not pairs:
            raise ValueError("there are no sentence pairs to learn from; check the corpus and max_len")
        self.pad_id, self.start_id, self.eos_id = pad_id, start_id, eos_id
        self.augmented = augmented and lru_cache(maxsize=1)(augmented)  # the first epoch is cut, and then read
        super().__init__(pairs, self._lengths(pairs), batch_tokens=batch_tokens, seed=seed,
                         longest=augmented.max_len if augmented else None)

    def drawn(self, epoch: int) -> tuple[Sequence[Pair], np.ndarray]:
        if self.augmented is None:
            return super().drawn(epoch)
        pairs = self.augmented(epoch)
        return pairs, self._lengths(pairs)

    @staticmethod
    def _lengths(pairs: list[Pair]) -> np.ndarray:
        return np.array([(len(target) + 1, len(source) + 1) for source, target in pairs])

    def make(self, chosen: list[Pair]) -> Batch:
        src = pad([[*s, self.eos_id] for s, _ in chosen], self.pad_id)
        tgt = pad([[self.start_id, *t] for _, t in chosen], self.pad_id)
        labels = pad([[*t, self.eos_id] for _, t in chosen], self.pad_id)
        return Batch(src, tgt, labels, sum(len(t) + 1 for _, t in chosen))


class LabelledBatches(_Sorted):
    """Texts and their classes: (ids, class). word_dropout: the share of pieces that are replaced by unk_id in training
    (word dropout, Bowman et al. 2016)."""

    def __init__(self, items: list[tuple[list[int], int]], *, batch_tokens: int, pad_id: int, unk_id: int | None,
                 seed: int, word_dropout: float = 0.0):
        if not items:
            raise ValueError("there are no texts to learn from; check the corpus")
        if word_dropout and unk_id is None:
            raise ValueError("word_dropout replaces pieces by the unknown one, and this tokenizer has none; leave it "
                             "out")
        self.pad_id, self.unk_id, self.word_dropout = pad_id, unk_id, word_dropout
        super().__init__(items, np.array([[len(ids)] for ids, _ in items]), batch_tokens=batch_tokens, seed=seed)

    def make(self, chosen: list[tuple[list[int], int]]) -> Batch:
        return Batch(pad([ids for ids, _ in chosen], self.pad_id), None, torch.tensor([label for _, label in chosen]),
                     len(chosen))

    def __getitem__(self, index: int) -> Batch:
        batch = super().__getitem__(index)
        if not self.word_dropout or self.unk_id is None or batch.src is None:
            return batch
        random = np.random.default_rng((self.seed, 1, index))
        dropped = torch.from_numpy(random.random(batch.src.shape) < self.word_dropout) & (batch.src != self.pad_id)
        return batch._replace(src=batch.src.masked_fill(dropped, self.unk_id))


class WindowBatches:
    """Windows of max_len tokens of one long text: random ones for training, consecutive ones for evaluation."""

    def __init__(self, ids: list[int], *, batch_tokens: int, max_len: int, seed: int):
        if len(ids) < 2:
            raise ValueError(f"the text has {how_many(len(ids), 'token')}; at least 2 are needed to predict one from "
                             "another")
        self.ids = np.asarray(ids, dtype=np.int64)
        self.window = self.longest = min(max_len, len(ids) - 1)
        self.rows, self.seed = max(1, batch_tokens // self.window), seed

    def __len__(self) -> int:
        """The number of batches that read as many tokens as the text has."""
        return max(1, len(self.ids) // (self.rows * self.window))

    def make(self, starts: np.ndarray) -> Batch:
        windows = torch.from_numpy(self.ids[starts[:, None] + np.arange(self.window + 1)])  # (B, T + 1)
        return Batch(None, windows[:, :-1], windows[:, 1:], windows[:, 1:].numel())

    def __getitem__(self, index: int) -> Batch:
        random = np.random.default_rng((self.seed, index))
        return self.make(random.integers(0, len(self.ids) - self.window, self.rows))

    def in_order(self) -> list[Batch]:
        """Every token of the text but the first, predicted once, in windows that do not overlap."""
        full = (len(self.ids) - 1) // self.window
        starts = np.arange(full) * self.window
        batches = [self.make(starts[i:i + self.rows]) for i in range(0, full, self.rows)]
        if full * self.window < len(self.ids) - 1:  # the rest is a shorter window
            rest = torch.from_numpy(self.ids[full * self.window:])[None]
            batches.append(Batch(None, rest[:, :-1], rest[:, 1:], rest[:, 1:].numel()))
        return batches
