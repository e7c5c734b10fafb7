"""Sweeps: runs that differ in one or two settings, a run for each value or pair of values.

Each run of a sweep has a file sweep.json, so that the others are found after a restart, and after it was renamed.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

import orjson
from pydantic import ValidationError

from transformer.jobs import ray_cluster, run_files
from transformer.jobs.launch import launch, progress
from transformer.jobs.queue import record
from transformer.settings.config import ModelConfig, RunConfig, TrainConfig, read_settings
from transformer.training.runs import LONGEST_NAME, check_name, find

FILE = "sweep.json"  # in the folder of each of its runs
MOST_SETTINGS, MOST_RUNS = 2, 24
LONGEST_PART = 20  # characters of a value in a run's name
OPENING, CLOSING = "[{", "]}"
Cell = dict[str, object]  # a value for each setting that is tried


@dataclass(frozen=True)
class Sweep:
    """The runs of a sweep."""

    name: str
    values: dict[str, list[object]]  # of each setting, all that are tried
    folders: dict[str, Path]  # key of a cell -> its run; without those that are deleted or not made yet

    @property
    def cells(self) -> list[Cell]:
        """A value for each setting, in every combination; the last setting changes first."""
        return cells_of(self.values)

    def folder(self, cell: Cell) -> Path | None:
        """The run that has these values; None where there is none."""
        return self.folders.get(_key(cell))


def read_values(texts: Sequence[str]) -> dict[str, list[object]]:
    """["n_heads=1,2,4", "positions=sinusoidal,none"] as values by setting, each read as `read_settings` reads one; a
    comma inside of brackets or quotes separates nothing.

    Raises ValueError for what is no list of at least two different values, for an unknown setting, for more than
    MOST_SETTINGS settings, and for more than MOST_RUNS runs.
    """
    values: dict[str, list[object]] = {}
    for text in texts:
        name, equals, listed = (part.strip() for part in text.partition("="))
        if not equals:
            raise ValueError(f"{text[:60]!r} has no '='; write a setting and its values, as n_heads=1,2,4")
        if name in values:
            raise ValueError(f"{name} is there twice; write all its values after one '='")
        if name not in {*ModelConfig.model_fields, *TrainConfig.model_fields}:
            raise ValueError(f"unknown setting {name[:60]!r}; known are {', '.join(known_settings())}")
        parts = [part.strip() for part in _split(listed)]
        if "" in parts:
            raise ValueError(f"{name} has an empty value; write its values with one comma between two of them")
        values[name] = [read_settings([f"{name}={part}"])[name] for part in parts]
        try:
            written = [*map(orjson.dumps, values[name])]
        except orjson.JSONEncodeError as error:
            raise ValueError(f"a value of {name} cannot be written down ({error}); write it in plain text") from None
        if twice := next((part for at, part in enumerate(parts) if written[at] in written[:at]), None):
            raise ValueError(f"{name} has the value {twice[:60]} twice; leave one out")
        if len(parts) < 2:
            raise ValueError(f"{name} has one value; a sweep needs two or more, as {name}={parts[0][:60]},…")
    if len(values) > MOST_SETTINGS:
        raise ValueError(f"{len(values)} settings; a sweep tries values of at most {MOST_SETTINGS}")
    if (runs := prod(map(len, values.values()))) > MOST_RUNS:
        raise ValueError(f"these values make {runs:,} runs; the limit is {MOST_RUNS}. Please leave some out")
    return values


def known_settings() -> list[str]:
    """The names of all settings."""
    return sorted({*ModelConfig.model_fields, *TrainConfig.model_fields})


def _split(text: str) -> list[str]:
    """A text at its commas, but not at those inside of brackets or quotes."""
    parts, depth, quoted = [""], 0, False
    for sign in text:
        quoted ^= sign == '"'
        depth += 0 if quoted else (sign in OPENING) - (sign in CLOSING)
        if sign == "," and not quoted and depth <= 0:
            parts.append("")
        else:
            parts[-1] += sign
    return parts


def cells_of(values: Mapping[str, Sequence[object]]) -> list[Cell]:
    """Every combination of the values of some settings."""
    return [dict(zip(values, cell, strict=True)) for cell in product(*values.values())]


def check_cells(preset: RunConfig, settings: Mapping[str, object], values: Mapping[str, Sequence[object]]) -> None:
    """Raises ValueError with every combination of values that makes no valid configuration, or that of another, and
    why."""
    faults: list[str] = []
    known: dict[str, Cell] = {}
    for cell in cells_of(values):
        try:
            one = known.setdefault(preset.set({**settings, **cell}).model_dump_json(), cell)
            if one is not cell:
                faults.append(f"{said(cell)} is the same as {said(one)}")
        except ValidationError as error:
            why = "; ".join(fault["msg"].removeprefix("Value error, ") for fault in error.errors())
            faults.append(f"{said(cell)}: {why}")
    if faults:
        raise ValueError("; ".join(faults[:3]) + (f"; and {len(faults) - 3} more" if len(faults) > 3 else ""))


def said(cell: Cell) -> str:
    """The values of a run, to read."""
    return ", ".join(f"{name} {written(value)}" for name, value in cell.items())


def written(value: object) -> str:
    """A value as it is typed."""
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def run_names(name: str, values: Mapping[str, Sequence[object]]) -> list[str]:
    """A name for the run of each cell, such as reverse-heads1-none. Raises ValueError for a sweep's name that no run
    can have."""
    ends = []
    for cell in cells_of(values):
        parts = [value if isinstance(value, str) else f"{setting.removeprefix('n_')}{written(value)}"
                 for setting, value in cell.items()]
        ends.append("-".join(re.sub(r"[^A-Za-z0-9._]+", "-", part).strip("-.")[:LONGEST_PART] for part in parts))
    if len({end.lower() for end in ends}) < len(ends):  # cut or replaced, two are the same
        ends = [str(number) for number in range(1, len(ends) + 1)]
    name = check_name(name)[:LONGEST_NAME - 1 - max(map(len, ends))]
    return [f"{name}-{end}" for end in ends]


def taken(runs: Path, names: Iterable[str]) -> list[str]:
    """Those of some names that a run has already."""
    there = {path.name.lower() for path in runs.iterdir()} if runs.is_dir() else set()
    return [name for name in names if name.lower() in there]


def start(runs: Path, name: str, values: Mapping[str, Sequence[object]], arguments: list[str], *,
          devices: tuple[str, ...] = (), processes: int = 1, cluster: bool = False, owner: str | None = None,
          minutes: float | None = None, limit: int | None = None, in_all: int | None = None) -> Sweep:
    """Start a run for each combination of values: `headsup train --out runs/<its name>` with the arguments of all; on
    this machine they train one after another, on a cluster as it has room. The other options are those of `launch`.

    Raises ValueError, before any has started, if one of their names is taken or there would be too many runs.
    """
    names = run_names(name, values)
    if there := taken(runs, names):
        raise ValueError(f"there is a run {there[0]} already; give the sweep another name")
    check_room(runs, len(names), owner, limit=limit, in_all=in_all)

    def begin(folder: Path, cell: Cell) -> None:
        words = [*arguments, *(word for setting, value in cell.items()
                               for word in ("--set", f"{setting}={written(value)}"))]
        if cluster:
            ray_cluster.submit(folder, words + (["--minutes", str(minutes)] if minutes else []), processes=processes,
                               owner=owner)
        else:
            launch(folder, words, devices=devices, processes=processes, owner=owner, minutes=minutes, limit=limit,
                   in_all=in_all)

    return _make(runs, name, values, names, begin)


def check_room(runs: Path, count: int, owner: str | None, *, limit: int | None, in_all: int | None) -> None:
    """Raises ValueError if `count` more runs would be too many for one owner, or for everybody; None is no limit."""
    if limit is None and in_all is None:
        return
    owners = [record(folder).get("owner") for folder in find(runs) if progress(folder).under_way]
    for there, most, whose in ((owners.count(owner) if owner else 0, limit, "of your runs"),
                               (len(owners), in_all, "runs on this server")):
        if most is not None and there + count > most:
            raise ValueError(f"the sweep makes {count} runs, and {there} {whose} are queued or training; the limit is "
                             f"{most}. Please leave some values out, or wait until runs end")


def _make(runs: Path, name: str, values: Mapping[str, Sequence[object]], names: Sequence[str],
          begin: Callable[[Path, Cell], None]) -> Sweep:
    """Begin the run of each cell, and write into its folder that it belongs to the sweep."""
    folders = {}
    for run, cell in zip(names, cells_of(values), strict=True):
        begin(runs / run, cell)
        remember(runs / run, name, values, cell)
        folders[_key(cell)] = runs / run
    return Sweep(name, {setting: [*tried] for setting, tried in values.items()}, folders)


def remember(folder: Path, name: str, values: Mapping[str, Sequence[object]], cell: Cell) -> None:
    """Write into a run's folder that it belongs to a sweep, and which values are its."""
    folder.mkdir(parents=True, exist_ok=True)
    run_files.write_json(folder / FILE, {"sweep": name, "values": values, "cell": cell})


