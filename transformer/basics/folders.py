"""Folders that are there whole or not at all, with a list of their files."""

import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import orjson

from transformer.basics.resource_errors import os_errors

# Measured of a checkpoint once it is there, and not of its manifest, so that the id stays as it is:
ROLES = "roles.json"  # what its heads do
FAMILIAR = "familiar.json"  # what the texts hold that it was trained on
TUNED_LENS = "tuned_lens.safetensors"  # what its layers say, mapped to what it says in the end
MEASURED = ROLES, FAMILIAR, TUNED_LENS

TOLD = ("samples.jsonl", "events.jsonl")  # what a run has said of itself, which goes along with its checkpoint


def sha256(path: Path) -> str:
    """Of a file, in hexadecimal."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def is_no_file(path: Path) -> bool:
    """Whether something else stands in a file's place: a folder, or a pipe, which would be waited for without end."""
    return path.exists() and not path.is_file()


def size_of(path: Path) -> int:
    """Bytes of a file, or of all in a folder; what goes away meanwhile counts nothing."""
    if path.is_symlink() or not path.is_dir():
        return _size(path)
    return sum(_size(os.path.join(at, name)) for at, _, names in os.walk(path) for name in names)


def _size(path: Path | str) -> int:
    try:
        return os.lstat(path).st_size
    except OSError:
        return 0


def written_ns(path: Path) -> int | None:
    """When a file or a folder was written last, in nanoseconds of the clock; None where it is gone."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return None


@contextmanager
def whole_folder(folder: Path) -> Iterator[Path]:
    """A folder to write into that takes the place of `folder` at the end, or leaves no trace."""
    new, old = folder.with_name(f".{folder.name}.new-{os.getpid()}"), folder.with_name(f".{folder.name}.old")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True)
    try:
        with os_errors():
            yield new
        for path in new.rglob("*"):
            path.chmod(0o755 if path.is_dir() else 0o644)  # safetensors leaves its file to its owner alone
        write_manifest(new)
        for path in [*(p for p in new.rglob("*") if p.is_file()), new]:
            handle = os.open(path, os.O_RDONLY)
            os.fsync(handle)
            os.close(handle)
        if folder.exists():
            shutil.rmtree(old, ignore_errors=True)
            folder.rename(old)
        new.rename(folder)
        shutil.rmtree(old, ignore_errors=True)
    finally:
        shutil.rmtree(new, ignore_errors=True)


def write_manifest(folder: Path) -> None:
    """List the sha256 of every file in the folder but those that stand outside; to be written last."""
    listed = {path.relative_to(folder).as_posix(): sha256(path) for path in sorted(folder.rglob("*"))
              if path.is_file() and path not in [folder / name for name in ("manifest.json", *MEASURED)]}
    (folder / "manifest.json").write_bytes(orjson.dumps(listed, option=orjson.OPT_INDENT_2))


def recover(place: Path) -> None:
    """Mend what `whole_folder` left of the folders in a place where it was killed: put back what it had moved aside if
    that was between its two renames, and remove the rest. Nobody may be writing there."""
    for old in place.glob(".*.old"):
        folder = place / old.name.removeprefix(".").removesuffix(".old")
        if not folder.exists():
            old.rename(folder)
    for left in (*place.glob(".*.old"), *place.glob(".*.new-*")):
        shutil.rmtree(left, ignore_errors=True)
