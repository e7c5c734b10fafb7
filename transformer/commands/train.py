"""Training, and what a run would be."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from transformer.commands.options import AsJson, Device, Preset, Settings
from transformer.commands.output import console, report
from transformer.commands.runs import train_on_cluster
from transformer.task import LEARNED

if TYPE_CHECKING:
    from transformer.training.trainer import Trainer


def train(
    out: Annotated[Path, typer.Option(help="The run folder.")],
    preset: Preset = "translate",
    steps: Annotated[int | None, typer.Option(help="Optimizer steps; the length of the schedule.")] = None,
    minutes: Annotated[float | None, typer.Option(help="Stop early after N minutes; --resume continues.")] = None,
    device: Device = "auto",
    set_: Settings = None,
    resume: Annotated[bool, typer.Option(help="Continue from the last save in --out.")] = False,
    cluster: Annotated[bool, typer.Option("--cluster", help="On the cluster named by RAY_API_SERVER_ADDRESS.")] = False,
    processes: Annotated[int | None, typer.Option(min=1, help="Number of workers on the cluster.")] = None,
    as_json: AsJson = False,
) -> None:
    """Train a model, or go on with one that was stopped."""
    from transformer.config import read_settings
    from transformer.jobs import run_files
    from transformer.jobs.process import go_first
    from transformer.training.trainer import make_trainer

    if cluster:
        train_on_cluster(out, preset=preset, steps=steps, minutes=minutes, device=device, pairs=set_ or [],
                         resume=resume, processes=processes)
        return
    if processes is not None:
        raise ValueError("--processes is for --cluster; several on this machine: torchrun --nproc-per-node "
                         f"{processes} -m transformer train ...")
    settings = read_settings(set_ or []) | ({"steps": steps} if steps else {})
    go_first()
    trainer = make_trainer(out, preset, settings, resume=resume, device=device)
    if not trainer.first:  # of several processes, one prints
        console.quiet, as_json = True, False
    state = _run(trainer, minutes)
    why = run_files.read_json(out / "status.json").get("why")
    report({"state": state, **({"why": why} if why else {}), "step": trainer.step,
            "best_validation_loss": trainer.best, "seconds": trainer.seconds, "folder": str(out)}, as_json)


def _run(trainer: "Trainer", minutes: float | None) -> str:
    """Train under a bar that says the newest numbers -> how it ended."""
    columns = [TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
               TextColumn("left"), TimeRemainingColumn(), TextColumn("{task.fields[numbers]}")]
    newest: dict[str, Any] = {}
    labels = f"{LEARNED[trainer.config.train.task].unit}s"
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task("step", total=trainer.config.train.steps, completed=trainer.step, numbers="")

        def watch(row: dict[str, Any]) -> None:
            newest.update(row)
            named = ("loss", "loss", 3), ("held-out", "validation_loss", 3), (f"{labels}/s", "tokens_per_sec", 0)
            numbers = " ".join(f"{name} {newest[key]:,.{digits}f}" for name, key, digits in named if key in newest)
            progress.update(bar, completed=trainer.step, numbers=numbers)
            if "validation_loss" in row:
                progress.console.print(f"step {trainer.step}: {numbers}")

        return trainer.run(minutes=minutes, watch=watch)


def check(
    preset: Preset = "translate",
    steps: Annotated[int | None, typer.Option(help="Optimizer steps of the run that is checked.")] = None,
    device: Device = "auto",
    set_: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Say what a run would be, by its first ten steps: its data, parameters, memory and time, and what does not fit."""
    from transformer.config import read_settings
    from transformer.jobs.process import go_first
    from transformer.presets import preset as find_preset
    from transformer.training.check import check as run
    from transformer.training.check import summary
    from transformer.training.trainer import choose_device

    go_first()
    config = find_preset(preset).set(read_settings(set_ or []) | ({"steps": steps} if steps else {}))
    result = run(config, device=choose_device(device), watch=lambda what: console.print(what, highlight=False))
    if as_json:
        report(result, True)
    else:
        print("\n".join(summary(result)), flush=True)
    if any(problem["level"] == "error" for problem in result["problems"]):
        raise typer.Exit(1)
