"""What the worker processes of one server know of each other: a row of whole numbers for each, in memory that all of
them share. Everybody reads all rows; a worker writes its own, and the process that started them clears that of one
that has ended.

A server of one process has a board of one row, so that nobody who counts has to ask how many there are.
"""

import mmap
import os
import secrets
import tempfile
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock

WITHIN = (100, 250, 500, 1000, 2500)  # milliseconds
NOW = ("pid", "ready", "seen", "visitors", "working", "waiting", "waiting_since", "held", "kilobytes")  # while it lives
EVER = ("visits", "runs", "refused_uploads", "deaths", "answers", "milliseconds",
        *(f"within_{limit}" for limit in WITHIN))  # go on after it
PLACE = {name: number for number, name in enumerate((*NOW, *EVER))}
BYTES = 8
FRESH = 3.0  # seconds for which a worker is believed to be there after it last said so


class WorkerCounters:
    """Rows 0 to workers - 1, and one more for the process that started them."""

    def __init__(self, workers: int = 1) -> None:
        self.workers, self.mine = workers, 0
        self._file = tempfile.TemporaryFile()  # noqa: SIM115  for as long as there is a process that has it
        self._file.truncate(size := (workers + 1) * len(PLACE) * BYTES)
        self._cells = memoryview(mmap.mmap(self._file.fileno(), size)).cast("q")
        self._threads = threading.RLock()
        # one name for all processes that are forked from this one, which alone removes the file
        self._lock_path = Path(tempfile.gettempdir(), f"headsup-{os.getpid()}-{secrets.token_hex(4)}.lock")
        weakref.finalize(self, _remove, self._lock_path, os.getpid())

    def get(self, name: str, worker: int | None = None) -> int:
        return self._cells[self._cell(name, worker)]

    def set(self, name: str, value: int, worker: int | None = None) -> None:
        """In one's own row, if no other is named."""
        self._cells[self._cell(name, worker)] = value

    def add(self, name: str, more: int = 1, worker: int | None = None) -> None:
        with self._threads:
            self._cells[self._cell(name, worker)] += more

    def took(self, milliseconds: float) -> None:
        """Count an answer by how long it took."""
        with self._threads:
            self.add("answers")
            self.add("milliseconds", round(milliseconds))
            for limit in WITHIN:
                self.add(f"within_{limit}", milliseconds <= limit)

    def each(self, name: str) -> list[int]:
        """Of every worker."""
        return [self.get(name, worker) for worker in range(self.workers)]

    def total(self, name: str) -> int:
        return sum(self.each(name))

    def clear(self, worker: int) -> None:
        """Forget a worker that has ended, but not what it counted."""
        for name in NOW:
            self._cells[self._cell(name, worker)] = 0

    def look_alive(self) -> None:
        """Say that this worker is there."""
        self.set("seen", time.monotonic_ns())

    def fresh(self, worker: int) -> bool:
        """Whether a worker has said a moment ago that it is there."""
        return time.monotonic_ns() - self.get("seen", worker) < FRESH * 1e9

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lets one thread of one process in at a time; the system releases the lock of a process that ends."""
        with self._threads, FileLock(self._lock_path):
            yield

    def _cell(self, name: str, worker: int | None) -> int:
        return (self.mine if worker is None else worker) * len(PLACE) + PLACE[name]


def _remove(path: Path, owner: int) -> None:
    if os.getpid() == owner:
        path.unlink(missing_ok=True)


_board = WorkerCounters()


def board() -> WorkerCounters:
    """That of this server."""
    return _board


def lay_out(workers: int) -> WorkerCounters:
    """Before the workers are started: a board for so many."""
    global _board
    _board = WorkerCounters(workers)
    return _board
