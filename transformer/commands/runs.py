"""The commands about runs that train somewhere else: given to a cluster, followed, stopped."""

import os
import time
from pathlib import Path
from typing import Annotated

import orjson
import typer

from transformer.jobs import launch, ray_cluster, run_files
from transformer.jobs.queue import locked, record
from transformer.settings.config import read_settings
from transformer.text.lines import lines_of
from transformer.training.event_file import read_events, sentence

LOOK_EVERY = 1.0  # seconds
SHOWN = (("loss", "loss", ".3f"), ("held-out", "validation_loss", ".3f"), ("right", "validation_accuracy", ".1%"),
         ("tokens/s", "tokens_per_sec", ",.0f"))

Run = Annotated[Path, typer.Argument(help="A run folder.")]


def train_on_cluster(out: Path, *, preset: str, steps: int | None, minutes: float | None, device: str, pairs: list[str],
                     resume: bool, processes: int | None) -> None:
    """`train --cluster`: submit a run, or one that has ended once more. Raises ValueError with what is wrong."""
    if not resume:
        given = {"--preset": preset, "--steps": steps, "--minutes": minutes, "--device": device}
        arguments = [word for name, value in given.items() if value is not None for word in (name, str(value))]
        arguments += [word for pair in pairs for word in ("--set", pair)]
        ray_cluster.submit(out, arguments, processes=processes or 1)
    else:
        changes = read_settings(pairs) | ({"steps": steps} if steps else {})
        with locked(out.parent):
            if launch.progress(out).under_way:
                raise ValueError(f"{out} is under way; stop it first")
            ray_cluster.resume(out, processes=processes, minutes=minutes, changes=changes)
    about = record(out)
    print(f"job {about['job']} on {about['cluster']}\nheadsup follow {out}")


def follow(runs: Annotated[list[Path], typer.Argument(help="Run folders.")]) -> None:
    """Print what runs write, wherever they train, until all have ended; Ctrl-C ends the looking alone. Of several runs,
    each line begins with the name of its own."""
    for run in runs:
        _must_be_a_run(run)
    followed = [Followed(run) for run in dict.fromkeys(runs)]
    widest = max(len(one.run.name) for one in followed) if len(followed) > 1 else 0
    going, failed = followed, []
    try:
        while going:
            for one in going:
                for line in one.read():
                    print(f"{one.run.name:{widest}}  {line}" if widest else line, flush=True)
                if not one.now.under_way:
                    print(how_it_ended(one.run, one.now), flush=True)
                    failed += [one] * (one.now.state in ("failed", "died"))
            if going := [one for one in going if one.now.under_way]:
                time.sleep(LOOK_EVERY)
    except KeyboardInterrupt:
        return
    if failed:
        named = len(followed) > 1
        raise ValueError("; ".join(f"{one.run.name}: " * named + why_it_failed(one.now) for one in failed))


class Followed:
    """A run with what it has written since it was last read."""

    def __init__(self, run: Path):
        self.run = run
        self._log, self._rows = (NewLines(run / name) for name in (launch.LOG, "metrics.jsonl"))
        self._said: set[str] = set()  # of its events, whose file is written anew with each
        self.now = launch.Progress("starting", 0, None)

    def read(self) -> list[str]:
        """The new lines to print; sets `now`, how the run stood before they were read."""
        self.now = launch.progress(self.run)  # before its files: what it wrote last is then still printed
        lines = self._log.read()
        said = [_row(line, evaluations=not self._log.path.exists()) for line in self._rows.read()]  # else in the log
        happened = [sentence(event) for event in read_events(self.run)]
        said += [one for one in happened if one not in self._said]
        self._said.update(happened)
        return [line for line in lines + said if line]


def stop(run: Run, wait: Annotated[bool, typer.Option(help="Wait until it has saved and ended.")] = True) -> None:
    """Ask a run to save and end, wherever it trains. On a cluster, one that goes on for minutes is ended as it is."""
    _must_be_a_run(run)
    if not launch.stop(run):
        print(f"{run} has already ended")
        return
    asked_at = time.monotonic()
    while wait and launch.progress(run).under_way:
        if time.monotonic() - asked_at > ray_cluster.GRACE and ray_cluster.status(run):
            launch.stop(run)
            asked_at = time.monotonic()
        time.sleep(LOOK_EVERY)
    if wait:
        now = launch.progress(run)
        print(how_it_ended(run, now), flush=True)
        if now.state in ("failed", "died"):
            raise ValueError(why_it_failed(now))


def _must_be_a_run(run: Path) -> None:
    if not any((run / name).exists() for name in ("config.json", "launch.json")):
        raise ValueError(f"{run} is not a run; `train --out` makes one")


def how_it_ended(run: Path, now: launch.Progress) -> str:
    """A line that says how a run ended, and at which step."""
    of = f" of {now.steps:,}" if now.steps else ""
    early = f": {now.why}" if now.why and now.state in ("finished", "stopped") else ""
    return f"{run.name} {now.state} at step {now.step:,}{of}{early}"


def why_it_failed(now: launch.Progress) -> str:
    """The reason of a run that failed, as far as it is known."""
    return now.why or "it ended without a message; the end of its log may say why"


def _row(line: str, *, evaluations: bool) -> str:
    """A row of metrics to read; empty where it says nothing."""
    try:
        row = orjson.loads(line)
        numbers = [f"{name} {row[key]:{form}}" for name, key, form in SHOWN if isinstance(row.get(key), int | float)]
        wanted = evaluations or "validation_loss" not in row
        known = numbers and wanted and run_files.is_number(row["step"])
        return f"step {row['step']}: {' '.join(numbers)}" if known else ""
    except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError):  # damaged
        return ""


class NewLines:
    """The lines of a file that is appended to, each once; of a long one only the last to begin with."""

    def __init__(self, path: Path):
        self.path = path
        self._at = max(0, path.stat().st_size - run_files.TAIL) if path.exists() else 0

    def read(self) -> list[str]:
        """Those that are whole by now. One that was cut short, as resuming does, goes on after what is left."""
        try:
            with open(self.path, "rb") as file:
                self._at = file.seek(min(self._at, file.seek(0, os.SEEK_END)))
                new = file.read()
        except OSError:
            return []
        whole = new[:new.rfind(b"\n") + 1]
        self._at += len(whole)
        return lines_of(whole.decode(errors="replace"))
