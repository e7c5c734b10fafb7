"""One training at a time on a device: the others wait in order, each a small process that becomes the training.

`python -m transformer.training.turns FOLDER COMMAND...` waits until the run in FOLDER has its turn and then is COMMAND,
with the same pid. Nobody deals the turns out: who waits looks at the other runs beside its own, so that nothing stands
still when the app has ended, and one that was killed is passed over.
"""

import contextlib
import fcntl
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from transformer.training import metrics
from transformer.training.process import running

RECORD, TURN, LOCK, ASKED_TO_STOP = "launch.json", "turn", ".turns.lock", "stop"
EVERY = 0.5  # seconds between two looks


@contextlib.contextmanager
def locked(runs: Path) -> Iterator[None]:
    """Nobody else starts, resumes or takes a turn inside; the kernel lets go however this process ends."""
    runs.mkdir(parents=True, exist_ok=True)
    with open(runs / LOCK, "a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def record(folder: Path) -> dict[str, object]:
    return metrics.read_json(folder / RECORD)


def ticket(folder: Path) -> int:
    """The place of a run among all that were ever started; not a time, because clocks are set back."""
    value = record(folder).get("ticket")
    return value if isinstance(value, int) else 0


def next_ticket(runs: Path) -> int:
    return 1 + max((ticket(path.parent) for path in runs.glob(f"*/{RECORD}")), default=0)


def waiting(folder: Path) -> bool:
    """Whether a run is alive and has not had its turn."""
    about = record(folder)
    return bool(about.get("devices")) and running(about) is not None and not (folder / TURN).exists()


def before(folder: Path) -> list[Path]:
    """The runs that this one waits for: on one of its devices, and training or queued earlier. The first goes first."""
    mine = record(folder)
    devices = set(mine.get("devices") or ())
    found = []
    for path in folder.parent.glob(f"*/{RECORD}"):
        other, about = path.parent, record(path.parent)
        if other == folder or not devices & set(about.get("devices") or ()) or running(about) is None:
            continue
        if (other / TURN).exists() or ticket(other) < ticket(folder):
            found.append(other)
    return sorted(found, key=lambda other: (not (other / TURN).exists(), ticket(other)))


def wait(folder: Path) -> None:
    """Return when it is this run's turn, which it then has."""
    while True:
        with locked(folder.parent):
            if not before(folder):
                (folder / TURN).touch()
                return
        time.sleep(EVERY)


if __name__ == "__main__":
    wait(Path(sys.argv[1]))
    os.execv(sys.argv[2], sys.argv[2:])
