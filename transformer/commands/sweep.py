"""`train --sweep`: a run for each combination of values, in turn here, or on a cluster."""

from pathlib import Path
from typing import Any

from transformer.basics.formatting import duration
from transformer.commands.output import console, report, table
from transformer.commands.runs import train_on_cluster
from transformer.commands.training_bar import run_with_bar
from transformer.jobs.launch import progress
from transformer.training import sweeps
from transformer.training.runs import FILLED_IN, describe, settings_of


def train_sweep(out: Path, tried: list[str], *, preset: str, settings: dict[str, object], device: str,
                minutes: float | None, resume: bool, as_json: bool) -> None:
    """Train the runs of a sweep one after another, each in a folder of its own in `out`; Ctrl-C ends the one that
    trains, and starts no more. One that fails keeps none of the others from training.

    Raises ValueError for values that fit no model, names that are taken, and where none has finished.
    """
    from transformer.jobs.process import go_first
    from transformer.training.trainer import make_trainer

    values, names = _planned(out, tried, preset, settings, resume=resume)
    go_first()
    for number, (name, cell) in enumerate(zip(names, sweeps.cells_of(values), strict=True), start=1):
        folder = out / name
        console.print(f"run {number} of {len(names)}: {name} ({sweeps.said(cell)})", markup=False, highlight=False)
        if progress(folder).state == "finished":
            console.print("it has finished", highlight=False)
            continue
        sweeps.remember(folder, preset, values, cell)
        try:
            goes_on = (folder / "config.json").exists()
            trainer = make_trainer(folder, None if goes_on else preset, settings | cell, device=device, resume=goes_on)
            run_with_bar(trainer, minutes)
        except ValueError as error:
            console.print(f"{name}: {error}", markup=False, highlight=False, soft_wrap=True)
            continue
        if trainer.stopping.is_set():
            break
    _report(out, preset, names, values, as_json)


def submit_sweep(out: Path, tried: list[str], *, preset: str, settings: dict[str, object], pairs: list[str],
                 resume: bool, **options: Any) -> None:
    """Give the runs of a sweep to the cluster; with `resume`, those that have not finished once more. Raises ValueError
    as `train_sweep` does, and where the cluster refuses."""
    values, names = _planned(out, tried, preset, settings, resume=resume)
    for name, cell in zip(names, sweeps.cells_of(values), strict=True):
        now = progress(out / name)
        if now.under_way or now.state == "finished":
            continue
        own = [f"{setting}={sweeps.written(value)}" for setting, value in cell.items()]
        train_on_cluster(out / name, preset=preset, pairs=pairs + own, **options,
                         resume=(out / name / "config.json").exists())
        sweeps.remember(out / name, preset, values, cell)


def _planned(out: Path, tried: list[str], preset: str, settings: dict[str, object], *,
             resume: bool) -> tuple[dict[str, list[object]], list[str]]:
    """The values that are tried, and the names of the runs. Raises ValueError for values that fit no model, and where a
    name is taken by a run of other settings, or by any while nothing is to be resumed."""
    from transformer.settings.presets import preset as find_preset

    values, config = sweeps.read_values(tried), find_preset(preset)
    sweeps.check_cells(config, settings, values)
    names = sweeps.run_names(preset, values)
    for name, cell in zip(names, sweeps.cells_of(values), strict=True):
        there, given = settings_of(out / name), {**settings, **cell}
        wanted = config.set(given).model_dump(mode="json")
        for setting in given.keys() & there.keys() - FILLED_IN:
            if there[setting] != (wanted["model"] | wanted["train"])[setting]:
                raise ValueError(f"{out / name} is there already, with another {setting}; choose another --out")
    if not resume and (taken := sweeps.taken(out, names)):
        raise ValueError(f"{out / taken[0]} is there already; --resume trains those of the sweep that have not "
                         "finished, or choose another --out")
    return values, names


def _report(out: Path, preset: str, names: list[str], values: dict[str, list[object]], as_json: bool) -> None:
    """Print a row for each run. Raises ValueError where none has finished."""
    rows = []
    for name, cell in zip(names, sweeps.cells_of(values), strict=True):
        run = describe(out / name)
        begun = (out / name / "config.json").exists()
        rows.append({"run": name, **cell, "state": run.now.state if begun else "not started", "step": run.now.step,
                     "best_validation_loss": run.best, "accuracy": run.accuracy, "seconds": run.seconds})
    if as_json:
        report({"sweep": preset, "folder": str(out), "runs": rows}, True)
    else:
        said = [{name: sweeps.written(value) for name, value in row.items() if name in values} for row in rows]
        print("\n".join(table([{
            "run": row["run"], **cell, "state": row["state"], "step": row["step"],
            "best held-out loss": "" if row["best_validation_loss"] is None else f"{row['best_validation_loss']:.4f}",
            "accuracy": "" if row["accuracy"] is None else f"{row['accuracy']:.1%}",
            "time": duration(row["seconds"]) if row["seconds"] else ""}
            for row, cell in zip(rows, said, strict=True)])), flush=True)
    if not any(row["state"] in ("finished", "stopped") for row in rows):
        raise ValueError("no run of the sweep has finished; what each says above is why")
