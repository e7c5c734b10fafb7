"""The same attention between words in place of pieces, without special tokens and sinks where that is asked for.

L layers, H heads, Tq queries, Tk keys: pieces. Q, K: words, as queries and as keys.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, Protocol

import torch
from torch import Tensor

from transformer.basics import data_frames
from transformer.basics.formatting import quote
from transformer.checkpoints.checkpoint import Checkpoint
from transformer.model.sites import Taps
from transformer.settings.config import Kind
from transformer.text.word_pieces import NONE, LeftOut, Merged, word_text, words_of

if TYPE_CHECKING:
    from pandas import DataFrame

LEFT_OUT = ("special", "sinks")
SINK = 0.3  # of a head's weight: the threshold of Gu et al. 2024 (arXiv 2410.10781), section 3
FEWEST = 4  # keys that a query may look at, and queries that look at a key: of less, 0.3 says nothing
SIDES = {"encoder": ("src", "src"), "decoder": ("tgt", "tgt"), "cross": ("tgt", "src")}


class Attending(Protocol):
    """What has attention between pieces: a `Step` or a `Reading`."""

    @property
    def ckpt(self) -> Checkpoint: ...
    @property
    def text(self) -> str: ...
    @property
    def taps(self) -> Taps: ...
    @property
    def kinds(self) -> tuple[Kind, ...]: ...
    @property
    def ids(self) -> Mapping[str, Sequence[int]]: ...
    @property
    def next_id(self) -> int | None: ...
    def axes(self, kind: str) -> tuple[list[str], list[str]]: ...
    def mask(self, kind: Kind, layer: int | None = None) -> Tensor: ...
    def predicted(self, kind: str) -> list[str] | None: ...
    def attended(self, kind: Kind, layers: slice, heads: slice) -> tuple[Tensor, Tensor]: ...


class Side(NamedTuple):
    """The tokens of a text, put together."""

    words: list[tuple[int, ...]]  # the places of their pieces
    labels: list[str]
    special: list[bool]
    next: str | None  # what is predicted after the last of them


class _ByKind(Mapping[str, Tensor]):
    def __init__(self, words: "Words"):
        self.words = words

    def __getitem__(self, kind: str) -> Tensor:
        if kind not in self.words.kinds:
            raise KeyError(kind)
        return self.words.attended(kind)[1]

    def __iter__(self) -> Iterator[str]:
        return iter(self.words.kinds)

    def __len__(self) -> int:
        return len(self.words.kinds)


@dataclass(frozen=True, eq=False)
class Words:
    """Attention weights of a step or a reading from word to word: those of a word's pieces **added over keys and
    averaged over queries**. Rows sum to 1 less what is left out, for nothing is scaled up again. A sum of weights has
    no score, query or key of its own, so there are weights alone.

    What is left out is no key. It stays a query, except for special tokens of an encoder: from every other query
    something is predicted. Where nothing else is there it stays.
    """

    of: Attending
    merge: bool = True  # False: every piece by itself
    leave_out: tuple[str, ...] = ()  # of LEFT_OUT

    def __repr__(self) -> str:
        left = f" without {' and '.join(self.leave_out)}" if self.leave_out else ""
        sizes = ", ".join(f"{kind} {' x '.join(str(len(axis)) for axis in self.axes(kind))}" for kind in self.kinds)
        return f"{'Words' if self.merge else 'Pieces'}{left} of {quote(self.text)} by {self.ckpt.id}: {sizes}"

    @property
    def kinds(self) -> tuple[Kind, ...]:
        return self.of.kinds

    @property
    def text(self) -> str:
        return self.of.text

    @property
    def output(self) -> str | None:
        return getattr(self.of, "output", None)

    @property
    def ckpt(self) -> Checkpoint:
        return self.of.ckpt

    @property
    def taps(self) -> Taps:
        return self.of.taps

    @cached_property
    def sides(self) -> dict[str, Side]:
        """What is read ("src") and written ("tgt"), all of it."""
        return {side: _side(self.of, side, merge=self.merge) for side in ("src", "tgt") if self.of.ids[side]}

    @cached_property
    def _chosen(self) -> dict[str, tuple[list[int], list[int], list[int]]]:
        """Kind -> which words are queries, which are keys, and which of those left out are sinks."""
        found = {}
        for kind in self.kinds:
            rows, columns = (self.sides[side] for side in SIDES[kind])
            special = {at for at, one in enumerate(columns.special) if one}
            sunk = set(sinks(self.of, kind)) if "sinks" in self.leave_out else set()
            sunken = {at for at, pieces in enumerate(columns.words) if sunk.intersection(pieces)} - special
            out = sunken | (special if "special" in self.leave_out else set())
            every = range(len(columns.words))
            keys = [at for at in every if at not in out] or [*every]
            queries = [at for at in range(len(rows.words))
                       if kind != "encoder" or "special" not in self.leave_out or not rows.special[at]]
            found[kind] = queries or [*range(len(rows.words))], keys, sorted(sunken.difference(keys))
        return found

    def axes(self, kind: str) -> tuple[list[str], list[str]]:
        """The query and the key words of an attention kind, as text to show."""
        (rows, columns), (queries, keys, _) = SIDES[kind], self._chosen[kind]
        return [self.sides[rows].labels[at] for at in queries], [self.sides[columns].labels[at] for at in keys]

    def pieces(self, kind: str) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]]]:
        """The places of the pieces that each query and each key is made of, in what was merged."""
        (rows, columns), (queries, keys, _) = SIDES[kind], self._chosen[kind]
        return [self.sides[rows].words[at] for at in queries], [self.sides[columns].words[at] for at in keys]

    def left_out(self, kind: str) -> LeftOut:
        """The keys left out, {"special": labels, "sinks": labels}; see `sinks`."""
        _, keys, sunken = self._chosen[kind]
        labels = self.sides[SIDES[kind][1]].labels
        special = [at for at in range(len(labels)) if at not in {*keys, *sunken}]
        return {"special": [labels[at] for at in special], "sinks": [labels[at] for at in sunken]}

    def changes(self, kind: str) -> Merged:
        """What a picture or a file says of all this: whether pieces are merged, and the keys left out."""
        return {"words": self.merge, **self.left_out(kind)}

    def hidden(self, kind: Kind) -> Tensor:
        """How much of each row's weight is on keys left out, (L, H, Q); the mean over Q is that of a head."""
        return (1 - self.attended(kind)[1].sum(-1)).clamp(min=0)

    def predicted(self, kind: str) -> list[str] | None:
        """The word that comes after each query; see `Step.predicted`."""
        if kind == "encoder" or (follows := self.sides["tgt"].next) is None:
            return None
        return [*self.sides["tgt"].labels[1:], follows]

    def mask(self, kind: Kind, layer: int | None = None) -> Tensor:
        """(Q, K), True where any piece of a query may attend to any piece of a key in a layer, or in any."""
        rows, keys = self.pieces(kind)
        pairs = _added(self.of.mask(kind, layer).float(), [list(pieces) for pieces in keys], -1)
        return _added(pairs, [list(pieces) for pieces in rows], -2) > 0

    def projections(self, kind: str) -> None:
        return None

    def bias(self, kind: str, queries: slice = slice(None), layer: int = 0) -> None:
        return None

    @property
    def attentions(self) -> Mapping[str, Tensor]:
        """Kind -> weights (L, H, Q, K)."""
        return _ByKind(self)

    def attended(self, kind: Kind, layers: slice = slice(None), heads: slice = slice(None)) -> tuple[None, Tensor]:
        """No scores, and the weights of some layers and heads (L, H, Q, K)."""
        return None, self.between(kind, self.of.attended(kind, layers, heads)[1])

    def rows(self, kind: str, queries: slice) -> slice:
        """The pieces that some queries are made of; among them may be some of those left out."""
        places = [place for pieces in self.pieces(kind)[0][queries] for place in pieces]
        return slice(min(places), max(places) + 1) if places else slice(0, 0)

    def between(self, kind: str, weights: Tensor, queries: slice = slice(None)) -> Tensor:
        """Weights between pieces (..., Tq, Tk), those of `rows`, as weights between words (..., Q, K)."""
        rows, keys = self.pieces(kind)
        rows, first = rows[queries], self.rows(kind, queries).start
        added = _added(weights, [list(pieces) for pieces in keys], -1)
        counts = torch.tensor([len(pieces) for pieces in rows], dtype=added.dtype, device=added.device)
        return _added(added, [[at - first for at in pieces] for pieces in rows], -2) / counts[:, None]

    def frame(self, kind: str, *, layer: int | None = None, head: int | None = None) -> "DataFrame":
        """Attention as a tidy pandas table, without scores; columns: see `data_frames.attention`."""
        return data_frames.attention(self, kind, layer=layer, head=head)


