"""Recorded attention read back: which sentences were read, and what all heads did with them at each step.

The folder may be somebody else's, or still being written: what is read is checked, and has a limit. L layers, H heads,
Tq queries, Tk keys.
"""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import orjson
import torch
from numpy.typing import NDArray
from pydantic import ValidationError
from torch import Tensor

from transformer.measures.catalogue import measures_of
from transformer.measures.matrices import decode_weights
from transformer.measures.measure import BatchMeasures
from transformer.measures.tokens import Tokens
from transformer.measures.totals import ByKind
from transformer.settings.config import Kind, ModelConfig
from transformer.text.word_pieces import mark_in, piece_labels

MOST_PINNED, MOST_TOKENS, LONGEST_TOKEN = 5, 256, 100  # the user's sentences, and one of random tokens
MOST_HEADER, MOST_JSON = 100_000, 1_000_000  # bytes
PINNED_FILE = "pinned.json"
SNAPSHOT = re.compile(r"(0|[1-9][0-9]{0,11})\.safetensors")
UNTRAINED = "untrained"  # the name of the snapshot with random weights, where step 0 has others
SIDES = {"encoder": ("source", "source"), "decoder": ("target", "target"), "cross": ("target", "source")}
Item = TypeVar("Item")
END = "</s>"  # the piece that ends a text in our own tokenizers


