"""Processes of ours: how they are recognised, so that no other is signalled, and which of them ends without memory."""

import contextlib
import sys
from pathlib import Path
from typing import Any

import psutil

BOOT = Path("/proc/sys/kernel/random/boot_id")
EXPENDABLE = 800  # of 1,000, see proc(5) on oom_score_adj


def go_first() -> None:
    """Makes the kernel end this process and its children, and not the app, when memory runs out (Linux)."""
    with contextlib.suppress(OSError):  # not Linux, or raised further already, which cannot be undone
        Path("/proc/self/oom_score_adj").write_text(str(EXPENDABLE), "utf-8")


def boot_id() -> str | None:
    """The id of this boot of the machine; None where the system has none (macOS, Windows)."""
    return BOOT.read_text("utf-8").strip() if BOOT.exists() else None


def identify(pid: int) -> dict[str, Any] | None:
    """Returns what tells a process apart from any later one with the same pid; None if it has ended."""
    try:
        process = psutil.Process(pid)
        if process.status() in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD):  # its parent has not asked for its end yet
            return None
        return {"pid": pid, "boot_id": boot_id(), "start_time": _start_time(process)}
    except (psutil.Error, OSError, ValueError):
        return None


def _start_time(process: psutil.Process) -> int | float:
    """When a process started: on Linux in clock ticks since the boot, which no setting of the clock changes."""
    if sys.platform != "linux":
        return process.create_time()
    stat = Path(f"/proc/{process.pid}/stat").read_text("utf-8", errors="replace")
    return int(stat.rsplit(")", 1)[1].split()[19])  # the name in parentheses may hold anything


def running(record: dict[str, Any]) -> int | None:
    """Returns the pid of the process that a record identifies, if it is still running."""
    try:
        found = identify(int(record["pid"]))
    except (KeyError, TypeError, ValueError):
        return None
    return found["pid"] if found and all(record.get(key) == value for key, value in found.items()) else None
