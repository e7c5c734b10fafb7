"""Events of a run: at which step of a training each head has gained a role, by recorded attention alone, and alerts.

A head has gained a role once the measure's value reaches the role's share (`Measure.role`), and stands MARGIN above the
same head with random weights and one that looks at all it may see alike: what comes from the mask, or from a short
sentence, is no event. It has lost it where the value is back half of that way. That ends the event, which is said once:
a head that comes back to a role takes up the same event again. L layers, H heads.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import orjson
from numpy.typing import NDArray

from transformer.jobs import run_files
from transformer.measures.catalogue import MEASURES, measures_of
from transformer.measures.measure import Role
from transformer.measures.totals import ENOUGH, ByKind
from transformer.settings.config import KINDS, Kind
from transformer.training.alerts import Alerts, alert
from transformer.training.event_file import MOST_EVENTS, Event, events_stamp, read_events, write_events
from transformer.training.recorded import Recorded, RecordedMeasures, read_recorded

if TYPE_CHECKING:
    from pandas import DataFrame

MARGIN = 0.25  # of the weight
ORDER: dict[str | None, int] = {
    name: place for place, name in enumerate((*KINDS, *(measure.name for measure in MEASURES)))}


@dataclass
class _Watched:
    """A measure of all heads of a kind, (L, H) each."""

    untrained: NDArray  # NaN where it is not known
    gained: NDArray  # the value from which a head has the role
    lost: NDArray  # below which it has it no more
    has: NDArray  # bool
    events: dict[tuple[int, int], Event] = field(default_factory=dict)


class HeadEvents:
    """The events of all heads, fed with the measures of one snapshot after the other."""

    def __init__(self, measures: RecordedMeasures, untrained: ByKind | None):
        """untrained: the measures with random weights. A measure that is a mean over less than five queries gives no
        events."""
        self._measures, self._untrained = measures, untrained
        self._watched: dict[tuple[Kind, str], _Watched] = {}

    def add(self, step: int, values: ByKind) -> None:
        """Take in the measures of a step: kind -> measure -> (L, H). Steps must come in order."""
        for kind in KINDS:
            by_name = values.get(kind, {})
            for name, role in ((measure.name, measure.role) for measure in measures_of(kind)):
                if (role and kind in role.kinds and name in by_name
                        and self._measures.queries[kind].get(name, 0) >= ENOUGH):
                    self._compare(step, kind, name, role, by_name[name])

    def _compare(self, step: int, kind: Kind, name: str, role: Role, values: NDArray) -> None:
        even, watched = self._measures.even[kind][name], self._watched.get((kind, name))
        if watched is None:
            random = np.full_like(values, np.nan)
            if self._untrained is not None:
                random = self._untrained[kind][name]
            base = np.fmax(random, even)
            gained = np.maximum(role.share, base + MARGIN)
            watched = _Watched(random, gained, (gained + base) / 2, np.zeros(values.shape, bool))
            self._watched[kind, name] = watched
        for layer, head in np.argwhere(~watched.has & (values >= watched.gained)).tolist():
            if (layer, head) in watched.events:
                watched.events[layer, head]["until"] = None
                continue
            watched.events[layer, head] = Event(
                step=step, until=None, words=role.words, kind=kind, layer=layer, head=head, measure=name, alert=None,
                even=round(float(even), 4),
                **{key: None if np.isnan(number) else round(float(number), 4) for key, number in (
                    ("value", values[layer, head]), ("untrained", watched.untrained[layer, head]),
                    ("threshold", watched.gained[layer, head]))})
        gone = watched.has & (values < watched.lost)
        for layer, head in np.argwhere(gone).tolist():
            watched.events[layer, head]["until"] = step
        watched.has = (watched.has | (values >= watched.gained)) & ~gone

    @property
    def events(self) -> list[Event]:
        """All so far, by step; the latest are left out where there are more than a file holds."""
        found = [event for watched in self._watched.values() for event in watched.events.values()]
        return sorted(found, key=lambda event: (event["step"], ORDER[event["kind"]], event["layer"], event["head"],
                                                ORDER[event["measure"]]))[:MOST_EVENTS]


def begin_events(recorded: Recorded) -> HeadEvents:
    """The events of a folder before its first snapshot."""
    random = recorded.untrained()
    return HeadEvents(recorded.measures, None if random is None else recorded.measures(random))


def head_events(folder: Path | str) -> list[Event]:
    """The events of the heads of a run or a checkpoint, computed from its recorded attention; none without any. Raises
    ValueError as `read_recorded` does."""
    recorded = read_recorded(Path(folder))
    if recorded is None:
        return []
    events = begin_events(recorded)
    for step, values in measured(recorded):
        events.add(step, values)
    return events.events


class RunEvents:
    """The events of a run in its folder, kept in events.jsonl as the run goes on."""

    def __init__(self, folder: Path, steps: int, *, until: int):
        """Takes up what a run of that many steps has recorded and logged up to step `until`."""
        self.folder, self._alerts, self._written = folder, Alerts(steps), None
        self._recorded = read_recorded(folder)
        self._heads = self._recorded and begin_events(self._recorded)
        if self._recorded and self._heads:
            for step, values in measured(self._recorded, until=until):
                self._heads.add(step, values)
        for row in run_files.read(folder / "metrics.jsonl"):
            if run_files.is_number(row.get("step")) and row["step"] <= until:
                self._alerts.add(row)
        self._write()

    def recorded(self, step: int) -> None:
        """Take in the snapshot that was recorded at a step."""
        if self._recorded and self._heads:
            with suppress(ValueError, OSError):  # as `measured` leaves out what cannot be read
                self._heads.add(step, self._recorded.measures(self._recorded.snapshot(step)))
            self._write()

    def logged(self, row: dict[str, object]) -> None:
        """Take in a row of metrics."""
        if self._alerts.add(row):
            self._write()

    def raise_alert(self, name: str, step: int) -> None:
        """An alert that no row shows."""
        self._alerts.events.append(alert(name, step))
        self._write()

    def _write(self) -> None:
        heads = self._heads.events if self._heads else []
        found = sorted([*heads, *self._alerts.events], key=lambda event: event["step"])
        if (now := orjson.dumps(found)) != self._written:
            self._written = now
            write_events(self.folder, found)


def events(folder: Path | str) -> "DataFrame":
    """The events of a run, or of a checkpoint that kept its recorded attention, as a tidy pandas table.

    Columns: `step`, `until` (None while it lasts), `words`; of a head `kind`, `layer`, `head`, `measure`, its `value`
    then, the same head with random weights (`untrained`), a head that looks at all it may see alike (`even`), and the
    `threshold`; of an alert its name in `alert`. Raises ValueError for a folder whose record is damaged.
    """
    from transformer.basics.data_frames import pandas

    found = known_events(Path(folder))
    return pandas().DataFrame(found, columns=list(Event.__annotations__))


def known_events(folder: Path) -> list[Event]:
    """The events that a folder kept, or those of its recorded attention if it kept none."""
    return read_events(folder) if events_stamp(folder) else head_events(folder)


def measured(recorded: Recorded, *, until: int | None = None) -> Iterator[tuple[int, ByKind]]:
    """Yields (step, the measures of its snapshot: kind -> measure -> (L, H)), for each snapshot that can be read.

    until: no later step.
    """
    for step in recorded.steps:
        if until is not None and step > until:
            return
        try:
            snapshot = recorded.snapshot(step)
        except (ValueError, OSError):
            continue
        yield step, recorded.measures(snapshot)


def head_measures(folder: Path | str) -> "DataFrame":
    """Every measure of every head at every step that recorded attention, as a tidy pandas table.

    Columns: `step`, `kind`, `layer`, `head`, `measure`, `value`, NaN where no query counts; `untrained`, the same head
    with random weights, and `even`, one that looks at all it may see alike; `queries`, how many it is a mean over.
    Raises ValueError for a folder without recorded attention.
    """
    from transformer.basics.data_frames import pandas

    recorded = read_recorded(Path(folder))
    if recorded is None:
        raise ValueError(f"{folder} has no recorded attention; name a run, or a checkpoint that kept its own")
    random = recorded.untrained()
    measures = recorded.measures
    untrained = None if random is None else measures(random)
    return pandas().DataFrame([
        {"step": step, "kind": kind, "layer": layer, "head": head, "measure": name, "value": values[layer, head],
         "untrained": untrained[kind][name][layer, head] if untrained else float("nan"),
         "even": measures.even[kind][name], "queries": measures.queries[kind][name]}
        for step, by_kind in measured(recorded) for kind, by_name in by_kind.items()
        for name, values in by_name.items() for layer, head in np.ndindex(values.shape)])
