"""Checks of a safetensors file by its header alone, before anything is opened or allocated."""

import functools
import json
import os
from collections.abc import Mapping
from math import isfinite, prod
from pathlib import Path
from typing import NamedTuple, TypeGuard

import numpy as np
import orjson
import torch

from transformer.basics.folders import is_no_file
from transformer.basics.formatting import brief
from transformer.model.models import Transformer
from transformer.model.positions import POSITIONS
from transformer.settings.config import ModelConfig, Precision

LARGEST_HEADER = 4_000_000  # bytes; GPT-2 XL's has 60,000
MOST_TENSORS, MOST_AXES = 10_000, 8  # a model of 96 + 96 layers has 4,040 tensors
LARGEST_METADATA = 1_000_000  # characters
LARGEST_TABLE = 64_000_000  # bytes of sinusoids, which no file has; more if the weights are larger
LARGEST_WEIGHT = 100_000  # of either sign; all of float16 is below, and trained weights are below 100
BYTES = {"F32": 4, "F16": 2, "BF16": 2, "F64": 8}
# Buffers that older versions stored, and numbers of 4 to 8 bits: known, and read by nobody here.
OTHERS = {"BOOL": 1, "U8": 1, "I8": 1, "I16": 2, "U16": 2, "I32": 4, "U32": 4, "I64": 8, "U64": 8, "C64": 8,
          **dict.fromkeys(("F8_E4M3", "F8_E5M2", "F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ"), 1),
          "F4": 0.5, "F6_E2M3": 0.75, "F6_E3M2": 0.75}
CHUNK = 4_000_000  # bytes read at once
PRECISIONS: dict[Precision, torch.dtype] = {"float32": torch.float32, "float16": torch.float16,
                                            "bfloat16": torch.bfloat16}
SMALL = ("positions", "types", "buckets")  # tables that are widened whatever the others are


class Refused(ValueError):
    """A file or folder is not accepted; the message says why in one sentence."""


class StoredTensor(NamedTuple):
    """A tensor in a file, as its header describes it."""

    file: Path
    name: str
    dtype: str
    shape: tuple[int, ...]
    start: int  # of its bytes, in the file


class Header(NamedTuple):
    """The tensors and the metadata of a safetensors file."""

    tensors: dict[str, StoredTensor]
    metadata: dict[str, str]

    __repr__ = brief


def clean(text: object, *, longest: int = 80) -> str:
    """A file's own words, fit for a sentence: short, on one line, without control characters."""
    line = "".join(char if char.isprintable() else "\ufffd" for char in str(text)[:longest + 1])
    return line if len(line) <= longest else f"{line[:longest - 1]}…"


def sort_metadata(path: Path) -> None:
    """Sorts the metadata of a safetensors file by name. Its writer uses a random order; sorted, the same weights and
    notes give the same file."""
    with open(path, "r+b") as file:
        length = int.from_bytes(file.read(8), "little")
        header = orjson.loads(file.read(length))
        header["__metadata__"] = dict(sorted(header.get("__metadata__", {}).items()))
        content = orjson.dumps(header)
        if len(content) <= length:  # else it was spelled in another way, and stays as it is
            file.seek(8)
            file.write(content.ljust(length))


