"""The time that rooms go by."""

import time


def _passed() -> float:
    """Seconds that nobody can set, and that go on while the computer sleeps, where the system counts those."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()


_BEGAN = time.time() - _passed()


def now() -> float:
    """Seconds of the epoch, by the clock as it stood when this process, or the one that it was forked from, began: a
    clock that is set meanwhile ends no room."""
    return _BEGAN + _passed()
