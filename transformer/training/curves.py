"""A run's numbers as columns that grow: read once, and then only what was added."""

import math
import threading
from array import array
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import orjson

MOST = 64_000_000  # bytes of a metrics file that are read; of a longer one the end
GROUPS = {"train": ("step", "loss", "seconds", "lr", "grad_norm", "tokens_per_sec", "gpu_util", "gpu_memory",
                    "peak_share"),
          "held_out": ("step", "validation_loss", "seconds")}
NEEDED = {"train": "loss", "held_out": "validation_loss"}


class Curves:
    """The metrics.jsonl of one run, followed. Any number of threads may read; `update` takes in what is new.

    `generation` changes when the file was replaced and all points are other ones. Half-written last lines wait until
    they are whole; lines that are no row of numbers are left out.
    """

    def __init__(self, path: Path):
        self.path, self.generation, self.skipped = path, 0, 0
        self._lock = threading.Lock()
        self._clear()

    def _clear(self) -> None:
        self._place, self._inode, self._rest, self._seconds = 0, None, b"", math.nan
        self._columns = {group: {name: array("f") for name in names} for group, names in GROUPS.items()}

    def update(self) -> None:
        """Read what was added since the last time; everything again where the file is another one."""
        with self._lock:
            try:
                with open(self.path, "rb") as file:
                    stat = self.path.stat()
                    if (stat.st_ino != self._inode and self._inode is not None) or stat.st_size < self._place:
                        self._clear()
                        self.generation += 1
                    if stat.st_size == self._place and self._inode is not None:
                        return
                    first = self._inode is None
                    self._inode = stat.st_ino
                    if first and stat.st_size > MOST:
                        self._place = self.skipped = stat.st_size - MOST
                        file.seek(self._place)
                        self._place += len(file.readline())  # which is a part of one
                    file.seek(self._place)
                    new = file.read(stat.st_size - self._place)
            except OSError:
                return
            self._place += len(new)
            *lines, self._rest = (self._rest + new).split(b"\n")
            for line in lines:
                self._take(line)
            if len(self._rest) > 1_000_000:  # no row is that long
                self._rest = b""

    def _take(self, line: bytes) -> None:
        try:
            row = orjson.loads(line)
        except orjson.JSONDecodeError:
            return
        if not isinstance(row, dict) or not _is_number(row.get("step")):
            return
        if _is_number(row.get("seconds")):
            self._seconds = row["seconds"]
        for group in GROUPS:
            if _is_number(row.get(NEEDED[group])):
                for name, column in self._columns[group].items():
                    value = self._seconds if name == "seconds" else row.get(name)
                    column.append(value if _is_number(value) else math.nan)

    def count(self, group: str) -> int:
        with self._lock:
            return len(self._columns[group]["step"])

    def new(self, have: Mapping[int, Mapping[str, int]]) -> tuple[int, dict[str, dict[str, np.ndarray]]]:
        """The generation, and of each group the columns of what comes after as many points as somebody has of that
        generation, all at one moment: float32, NaN where something was not measured."""
        with self._lock:
            start = have.get(self.generation, {})
            return self.generation, {group: {name: np.array(column[start.get(group, 0):], dtype=np.float32)
                                             for name, column in columns.items()}
                                     for group, columns in self._columns.items()}

    def last(self, group: str) -> dict[str, float]:
        """The newest point; empty where there is none."""
        with self._lock:
            columns = self._columns[group]
            return {name: column[-1] for name, column in columns.items() if not math.isnan(column[-1])} if (
                columns["step"]) else {}


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 3e38
