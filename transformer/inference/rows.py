"""The rows that a path of steps has computed, which all its steps and branches share.

T tokens, H heads, G heads of keys and values, D width of a head.
"""

from threading import Lock

import torch
from torch import Tensor

from transformer.model.attention import Attended
from transformer.model.cache import KeysValues


class Rows:
    """What a path has computed, a row a token. Rows are added, never changed, so steps and branches share them."""

    def __init__(self, hidden: Tensor, looked: Tensor):
        """hidden (T, d_model): what the decoder ends with; looked (layers, heads, T, D): see `looked_rows`."""
        self.hidden, self.looked, self.used, self.lock = hidden, looked, len(hidden), Lock()

    def append(self, length: int, hidden: Tensor, looked: Tensor) -> "Rows":
        """Add one row after `length`: here if it is the first to follow, in a copy if another path has gone on."""
        with self.lock:
            rows = self
            if self.used != length or self.used == len(self.hidden):
                room = self.hidden.new_empty(2 * length + 16, self.hidden.shape[1])
                rows = Rows(room, self.looked.new_empty(*self.looked.shape[:2], len(room), self.looked.shape[3]))
                rows.hidden[:length], rows.looked[..., :length, :] = self.hidden[:length], self.looked[..., :length, :]
            rows.hidden[length], rows.looked[..., length, :] = hidden[0], looked[..., 0, :]
            rows.used = length + 1
            return rows


def looked_rows(own: list[Attended], cross: list[Attended], count: int) -> Tensor:
    """Keys, values, queries, and the cross-attention's queries where there is one, of the last `count` tokens, head
    after head -> (layers, G + G + H (+ H), T, D)."""
    others = [[other.queries] for other in cross] or [[]] * len(own)
    return torch.stack([torch.cat([layer.memory.keys[:, :, -count:], layer.memory.values[:, :, -count:], layer.queries,
                                   *other], dim=1)[0] for layer, other in zip(own, others, strict=True)])


def apart(looked: Tensor, groups: int, n_heads: int) -> list[Tensor]:
    """Keys, values, queries and the cross-attention's queries, each (layers, heads, T, D), out of `looked_rows`."""
    sizes = [groups, groups, n_heads, n_heads]
    return list(looked.split(sizes[:3 + (looked.shape[1] > sum(sizes[:3]))], dim=1))


def keys_values(looked: Tensor, groups: int) -> list[KeysValues]:
    """Each layer's keys and values (1, G, T, D), out of rows (layers, G + G or more, T, D) that begin with them."""
    return [KeysValues(layer[None, :groups], layer[None, groups:2 * groups]) for layer in looked]
