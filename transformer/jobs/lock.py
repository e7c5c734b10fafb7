"""Locks between processes and threads, by filelock; the system releases them however their process ends."""

import contextlib
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from transformer.jobs import run_files
from transformer.jobs.process import identify, running

LOCK, HOLDER = ".lock", "holder.json"  # files in a folder that one process works in
POLL = 0.05  # seconds between two attempts


@contextlib.contextmanager
def file_lock(path: Path, *, seconds: float | None = None) -> Iterator[None]:
    """Waits until no other thread or process holds the lock of this file, and holds it. Raises TimeoutError after
    waiting for `seconds`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(path, timeout=-1 if seconds is None else seconds, poll_interval=POLL)
    try:
        lock.acquire()
    except Timeout:
        raise TimeoutError(f"somebody else holds the lock {path}") from None
    try:
        yield
    finally:
        lock.release()


@contextlib.contextmanager
def alone(folder: Path, doing: str) -> Iterator[None]:
    """Lets one process at a time work in a folder. Raises ValueError, naming the other process, if there is one.

    A network disk may have no locks; a process of this machine that is still running is then believed if its record
    says that it works there.
    """
    lock = FileLock(folder / LOCK, timeout=0, poll_interval=POLL)
    try:
        lock.acquire()
    except Timeout:
        raise ValueError(_refusal(folder, doing)) from None
    except OSError:
        if holder(folder) not in (None, os.getpid()):
            raise ValueError(_refusal(folder, doing)) from None
    _write(folder, {"pid": os.getpid(), **(identify(os.getpid()) or {}), "host": socket.gethostname()})
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            (folder / HOLDER).unlink()
        lock.release()


def holder(folder: Path) -> int | None:
    """Returns the process of this machine that works in a folder."""
    return running(run_files.read_json(folder / HOLDER))


def check_free(folder: Path, doing: str) -> None:
    """Raises ValueError if a process of this machine works in the folder."""
    if holder(folder) is not None:
        raise ValueError(_refusal(folder, doing))


def _refusal(folder: Path, doing: str) -> str:
    known = run_files.read_json(folder / HOLDER)
    where = "" if known.get("host") in (None, socket.gethostname()) else f" on {known['host']}"
    who = f"process {known['pid']}{where}" if isinstance(known.get("pid"), int) else "another process"
    return f"{who} is {doing} {folder.name} already; stop it first, or wait until it ends"


def _write(folder: Path, record: dict[str, Any]) -> None:
    with contextlib.suppress(OSError):  # on a full disk the lock still holds
        run_files.write_json(folder / HOLDER, record)
