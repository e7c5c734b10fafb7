"""The tokens of queries and keys, as measures ask about them.

B batch, Tq queries, Tk keys, V vocabulary of the keys.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, TypeVar

import torch
from torch import Tensor

from transformer.basics.formatting import brief
from transformer.settings.config import Kind
from transformer.text.word_pieces import SPACES

T = TypeVar("T")


class MissingInput(Exception):
    """A measure's input is missing; the message says why, in words that follow "not measured: "."""


class HasPieces(Protocol):
    """A tokenizer, as far as measures ask about it."""

    def piece(self, id: int) -> str:
        """Label of an id."""
        ...


@dataclass(frozen=True, eq=False)
class Tokens:
    """The queries and keys of one attention kind, of sentences in a batch. An attribute that is None raises
    `MissingInput` when a measure reads it."""

    kind: Kind
    allowed: Tensor  # bool (B, Tq, Tk): which keys a query may look at; padding is neither a query nor a key
    query_ids: Tensor | None = None  # (B, Tq)
    key_ids: Tensor | None = None  # (B, Tk)
    end_id: int | None = None  # of the token that ends a text
    tokenizer: HasPieces | None = None  # of the keys
    links: Tensor | None = None  # bool (B, Tq, Tk): keys of the word that the word about to be written translates
    key_counts: Tensor | None = None  # (V,), how often the model met each piece of the keys while it trained
    key_shares: Tensor | None = None  # (B, Tk), what `frequency` makes of these counts, where it is known already

    __repr__ = brief

    @classmethod
    def places(cls, kind: Kind, queries: int, keys: int, *, key_ids: Tensor | None = None,
               end_id: int | None = None) -> "Tokens":
        """One whole sentence of which only the length may be known."""
        allowed = torch.ones(1, queries, keys, dtype=torch.bool)
        return cls(kind, allowed.tril() if kind == "decoder" else allowed, key_ids=key_ids, end_id=end_id)

    @cached_property
    def sizes(self) -> Tensor:
        """The number of keys that each query may attend to (B, Tq)."""
        return self.allowed.sum(-1)

    @cached_property
    def even(self) -> Tensor:
        """The weights of uniform attention (B, 1, Tq, Tk)."""
        return (self.allowed / self.sizes.clamp(min=1)[..., None])[:, None]

    @cached_property
    def query(self) -> Tensor:
        """The place of each query in its sentence (Tq, 1)."""
        return torch.arange(self.allowed.shape[1], device=self.allowed.device)[:, None]

    @cached_property
    def key(self) -> Tensor:
        """The place of each key in its sentence (Tk,)."""
        return torch.arange(self.allowed.shape[2], device=self.allowed.device)

    @cached_property
    def diagonal(self) -> Tensor:
        """The key beside each query (B or 1, Tq, 1): the token itself; in cross-attention the one as far into its
        sentence, floor((query + 1/2) keys / queries)."""
        if self.kind != "cross":
            return self.query[None]
        queries, keys = self.allowed.any(2).sum(1)[:, None, None], self.allowed.any(1).sum(1)[:, None, None]
        return (2 * self.query + 1) * keys // (2 * queries).clamp(min=1)

    @property
    def end(self) -> Tensor:
        """The keys that end their text (B, 1, Tk)."""
        return self.ids[:, None] == (-1 if self.end_id is None else self.end_id)

    @property
    def ids(self) -> Tensor:
        """The ids of the keys (B, Tk)."""
        return _known(self.key_ids, "only the weights are known, not the tokens")

    @property
    def same(self) -> Tensor:
        """The keys with the same id as the query, its own place included (B, Tq, Tk)."""
        queries = _known(self.query_ids, "only the weights are known, not the tokens")
        return self.ids[:, None] == queries[:, :, None]

    @property
    def linked(self) -> Tensor:
        """`links`."""
        return _known(self.links, "no word alignment was given")

    @property
    def frequency(self) -> Tensor:
        """Each key's share of all tokens of the training (B, Tk). One is added to every count, so that no share is
        0."""
        if self.key_shares is not None:
            return self.key_shares
        counts = 1 + _known(self.key_counts, "how often tokens come in its training corpus is not known").double()
        return (counts / counts.sum())[self.ids]

    @property
    def texts(self) -> dict[int, str]:
        """The piece of each id among the keys, without the mark of a space."""
        tokenizer = _known(self.tokenizer, "the checkpoint has no tokenizer, so it is not known what a token spells")
        return {id: tokenizer.piece(id).strip(SPACES) for id in self.ids.unique().tolist()}

    def pieces(self, test: Callable[[str], bool]) -> Tensor:
        """The keys whose piece, without the mark of a space, passes a test (B, 1, Tk)."""
        chosen = [id for id, text in self.texts.items() if test(text)]
        return torch.isin(self.ids, torch.tensor(chosen, dtype=self.ids.dtype, device=self.ids.device))[:, None]


def _known(value: T | None, why_not: str) -> T:
    if value is None:
        raise MissingInput(why_not)
    return value
