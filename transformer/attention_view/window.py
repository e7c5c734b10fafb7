"""A part of a long text: what of it is drawn, so that a picture of 4,096 tokens is sent as fast as one of 256.

L layers, H heads, G heads of keys and values, Tq queries, Tk keys, D width of one head.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from torch import Tensor

from transformer.checkpoints.checkpoint import Checkpoint
from transformer.model.sites import Taps
from transformer.settings.config import Kind

if TYPE_CHECKING:
    from transformer.attention_view.heads import AttentionSource

LONGEST = 400  # tokens of a side that are drawn all at once
SIDE = 256     # of a longer text


@final
@dataclass(frozen=True)
class Window:
    """Some tokens that follow each other, of each kind's queries and keys. A row of weights is what it is among all
    keys, so it adds up to 1 only with those outside."""

    of: "AttentionSource"
    places: dict[str, tuple[slice, slice]]  # kind -> queries and keys

    def __getattr__(self, name: str) -> Any:
        return getattr(self.of, name)

    @property
    def kinds(self) -> tuple[Kind, ...]:
        return self.of.kinds

    @property
    def text(self) -> str:
        return self.of.text

    @property
    def ckpt(self) -> Checkpoint | None:
        return self.of.ckpt

    @property
    def taps(self) -> Taps:
        return self.of.taps

    @property
    def attentions(self) -> Mapping[str, Tensor]:
        """Those of the whole text."""
        return self.of.attentions

    def axes(self, kind: str) -> tuple[list[str], list[str]]:
        (queries, keys), (rows, columns) = self.of.axes(kind), self.places[kind]
        return queries[rows], keys[columns]

    def whole(self, kind: str) -> tuple[int, int]:
        """Queries and keys of the whole text."""
        queries, keys = self.of.axes(kind)
        return len(queries), len(keys)

    def mask(self, kind: Kind, layer: int | None = None) -> Tensor:
        rows, columns = self.places[kind]
        return self.of.mask(kind, layer)[rows, columns]

    def predicted(self, kind: str) -> list[str] | None:
        tokens = self.of.predicted(kind)
        return tokens and tokens[self.places[kind][0]]

    def projections(self, kind: str) -> tuple[Tensor, Tensor, Tensor] | None:
        """Queries (L, H, T, D), keys and values (L, G, T, D)."""
        projections, (rows, columns) = self.of.projections(kind), self.places[kind]
        if projections is None:
            return None
        q, k, v = projections
        return q[..., rows, :], k[..., columns, :], v[..., columns, :]

    def queries(self, kind: str, queries: slice) -> slice:
        """Some queries of the window, by their places in the whole text."""
        part = range(self.whole(kind)[0])[self.places[kind][0]][queries]
        return slice(part.start, part.stop, part.step)

    def bias(self, kind: Kind, queries: slice = slice(None), layer: int = 0) -> Tensor | None:
        bias = self.of.bias(kind, self.queries(kind, queries), layer)
        return None if bias is None else bias[..., self.places[kind][1]]


def window(source: "AttentionSource", start: tuple[int, int] | None = None, *, last: bool = True) -> "AttentionSource":
    """What is drawn: all of it, or of more than `LONGEST` tokens a window of `SIDE` along each side. start: its first
    query and key; None: the text's end, or its beginning where `last` is False."""
    sizes = {kind: tuple(map(len, source.axes(kind))) for kind in source.kinds}
    if max(map(max, sizes.values())) <= LONGEST:
        return source
    places = {}
    for kind, (queries, keys) in sizes.items():
        ends = last, last and kind == "decoder"
        first = start or [size - SIDE if end else 0 for size, end in zip((queries, keys), ends, strict=True)]
        rows, columns = (max(0, min(at, size - SIDE)) for at, size in zip(first, (queries, keys), strict=True))
        places[kind] = slice(rows, rows + SIDE), slice(columns, columns + SIDE)
    return Window(source, places)
