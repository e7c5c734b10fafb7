"""events.jsonl in a run's folder: what a run has to say of its heads and of itself, an event a line, by step.

The file is replaced whole when there is something new, so that whoever watches it reads it again; `events_stamp` says
when. It may be somebody else's: lines that are no events are left out, and what is read has a limit. What a head does
is said in the words that its measure has today; those in the file are for other programs, and for a measure that is
gone.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TypedDict

import orjson

from transformer.jobs.run_files import is_number, replace
from transformer.measures.catalogue import BY_NAME
from transformer.model.sites import label
from transformer.settings.config import KINDS, Kind

EVENTS_FILE = "events.jsonl"
MOST_BYTES, MOST_EVENTS, LONGEST = 4_000_000, 5_000, 200  # read of a file, and characters of a text
NUMBERS = ("value", "untrained", "even", "threshold")


class Event(TypedDict):
    """What has happened at a step: a head has gained a role, or something is wrong with the run (an alert)."""

    step: int
    until: int | None  # the step at which it was over; None if it lasts
    words: str  # of a head what it does, of an alert what is wrong
    kind: Kind | None  # of attention; None, as the next three, for an alert
    layer: int | None
    head: int | None
    measure: str | None  # its name in `transformer.measures.catalogue`
    alert: str | None  # a name of `transformer.training.alerts.ALERTS`; None for a head
    value: float | None
    untrained: float | None  # the same head with random weights
    even: float | None  # a head that looks at all it may see alike
    threshold: float | None  # that the value has reached


def sentence(event: Event) -> str:
    """An event as a line of a list: "X1H3 looks at the word to be written from step 900 on"."""
    step, until = event["step"], event["until"]
    if event["alert"]:
        return f"step{'s' * (until is not None)} {step:,}{'' if until is None else f' to {until:,}'}: {event['words']}"
    since = "from the start" if step == 0 else f"from step {step:,}"
    return f"{label(event['kind'], event['layer'], event['head'])} {event['words']} {since} " + (
        "on" if until is None else f"to {until:,}")


def read_events(folder: Path) -> list[Event]:
    """The events of a run, or of a checkpoint that kept them, by step; none where there is no such file."""
    try:
        with open(Path(folder) / EVENTS_FILE, "rb") as file:
            lines = file.read(MOST_BYTES).split(b"\n")
    except OSError:
        return []
    events = [event for line in lines if (event := _event(line)) is not None]
    return sorted(events, key=lambda event: event["step"])[:MOST_EVENTS]


def events_stamp(folder: Path) -> tuple[int, int] | None:
    """A value that changes when `read_events` has something new; None if there is no such file."""
    try:
        stat = (Path(folder) / EVENTS_FILE).stat()
    except OSError:
        return None
    return stat.st_size, stat.st_mtime_ns


def write_events(folder: Path, events: Sequence[Event]) -> None:
    """Replace the events of a run."""
    replace(folder / EVENTS_FILE, b"".join(orjson.dumps(event) + b"\n" for event in events))


def _event(line: bytes) -> Event | None:
    """The event of a line; None if it is damaged, or something else."""
    try:
        row = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(row, dict) or not _is_count(row.get("step")) or not isinstance(row.get("words"), str):
        return None
    of_head = row.get("kind") in KINDS and _is_count(row.get("layer")) and _is_count(row.get("head")) and isinstance(
        row.get("measure"), str)
    if not of_head and not isinstance(row.get("alert"), str):
        return None
    texts = {name: row[name][:LONGEST] for name in ("kind", "measure") if of_head} | (
        {} if of_head else {"alert": row["alert"][:LONGEST]})
    numbers = {name: float(row[name]) if is_number(row.get(name)) else None for name in NUMBERS}
    nothing = dict.fromkeys(("kind", "layer", "head", "measure", "alert"))
    words = " ".join("".join(sign if sign.isprintable() else " " for sign in row["words"][:LONGEST]).split())
    if of_head and (measure := BY_NAME.get(row["measure"])) and measure.role:
        words = measure.role.words
    return Event(**{**nothing, **texts, **numbers, "step": row["step"], "words": words,
                    "until": row["until"] if _is_count(row.get("until")) else None,
                    **({"layer": row["layer"], "head": row["head"]} if of_head else {})})


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value < 10**12
