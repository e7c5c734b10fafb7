"""The metrics of a run as columns that grow: read once, and then only what was added."""

import itertools
import math
import os
import threading
from array import array
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import numpy as np
import orjson

MOST = 64_000_000  # bytes that are read of a metrics file; of a longer one, its end
ACROSS = ("step", "tokens", "epoch", "time", "seconds")  # where a point lies; evaluations have those of the row before
GROUPS = {"train": (*ACROSS, "loss", "accuracy", "lr", "grad_norm", "tokens_per_sec", "gpu_util", "gpu_memory",
                    "peak_share"),
          "held_out": (*ACROSS, "validation_loss", "validation_accuracy")}
NEEDED = {"train": "loss", "held_out": "validation_loss"}
TOGETHER = 2_000  # rows that are taken in at once, few enough for a processor's cache
LARGEST = 3e38  # in a float32
_generations = itertools.count()


class Curves:
    """The metrics.jsonl of one run as it grows. Any number of threads may read; `update` takes in what is new.

    `generation` names one reading of the file from its start: it changes when the file is replaced, and no two objects
    of a process share one. A half-written last line waits until it is whole; a line without numbers is left out.
    """

    def __init__(self, path: Path):
        self.path = path
        self._lock = threading.Lock()
        self._clear()

    def _clear(self) -> None:
        self.generation, self.skipped = next(_generations), 0
        self._place, self._inode, self._rest = 0, None, b""
        self._began, self._across = math.nan, dict.fromkeys(ACROSS, math.nan)  # the first row's time, and the last row
        self._columns = {group: {name: array("f") for name in names} for group, names in GROUPS.items()}

    def update(self) -> None:
        """Reads what was added since the last time, or everything if the file was replaced."""
        with self._lock:
            try:
                with open(self.path, "rb") as file:
                    stat = os.fstat(file.fileno())  # of what is open: by its path it may be another by now
                    if (stat.st_ino != self._inode and self._inode is not None) or stat.st_size < self._place:
                        self._clear()
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
            lines = [line for line in lines if line]
            for start in range(0, len(lines), TOGETHER):
                self._take(lines[start:start + TOGETHER])
            if len(self._rest) > 1_000_000:  # no row is that long
                self._rest = b""

    def _take(self, lines: list[bytes]) -> None:
        """Takes in rows, column by column: a hundred thousand of them in a few tenths of a second."""
        rows = [row for row in _parsed(lines) if isinstance(row, dict) and _is_number(row.get("step"))]
        if not rows:
            return
        names = dict.fromkeys(name for group in GROUPS.values() for name in group)
        values = {name: _numbers([row.get(name) for row in rows]) for name in names}
        if math.isnan(self._began) and len(times := values["time"][~np.isnan(values["time"])]):
            self._began = times[0]
        for name in ACROSS:
            known = np.concatenate([[self._across[name]], values[name]])
            at = np.maximum.accumulate(np.where(np.isnan(known), 0, np.arange(len(known))))
            values[name], self._across[name] = known[at][1:], known[at][-1]
        values["time"] = values["time"] - self._began  # a float32 has no room for a date
        for group, columns in self._columns.items():
            measured = ~np.isnan(values[NEEDED[group]])
            for name, column in columns.items():
                column.frombytes(values[name][measured].astype(np.float32).tobytes())

    def new(self, have: Mapping[int, Mapping[str, int]]) -> tuple[int, dict[str, dict[str, np.ndarray]]]:
        """Returns the generation, and for each group the columns of the points that are missing, all of one moment:
        float32, NaN where a value was not measured. have: generation -> group -> how many points somebody has."""
        with self._lock:
            start = have.get(self.generation, {})
            return self.generation, {group: {name: np.array(column[start.get(group, 0):], dtype=np.float32)
                                             for name, column in columns.items()}
                                     for group, columns in self._columns.items()}

    def last(self, group: str) -> dict[str, float]:
        """Returns the newest point without what it did not measure; empty if there is none."""
        with self._lock:
            columns = self._columns[group]
            return {name: column[-1] for name, column in columns.items() if column and not math.isnan(column[-1])}


def _parsed(lines: list[bytes]) -> list[object]:
    """What stands in each line; of a line that is no JSON, nothing."""
    try:
        if len(rows := orjson.loads(b"[" + b",".join(lines) + b"]")) == len(lines):
            return rows
    except orjson.JSONDecodeError:
        pass
    rows = []
    for line in lines:
        with suppress(orjson.JSONDecodeError):
            rows.append(orjson.loads(line))
    return rows


def _numbers(values: list[object]) -> np.ndarray:
    """Numbers as float64; what is none, or has no place in a float32, is NaN."""
    if not set(map(type, values)) <= {int, float, type(None)}:
        values = [value if _is_number(value) else None for value in values]
    numbers = np.array(values, dtype=np.float64)  # None becomes NaN; whole numbers in JSON have 64 bits
    numbers[~(np.abs(numbers) < LARGEST)] = math.nan
    return numbers


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < LARGEST