@dataclass(frozen=True)
class Pinned:
    """The tokens of a pinned sentence; a side that the model does not have is None."""

    source: tuple[str, ...] | None
    target: tuple[str, ...] | None
    random: bool = False  # random tokens, twice

    def axes(self, kind: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Query and key tokens."""
        queries, keys = (getattr(self, side) for side in SIDES[kind])
        return queries, keys

    def labels(self) -> dict[str, list[str] | None]:
        """The tokens of each side as they are read."""
        return {side: None if tokens is None else piece_labels(tokens, mark_in(tokens))
                for side, tokens in (("source", self.source), ("target", self.target))}


@dataclass(frozen=True)
class PinnedTokens:
    """A pinned sentence with all that measures ask about its tokens, by side; what was not recorded is missing."""

    sentence: Pinned
    ids: dict[str, tuple[int, ...]] = field(default_factory=dict)
    shares: dict[str, tuple[float, ...]] = field(default_factory=dict)  # of all tokens of the training
    links: tuple[tuple[int, int], ...] | None = None  # target and source places: what is to be written comes from there

    def tokens(self, kind: Kind, end_id: int | None) -> Tokens:
        """The queries and keys of an attention kind, with B = 1. Where ids were not recorded, pieces are numbered."""
        sides, axes = SIDES[kind], self.sentence.axes(kind)
        if self.ids:
            queries, keys = (self.ids[side] for side in sides)
        else:  # pieces differ where ids do
            number = {piece: place for place, piece in enumerate(sorted({*axes[0], *axes[1]}))}
            queries, keys = ([number[piece] for piece in axis] for axis in axes)
            end_id = number.get(END)
        links = None
        if kind == "cross" and self.links is not None:
            links = torch.zeros(1, *map(len, axes), dtype=torch.bool)
            for query, key in self.links:
                links[0, query, key] = True
        allowed = torch.ones(1, *map(len, axes), dtype=torch.bool)
        shares = self.shares.get(sides[1])
        return Tokens(kind, allowed.tril() if kind == "decoder" else allowed, query_ids=torch.tensor([queries]),
                      key_ids=torch.tensor([keys]), end_id=end_id, links=links,
                      tokenizer=_Pieces(dict(zip(keys, axes[1], strict=True))),
                      key_shares=None if shares is None else torch.tensor([shares], dtype=torch.double))


@dataclass(frozen=True)
class _Pieces:
    """The pieces of a sentence in place of a tokenizer."""

    by_id: dict[int, str]

    def piece(self, id: int) -> str:
        return self.by_id[id]


@dataclass(frozen=True)
class Recorded:
    """The recorded attention of a run or a checkpoint."""

    folder: Path
    config: ModelConfig
    pinned: tuple[PinnedTokens, ...]
    steps: tuple[int, ...]
    shapes: dict[str, tuple[int, ...]]  # "<sentence>.<kind>" -> (L, H, Tq, Tk)

    @property
    def size(self) -> int:
        """Bytes of a snapshot."""
        return sum(map(prod, self.shapes.values()))

    @cached_property
    def measures(self) -> "RecordedMeasures":
        """The measures of its snapshots."""
        return RecordedMeasures(self.config, self.pinned)

    def snapshot(self, step: int | str) -> dict[str, NDArray]:
        """The uint8 square roots (L, H, Tq, Tk) of each sentence and kind at a step, or of `UNTRAINED`. Raises
        ValueError, a few words on what is wrong, and OSError for one that is not there."""
        return _snapshot(self.folder / "attention" / f"{step}.safetensors", self.shapes, self.size)

    def untrained(self) -> dict[str, NDArray] | None:
        """The snapshot with random weights: that of step 0, unless the run started from a checkpoint; None if it is not
        there."""
        kept = (self.folder / "attention" / f"{UNTRAINED}.safetensors").is_file()
        try:
            return self.snapshot(UNTRAINED if kept else 0)
        except (ValueError, OSError):
            return None


class RecordedMeasures:
    """The measures of snapshots of some pinned sentences, each a mean over the queries of all of them that count.

    `even` has the value of uniform attention and `queries` how many count: kind -> measure -> number. A measure whose
    input was not recorded is left out. Those for random tokens are taken on these alone, all others on the rest.
    """

    def __init__(self, config: ModelConfig, pinned: Sequence[PinnedTokens], *, everywhere: bool = False):
        """everywhere: those that are not for random tokens are taken on these too."""
        self._batches: dict[str, tuple[Kind, BatchMeasures]] = {}
        self.even: dict[str, dict[str, float]] = {kind: {} for kind in config.kinds}
        self.queries: dict[str, dict[str, int]] = {kind: {} for kind in config.kinds}
        for at, one in enumerate(pinned):
            for kind in config.kinds:
                chosen = [measure for measure in measures_of(kind) if measure.repeated == one.sentence.random
                          or (everywhere and not measure.repeated)]
                batch = BatchMeasures(chosen, one.tokens(kind, config.eos_id))
                if batch.names:
                    self._batches[f"{at}.{kind}"] = kind, batch
                even = (batch.even.double() * batch.counts).sum((0, 1)).tolist()
                for name, total, count in zip(batch.names, even, batch.counts.sum((0, 1)).tolist(), strict=True):
                    self.even[kind][name] = self.even[kind].get(name, 0.0) + total
                    self.queries[kind][name] = self.queries[kind].get(name, 0) + count
        for kind, totals in self.even.items():
            for name in totals:
                totals[name] /= self.queries[kind][name] or float("nan")

    @torch.no_grad()
    def __call__(self, snapshot: dict[str, NDArray]) -> ByKind:
        """Kind -> measure -> float32 (L, H), NaN where no query counts."""
        totals: dict[str, dict[str, Tensor]] = {kind: {} for kind in self.even}
        for name, (kind, batch) in self._batches.items():
            weights = torch.from_numpy(decode_weights(snapshot[name]))
            sums = batch.sums(weights.flatten(0, 1)[None])[0].T.double()  # (M, L * H)
            for measure, one in zip(batch.names, sums.view(-1, *weights.shape[:2]), strict=True):
                totals[kind][measure] = totals[kind][measure] + one if measure in totals[kind] else one
        return {kind: {name: (total / (self.queries[kind][name] or float("nan"))).float().numpy()
                       for name, total in by_name.items()} for kind, by_name in totals.items()}


def read_recorded(folder: Path) -> Recorded | None:
    """What is recorded under attention/, whose snapshots are read one by one; None if there is none yet. Raises
    ValueError if the folder does not say which model and which sentences these are."""
    folder = Path(folder)
    steps = sorted(int(found[1]) for entry in entries(folder) if (found := SNAPSHOT.fullmatch(entry.name)))
    if not steps or not (folder / "attention" / PINNED_FILE).is_file():
        return None
    config, pinned = _model(folder), _pinned(folder)
    shapes = {}
    for at, one in enumerate(pinned):
        for kind in config.kinds:
            axes = one.sentence.axes(kind)
            if None in axes:
                raise ValueError(f"{folder.name}/attention/pinned.json has no tokens for {kind} attention of sentence "
                                 f"{at + 1}, which {folder.name}/config.json says there is; record the run again")
            shapes[f"{at}.{kind}"] = (config.layers(kind), config.n_heads, *map(len, axes))
    return Recorded(folder, config, pinned, tuple(steps), shapes)


def entries(folder: Path) -> list[os.DirEntry]:
    """Snapshots and the pinned sentences' file; nothing else, and nothing that is not a plain file."""
    try:
        with os.scandir(folder / "attention") as found:
            return [entry for entry in found if entry.is_file()
                    and (SNAPSHOT.fullmatch(entry.name) or entry.name == PINNED_FILE)]
    except (FileNotFoundError, NotADirectoryError):
        return []


def read_json(path: Path) -> object:
    """The content of a small JSON file. Raises ValueError for one that is damaged, missing or large."""
    try:
        with open(path, "rb") as file:
            content = file.read(MOST_JSON + 1)
        if len(content) > MOST_JSON:
            raise ValueError(f"it has more than {MOST_JSON:,} bytes")
        return orjson.loads(content)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise ValueError(f"{path.parent.name}/{path.name} cannot be read ({reason}); copy the folder again") from None


def _model(folder: Path) -> ModelConfig:
    found = read_json(folder / "config.json")
    try:
        return ModelConfig.model_validate(found.get("model") if isinstance(found, dict) else None)
    except ValidationError as error:
        first = error.errors()[0]
        raise ValueError(f"{folder.name}/config.json: {'.'.join(map(str, first['loc']))} {first['msg']}") from None


def _pinned(folder: Path) -> tuple[PinnedTokens, ...]:
    found = read_json(folder / "attention" / PINNED_FILE)
    try:
        if not (isinstance(found, list) and 0 < len(found) <= MOST_PINNED):
            raise ValueError
        return tuple(map(_sentence, found))
    except (TypeError, KeyError, ValueError, AttributeError):
        raise ValueError(f"{folder.name}/attention/pinned.json should list 1 to {MOST_PINNED} sentences, each with "
                         f"source and target of 1 to {MOST_TOKENS} tokens or null; copy the folder again") from None


def _sentence(row: dict[str, Any]) -> PinnedTokens:
    """A sentence of pinned.json. Raises ValueError and the like if something else stands there."""
    sides = {side: _list(row[side], str) for side in ("source", "target")}
    links, lengths = row.get("links"), {side: len(tokens or ()) for side, tokens in sides.items()}
    ids = {side: _list(row.get(f"{side}_ids"), int, count) for side, count in lengths.items()}
    shares = {side: _list(row.get(f"{side}_shares"), float, count) for side, count in lengths.items()}
    if links is not None:
        if len(links) > prod(lengths.values()):
            raise ValueError
        links = tuple((query, key) for query, key in links)
        if not all(type(place) is int and 0 <= place < lengths[side] for link in links
                   for place, side in zip(link, ("target", "source"), strict=True)):
            raise ValueError
    cut = {side: tokens and tuple(token[:LONGEST_TOKEN] for token in tokens) for side, tokens in sides.items()}
    complete = all(ids[side] is not None for side, tokens in sides.items() if tokens is not None)
    return PinnedTokens(Pinned(**cut, random=row.get("random") is True), _known(ids) if complete else {},
                        _known(shares), links)


def _known(by_side: dict[str, Item | None]) -> dict[str, Item]:
    return {side: one for side, one in by_side.items() if one is not None}


def _list(value: object, kind: type[Item], count: int | None = None) -> tuple[Item, ...] | None:
    """The values of a list, all of one type, and so many of them; None for null. Raises ValueError for anything
    else."""
    if value is None:
        return None
    if not (isinstance(value, list) and 0 < len(value) <= MOST_TOKENS and all(type(one) is kind for one in value)):
        raise ValueError
    if kind is not str and not all(0 <= one < 2**31 for one in value):
        raise ValueError
    if count is not None and len(value) != count:
        raise ValueError
    return tuple(value)


def _snapshot(path: Path, shapes: dict[str, tuple[int, ...]], size: int) -> dict[str, NDArray]:
    """A snapshot's tensors, held to the names, types and sizes that they should have before anything is made of them.

    Raises ValueError, a few words on what is wrong.
    """
    with open(path, "rb") as file:
        content = file.read(8 + MOST_HEADER + size + 1)
    if len(content) > 8 + MOST_HEADER + size:
        raise ValueError(f"it has more than the {size:,} bytes of these sentences")
    length = int.from_bytes(content[:8], "little")
    if len(content) < 8 + length:
        raise ValueError("it ends in the middle")
    try:
        header = orjson.loads(content[8:8 + length])
        places = {name: (header[name]["dtype"], tuple(header[name]["shape"]), header[name]["data_offsets"])
                  for name in shapes}
    except (ValueError, TypeError, KeyError):
        raise ValueError("its header is not that of these sentences") from None
    found = {}
    for name, shape in shapes.items():
        dtype, stored, offsets = places[name]
        if not isinstance(dtype, str) or len(dtype) > 8 or not all(type(one) is int for one in stored):
            raise ValueError("its header is not that of these sentences")
        if (dtype, stored) != ("U8", shape):
            raise ValueError(f"{name} is {dtype} {stored} and should be U8 {shape}")
        if not (isinstance(offsets, list) and [type(at) for at in offsets] == [int, int] and offsets[0] >= 0
                and offsets[1] - offsets[0] == prod(shape) and 8 + length + offsets[1] <= len(content)):
            raise ValueError(f"{name} is not whole")
        cells = np.frombuffer(content, np.uint8, prod(shape), 8 + length + offsets[0]).reshape(shape)
        total = ((cells / np.float32(255)) ** 2).sum(-1)
        if abs(total - 1).max() > 0.1:
            raise ValueError(f"rows of {name} sum to {total.min():.2f} to {total.max():.2f} and not to 1")
        found[name] = cells
    return found
