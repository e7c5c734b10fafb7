"""One forward pass over texts of any lengths, with what is at chosen sites.

B texts, S source length, T target length, V vocabulary.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.nn.utils.rnn import pad_sequence

from transformer.basics.formatting import brief
from transformer.checkpoints.checkpoint import Checkpoint
from transformer.model.rotary import rotation_state
from transformer.model.sites import NO_TAPS, Place, Tap, Taps
from transformer.settings.config import Kind, ModelConfig


@dataclass(frozen=True, eq=False)
class Batch:
    """The ids of several texts, padded on the right."""

    src: Tensor | None  # (B, S)
    tgt: Tensor | None  # (B, T)
    src_lengths: tuple[int, ...] = ()
    tgt_lengths: tuple[int, ...] = ()
    types: Tensor | None = None  # (B, S), segments

    __repr__ = brief

    @classmethod
    def of(cls, src: Tensor | None, tgt: Tensor | None, types: Tensor | None = None) -> "Batch":
        """Texts without padding: ids (B, S) and (B, T)."""
        def lengths(ids: Tensor | None) -> tuple[int, ...]:
            return () if ids is None else (ids.shape[1],) * len(ids)

        return cls(src, tgt, lengths(src), lengths(tgt), types)

    @classmethod
    def padded(cls, rows: Sequence[tuple[Tensor | None, Tensor | None, Tensor | None]], pad_id: int | None) -> "Batch":
        """Texts of their own ids, each (src (1, S), tgt (1, T), types (1, S)), None for a side that there is not."""
        def joined(side: int, padding: int) -> Tensor | None:
            parts = [row[side] for row in rows]
            if any(part is None for part in parts):
                return None
            return pad_sequence([part[0] for part in parts if part is not None], batch_first=True,
                                padding_value=padding)

        def lengths(side: int) -> tuple[int, ...]:
            return tuple(ids.shape[1] for row in rows if (ids := row[side]) is not None)

        return cls(joined(0, pad_id or 0), joined(1, pad_id or 0), lengths(0), lengths(1), joined(2, 0))

    def __len__(self) -> int:
        return max(len(self.src_lengths), len(self.tgt_lengths))

    @property
    def lengths(self) -> list[tuple[int, int]]:
        """The tokens of each text, of the source and of the target; 0 of a side that there is not."""
        sides = [sizes or (0,) * len(self) for sizes in (self.src_lengths, self.tgt_lengths)]
        return [*zip(*sides, strict=True)]

    def mask(self) -> Tensor | None:
        """(B, 1, 1, S), True for what is no padding of the source."""
        if self.src is None:
            return None
        counts = torch.arange(self.src.shape[1], device=self.src.device)
        return (counts < torch.tensor(self.src_lengths, device=self.src.device)[:, None])[:, None, None, :]

    def sides(self, place: Place) -> list[str | None]:
        """Whose tokens, of "src" or "tgt", stand along each axis of a place that has any."""
        of_source = place.kind == "encoder" or (place.kind == "cross" and place.site in ("k", "v")) or self.tgt is None
        rows, keys = "src" if of_source else "tgt", "tgt" if place.kind == "decoder" else "src"
        return [{"position": rows, "query": rows, "key": keys}.get(axis) for axis in place.axes]

    def together(self, config: ModelConfig) -> list[list[int]]:
        """The places of texts that can be read in one pass: all, but for models that turn rows by the length of a text,
        and encoders that know no padding."""
        pooled = config.pad_id is None and not config.decoder_layers

        def alike(at: int) -> tuple:
            lengths = [sizes[at] for sizes in (self.src_lengths, self.tgt_lengths) if sizes]
            return tuple((length if pooled else 0, *rotation_state(config, length)) for length in lengths)

        groups: dict[tuple, list[int]] = {}
        for at in range(len(self)):
            groups.setdefault(alike(at), []).append(at)
        return [*groups.values()]

    def choose(self, chosen: Sequence[int]) -> "Batch":
        """Some of the texts, without padding that none of them needs."""
        src, tgt = (tuple(sizes[at] for at in chosen) if sizes else ()
                    for sizes in (self.src_lengths, self.tgt_lengths))

        def cut(ids: Tensor | None, sizes: tuple[int, ...]) -> Tensor | None:
            return None if ids is None else ids[[*chosen], : max(sizes)]

        return Batch(cut(self.src, src), cut(self.tgt, tgt), src, tgt, cut(self.types, src))


class Capturing(Taps):
    """Taps that keep what is at some places, after other taps have changed it."""

    def __init__(self, places: Iterable[Place], inner: Taps = NO_TAPS, *, with_grad: bool = False):
        self.wanted = _by_layer(tuple(places))
        self.inner, self.with_grad = inner, with_grad
        self.values: dict[str, Tensor] = {}  # by the name of the place

    def of(self, kind: Kind | None, layer: int | None = None) -> Tap:
        wanted, inner = self.wanted.get((kind, layer)), self.inner.of(kind, layer)
        return inner if wanted is None else CapturingTap(self, wanted, inner)

    def at(self, places: range) -> "Capturing":
        here = Capturing((), self.inner.at(places), with_grad=self.with_grad)
        here.wanted, here.values = self.wanted, self.values
        return here


@lru_cache(64)
def _by_layer(places: tuple[Place, ...]) -> dict[tuple[Kind | None, int | None], dict[str, str]]:
    """The sites of each layer, and the names of their places."""
    found: dict[tuple[Kind | None, int | None], dict[str, str]] = {}
    for place in places:
        found.setdefault((place.kind, place.layer), {})[place.site] = place.name
    return found


class CapturingTap(Tap):
    """Keeps what is at some sites of a layer."""

    def __init__(self, taps: Capturing, wanted: Mapping[str, str], inner: Tap):
        self.taps, self.wanted, self.inner = taps, wanted, inner
        self.readable = inner.readable or "scores" in wanted or "pattern" in wanted
        self.by_head = inner.by_head or "result" in wanted

    def __call__(self, site: str, x: Tensor, scores: Tensor | None = None) -> Tensor:
        x = self.inner(site, x, scores)
        if site in self.wanted:
            if self.taps.with_grad:  # a tensor of its own, in which a gradient ends or through which it goes
                x = x.clone() if x.requires_grad else x.detach().requires_grad_()
            self.taps.values[self.wanted[site]] = x
        return x


def forward(ckpt: Checkpoint, batch: Batch, taps: Taps = NO_TAPS) -> Tensor | None:
    """The logits (B, T, V) of a batch, of a classifier log-probabilities (B, classes); None for a model without a
    head.

    All texts are read in one pass; see `Batch.together`. Attention is the readable one, whatever is captured, so that
    two passes with equal inputs are equal bit for bit.
    """
    config, model, mask, memory = ckpt.config, ckpt.model, batch.mask(), None
    if batch.src is not None:
        memory = model.encode(batch.src, types=batch.types, mask=mask, taps=taps, readable=True).x
    if batch.tgt is not None:
        is_even = len(set(batch.src_lengths)) < 2  # nothing of the source is padding
        rows = model.decode(batch.tgt, memory, memory_mask=None if is_even else mask, causal=True, taps=taps,
                            readable=True).x
        return model.project(rows, tap=taps.of(None))
    if config.head == "none":
        return None
    assert memory is not None and batch.src is not None
    if config.task == "classes":
        logits = model.project(model.pool(memory, batch.src), tap=taps.of(None))
        return logits.log_softmax(-1)
    return model.project(memory, tap=taps.of(None))


def captured(ckpt: Checkpoint, batch: Batch, places: Iterable[Place],
             taps: Callable[[Batch, Sequence[int]], Taps] = lambda batch, texts: NO_TAPS, *,
             with_grad: bool = False) -> tuple[Tensor | None, dict[str, Tensor]]:
    """The logits of `forward`, and what is at some places, by name; what stands on the padding of shorter texts is
    meaningless, and where texts cannot be read in one pass it is 0.

    taps: of what is read in one pass, and which of the texts these are where they are not all.
    """
    places, parts = [*places], []
    groups = batch.together(ckpt.config)
    for group in groups:
        part = batch if len(groups) == 1 else batch.choose(group)
        capturing = Capturing(places, taps(part, group if len(groups) > 1 else ()), with_grad=with_grad)
        with torch.set_grad_enabled(with_grad):
            logits = forward(ckpt, part, capturing)
        if len(group) > 1:  # positions are made once for all texts
            capturing.values = {name: value.expand(len(group), *value.shape[1:])
                                for name, value in capturing.values.items()}
        parts.append((logits, capturing.values))
    if len(groups) == 1:
        return parts[0]
    order = [at for group in groups for at in group]
    back = torch.tensor(sorted(range(len(order)), key=order.__getitem__), device=ckpt.device)
    names = {name: [part[1][name] for part in parts] for name in parts[0][1]}
    return (None if parts[0][0] is None else _joined([part[0] for part in parts], back),
            {name: _joined(found, back) for name, found in names.items()})


def _joined(parts: Sequence[Tensor], back: Tensor) -> Tensor:
    """The values of several groups of texts in one tensor, in the order of the texts."""
    sizes = [max(part.shape[axis] for part in parts) for axis in range(1, parts[0].dim())]
    padded = [F.pad(part, [one for axis in reversed(range(1, part.dim()))
                           for one in (0, sizes[axis - 1] - part.shape[axis])]) for part in parts]
    return torch.cat(padded)[back]