def words(of: Attending, *, merge: bool = True, leave_out: Collection[str] | str = ()) -> Words:
    """`Words` of a step or a reading. Raises ValueError for what cannot be left out."""
    names = (leave_out,) if isinstance(leave_out, str) else tuple(leave_out)
    for name in names:
        if name not in LEFT_OUT:
            raise ValueError(f"leave_out has {name!r:.40}; choose from {', '.join(LEFT_OUT)}")
    return Words(of, merge, tuple(name for name in LEFT_OUT if name in names))


@torch.no_grad()
def sinks(of: Attending, kind: Kind) -> list[int]:
    """The keys that draw weight whatever they are (Xiao et al. 2023, "Efficient streaming language models with
    attention sinks"): those that in at least half of the heads of their kind get more than 0.3 of the weight, on
    average over the queries. A query counts where it may look at four keys or more, and not for its own place; a key
    that fewer than four queries count for is none."""
    allowed = of.mask(kind)
    counted = allowed & (allowed.sum(1) >= FEWEST)[:, None]
    if kind != "cross":
        counted &= ~torch.eye(*counted.shape, dtype=torch.bool)
    queries = counted.sum(0)  # (Tk,)
    votes, heads = torch.zeros(len(queries), dtype=torch.long), 0
    for layer in range(of.ckpt.config.layers(kind)):
        weights = of.attended(kind, slice(layer, layer + 1), slice(None))[1][0].cpu()  # (H, Tq, Tk)
        drawn = (weights * counted).sum(1) / queries.clamp(min=1)
        votes += (drawn > SINK).sum(0)
        heads += len(weights)
    return ((queries >= FEWEST) & (2 * votes >= heads)).nonzero().flatten().tolist()


