"""The time that rooms go by."""

import sqlite3
import time

from transformer.jobs.process import boot_id


def _passed() -> float:
    """Seconds that nobody can set, and that go on while the computer sleeps, where the system counts those."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()


_began = time.time() - _passed()


def now() -> float:
    """Seconds of the epoch, by the clock as it stood when this process, or the one that it was forked from, began: a
    clock that is set meanwhile ends no room."""
    return _began + _passed()


def agree(db: sqlite3.Connection) -> None:
    """Go by the clock of the process that has made the rooms of a file since this computer was started, for as long as
    one of them lasts: the clock may have been set between that process's beginning and this one's."""
    global _began
    boot = boot_id()
    if boot is None:
        return
    db.execute("begin immediate")
    found = db.execute("select began from clock where boot = ?", [boot]).fetchone()
    if found and db.execute("select 1 from room where ends >= ?", [found["began"] + _passed()]).fetchone():
        _began = found["began"]
    else:
        db.execute("delete from clock")
        db.execute("insert into clock (boot, began) values (?, ?)", [boot, _began])
    db.execute("commit")
