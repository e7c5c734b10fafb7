"""One process at a time: locks that the kernel lets go of however their process ends."""

import contextlib
import fcntl
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, TextIO

import orjson

from transformer.jobs import run_files
from transformer.jobs.process import identify, running

LOCK = ".lock"
LOOK = 0.05  # seconds between two looks whether a lock is free


@contextlib.contextmanager
def held(path: Path, *, seconds: float | None = None) -> Iterator[None]:
    """Nobody else, no other thread and no other process, is inside for the same file; waits until that is so. Raises
    TimeoutError where it waits for so many seconds."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "a") as file:
        if seconds is None:
            fcntl.flock(file, fcntl.LOCK_EX)
        else:
            _lock_within(file, seconds)
        yield


def _lock_within(file: TextIO, seconds: float) -> None:
    until = time.monotonic() + seconds
    while True:
        try:
            return fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > until:
                raise TimeoutError(f"somebody else is inside for {file.name}") from None
        time.sleep(LOOK)


@contextlib.contextmanager
def alone(folder: Path, doing: str) -> Iterator[None]:
    """Nobody else is inside for the same folder. Raises ValueError where somebody is, saying which process.

    A network disk may have no locks; there a process of this machine that says it is inside, and lives, is believed.
    """
    with open(folder / LOCK, "a+b", buffering=0) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            free = True
        except BlockingIOError:
            free = False
        except OSError:
            free = holder(folder) in (None, os.getpid())
        if not free:
            raise ValueError(_taken(folder, doing))
        _write(file, {"pid": os.getpid(), **(identify(os.getpid()) or {}), "host": socket.gethostname()})
        try:
            yield
        finally:
            _write(file, {})


def holder(folder: Path) -> int | None:
    """The process of this machine that is inside."""
    return running(run_files.read_json(folder / LOCK))


def check_free(folder: Path, doing: str) -> None:
    """Raises ValueError where a process of this machine is inside."""
    if holder(folder) is not None:
        raise ValueError(_taken(folder, doing))


def _taken(folder: Path, doing: str) -> str:
    known = run_files.read_json(folder / LOCK)
    where = "" if known.get("host") in (None, socket.gethostname()) else f" on {known['host']}"
    who = f"process {known['pid']}{where}" if isinstance(known.get("pid"), int) else "another process"
    return f"{who} is {doing} {folder.name} already; stop it first, or wait until it ends"


def _write(file: BinaryIO, who: dict[str, Any]) -> None:
    with contextlib.suppress(OSError):  # a disk that is full changes nothing about the lock
        file.truncate(0)
        file.write(orjson.dumps(who))
