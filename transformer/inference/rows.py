"""The rows that a path of steps has computed, which all its steps and branches share.

T tokens, H heads, D width of a head.
"""

from threading import Lock

import torch
from torch import Tensor

from transformer.model.attention import Attended, KeysValues


class Rows:
    """What a path has computed, a row a token. Rows are added, never changed, so steps and branches share them."""

    def __init__(self, hidden: Tensor, looked: Tensor):
        """hidden (T, d_model): what the decoder ends with; looked (layers, 3 or 4, H, T, D): see `looked_rows`."""
        self.hidden, self.looked, self.used, self.lock = hidden, looked, len(hidden), Lock()

    def append(self, length: int, hidden: Tensor, looked: Tensor) -> "Rows":
        """Add one row after `length`: here if it is the first to follow, in a copy if another path has gone on."""
        with self.lock:
            rows = self
            if self.used != length or self.used == len(self.hidden):
                room = self.hidden.new_empty(2 * length + 16, self.hidden.shape[1])
                rows = Rows(room, self.looked.new_empty(*self.looked.shape[:3], len(room), self.looked.shape[4]))
                rows.hidden[:length], rows.looked[..., :length, :] = self.hidden[:length], self.looked[..., :length, :]
            rows.hidden[length], rows.looked[..., length, :] = hidden[0], looked[..., 0, :]
            rows.used = length + 1
            return rows


def looked_rows(own: list[Attended], cross: list[Attended], count: int) -> Tensor:
    """Keys, values, queries, and the cross-attention's queries where there is one, of the last `count` tokens
    -> (layers, 3 or 4, H, T, D)."""
    others = [[other.queries] for other in cross] or [[]] * len(own)
    return torch.stack([torch.cat([layer.memory.keys[:, :, -count:], layer.memory.values[:, :, -count:], layer.queries,
                                   *other]) for layer, other in zip(own, others, strict=True)])


def keys_values(looked: Tensor) -> list[KeysValues]:
    """Each layer's keys and values (1, H, T, D), out of rows (layers, 2 or more, H, T, D) that begin with them."""
    return [KeysValues(*layer) for layer in looked[:, :2, None]]
