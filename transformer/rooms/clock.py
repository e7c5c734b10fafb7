"""The time that rooms go by."""

import sqlite3
import time

from transformer.jobs.process import boot_id


def _uptime() -> float:
    """Seconds that nobody can set, and that go on while the computer sleeps, where the system counts those."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()


_boot_time = time.time() - _uptime()  # by the clock as it was set when this process began


def now() -> float:
    """Seconds of the epoch, by the clock as it stood when this process, or the one that it was forked from, began: a
    clock that is set meanwhile ends no room."""
    return _boot_time + _uptime()


def agree(db: sqlite3.Connection) -> None:
    """Take over the clock of the process that made the rooms of a file since this computer was started, for as long as
    one of them lasts: the clock may have been set between that process's beginning and this one's."""
    global _boot_time
    boot = boot_id()
    if boot is None:
        return
    db.execute("begin immediate")
    row = db.execute("select began from clock where boot = ?", [boot]).fetchone()
    if row and db.execute("select 1 from room where ends >= ?", [row["began"] + _uptime()]).fetchone():
        _boot_time = row["began"]
    else:
        db.execute("delete from clock")
        db.execute("insert into clock (boot, began) values (?, ?)", [boot, _boot_time])
    db.execute("commit")
