"""Alerts of a run: what is wrong with it, by its rows of metrics alone.

Each is said once, and again only if it has been over in between.
"""

import math
from collections import deque
from typing import Any, NamedTuple

from transformer.jobs.run_files import is_number
from transformer.training.event_file import Event

RISES = 5  # evaluations of held-out text in a row, each worse than the one before: fewer come by chance
FLAT, FLAT_SHARE, FIRST_FLAT = 1e-3, 0.2, 10  # least relative gain, in a share of the steps, after so many evaluations
ROWS, IDLE, BUSY = 20, 0.5, 0.6  # a mean over rows of metrics: use of a GPU below which it is idle, until it is busy
FULL, ROOMY = 0.95, 0.9  # shares of a GPU's memory, above which it is full, until it is roomy
ALERTS = {
    "not_a_number": "the loss is not a number",
    "rising": f"the held-out loss has risen {RISES} evaluations in a row",
    "plateau": f"the held-out loss has gained less than {FLAT:.1%} in {FLAT_SHARE:.0%} of the steps",
    "idle": "the GPU is idle more than half of the time",
    "memory": f"the GPU's memory is more than {FULL:.0%} full",
}


def alert(name: str, step: int, *, value: float | None = None, words: str | None = None) -> Event:
    """An alert as an event."""
    return Event(step=step, until=None, words=words or ALERTS[name], kind=None, layer=None, head=None, measure=None,
                 alert=name, value=value if value is not None and math.isfinite(value) else None, untrained=None,
                 even=None, threshold=None)


class _Found(NamedTuple):
    """How an alert stands after a row."""

    name: str
    on: bool
    off: bool
    value: float


class Alerts:
    """The alerts of a run of that many steps, fed with its rows of metrics in turn; `events` has all so far."""

    def __init__(self, steps: int):
        self.steps = steps
        self.events: list[Event] = []
        self._open: dict[str, Event] = {}
        self._held_out: list[tuple[int, float]] = []  # step, the best loss so far
        self._before, self._rises = math.inf, 0
        self._use: deque[float] = deque(maxlen=ROWS)

    def add(self, row: dict[str, Any]) -> bool:
        """Take in a row; returns whether that has changed the events."""
        step, changed = row["step"], False
        checks = {"validation_loss": self._evaluated, "gpu_util": self._used, "gpu_memory": self._filled}
        for name, check in checks.items():
            for found in check(row) if is_number(row.get(name)) else ():
                changed |= self._switch(found, step)
        return changed

    def _switch(self, found: _Found, step: int) -> bool:
        """Whether an alert begins or is over."""
        if found.on and found.name not in self._open:
            self.events.append(alert(found.name, step, value=round(found.value, 4)))
            self._open[found.name] = self.events[-1]
            return True
        if found.off and found.name in self._open:
            self._open.pop(found.name)["until"] = step
            return True
        return False

    def _evaluated(self, row: dict[str, Any]) -> list[_Found]:
        loss, step = row["validation_loss"], row["step"]
        self._rises = self._rises + 1 if loss > self._before else 0
        self._before = loss
        self._held_out.append((step, min(loss, self._held_out[-1][1] if self._held_out else math.inf)))
        best, since = self._held_out[-1][1], step - FLAT_SHARE * self.steps
        then = next((value for at, value in reversed(self._held_out) if at <= since), None)
        flat = then is not None and len(self._held_out) >= FIRST_FLAT and best > (1 - FLAT) * then
        return [_Found("rising", self._rises >= RISES, self._rises == 0, loss), _Found("plateau", flat, not flat, best)]

    def _used(self, row: dict[str, Any]) -> list[_Found]:
        self._use.append(row["gpu_util"])
        mean = sum(self._use) / len(self._use)
        return [_Found("idle", len(self._use) == ROWS and mean < IDLE, mean >= BUSY, mean)]

    def _filled(self, row: dict[str, Any]) -> list[_Found]:
        if not (is_number(total := row.get("gpu_memory_total")) and total > 0):
            return []
        share = row["gpu_memory"] / total
        return [_Found("memory", share > FULL, share < ROOMY, share)]
