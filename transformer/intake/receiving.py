"""Receives a checkpoint as a zip or as files: the result is a whole good folder, or an error in one sentence and no
trace.

Accepted are our own checkpoint folders and Hugging Face's, which become ours. Other files are checked, because pickles
and archives are refused under any name, and then left out, as are a run's snapshots. Cheap checks come first: names and
sizes, the configuration, the headers of the weights. Nothing large is unpacked before these fit.
"""

import os
import re
import shutil
import time
import zipfile
import zlib
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO

import orjson
import torch

from transformer.basics.folders import TOLD, write_manifest
from transformer.basics.json_depth import is_shallow
from transformer.basics.resource_errors import memory_is_full
from transformer.checkpoints import checkpoint
from transformer.checkpoints.weights import LARGEST_HEADER, Refused, check_numbers, clean, read_header
from transformer.huggingface.folder import Folder
from transformer.huggingface.importing import examine, import_model
from transformer.inference.reading import attend
from transformer.intake.archive import LARGEST, MOST_FILES, Item, Readable, check_name, read_archive, same_name
from transformer.intake.file_kinds import (
    JSON,
    OURS,
    THEIRS,
    CheckpointFile,
    check_content,
    check_texts,
    choose,
    under_one_folder,
)
from transformer.text.rust_errors import refuse_panics

CHUNK = 1_000_000  # bytes
PRIVATE = ".intake-"
STALE = 3_600  # seconds until the remains of a killed process are removed
TEXTS = ("a", "I am cold.", " Ça va ?\n🙂 ", "x" * 300)  # a tokenizer that fails on these fails on ordinary ones
RESERVED = {"corpora", "best"}  # names that the app and runs use in the same folders
Sent = Path | BinaryIO
Watch = Callable[[float], object]


def take_in(sent: Sent | Sequence[tuple[str, Sent]], root: Path, *, name: str | None = None, ids: bool = False,
            watch: Watch = lambda share: None) -> Path:
    """Checks a zip, or files with their names, and returns the new checkpoint's folder, directly inside root.

    name: of the folder; None: that of the zip. An existing folder is never replaced. ids: leave the tokenizer of a
    Hugging Face folder out. watch: called with the share that has been unpacked. Raises ValueError in one sentence, and
    then leaves nothing behind.
    """
    try:
        root.mkdir(parents=True, exist_ok=True)
        _sweep(root)
        if isinstance(sent, Path):
            sent = [(sent.name, sent)]
        elif not isinstance(sent, Sequence):
            sent = [(name or "checkpoint", sent)]
        name = safe_name(name or (Path(sent[0][0]).stem if len(sent) == 1 else "checkpoint"))
        with TemporaryDirectory(prefix=PRIVATE, dir=root) as private, ExitStack() as opened:
            return _put(_make(_items(sent, opened), Path(private), name, ids=ids, watch=watch), root, name)
    except ValueError as error:
        raise Refused(clean(error, longest=600)) from None
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
        raise Refused(f"the zip is damaged ({clean(error)}); zip the checkpoint's folder again") from None
    except OSError as error:
        raise Refused(f"the checkpoint cannot be kept here ({error.strerror or clean(error)}); make room, or tell "
                      "whoever runs this server") from None
    except (MemoryError, RuntimeError) as error:
        if not memory_is_full(error):
            raise
        raise Refused("the checkpoint needs more memory than there is here; send a smaller one") from None


