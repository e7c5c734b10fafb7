"""A queue for each device: one training at a time, and the others wait, each a small process that becomes the training.

`python -m transformer.jobs.queue FOLDER COMMAND...` waits until the run in FOLDER has its turn and then becomes
COMMAND, with the same pid. No process manages the queue: each that waits looks at the other runs beside its own, so the
queue moves on when the app has ended, and passes over a run that was killed.
"""

import os
import sys
import time
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any

from transformer.jobs import run_files
from transformer.jobs.lock import file_lock
from transformer.jobs.process import running

RECORD, TURN, LOCK, ASKED_TO_STOP = "launch.json", "turn", ".turns.lock", "stop"
EVERY = 0.5  # seconds between two looks at the other runs

# Records of runs that have ended -> inode, time and size of the file; a run that is started again has a new record.
_ended: dict[Path, tuple[int, int, int]] = {}


class StopFlag:
    """Whether a job was asked to stop, as a handler of signals may say. It has no lock: that of an `Event` would be
    waited for without end by a handler that interrupts whoever holds it."""

    def __init__(self) -> None:
        self._on = False

    def set(self) -> None:
        self._on = True

    def is_set(self) -> bool:
        return self._on


def locked(runs: Path) -> AbstractContextManager[None]:
    """A lock: nobody else starts, resumes or takes a turn while it is held."""
    return file_lock(runs / LOCK)


def record(folder: Path) -> dict[str, Any]:
    return run_files.read_json(folder / RECORD)


def ticket(about: dict[str, Any]) -> int:
    """The number of a run's start among all starts, by its record; not a time, because clocks are set back."""
    value = about.get("ticket")
    return value if isinstance(value, int) else 0


def next_ticket(runs: Path) -> int:
    return 1 + max((ticket(record(path.parent)) for path in runs.glob(f"*/{RECORD}")), default=0)


def waiting(folder: Path) -> bool:
    """Whether a run is alive and has not had its turn."""
    about = record(folder)
    return bool(about.get("devices")) and running(about) is not None and not (folder / TURN).exists()


def before(folder: Path) -> list[Path]:
    """The runs that this one waits for, in order: those on one of its devices that train or have an earlier turn. Turns
    go round by owner: nobody's second run has one while somebody else's first waits."""
    alive = runs_alive(folder.parent)
    alive[folder] = record(folder)
    training = {other for other in alive if (other / TURN).exists()}

    def beside(run: Path) -> list[Path]:
        devices = set(alive[run].get("devices") or ())
        return [other for other in alive if other != run and devices & set(alive[other].get("devices") or ())]

    def place(run: Path) -> tuple[bool, int, int]:
        """The place of a run, the same whichever run asks, or two could wait for each other."""
        earlier = [other for other in beside(run) if alive[other].get("owner") == alive[run].get("owner")
                   and (other in training or ticket(alive[other]) < ticket(alive[run]))]
        return run not in training, len(earlier), ticket(alive[run])

    mine = (True, *place(folder)[1:])
    return sorted((other for other in beside(folder) if place(other) < mine), key=place)


def runs_alive(runs: Path) -> dict[Path, dict[str, Any]]:
    """The runs whose process is running, with their records; a record of a run that has ended is read only once."""
    alive = {}
    for path in runs.glob(f"*/{RECORD}"):
        with suppress(OSError):  # it may be removed meanwhile
            stat = path.stat()
            stamp = stat.st_ino, stat.st_mtime_ns, stat.st_size
            if _ended.get(path) != stamp:
                about = record(path.parent)
                if running(about) is None:
                    _ended[path] = stamp
                else:
                    alive[path.parent] = about
    return alive


def wait(folder: Path) -> None:
    """Wait for this run's turn, and take it."""
    while True:
        if not before(folder):  # looked at again below, when no other run can start
            with locked(folder.parent):
                if not before(folder):
                    (folder / TURN).touch()
                    return
        time.sleep(EVERY)


if __name__ == "__main__":
    wait(Path(sys.argv[1]))
    os.execv(sys.argv[2], sys.argv[2:])