def sweep_of(folder: Path) -> str | None:
    """The name of the sweep that a run belongs to; None if it belongs to none."""
    about = _read(folder)
    return about["sweep"] if about else None


def sweeps(runs: Path) -> list[Sweep]:
    """The sweeps among the runs of a folder, that with the newest run first. Of two with one name, the newer counts."""
    found: dict[str, Sweep] = {}
    for folder in find(runs):
        if about := _read(folder):
            sweep = found.setdefault(about["sweep"], Sweep(about["sweep"], about["values"], {}))
            if sweep.values == about["values"]:
                sweep.folders.setdefault(_key(about["cell"]), folder)
    return [*found.values()]


def _read(folder: Path) -> dict[str, Any] | None:
    """What a run's sweep.json says; None if there is none, or it is damaged."""
    about = run_files.read_json(folder / FILE)
    try:
        name, values, cell = about["sweep"], about["values"], about["cell"]
        is_whole = (check_name(name) == name and 1 <= len(values) <= MOST_SETTINGS and [*values] == [*cell]
                    and all(isinstance(tried, list) and len(tried) >= 2 and cell[setting] in tried
                            for setting, tried in values.items()) and prod(map(len, values.values())) <= MOST_RUNS)
    except (TypeError, AttributeError, ValueError, KeyError):
        return None
    return about if is_whole else None


def _key(cell: Cell) -> str:
    return orjson.dumps([*cell.values()]).decode()
