"""Telling a process apart from every other one, so that only ours is ever signalled; and which of them goes first."""

import contextlib
import subprocess
from pathlib import Path
from typing import Any

BOOT = Path("/proc/sys/kernel/random/boot_id")
EXPENDABLE = 800  # of 1,000, see proc(5) on oom_score_adj


def go_first() -> None:
    """Be what the kernel ends when memory runs out, with all that this process starts, and not the app (Linux)."""
    with contextlib.suppress(OSError):  # none there, or somebody has raised it further, which cannot be taken back
        Path("/proc/self/oom_score_adj").write_text(str(EXPENDABLE))


def boot_id() -> str | None:
    """What this start of this machine is called; None where the system does not say (macOS)."""
    return BOOT.read_text().strip() if BOOT.exists() else None


def identify(pid: int) -> dict[str, Any] | None:
    """A process told apart from any later one with the same pid; None where it has ended."""
    if (boot := boot_id()) is not None:
        try:
            stat = Path(f"/proc/{pid}/stat").read_text()
            fields = stat.rsplit(")", 1)[1].split()  # from the state on; the name before may hold anything
        except (OSError, IndexError):
            return None
        ended = fields[0] in "ZX"  # dead, and only its parent has not asked yet
        return None if ended else {"pid": pid, "boot_id": boot, "start_time": int(fields[19])}
    shown = subprocess.run(["ps", "-o", "stat=,lstart=", "-p", str(pid)], capture_output=True, text=True)
    state, _, started = shown.stdout.strip().partition(" ")
    return {"pid": pid, "boot_id": None, "start_time": started.strip()} if started and state[0] != "Z" else None


def running(record: dict[str, Any]) -> int | None:
    """The pid of the process that a record identifies, if it still runs."""
    try:
        found = identify(int(record["pid"]))
    except (KeyError, TypeError, ValueError):
        return None
    return found["pid"] if found and all(record.get(key) == value for key, value in found.items()) else None