def read_header(path: Path) -> Header:
    """The header of a safetensors file, with every byte of the file accounted for. Raises Refused. Only the header is
    allocated, and its size is bounded."""
    broken = f"{path.name} is damaged or not a safetensors file"
    if is_no_file(path):
        raise Refused(f"{path.name} is not a file; copy it again")
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            length = int.from_bytes(file.read(8), "little")
            if size < 8 or length > min(LARGEST_HEADER, size - 8):
                raise Refused(f"{broken}: its header would have {length:,} bytes; copy it again")
            about = _header_object(file.read(length), broken)
    except OSError as error:
        raise Refused(f"{path.name} cannot be read ({error.strerror}); copy it again") from None
    metadata = about.pop("__metadata__", None) or {}
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        raise Refused(f"{broken}: its metadata should be texts by name; copy it again")
    if (characters := sum(len(name) + len(value) for name, value in metadata.items())) > LARGEST_METADATA:
        raise Refused(f"{path.name} has {characters:,} characters of metadata; the limit is {LARGEST_METADATA:,}. "
                      "Please save it again with less")
    if len(about) > MOST_TENSORS:
        raise Refused(f"{path.name} has {len(about):,} tensors; the limit is {MOST_TENSORS:,}. Please copy it again")
    tensors, spans = {}, []
    for name, entry in about.items():
        tensors[name], span = _stored(path, name, entry, start=8 + length)
        spans.append(span)
    end = 0
    for start, stop in sorted(spans):
        if start != end:
            raise Refused(f"{broken}: its tensors overlap or leave gaps; copy it again")
        end = stop
    if end != size - 8 - length:
        raise Refused(f"{broken}: its header describes {end:,} bytes and it has {size - 8 - length:,}; copy it again")
    return Header(tensors, metadata)


def _header_object(content: bytes, broken: str) -> dict[str, object]:
    def unlike(pairs: list[tuple[str, object]]) -> dict[str, object]:
        entries = dict(pairs)
        if len(entries) < len(pairs):
            raise Refused(f"{broken}: its header lists a name twice; copy it again")
        return entries

    try:
        orjson.loads(content)  # it is strict, and limits the depth
        about = json.loads(content, object_pairs_hook=unlike)
    except (orjson.JSONDecodeError, RecursionError):
        raise Refused(f"{broken}: its header is not JSON; copy it again") from None
    if not isinstance(about, dict):
        raise Refused(f"{broken}: its header is not a JSON object; copy it again")
    return about


def _stored(path: Path, name: str, entry: object, *, start: int) -> tuple[StoredTensor, tuple[int, int]]:
    """One entry of a header, with the start and end of its bytes after the header, which ends at `start`."""
    def whole(values: object, most: int) -> TypeGuard[list[int]]:
        return (isinstance(values, list) and len(values) <= most
                and all(type(value) is int and 0 <= value < 2**48 for value in values))

    known = BYTES | OTHERS
    if isinstance(entry, dict) and isinstance(dtype := entry.get("dtype"), str) and dtype not in known:
        raise Refused(f"{path.name} stores {clean(name, longest=60)!r} as {clean(dtype, longest=20)}, and "
                      f"{', '.join(BYTES)} are read; save it as one of them")
    if (isinstance(entry, dict) and isinstance(entry.get("dtype"), str) and entry["dtype"] in known
            and whole(entry.get("shape"), MOST_AXES) and whole(span := entry.get("data_offsets"), 2) and len(span) == 2
            and span[1] - span[0] == prod(entry["shape"]) * known[entry["dtype"]]):
        return StoredTensor(path, name, entry["dtype"], tuple(entry["shape"]), start + span[0]), (span[0], span[1])
    raise Refused(f"{path.name} is damaged or unsupported: the entry of {clean(name, longest=60)!r} "
                  "does not add up; copy it again")


def misfit(tensors: Mapping[str, StoredTensor], config: ModelConfig) -> str | None:
    """The first way in which weights in headers differ from the model of a configuration: each should be there under
    exactly one of its names and with its shape. None if all fit."""
    for stack, layers in (("encoder", config.encoder_layers), ("decoder", config.decoder_layers)):
        there = {name.split(".")[2] for name in tensors if name.startswith(f"{stack}.layers.")}
        needed = min(layers, 1) if config.shared_layers else layers
        if len(there) != needed:  # said before a model of so many is laid out
            return f"there are weights for {len(there)} {stack} layers, but there should be {needed}"
    left = dict(tensors)
    for names, shape in expected_tensors(config):
        there = sorted(names & left.keys())
        if not there:
            return f"there are no weights {min(names)}"
        if len(there) > 1:
            return f"{there[0]} and {there[1]} are one matrix, which is stored once"
        stored = left.pop(there[0])
        if stored.shape != shape:
            return f"{there[0]} has the shape {stored.shape}, and should have {shape}"
        if stored.dtype not in BYTES:
            return f"{there[0]} is stored as {stored.dtype}, and {', '.join(BYTES)} are read"
    return f"there is no place for its weights {clean(min(left))!r}" if left else None


