"""Keys and values of attention, and a cache of them that grows with every token.

B texts, G heads of keys and values, T tokens, D width of one head.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from transformer.basics.formatting import brief

ROOM = 16  # tokens of a new cache


class KeysValues(NamedTuple):
    """Keys and values of one attention, each (B, G, Tk, D)."""

    keys: Tensor
    values: Tensor

    __repr__ = brief

    def followed_by(self, keys: Tensor, values: Tensor) -> "KeysValues":
        """All keys and values so far, with those of the next tokens (B, G, T, D)."""
        return KeysValues(torch.cat([self.keys, keys], dim=2), torch.cat([self.values, values], dim=2))


class Cache:
    """One layer's keys and values with spare rows, so that a new token's are written beside the others and nothing is
    copied. Used in place of a `KeysValues` as the `past` of an attention."""

    def __init__(self, first: KeysValues):
        self.length = 0
        rows = torch.stack(first)  # (2, B, G, T, D)
        self.rows = self.spare = rows.new_empty(*rows.shape[:3], ROOM, rows.shape[4])
        self.followed_by(*first)

    @property
    def keys(self) -> Tensor:
        return self.rows[0, :, :, :self.length]

    def followed_by(self, keys: Tensor, values: Tensor) -> KeysValues:
        """Writes the keys and values of the next tokens (B, G, T, D); returns all so far."""
        before, self.length = self.length, self.length + keys.shape[2]
        if self.length > self.rows.shape[3]:
            grown = self.rows.new_empty(*self.rows.shape[:3], 2 * self.length, self.rows.shape[4])
            grown[..., :before, :] = self.rows[..., :before, :]
            self.rows = self.spare = grown
        for kept, new in zip(self.rows, (keys, values), strict=True):
            kept[:, :, before:self.length] = new
        return KeysValues(*self.rows[..., :self.length, :])

    def choose(self, texts: Tensor) -> None:
        """Goes on with these texts (count,), each as often as it is listed."""
        if self.spare is self.rows or self.spare.shape[1] != len(texts):
            self.spare = self.rows.new_empty(2, len(texts), *self.rows.shape[2:])
        torch.index_select(self.rows[..., :self.length, :], 1, texts, out=self.spare[..., :self.length, :])
        self.rows, self.spare = self.spare, self.rows
