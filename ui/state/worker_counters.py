"""Counters that all worker processes of a server share: a row of whole numbers in memory for each. All read all rows;
each worker writes its own, and the process that started them clears the row of one that has ended.

A server of one process has one row, so nothing that counts depends on their number.
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
FRESH = 3.0  # seconds for which a worker counts as alive after it last said so


class WorkerCounters:
    """Rows 0 to workers - 1, and one more for the process that started them."""

    def __init__(self, workers: int = 1) -> None:
        self.workers, self.mine = workers, 0
        self._file = tempfile.TemporaryFile()  # noqa: SIM115  open as long as a process has it
        self._file.truncate(size := (workers + 1) * len(PLACE) * BYTES)
        self._cells = memoryview(mmap.mmap(self._file.fileno(), size)).cast("q")
        self._threads = threading.RLock()
        # the same for all processes forked from this one, which alone removes the file
        self._lock_path = Path(tempfile.gettempdir(), f"headsup-{os.getpid()}-{secrets.token_hex(4)}.lock")
        weakref.finalize(self, _remove, self._lock_path, os.getpid())

    def get(self, name: str, worker: int | None = None) -> int:
        return self._cells[self._cell(name, worker)]

    def set(self, name: str, value: int, worker: int | None = None) -> None:
        """Write into one's own row, or that of `worker`."""
        self._cells[self._cell(name, worker)] = value

    def add(self, name: str, more: int = 1, worker: int | None = None) -> None:
        with self._threads:
            self._cells[self._cell(name, worker)] += more

    def took(self, milliseconds: float) -> None:
        """Count an answer and how long it took."""
        with self._threads:
            self.add("answers")
            self.add("milliseconds", round(milliseconds))
            for limit in WITHIN:
                self.add(f"within_{limit}", milliseconds <= limit)

    def each(self, name: str) -> list[int]:
        """The values of all workers."""
        return [self.get(name, worker) for worker in range(self.workers)]

    def total(self, name: str) -> int:
        return sum(self.each(name))

    def clear(self, worker: int) -> None:
        """Clear the row of a worker that has ended, except what it has counted."""
        for name in NOW:
            self._cells[self._cell(name, worker)] = 0

    def look_alive(self) -> None:
        """Record that this worker is alive."""
        self.set("seen", time.monotonic_ns())

    def fresh(self, worker: int) -> bool:
        """Whether a worker was alive a moment ago."""
        return time.monotonic_ns() - self.get("seen", worker) < FRESH * 1e9

    @contextmanager
    def locked(self) -> Iterator[None]:
        """A lock for one thread of one process; the system releases it when a process ends."""
        with self._threads, FileLock(self._lock_path):
            yield

    def _cell(self, name: str, worker: int | None) -> int:
        return (self.mine if worker is None else worker) * len(PLACE) + PLACE[name]


def _remove(path: Path, owner: int) -> None:
    if os.getpid() == owner:
        path.unlink(missing_ok=True)


_counters = WorkerCounters()


def counters() -> WorkerCounters:
    """The counters of this server."""
    return _counters


def start_counters(workers: int) -> WorkerCounters:
    """Counters for so many workers; called before they are started."""
    global _counters
    _counters = WorkerCounters(workers)
    return _counters
