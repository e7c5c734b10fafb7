"""Training as a process of its own: started, recognised, stopped, and nothing else's process ever signalled."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import orjson

from transformer.training import metrics

ROOT = Path(__file__).resolve().parents[2]
RECORD, LOG, ASKED_TO_STOP = "launch.json", "log.txt", "stop"


def identify(pid: int) -> dict[str, object] | None:
    """A process told apart from any later one with the same pid; None where it has ended."""
    boot, stat = Path("/proc/sys/kernel/random/boot_id"), Path(f"/proc/{pid}/stat")
    if boot.exists():
        try:
            fields = stat.read_text().rsplit(")", 1)[1].split()  # from the state on; the name before may hold anything
        except (OSError, IndexError):
            return None
        ended = fields[0] in "ZX"  # dead, and only its parent has not asked yet
        return None if ended else {"pid": pid, "boot_id": boot.read_text().strip(), "start_time": int(fields[19])}
    shown = subprocess.run(["ps", "-o", "stat=,lstart=", "-p", str(pid)], capture_output=True, text=True)  # macOS
    state, _, started = shown.stdout.strip().partition(" ")
    return {"pid": pid, "boot_id": None, "start_time": started.strip()} if started and state[0] != "Z" else None


@dataclass(frozen=True)
class Progress:
    """How a launched run stands."""

    state: str  # "starting", "running", "finished", "stopped", "failed", or "died": ended without saying so
    step: int
    steps: int | None
    why: str | None = None

    @property
    def under_way(self) -> bool:
        return self.state in ("starting", "running")


def launch(folder: Path, arguments: list[str]) -> None:
    """Start `python -m transformer train --out folder` with more arguments, in a session of its own.

    It goes on when the starter ends. Raises ValueError where the folder holds a run already.
    """
    folder.mkdir(parents=True, exist_ok=True)
    try:  # whoever makes this file is the one who starts
        (folder / RECORD).touch(exist_ok=False)
    except FileExistsError:
        raise ValueError(f"{folder.name} was started already; choose another name for the run") from None
    command = [sys.executable, "-m", "transformer", "train", "--out", str(folder.resolve()), *arguments]
    with open(folder / LOG, "ab") as log:
        process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                   start_new_session=True,
                                   env={**os.environ, "OMP_NUM_THREADS": "1", "NO_COLOR": "1", "COLUMNS": "100"})
    metrics.write_json(folder / RECORD, (identify(process.pid) or {"pid": process.pid}) | {"time": time.time()})
    threading.Thread(target=process.wait, daemon=True).start()  # so that it leaves no zombie


def _recorded(folder: Path) -> dict[str, object] | None:
    """The process that was launched for a folder, if it still runs."""
    try:
        record = orjson.loads((folder / RECORD).read_bytes())
        found = identify(int(record["pid"]))
        return found if found is not None and all(record.get(key) == value for key, value in found.items()) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def alive(folder: Path) -> bool:
    """Whether the process launched for this folder still runs."""
    return _recorded(folder) is not None


def stop(folder: Path) -> bool:
    """Ask the run to save and end; False where its process has ended already, and then nothing is signalled."""
    found = _recorded(folder)
    if found is None:
        return False
    (folder / ASKED_TO_STOP).touch()  # one that is only starting ends at once and says nothing
    with contextlib.suppress(ProcessLookupError):
        os.kill(found["pid"], signal.SIGTERM)
    return True


def progress(folder: Path) -> Progress:
    """How the run stands, by its status file and by whether its process is there."""
    running = alive(folder)  # before the file: a run that ends between the two has then said how
    ended = "stopped" if (folder / ASKED_TO_STOP).exists() else "died"
    try:
        status = orjson.loads((folder / "status.json").read_bytes())
        state, step, steps, why = (status.get(name) for name in ("state", "step", "steps", "why"))
    except (OSError, ValueError, AttributeError):
        return Progress("starting" if running else ended, 0, None)
    if state not in ("finished", "stopped", "failed"):
        state = "running" if running else ended
    rows = metrics.read(folder / "metrics.jsonl")
    return Progress(state, max([step or 0, *(row.get("step", 0) for row in rows[-1:])]), steps, why)


def log_tail(folder: Path, *, lines: int = 12) -> str:
    """The last lines of what the run has printed."""
    try:
        with open(folder / LOG, "rb") as log:
            log.seek(max(0, log.seek(0, os.SEEK_END) - 20_000))
            return "\n".join(log.read().decode(errors="replace").rstrip().splitlines()[-lines:])
    except OSError:
        return ""
