"""One training at a time on a device: the others wait in order, each a small process that becomes the training.

`python -m transformer.jobs.queue FOLDER COMMAND...` waits until the run in FOLDER has its turn and then is COMMAND,
with the same pid. Nobody deals the turns out: who waits looks at the other runs beside its own, so that nothing stands
still when the app has ended, and one that was killed is passed over.
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
EVERY = 0.5  # seconds between two looks

# Records of runs that had ended, each as it was: one that is written anew says that the run was started again.
_ended: dict[Path, tuple[int, int, int]] = {}


def locked(runs: Path) -> AbstractContextManager[None]:
    """Nobody else starts, resumes or takes a turn inside."""
    return file_lock(runs / LOCK)


def record(folder: Path) -> dict[str, Any]:
    return run_files.read_json(folder / RECORD)


def ticket(about: dict[str, Any]) -> int:
    """The place of a run among all that were ever started, by its record; not a time, because clocks are set back."""
    value = about.get("ticket")
    return value if isinstance(value, int) else 0


def next_ticket(runs: Path) -> int:
    return 1 + max((ticket(record(path.parent)) for path in runs.glob(f"*/{RECORD}")), default=0)


def waiting(folder: Path) -> bool:
    """Whether a run is alive and has not had its turn."""
    about = record(folder)
    return bool(about.get("devices")) and running(about) is not None and not (folder / TURN).exists()


def before(folder: Path) -> list[Path]:
    """The runs that this one waits for: on one of its devices, and training or with an earlier turn. The first goes
    first. Turns go round by owner: nobody's second run has one while somebody else's first waits."""
    alive = _alive(folder.parent)
    alive[folder] = record(folder)
    training = {other for other in alive if (other / TURN).exists()}

    def beside(run: Path) -> list[Path]:
        devices = set(alive[run].get("devices") or ())
        return [other for other in alive if other != run and devices & set(alive[other].get("devices") or ())]

    def place(run: Path) -> tuple[bool, int, int]:
        """Of every run the same for whoever asks, or two could wait for each other."""
        earlier = [other for other in beside(run) if alive[other].get("owner") == alive[run].get("owner")
                   and (other in training or ticket(alive[other]) < ticket(alive[run]))]
        return run not in training, len(earlier), ticket(alive[run])

    mine = (True, *place(folder)[1:])
    return sorted((other for other in beside(folder) if place(other) < mine), key=place)


def _alive(runs: Path) -> dict[Path, dict[str, Any]]:
    """The runs whose process is there, with their records; those of runs that have ended are read once."""
    found = {}
    for path in runs.glob(f"*/{RECORD}"):
        with suppress(OSError):  # it is removed meanwhile
            stat = path.stat()
            stamp = stat.st_ino, stat.st_mtime_ns, stat.st_size
            if _ended.get(path) != stamp:
                about = record(path.parent)
                if running(about) is None:
                    _ended[path] = stamp
                else:
                    found[path.parent] = about
    return found


def wait(folder: Path) -> None:
    """Return when it is this run's turn, which it then has."""
    while True:
        if not before(folder):  # which is looked at again once nobody else can start
            with locked(folder.parent):
                if not before(folder):
                    (folder / TURN).touch()
                    return
        time.sleep(EVERY)


if __name__ == "__main__":
    wait(Path(sys.argv[1]))
    os.execv(sys.argv[2], sys.argv[2:])
