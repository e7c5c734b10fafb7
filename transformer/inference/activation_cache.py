"""The rows that a path of steps has computed, which all its steps and branches share.

T tokens, H heads, G heads of keys and values, D width of a head, Tq queries, Tk keys.
"""

from collections.abc import Callable, Iterable
from math import prod
from threading import Lock
from typing import ClassVar, NamedTuple
from weakref import ref

import torch
from torch import Tensor

from transformer.model.attention import AttentionOutput
from transformer.model.cache import KeysValues
from transformer.settings.config import Kind


class Rows:
    """The rows that a path has computed, one a token. They are added, never changed, so steps and branches share
    them."""

    def __init__(self, hidden: Tensor, projections: Tensor):
        """hidden (T, d_model): what the decoder ends with; projections (layers, heads, T, D): of `projection_rows`."""
        self.hidden, self.projections, self.used, self.lock = hidden, projections, len(hidden), Lock()

    def append(self, length: int, hidden: Tensor, projections: Tensor) -> "Rows":
        """Add one row after `length`: here if it is the first to follow, in a copy if another path has gone on."""
        with self.lock:
            rows = self
            if self.used != length or self.used == len(self.hidden):
                room, (layers, heads, _, width) = 2 * length + 16, self.projections.shape
                rows = Rows(self.hidden.new_empty(room, self.hidden.shape[1]),
                            self.projections.new_empty(layers, heads, room, width))
                rows.hidden[:length] = self.hidden[:length]
                rows.projections[..., :length, :] = self.projections[..., :length, :]
            rows.hidden[length], rows.projections[..., length, :] = hidden[0], projections[..., 0, :]
            rows.used = length + 1
            return rows


def projection_rows(own: list[AttentionOutput], cross: list[AttentionOutput], count: int) -> Tensor:
    """Keys, values, queries, and the cross-attention's queries where there is one, of the last `count` tokens, head
    after head -> (layers, G + G + H (+ H), T, D)."""
    others = [[other.queries] for other in cross] or [[]] * len(own)
    return torch.stack([torch.cat([layer.memory.keys[:, :, -count:], layer.memory.values[:, :, -count:], layer.queries,
                                   *other], dim=1)[0] for layer, other in zip(own, others, strict=True)])


def apart(projections: Tensor, groups: int, n_heads: int) -> list[Tensor]:
    """Keys, values, queries and the cross-attention's queries, each (layers, heads, T, D), out of `projection_rows`."""
    sizes = [groups, groups, n_heads, n_heads]
    return list(projections.split(sizes[:3 + (projections.shape[1] > sum(sizes[:3]))], dim=1))


def keys_values(projections: Tensor, groups: int) -> list[KeysValues]:
    """Each layer's keys and values (1, G, T, D), out of rows (layers, G + G or more, T, D) that begin with them."""
    return [KeysValues(layer[None, :groups], layer[None, groups:2 * groups]) for layer in projections]


MOST_KEPT = 512 * 2**20  # bytes of weights


class _Read(NamedTuple):
    """Weights that were read, with room for those of more tokens."""

    tokens: tuple[int, ...]  # the queries, one after the other
    weights: Tensor  # (layers, H, room, room or S), 0 where nothing was read yet
    version: int  # of the tensor: another one, and somebody else has written into it


class ReadWeights:
    """Weights of a path, kept from one reading to the next, so that the next step's cost the one row that is new.

    A process keeps those of the path that was read last, and no more than `MOST_KEPT`.
    """

    lock: ClassVar[Lock] = Lock()
    last: ClassVar["ref[ReadWeights] | None"] = None

    def __init__(self) -> None:
        self.kinds: dict[tuple[Kind, object], _Read] = {}

    def of(self, kind: Kind, turned: object, tokens: tuple[int, ...], keys: int, like: Tensor,
           compute: Callable[[slice], Iterable[Tensor]]) -> Tensor:
        """Weights (layers, H, Tq, Tk) of tokens and so many keys. turned: the same for all texts of the path that have
        rows in common; like (layers, H, ...): of their type and device; compute: of some queries, those of one layer
        after the other, (H, Tq, Tk)."""
        queries = len(tokens)
        with self.lock:
            before = self.last and self.last()
            ReadWeights.last = ref(self)
            if before is not None and before is not self:
                before.kinds.clear()
            read = self.kinds.pop((kind, turned), None)  # nobody else adds rows to it meanwhile
            others = sum(other.weights.nbytes for other in self.kinds.values())
        done = min(queries, len(read.tokens)) if read else 0
        if read is None or read.tokens[:done] != tokens[:done] or read.weights._version != read.version:
            read, done = None, 0
        kept = read.weights if read else None
        if kept is None or queries > kept.shape[2]:
            more = 0 if kind == "encoder" else queries // 4 + 16
            room = (*like.shape[:2], queries + more, keys + more * (kind == "decoder"))
            if others + like.itemsize * prod(room) > MOST_KEPT:
                return torch.stack([*compute(slice(None))])
            with torch.inference_mode(False):
                grown = torch.zeros(room, dtype=like.dtype, device=like.device)
            if kept is not None:
                known = done if kind == "decoder" else keys
                grown[:, :, :done, :known] = kept[:, :, :done, :known]
            kept = grown
        if done < queries:
            for layer, weights in enumerate(compute(slice(done, None))):
                kept[layer, :, done:queries, :keys] = weights
        longest = tokens if read is None or queries > len(read.tokens) else read.tokens
        with self.lock:
            if self.last and self.last() is self:
                self.kinds[kind, turned] = _Read(longest, kept, kept._version)
        return kept[:, :, :queries, :keys]
