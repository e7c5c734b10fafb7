"""Kinds of files by their content, whatever their names, and the files that belong to a checkpoint."""

import pickletools
import re
from pathlib import Path
from typing import NamedTuple

import orjson

from transformer.basics.folders import TOLD
from transformer.checkpoints.weights import Refused, clean
from transformer.huggingface.folder import ABOUT, CHAT, SENTENCEPIECE
from transformer.intake.archive import LARGEST, Item

HEAD = 65_536  # bytes of a file that are looked at
JSON, TOKENIZER, TEXT = 4_000_000, 24_000_000, 1_000_000  # bytes
METRICS, ATTENTION = 20_000_000, 10_000_000
ARCHIVES = {b"PK\x03\x04": "a zip", b"PK\x05\x06": "a zip", b"\x1f\x8b": "a gzip file", b"BZh": "a bzip2 file",
            b"\xfd7zXZ": "an xz file", b"7z\xbc\xaf": "a 7z archive", b"Rar!": "a rar archive",
            b"(\xb5/\xfd": "a zstd file"}
RUNS = {"GLOBAL", "STACK_GLOBAL", "REDUCE", "BUILD", "INST", "OBJ", "NEWOBJ", "NEWOBJ_EX"}
PICKLE = ("is a pickle, which can run code when it is opened; leave it out, and send weights as model.safetensors, as "
          "save_pretrained and safetensors write them")

_TOKENIZERS = ("tokenizer.json", "vocab.json", "target_vocab.json", "source.spm", "target.spm")
OURS = {"config.json": JSON, "manifest.json": TEXT, "model.safetensors": LARGEST, "metrics.jsonl": METRICS,
        **dict.fromkeys(TOLD, METRICS), "README.md": TEXT, CHAT: TEXT, "attention/pinned.json": TEXT,
        r"attention/(\d{1,12}|untrained)\.safetensors": ATTENTION,
        **dict.fromkeys((*_TOKENIZERS, "tokenizer.model", "source.model", "target.model", "source.json",
                         "target.json"), TOKENIZER)}
THEIRS = {"config.json": JSON, "README.md": TEXT, r"[A-Za-z0-9_-]+\.safetensors": LARGEST,
          **dict.fromkeys(("model.safetensors.index.json", "generation_config.json", "tokenizer_config.json",
                           "special_tokens_map.json", "added_tokens.json", ABOUT), JSON),
          CHAT: TEXT,
          **dict.fromkeys((*_TOKENIZERS, "vocab.txt", "merges.txt", "tokenizer.model", "spiece.model", "spm.model",
                           "sentencepiece.bpe.model", SENTENCEPIECE), TOKENIZER)}


class CheckpointFile(NamedTuple):
    """A file that belongs to a checkpoint."""

    item: Item
    name: str  # its place in the folder

    @property
    def weights(self) -> bool:
        return self.name.endswith(".safetensors") and "/" not in self.name


def check_content(item: Item) -> None:
    """Raises Refused for a pickle or an archive, whatever its name."""
    with item.open() as file:
        head = file.read(HEAD)
    name = clean(item.name, longest=60)
    if is_pickle(head, whole=item.size <= len(head)):
        raise Refused(f"{name} {PICKLE}")
    if head.startswith(b"GGUF"):
        raise Refused(f"{name} is a GGUF file, which is a whole model; send it alone")
    for magic, what in ARCHIVES.items():
        if head.startswith(magic) or (what == "a zip" and head[257:262] == b"ustar"):
            if b"data.pkl" in head:
                raise Refused(f"{name} {PICKLE}")
            raise Refused(f"{name} is {what} inside, which is not opened; send the files themselves")


def is_pickle(head: bytes, *, whole: bool) -> bool:
    """Whether a file with this beginning is a pickle. Protocols 0 and 1 have no mark, so only a whole file shows
    them."""
    if head[:1] == b"\x80" and head[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05"):
        return head[4:9] != b"\0\0\0\0{"  # else the length of a safetensors header
    if not whole or not head.rstrip(b"\n").endswith(b"."):
        return False
    try:
        opcodes = [(code.name, place) for code, _, place in pickletools.genops(head)]
    except Exception:  # pickletools raises anything for a file that is no pickle
        return False
    return bool(RUNS & {name for name, _ in opcodes})


def choose(items: list[tuple[Item, str]], places: dict[str, int]) -> list[CheckpointFile]:
    """The files that belong to a checkpoint; others are left out. Raises Refused for one that is too large."""
    chosen, attention = [], 0
    for item, name in items:
        most = next((most for place, most in places.items() if re.fullmatch(place, name, re.ASCII)), None)
        if most is None:
            continue
        if item.size > most:
            raise Refused(f"{name} has {item.size:,} bytes; the limit is {most:,}. Please leave it out or make it "
                          "smaller")
        attention += item.size if name.startswith("attention/") else 0
        chosen.append(CheckpointFile(item, name))
    if attention > ATTENTION:
        raise Refused(f"the files in attention have {attention:,} bytes; the limit is {ATTENTION:,}. Please leave "
                      "some out")
    return chosen


def under_one_folder(items: list[Item]) -> list[tuple[Item, str]]:
    """Each file with its name relative to config.json, which is at the top or in the only folder. Files that operating
    systems add are dropped."""
    def added(name: str) -> bool:
        return name.startswith("__MACOSX/") or any(part.startswith(".") or part == "Thumbs.db"
                                                   for part in name.split("/"))

    names = [(item, item.name) for item in items if not added(item.name)]
    tops = {name.split("/")[0] for _, name in names}
    if len(tops) == 1 and all("/" in name for _, name in names):
        names = [(item, name.split("/", 1)[1]) for item, name in names]
    if not any(name == "config.json" for _, name in names):
        deep = next((name for _, name in names if name.endswith("/config.json")), None)
        raise Refused("there is no config.json" + (f" at the top, but one at {clean(deep)}; send that folder alone"
                                                   if deep else "; send a checkpoint's whole folder, from Heads Up or "
                                                   "Hugging Face"))
    return names


def check_texts(folder: Path) -> None:
    """Raises Refused if the model card is not text, or a line of the training curve is not numbers by name."""
    card, curve = folder / "README.md", folder / "metrics.jsonl"
    if card.exists():
        try:
            text = card.read_bytes().decode()
        except UnicodeDecodeError:
            text = "\0"
        if "\0" in text:
            raise Refused("README.md is not UTF-8 text; leave it out, or save it as UTF-8")
    if curve.exists():
        with open(curve, "rb") as lines:
            for at, line in enumerate(lines, start=1):
                if line.endswith(b"\n") and line.strip() and not _is_row(line):  # the last may be half written
                    raise Refused(f"line {at:,} of metrics.jsonl is not a JSON object of numbers and texts; leave the "
                                  "file out, or copy it again")


def _is_row(line: bytes) -> bool:
    try:
        row = orjson.loads(line)
    except orjson.JSONDecodeError:
        return False
    return isinstance(row, dict) and all(isinstance(value, int | float | str | None) for value in row.values())
