"""A zip file as named streams, after its directory proved harmless."""

import re
import stat
import struct
import unicodedata
import zipfile
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import IO, BinaryIO, Protocol

from transformer.checkpoints.weights import Refused, clean

MOST_FILES = 500
LARGEST = 2_000_000_000  # bytes unpacked
LONGEST_NAME = 200
LARGEST_DIRECTORY = 1_000 * MOST_FILES  # bytes
MOST_RATIO = 100  # unpacked to packed, of all files together; weights are about 1.1
SMALL = 1_000_000  # bytes that need no ratio
END, END_SIZE, LONGEST_COMMENT = b"PK\x05\x06", 22, 65_535
SAVED = ("it was written by torch.save, a pickle that can run code when opened; save the weights as model.safetensors")
AGAIN = "zip the checkpoint's folder again"


class Readable(Protocol):
    def read(self, size: int = -1, /) -> bytes: ...


@dataclass(frozen=True)
class Item:
    """A file that was sent: its name with its folders, its declared size, and how to read it."""

    name: str
    size: int
    open: Callable[[], AbstractContextManager[Readable]]


def check_name(name: str) -> None:
    """Raises Refused for a name that leads out of its folder, or is empty."""
    parts = name.removesuffix("/").split("/")
    if (not name or len(name) > LONGEST_NAME or "\\" in name or re.match(r"/|[A-Za-z]:", name) or not name.isprintable()
            or any(part.strip() in ("", ".", "..") for part in parts)):
        raise Refused(f"it holds a file named {clean(name, longest=60)!r}, which could be written outside its folder; "
                      f"do not use it, or {AGAIN}")


def same_name(name: str) -> str:
    """A key that two names share if some file system takes them for the same."""
    return unicodedata.normalize("NFC", name).casefold()


def read_archive(file: BinaryIO) -> list[Item]:
    """The files of a zip. Raises Refused for one that is damaged, encrypted, or harmful. Unpacks nothing."""
    size = file.seek(0, 2)
    directory = _directory(file, size)
    try:
        archive = zipfile.ZipFile(file)
    except (zipfile.BadZipFile, struct.error, NotImplementedError, UnicodeDecodeError, ValueError) as error:
        raise Refused(f"the zip is damaged ({clean(error)}); {AGAIN}") from None
    entries = archive.infolist()
    for entry in entries:
        _check(entry)
    if any(re.fullmatch(r"(.*/)?data\.pkl", entry.filename) for entry in entries):
        raise Refused(SAVED)
    names = [same_name(entry.filename.removesuffix("/")) for entry in entries]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise Refused(f"the zip holds {clean(twice, longest=60)!r} twice; {AGAIN}")
    _check_places(file, entries, directory)
    total = sum(entry.file_size for entry in entries)
    if total > LARGEST:
        raise Refused(f"the zip would unpack to {total:,} bytes; the limit is {LARGEST:,}. Please send a smaller "
                      "model, or import it as a folder")
    if total > SMALL + MOST_RATIO * size:
        raise Refused(f"the zip has {size:,} bytes and would unpack to {total:,}, more than {MOST_RATIO} times as "
                      "many, which no weights do; do not use it")
    return [Item(entry.filename, entry.file_size, _opener(archive, entry)) for entry in entries if not entry.is_dir()]


def _opener(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> Callable[[], IO[bytes]]:
    return lambda: archive.open(entry)


def _directory(file: BinaryIO, size: int) -> int:
    """The start of the list of files, checked before zipfile reads it: zipfile would read any length."""
    file.seek(max(0, size - END_SIZE - LONGEST_COMMENT))
    tail = file.read()
    if b"/data.pkl" in tail:
        raise Refused(SAVED)
    at = len(tail) - END_SIZE if tail[-END_SIZE:].startswith(END) else tail.rfind(END)
    if at < 0 or len(tail) - at < END_SIZE:
        raise Refused(f"the zip is damaged: it has no end; {AGAIN}")
    disk, first, here, count, length, start, comment = struct.unpack("<4xHHHHLLH", tail[at:at + END_SIZE])
    place = size - len(tail) + at
    if tail[max(0, at - 20):at].startswith(b"PK\x06\x07") or 0xFFFF in (here, count):
        raise Refused(f"the zip is a zip64, for more than {LARGEST:,} bytes or many files (zip64); {AGAIN}")
    if disk or first or here != count or place + END_SIZE + comment != size or start + length != place:
        raise Refused(f"the zip is damaged, or has extra data before or after it; {AGAIN}")
    if count > MOST_FILES or length > LARGEST_DIRECTORY:
        raise Refused(f"the zip holds {count:,} files in a list of {length:,} bytes; at most {MOST_FILES} are read. "
                      f"Please {AGAIN}, and nothing else")
    return start


def _check(entry: zipfile.ZipInfo) -> None:
    """Raises Refused for an entry that is not an ordinary file or folder."""
    check_name(entry.orig_filename)
    name = clean(entry.orig_filename, longest=60)
    if entry.filename != entry.orig_filename:
        raise Refused(f"the zip names {name!r} in two ways; {AGAIN}")
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR) or (kind == stat.S_IFDIR) > entry.is_dir():
        what = "a link" if kind == stat.S_IFLNK else "no ordinary file"
        raise Refused(f"{name!r} in the zip is {what}; {AGAIN}, with the files themselves")
    if entry.is_dir() and entry.file_size:
        raise Refused(f"{name!r} in the zip is a folder with content of its own; {AGAIN}")
    if entry.flag_bits & 0x2061:  # encrypted, patched, strongly encrypted, masked
        raise Refused(f"{name!r} in the zip is encrypted; {AGAIN}, without a password")
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise Refused(f"{name!r} in the zip uses an unsupported compression; {AGAIN}, the usual way")


def _check_places(file: BinaryIO, entries: list[zipfile.ZipInfo], directory: int) -> None:
    """Raises Refused if two entries share bytes: many large files could come out of one small one."""
    end = 0
    for entry in sorted(entries, key=lambda one: one.header_offset):
        file.seek(entry.header_offset)
        header = file.read(30)
        if len(header) < 30 or not header.startswith(b"PK\x03\x04"):
            raise Refused(f"the zip is damaged at {clean(entry.filename, longest=60)!r}; {AGAIN}")
        name, extra = struct.unpack("<HH", header[26:])
        if entry.header_offset < end:
            raise Refused(f"files in the zip overlap at {clean(entry.filename, longest=60)!r}; do not use it")
        end = entry.header_offset + 30 + name + extra + entry.compress_size
    if end > directory:
        raise Refused(f"files in the zip overlap with its list of files; {AGAIN}")