def _side(of: Attending, side: str, *, merge: bool) -> Side:
    ids = [*of.ids[side]]
    tokenizer = of.ckpt.tokenizer if side == "tgt" else of.ckpt.source_tokenizer
    after = of.next_id if side == "tgt" else None
    whole = ids if after is None else [*ids, after]
    labels = [tokenizer.piece(id) for id in whole]
    special = {at for at, id in enumerate(whole) if id in tokenizer.special}
    if side == "tgt" and of.ids["src"]:
        special.add(0)  # what starts a translation is never its own
    mark = tokenizer.word_mark if merge else NONE
    made = words_of(labels[:len(ids)], mark, special)
    names = [word_text([labels[at] for at in word], NONE if word[0] in special else mark) for word in made]
    follows = None if after is None else word_text(labels[-1:], NONE if len(ids) in special else mark)
    return Side([tuple(word) for word in made], names, [word[0] in special for word in made], follows)


def _added(weights: Tensor, groups: list[list[int]], axis: int) -> Tensor:
    """What stands in each group of places along an axis, added up."""
    places = torch.full((weights.shape[axis],), len(groups), device=weights.device)  # one more, for all the others
    for at, group in enumerate(groups):
        places[group] = at
    shape = list(weights.shape)
    shape[axis] = len(groups) + 1
    return weights.new_zeros(shape).index_add_(axis, places, weights).narrow(axis, 0, len(groups))