@functools.lru_cache(maxsize=32)
def expected_tensors(config: ModelConfig) -> tuple[tuple[frozenset[str], tuple[int, ...]], ...]:
    """The weights of a configuration's model: the names of each, several if it is tied, and its shape. Nothing is
    allocated."""
    weights = Transformer.laid_out(config).state_dict(keep_vars=True)
    groups: dict[int, list[str]] = {}
    for name, weight in weights.items():
        groups.setdefault(id(weight), []).append(name)
    return tuple((frozenset(names), tuple(weights[names[0]].shape)) for names in groups.values())


def is_matrix(name: str, weight: torch.Tensor) -> bool:
    """Whether one of our weights is a large one, which may be stored in half precision."""
    return weight.dim() == 2 and not any(f".{table}." in name for table in SMALL)


def check_tables(config: ModelConfig, tensors: Mapping[str, StoredTensor]) -> None:
    """Raises Refused if the positions that a formula gives would take more memory than all that the file has."""
    with torch.device("meta"):
        table = POSITIONS[config.positions].added(config)
    if table is not None:
        size = table.nbytes
        most = max(LARGEST_TABLE, sum(prod(one.shape) * 4 for one in tensors.values()))
        if size > most:
            raise Refused(f"positions up to max_len {config.max_len:,} would take {size:,} bytes, more than the "
                          f"weights; at most {most:,} are allowed, so lower max_len")


def check_numbers(tensors: Mapping[str, StoredTensor]) -> None:
    """Raises Refused for the first tensor with a number that no weight is: not finite, or so large that results would
    not be finite. Reads a little at a time."""
    for stored in sorted(tensors.values(), key=lambda one: (one.file, one.start)):
        left = prod(stored.shape) * BYTES[stored.dtype]
        with open(stored.file, "rb") as file:
            file.seek(stored.start)
            while left:
                chunk = file.read(min(left, CHUNK))
                if not chunk:
                    raise Refused(f"{stored.file.name} ends too early; copy it again")
                left -= len(chunk)
                if not (most := _most(chunk, stored.dtype)) <= LARGEST_WEIGHT:  # nan is neither more nor less
                    raise too_large(stored.name, most)


def check_size(name: str, tensor: torch.Tensor) -> None:
    """Raises Refused for a tensor with a number that no weight is; see `check_numbers`."""
    if tensor.numel():
        low, high = tensor.aminmax()
        if not (most := max(float(high), -float(low))) <= LARGEST_WEIGHT:  # nan is neither more nor less
            raise too_large(name, most)


def too_large(name: str, most: float) -> Refused:
    """The refusal of a tensor by its largest number."""
    if not isfinite(most):
        return Refused(f"{name} holds numbers that are not finite, so the model would compute nothing; copy it again")
    return Refused(f"{name} holds a number as large as {most:.3g}, at most {LARGEST_WEIGHT:,} are read as weights; "
                   "copy it again")


def _most(chunk: bytes, dtype: str) -> float:
    """The largest absolute number, nan if one is nan."""
    if dtype == "BF16":  # the upper half of a float32
        numbers = (np.frombuffer(chunk, "<u2").astype(np.uint32) << 16).view(np.float32)
    else:
        numbers = np.frombuffer(chunk, {"F32": "<f4", "F16": "<f2", "F64": "<f8"}[dtype])
    return max(float(numbers.max()), -float(numbers.min()))
