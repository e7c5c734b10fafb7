"""Reads the header of a GGUF file; every length is checked against the file before memory is allocated.

The format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md. Sizes of the quantisations: the gguf package.
"""

import struct
from collections.abc import Iterable
from itertools import pairwise
from math import prod
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np

from transformer.checkpoints.weights import MOST_TENSORS, Refused, clean

MAGIC, VERSIONS = b"GGUF", (2, 3)
MOST_KEYS, LONGEST_NAME, LONGEST_TEXT = 10_000, 500, 4_000_000  # texts: a chat template has 20,000 bytes
MOST_ITEMS = 4_000_000  # of all lists together; the largest tokenizers in use have 1,500,000
MOST_AXES, LARGEST_AXIS, LARGEST_ALIGNMENT = 4, 2**40, 65_536
STRING, LIST, BOOL = 8, 9, 7
NUMBERS = {0: "<u1", 1: "<i1", 2: "<u2", 3: "<i2", 4: "<u4", 5: "<i4", 6: "<f4", BOOL: "<u1", 10: "<u8", 11: "<i8",
           12: "<f8"}
Value = bool | int | float | str | list


class Entry(NamedTuple):
    """A tensor of a file: `shape` as torch has it, `start` and `size` of its bytes in the file."""

    name: str
    kind: str  # of its quantisation: F32, Q4_1
    shape: tuple[int, ...]
    start: int
    size: int


class Contents(NamedTuple):
    notes: dict[str, Value]
    tensors: dict[str, Entry]


def is_gguf(path: Path) -> bool:
    """Whether a file begins as a GGUF file."""
    try:
        with open(path, "rb") as file:
            return file.read(4) == MAGIC
    except OSError:
        return False


def read_contents(path: Path) -> Contents:
    """The metadata of a GGUF file and its tensors, with every byte of the file accounted for.

    Raises Refused. Reads no tensor, and allocates no more than the header's own bytes justify. ImportError if the gguf
    package is not installed.
    """
    try:
        with open(path, "rb") as file:
            return _Header(file, path.name, path.stat().st_size).contents()
    except OSError as error:
        raise Refused(f"{path.name} cannot be read ({error.strerror}); copy it again") from None


class _Header:
    """The bytes of a file in order."""

    def __init__(self, file: BinaryIO, name: str, size: int) -> None:
        self.file, self.name, self.size, self.at, self.items = file, name, size, 0, 0

    def contents(self) -> Contents:
        if self.size < 24 or self._take(4) != MAGIC:
            raise Refused(f"{clean(self.name)} is not a GGUF file; choose a file whose name ends in .gguf")
        version = self._whole(4)
        if version in (value << 24 for value in VERSIONS):
            raise Refused(f"{clean(self.name)} is for machines of the other byte order; ask for the usual file")
        if version not in VERSIONS:
            raise Refused(f"{clean(self.name)} is GGUF of version {version:,}, and 2 and 3 are read; ask for a newer "
                          "file")
        tensors, keys = self._whole(8), self._whole(8)
        if tensors > MOST_TENSORS or keys > MOST_KEYS:
            raise self._broken(f"it would have {tensors:,} tensors and {keys:,} notes")
        notes = self._unlike("a note", (self._note() for _ in range(keys)))
        entries = self._unlike("a tensor", (self._tensor() for _ in range(tensors)))
        return Contents(notes, self._placed(entries, self._alignment(notes)))

    def _broken(self, why: str) -> Refused:
        return Refused(f"{clean(self.name)} is damaged or not a GGUF file: {why}; copy it again")

    def _take(self, count: int) -> bytes:
        if count > self.size - self.at:
            raise self._broken(f"its header would need {count:,} more bytes after {self.at:,} of {self.size:,}")
        self.at += count
        content = self.file.read(count)
        if len(content) < count:
            raise self._broken("it ends too early")
        return content

    def _whole(self, width: int) -> int:
        return int.from_bytes(self._take(width), "little")

    def _text(self, longest: int) -> str:
        length = self._whole(8)
        if length > longest:
            raise self._broken(f"a text in its header would have {length:,} bytes")
        try:
            return self._take(length).decode()
        except UnicodeDecodeError:
            raise self._broken("a text in its header is not UTF-8") from None

    def _unlike(self, what: str, pairs: Iterable[tuple[str, object]]) -> dict:
        items = {}
        for name, value in pairs:
            if name in items:
                raise self._broken(f"it has {what} {clean(name, longest=60)!r} twice")
            items[name] = value
        return items

    def _note(self) -> tuple[str, Value]:
        name, kind = self._text(LONGEST_NAME), self._whole(4)
        if kind != LIST:
            return name, self._text(LONGEST_TEXT) if kind == STRING else self._numbers(name, kind, 1)[0]
        kind, count = self._whole(4), self._whole(8)
        self.items += count
        if self.items > MOST_ITEMS:
            raise self._broken(f"its lists would have {self.items:,} entries")
        if kind == STRING:
            return name, [self._text(LONGEST_TEXT) for _ in range(count)]
        return name, self._numbers(name, kind, count)

    def _numbers(self, name: str, kind: int, count: int) -> list:
        if kind not in NUMBERS:
            raise self._broken(f"its note {clean(name, longest=60)!r} is of an unknown type")
        values = np.frombuffer(self._take(count * np.dtype(NUMBERS[kind]).itemsize), NUMBERS[kind])
        return values.astype(bool).tolist() if kind == BOOL else values.tolist()

    def _tensor(self) -> tuple[str, Entry]:
        from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType

        name, axes = self._text(LONGEST_NAME), self._whole(4)
        if not 1 <= axes <= MOST_AXES:
            raise self._broken(f"the tensor {clean(name, longest=60)!r} would have {axes:,} axes")
        shape = struct.unpack(f"<{axes}Q", self._take(8 * axes))[::-1]  # a file says the last axis first
        number, offset = self._whole(4), self._whole(8)
        if number not in list(GGMLQuantizationType):
            raise Refused(f"{clean(self.name)} stores {clean(name, longest=60)!r} as the type {number}, which is not "
                          "known; ask for another quantisation, such as Q8_0")
        kind = GGMLQuantizationType(number)
        block, size = GGML_QUANT_SIZES[kind]
        if not all(1 <= axis <= LARGEST_AXIS for axis in shape) or shape[-1] % block:
            raise self._broken(f"the tensor {clean(name, longest=60)!r} would have the shape {shape} as {kind.name}")
        return name, Entry(name, kind.name, shape, offset, prod(shape) // block * size)

    def _alignment(self, notes: dict[str, Value]) -> int:
        value = notes.get("general.alignment", 32)
        if type(value) is not int or not 1 <= value <= LARGEST_ALIGNMENT or value & (value - 1):
            raise self._broken(f"its alignment would be {clean(value, longest=20)}")
        return value

    def _placed(self, found: dict[str, Entry], alignment: int) -> dict[str, Entry]:
        """The tensors with their starts in the file, one after another, each padded to the alignment."""
        def padded(length: int) -> int:
            return -(-length // alignment) * alignment

        begin = padded(self.at)
        in_order = sorted(found.values(), key=lambda one: one.start)
        if (in_order and in_order[0].start != 0) or any(
                after.start != padded(before.start + before.size) for before, after in pairwise(in_order)):
            raise self._broken("its tensors overlap or leave gaps")
        end = begin + in_order[-1].start + in_order[-1].size if in_order else self.size
        if self.size not in (end, padded(end)):
            raise self._broken(f"its header describes {end:,} bytes and it has {self.size:,}")
        return {name: one._replace(start=begin + one.start) for name, one in found.items()}