def safe_name(name: str) -> str:
    """A name for a folder, from the letters, digits, dots, dashes and underscores in it."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip(".-")[:60].rstrip(".-") or "checkpoint"


def _sweep(root: Path) -> None:
    for left in root.glob(f"{PRIVATE}*"):
        if left.is_dir() and not left.is_symlink() and time.time() - left.stat().st_mtime > STALE:
            shutil.rmtree(left, ignore_errors=True)


def _items(sent: Sequence[tuple[str, Sent]], opened: ExitStack) -> list[Item]:
    """The files that were sent, or those in the zip, which stays open as long as `opened`."""
    if not sent:
        raise Refused("nothing was sent; choose a zip, or the files of a checkpoint")
    if len(sent) > MOST_FILES:
        raise Refused(f"{len(sent):,} files were sent; the limit is {MOST_FILES}. Please send a checkpoint's files "
                      "alone")
    if len(sent) > 1 and all(name.lower().endswith(".zip") and _begins(file).startswith(b"PK") for name, file in sent):
        raise Refused(f"{len(sent)} zips were sent; send one zip at a time")
    if len(sent) == 1 and _begins(sent[0][1]).startswith(b"PK"):
        file = sent[0][1]
        return read_archive(opened.enter_context(file.open("rb")) if isinstance(file, Path) else file)
    items = []
    for name, file in sent:
        check_name(name)
        size = file.stat().st_size if isinstance(file, Path) else file.seek(0, os.SEEK_END)
        items.append(Item(name, size, _opener(file)))
    names = [same_name(item.name) for item in items]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise Refused(f"{clean(twice, longest=60)!r} was sent twice; send each file once")
    if (total := sum(item.size for item in items)) > LARGEST:
        raise Refused(f"the files have {total:,} bytes; the limit is {LARGEST:,}. Please send a smaller model")
    return items


def _begins(file: Sent) -> bytes:
    with _opener(file)() as opened:
        return opened.read(4)


def _opener(file: Sent) -> Callable[[], AbstractContextManager[Readable]]:
    return (lambda: file.open("rb")) if isinstance(file, Path) else lambda: _Open(file)


class _Open:
    """A file object read from its beginning, which stays open for others afterwards."""

    def __init__(self, file: BinaryIO):
        self._file, self._place = file, 0

    def read(self, size: int = -1) -> bytes:
        self._file.seek(self._place)
        content = self._file.read(size)
        self._place += len(content)
        return content

    def __enter__(self) -> "_Open":
        return self

    def __exit__(self, *_: object) -> None:
        pass


def _make(items: list[Item], private: Path, name: str, *, ids: bool, watch: Watch) -> Path:
    """Makes the finished folder, still inside the private one."""
    if len(items) == 1 and _is_gguf(items[0]):
        return _of_gguf(items[0], private, name, ids=ids, watch=watch)
    for item in items:
        check_content(item)
    if not items:
        raise Refused("the zip is empty; zip the checkpoint's folder again")
    if len(items) == 1 and not items[0].size:
        raise Refused(f"{clean(items[0].name, longest=60)} is empty; copy it again")
    if len(items) == 1 and items[0].name.lower().endswith(".zip"):
        raise Refused(f"{clean(items[0].name, longest=60)} is not a zip despite its name; zip the checkpoint's folder "
                      f"again")
    named = under_one_folder(items)
    config = _read_config(next(item for item, place in named if place == "config.json"))
    ours = "format" in config
    if not ours and "model_type" not in config:
        raise Refused("config.json has neither format, as Heads Up writes it, nor model_type, as Hugging Face does; "
                      "send a checkpoint's whole folder")
    chosen = choose(named, OURS if ours else THEIRS)
    _check_room(private, 3 * sum(one.item.size for one in chosen))
    folder = private / "sent" / name
    for one in chosen:
        _copy(one, folder, head=one.weights)
    listed = ours and _check_ours(folder)
    if not ours:
        examine(Folder(folder))
    heavy = [one for one in chosen if one.weights]
    total, done = sum(one.item.size for one in heavy), 0
    for one in heavy:
        _copy(one, folder, watch=lambda more, done=done: watch((done + more) / total))
        done += one.item.size
    if ours:
        check_numbers(read_header(folder / "model.safetensors").tensors)
        if not listed:
            write_manifest(folder)
    else:
        folder = import_model(folder, private / "made" / name, ids=ids)
    _try(folder)
    return folder


def _is_gguf(item: Item) -> bool:
    with item.open() as file:
        return file.read(4) == b"GGUF"


def _of_gguf(item: Item, private: Path, name: str, *, ids: bool, watch: Watch) -> Path:
    """Makes the finished folder of a GGUF file; nothing is unpacked before its header has been checked."""
    _check_room(private, 10 * item.size)  # four bits become 32
    sent = private / "sent"
    sent.mkdir()
    whole = CheckpointFile(item, f"{name}.gguf")
    _copy(whole, sent, watch=lambda done: watch(done / item.size))
    folder = import_model(sent / whole.name, private / "made" / name, ids=ids)
    _try(folder)
    return folder


def _check_room(private: Path, needed: int) -> None:
    if shutil.disk_usage(private).free < needed:
        raise Refused("there is too little room on the disk for this checkpoint; delete others first")


def _read_config(item: Item) -> dict[str, object]:
    with item.open() as file:
        content = file.read(JSON + 1)
    if len(content) > JSON:
        raise Refused(f"config.json has more than {JSON:,} bytes; send the one that belongs to the weights")
    try:
        config = orjson.loads(content)
    except orjson.JSONDecodeError as error:
        raise Refused(f"config.json is not readable JSON ({error}); copy it again") from None
    if not isinstance(config, dict) or not is_shallow(config):
        raise Refused("config.json should hold a JSON object of a few levels; copy it again")
    return config


def _copy(one: CheckpointFile, folder: Path, *, head: bool = False, watch: Watch = lambda done: None) -> None:
    """Writes a file into the folder. head: of weights only the header, followed by a hole of the declared length."""
    path = folder / one.name
    path.parent.mkdir(parents=True, exist_ok=True)
    with one.item.open() as source, open(path, "wb") as out:
        if head:
            length = source.read(8)
            out.write(length + source.read(min(int.from_bytes(length, "little"), LARGEST_HEADER)))
            if out.tell() < one.item.size:
                out.truncate(one.item.size)
            return
        while chunk := source.read(CHUNK):
            out.write(chunk)
            if out.tell() > one.item.size:
                break
            watch(out.tell())
        if out.tell() != one.item.size:
            raise Refused(f"{one.name} is not as long as the {one.item.size:,} bytes that were announced; send it "
                          "again")


def _check_ours(folder: Path) -> bool:
    """Whether the folder came with a manifest. Raises ValueError if the configuration, the weights' header, the
    tokenizer, the manifest and the texts of our format do not fit each other."""
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    came = "manifest.json" in files
    if not came:
        (folder / "manifest.json").write_bytes(b"{}")  # for now
    description = checkpoint.describe(folder)
    checkpoint.check_weights(folder, description.config)
    checkpoint.open_tokenizers(description)
    check_texts(folder)
    if came:
        listed = orjson.loads((folder / "manifest.json").read_bytes()).keys()
        for name in sorted({*TOLD} & (files - listed)):  # beside a checkpoint, as its roles are: left out
            (folder / name).unlink()
            files.remove(name)
        if besides := sorted(files - listed - {"manifest.json"}):
            raise Refused(f"manifest.json does not list {clean(besides[0])}; leave one of them out")
        if missing := sorted(listed - files):
            raise Refused(f"manifest.json lists {clean(missing[0], longest=60)}, which was not sent or belongs to no "
                          "checkpoint; send the whole folder, or leave manifest.json out")
        checkpoint.verify(folder, but=frozenset({"model.safetensors"}))
    return came


def _try(folder: Path) -> None:
    """Raises ValueError if the checkpoint does not run; a tokenizer and weights may not fit."""
    ckpt = checkpoint.load(folder)
    try:
        with refuse_panics():
            for tokenizer in {ckpt.tokenizer, ckpt.source_tokenizer}:
                for text in ("1 2 0",) if tokenizer.kind == "ids" else TEXTS:
                    tokenizer.decode([piece.id for piece in tokenizer.pieces(text)])
            reading = attend(ckpt, "a" if ckpt.reads_text else "0")
    except ValueError:
        raise
    except Exception as error:
        if memory_is_full(error):
            raise
        raise Refused(f"{folder.name} cannot be run ({type(error).__name__}: {clean(error)}); its configuration, "
                      "weights and tokenizer do not belong together") from None
    for out in (reading.logits, reading.hidden, *reading.attentions.values()):
        if out is not None and not torch.isfinite(out).all():
            raise Refused(f"{folder.name} computes values that are not finite; its weights are damaged or too large, "
                          f"so copy them again")


def _put(folder: Path, root: Path, name: str) -> Path:
    """Moves the finished folder to its place, under the first free name, once it is completely on the disk."""
    for path in [*(path for path in folder.rglob("*") if path.is_file()), folder]:
        handle = os.open(path, os.O_RDONLY)
        os.fsync(handle)
        os.close(handle)
    for count in range(1, 1_000):
        place = root / (name if count == 1 else f"{name}-{count}")
        if place.name in RESERVED or place.exists() or place.is_symlink():
            continue
        try:
            folder.rename(place)
        except OSError:
            if not place.exists():  # else somebody was faster
                raise
            continue
        return place
    raise Refused(f"there are a thousand checkpoints named {name}; delete some, or give this one another name")
