"""What the attention view draws, computed a part at a time: one head in full, one layer, or all heads pooled.

L layers, H heads, Tq queries, Tk keys, D width of one head.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from transformer.analysis.rollout import rollout
from transformer.attention_view.external_weights import Scale, Tensors
from transformer.attention_view.head_order import Numbers, RoleKeys
from transformer.attention_view.shared import FEW_HEADS
from transformer.attention_view.window import Window
from transformer.basics.formatting import brief
from transformer.checkpoints.checkpoint import Checkpoint
from transformer.inference.decoding import Step
from transformer.inference.reading import Reading
from transformer.inference.recompute import by_layer
from transformer.inference.word_attention import Words
from transformer.model.attention import repeat_for_queries
from transformer.model.sites import Taps
from transformer.settings.config import Kind

POOLED = 64  # cells of a pooled head, along each side
MOST_POOLED = 2_000_000    # cells of all of them
ROWS = 64    # queries computed at once
AT_ONCE = 16_000_000       # weights, of some layers where those of all are more
MOST_COMPUTED = 64_000_000  # weights of a picture of all heads; of more only some queries are computed
FEWEST_ROWS = 16


class AttentionSource(Protocol):
    """What can be drawn: a `Step`, a `Reading`, `Words` of them, or weights from elsewhere (`Tensors`)."""

    @property
    def kinds(self) -> tuple[Kind, ...]: ...
    @property
    def text(self) -> str: ...
    @property
    def ckpt(self) -> Checkpoint | None: ...
    @property
    def taps(self) -> Taps: ...  # what is changed
    @property
    def attentions(self) -> Mapping[str, Tensor]: ...
    def axes(self, kind: str) -> tuple[list[str], list[str]]: ...
    def mask(self, kind: Kind, layer: int | None = None) -> Tensor: ...
    def predicted(self, kind: str) -> list[str] | None: ...
    def projections(self, kind: str) -> tuple[Tensor, Tensor, Tensor] | None: ...
    def bias(self, kind: Kind, queries: slice = slice(None), layer: int = 0) -> Tensor | None: ...


def shape(source: AttentionSource, kind: Kind) -> tuple[int, int]:
    """Layers and heads of an attention kind."""
    if isinstance(source, Window):
        return shape(source.of, kind)
    if isinstance(source, Step | Reading | Words):
        return source.ckpt.config.layers(kind), source.ckpt.config.n_heads
    projections = source.projections(kind)
    layers, heads = (source.attentions[kind] if projections is None else projections[0]).shape[:2]
    return layers, heads


@torch.no_grad()
def weights(source: AttentionSource, kind: Kind, *, layers: slice = slice(None), heads: slice = slice(None),
            queries: slice = slice(None)) -> Tensor:
    """Attention weights of some layers, heads and queries, (L, H, Tq, Tk)."""
    if isinstance(source, Window):
        found = weights(source.of, kind, layers=layers, heads=heads, queries=source.queries(kind, queries))
        return found[..., source.places[kind][1]]
    if isinstance(source, Words):
        assert isinstance(source.of, Step | Reading)
        pieces = weights(source.of, kind, layers=layers, heads=heads, queries=source.rows(kind, queries))
        return source.between(kind, pieces, queries)
    if isinstance(source, Reading) or source.projections(kind) is None:
        return source.attentions[kind][layers, heads, queries]
    return torch.stack([made for _, made in by_layer(source, kind, layers, heads, queries)])


class Head(NamedTuple):
    """One head of one layer, or a mean of several; what is None was not captured or has no meaning there."""

    weights: np.ndarray  # (Tq, Tk), rows sum to 1
    q: np.ndarray | None = None  # (Tq, D), as they met: after rotation where positions are rotary
    k: np.ndarray | None = None  # (Tk, D)
    moved: np.ndarray | None = None  # (Tk,), the norm of each value after the output projection
    bias: np.ndarray | None = None  # (Tq, Tk), what positions add to the scores, where they do
    v: np.ndarray | None = None  # (Tk, D)

    __repr__ = brief


@torch.no_grad()
def one_head(source: AttentionSource, kind: Kind, layer: int, head: int) -> Head:
    """A head with all that its stages need.

    `weights * moved` is what the head moves, the norm of weight times transformed value: Kobayashi et al. 2020,
    equation 4.
    """
    layers, heads = slice(layer, layer + 1), slice(head, head + 1)
    found = _array(weights(source, kind, layers=layers, heads=heads)[0, 0])
    projections = source.projections(kind)
    if projections is None:
        return Head(found)
    q, k, v = (repeat_for_queries(rows[layer], projections[0].shape[1])[head] for rows in projections)
    moved = None
    if source.ckpt is not None:
        width = v.shape[-1]
        project = source.ckpt.model.attention(kind, layer).out_proj.weight
        project = project[:, head * width : (head + 1) * width].to(v.dtype)
        # |vW|² = v WWᵀ vᵀ, and WWᵀ is only (D, D)
        moved = _array((v @ (project.T @ project) * v).sum(dim=-1).clamp(min=0).sqrt())
    bias = source.bias(kind, layer=layer)
    return Head(found, _array(q), _array(k), moved, None if bias is None else _array(bias[head]), _array(v))


def rolls(source: AttentionSource, kind: Kind) -> bool:
    """Whether there is a rollout: of pieces that look at one another, with the weights of all heads, which are not too
    many to compute."""
    of = source.of if isinstance(source, Window) else source
    if kind not in ("encoder", "decoder") or isinstance(of, Words) or (
            isinstance(of, Tensors) and (of.numbers or of.merged or kind in of.scales)):
        return False
    layers, heads = shape(source, kind)
    queries, keys = source.whole(kind) if isinstance(source, Window) else map(len, source.axes(kind))
    return layers * heads * queries * keys <= MOST_COMPUTED


@torch.no_grad()
def combined(source: AttentionSource, kind: Kind, of: str, layer: int) -> Head:
    """The mean over the heads of a layer, over all heads of all layers, or rollout up to a layer, each (Tq, Tk)."""
    count = shape(source, kind)[0]
    if of == "rollout" and isinstance(source, Window):  # what lies outside is on the way through the layers too
        return Head(combined(source.of, kind, of, layer).weights[source.places[kind]])
    if of == "mean_heads":
        return Head(_array(weights(source, kind, layers=slice(layer, layer + 1))[0].mean(dim=0)))
    means = torch.stack([weights(source, kind, layers=slice(at, at + 1))[0].mean(dim=0)
                         for at in range(count if of == "mean_all" else layer + 1)])  # (L, Tq, Tk)
    return Head(_array(means.mean(dim=0) if of == "mean_all" else rollout(means[:, None])[-1]))


def _array(x: Tensor) -> np.ndarray:
    return x.float().cpu().numpy()


@dataclass(frozen=True)
class Pooled:
    """All heads of a kind, small: (L, H, rows, columns) of the square roots of weights in 0..255.

    A cell stands for `block` queries by keys and holds the largest of their weights, so none disappears. Where all
    would be too many to compute, only every `every`th query counts.
    """

    cells: np.ndarray
    block: tuple[int, int]
    tokens: tuple[int, int]
    source: AttentionSource
    every: int = 1
    numbers: Numbers | None = None  # what many heads are ordered by

    __repr__ = brief

    @classmethod
    def of(cls, source: AttentionSource, kind: Kind, before: "Pooled | None" = None, *, most: int = POOLED) -> "Pooled":
        """All heads of `kind`; where `before` shows an earlier step of the same path only the new rows are computed."""
        queries, keys = map(len, source.axes(kind))
        layers, heads = shape(source, kind)
        most = min(most, max(FEWEST_ROWS, int((MOST_POOLED / (layers * heads)) ** 0.5)))
        rows = max(FEWEST_ROWS, MOST_COMPUTED // (layers * heads * keys))
        every = _block(queries, rows)
        down, across = max(every, _block(queries, most)), _block(keys, most)
        if before is not None and before.source is source and before.block == (down, across):
            return before
        cells = np.zeros((layers, heads, -(-queries // down), -(-keys // across)), np.uint8)
        done, numbers = 0, Numbers.none(layers, heads) if layers * heads > FEW_HEADS else None
        if before is not None and isinstance(source, Step) and source.follows(before.source):
            old = _repool(before.cells, down // before.block[0], across // before.block[1])
            cells[:, :, : old.shape[2], : old.shape[3]] = old
            done, numbers = before.tokens[0], before.numbers
        for part in _parts(done, queries, every if done == 0 else 1):
            numbers = _pool(source, kind, part, cells, (down, across), numbers)
        return cls(cells, (down, across), (queries, keys), source, every, numbers)

    def smaller(self, most: int) -> np.ndarray:
        """The cells merged until there are at most so many along each side."""
        return _repool(self.cells, *(_block(size, most) for size in self.cells.shape[2:]))

    def size_within(self, most: int) -> tuple[int, ...]:
        """The shape of what `within` returns."""
        return *self.cells.shape[:2], *(-(-size // _block(size, most)) for size in self.cells.shape[2:])

    def within(self, most: int) -> tuple[np.ndarray, tuple[int, int]]:
        """The cells of `smaller`, and the queries and keys to one."""
        small = self.smaller(most)
        return small, self._block_of(small)

    def drawn(self, kind: Kind, order: str, layer: int, *, heads: int = FEW_HEADS, cells: int,
              ) -> tuple[dict[str, np.ndarray], tuple[int, int]]:
        """What a picture of all heads is sent, by name, at most so many cells in all, and the queries and keys to one.

        Of `FEW_HEADS` heads all of them, "grid/<kind>" (L, H, rows, columns). Of more a map with a number for each,
        "map/<kind>" (1, L, H) in 0..255, and the first `heads` in that order, "tiles/<kind>" (n, rows, columns) with
        their layers and heads in "places/<kind>" (n, 2).
        """
        if self.numbers is None:
            small = self.smaller(max(4, int((cells / self.cells[..., 0, 0].size) ** 0.5)))
            return {f"grid/{kind}": small}, self._block_of(small)
        first = np.array(self.numbers.first(order, layer, heads), np.uint16)
        small = self.smaller(max(4, int((cells / len(first)) ** 0.5)))
        return {f"map/{kind}": in_proportion(self.numbers.of(order)[None]),
                f"places/{kind}": first, f"tiles/{kind}": small[first[:, 0], first[:, 1]]}, self._block_of(small)

    def _block_of(self, small: np.ndarray) -> tuple[int, int]:
        down, across = (_block(size, now) for size, now in zip(self.cells.shape[2:], small.shape[2:], strict=True))
        return self.block[0] * down, self.block[1] * across


def _parts(first: int, queries: int, every: int) -> list[slice]:
    """The queries that are computed, the last one always among them, in parts of `ROWS`."""
    parts = [slice(start + every - 1, min(queries, start + every * ROWS), every)
             for start in range(first, queries, every * ROWS)]
    if (queries - first) % every:
        parts.append(slice(queries - 1, queries))
    return [part for part in parts if part.start < queries]


def _pool(source: AttentionSource, kind: Kind, part: slice, cells: np.ndarray, block: tuple[int, int],
          numbers: Numbers | None) -> Numbers | None:
    """Put some queries into the cells, which are changed, and into the numbers, which are returned."""
    (layers, heads, _, columns), (down, across) = cells.shape, block
    axes = source.axes(kind)
    rows = range(len(axes[0]))[part]
    keys = len(axes[1])
    roles = numbers and RoleKeys(kind, rows, axes, source.mask(kind)[part])
    sums = []
    group = max(1, AT_ONCE // (heads * len(rows) * keys))
    for layer in range(0, layers, group):
        found = weights(source, kind, layers=slice(layer, layer + group), queries=part)  # (L, H, rows, Tk)
        if roles is not None:
            sums.append(roles.sums(found))
        pooled = torch.nn.functional.pad(found, (0, columns * across - keys)).unflatten(3, (columns, across)).amax(-1)
        new = quantise(_array(pooled))
        for at, row in enumerate(rows):
            into = cells[layer : layer + group, :, row // down]
            np.maximum(into, new[:, :, at], out=into)
    if roles is None or numbers is None:
        return None
    return Numbers(numbers.sums + np.concatenate(sums, 1), numbers.counts + roles.counts)


def quantise(weights: np.ndarray, most: int = 255) -> np.ndarray:
    """Weights in [0, 1] as square roots in 0..most: small ones stay visible. What is no number becomes 0."""
    return np.rint(np.sqrt(_clipped(weights)) * most).astype(np.uint8 if most < 256 else np.uint16)


def in_proportion(numbers: np.ndarray) -> np.ndarray:
    """Numbers in [0, 1] in 0..255. What is no number becomes 0."""
    return np.rint(_clipped(numbers) * 255).astype(np.uint8)


def _clipped(numbers: np.ndarray) -> np.ndarray:
    return np.fmin(np.fmax(numbers, 0), 1)


def on_scale(values: Tensor, scale: Scale, block: tuple[int, int]) -> np.ndarray:
    """Values (L, H, Tq, Tk) that are no weights, small: (L, H, rows, columns), in a cell the value of its block that is
    furthest from 0. From 0 up as weights are; signed ones in proportion, 128 for 0 and 1 for -most."""
    high, low = (F.max_pool2d(one, block, ceil_mode=True) for one in (values, -values))
    if not scale.signed:
        return quantise((high / scale.most).numpy())
    return np.rint(128 + 127 * (torch.where(high >= low, high, -low) / scale.most).numpy()).astype(np.uint8)


def block_of(source: AttentionSource, kind: Kind, most: int = POOLED) -> tuple[int, int]:
    """Queries and keys to a cell of a pooled head."""
    queries, keys = map(len, source.axes(kind))
    return _block(queries, most), _block(keys, most)


def _block(tokens: int, most: int) -> int:
    """Tokens to a cell: a power of two, so that cells of one size merge into cells of the next."""
    block = 1
    while -(-tokens // block) > most:
        block *= 2
    return block


def _repool(cells: np.ndarray, down: int, across: int) -> np.ndarray:
    for axis, by in ((2, down), (3, across)):
        if by > 1:
            cells = np.maximum.reduceat(cells, np.arange(0, cells.shape[axis], by), axis=axis)
    return cells
