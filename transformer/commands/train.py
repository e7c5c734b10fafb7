"""Training, and what a run would be."""

import os
from pathlib import Path
from typing import Annotated

import typer

from transformer.commands.options import AsJson, Device, Preset, Settings
from transformer.commands.output import console, report
from transformer.commands.runs import train_on_cluster
from transformer.commands.sweep import submit_sweep, train_sweep
from transformer.commands.training_bar import run_with_bar


def train(
    out: Annotated[Path, typer.Option(help="The run folder.")],
    preset: Annotated[str | None, typer.Option(
        help="A named configuration; see transformer/settings/presets.py. Without one: translate.")] = None,
    steps: Annotated[int | None, typer.Option(help="Optimizer steps; the length of the schedule.")] = None,
    minutes: Annotated[float | None, typer.Option(help="Stop early after N minutes; --resume continues.")] = None,
    device: Device = "auto",
    set_: Settings = None,
    sweep: Annotated[list[str] | None, typer.Option(help="A run for each value, as n_heads=1,2,4, in a folder of its "
                                                         "own in --out; twice: for each pair of values.")] = None,
    resume: Annotated[bool, typer.Option(help="Continue from the last save in --out.")] = False,
    cluster: Annotated[bool, typer.Option("--cluster", help="On the cluster named by RAY_API_SERVER_ADDRESS.")] = False,
    processes: Annotated[int | None, typer.Option(min=1, help="Number of workers on the cluster.")] = None,
    as_json: AsJson = False,
) -> None:
    """Train a model, or go on with one that was stopped."""
    from transformer.jobs import run_files
    from transformer.jobs.process import go_first
    from transformer.settings.config import read_settings
    from transformer.training.trainer import make_trainer

    settings = read_settings(set_ or []) | ({"steps": steps} if steps else {})
    if sweep and steps and any(tried.partition("=")[0].strip() == "steps" for tried in sweep):
        raise ValueError("--steps and --sweep steps=… both say the steps; leave one out")
    if resume and not sweep and (preset or (cluster and device != "auto")):
        raise ValueError(f"a resumed run goes on with its own preset{' and device' * cluster}; leave --preset"
                         f"{' and --device' * cluster} out")
    chosen = preset or "translate"
    if cluster and sweep:
        submit_sweep(out, sweep, preset=chosen, settings=settings, pairs=set_ or [], resume=resume, steps=steps,
                     minutes=minutes, device=device, processes=processes)
        return
    if cluster:
        train_on_cluster(out, preset=chosen, steps=steps, minutes=minutes, device=device, pairs=set_ or [],
                         resume=resume, processes=processes)
        return
    if processes is not None:
        raise ValueError("--processes is for --cluster; several on this machine: torchrun --nproc-per-node "
                         f"{processes} -m transformer train ...")
    if sweep:
        if int(os.environ.get("WORLD_SIZE", "1")) > 1:
            raise ValueError("a sweep trains its runs in one process; leave torchrun out, or give it to --cluster")
        train_sweep(out, sweep, preset=chosen, settings=settings, device=device, minutes=minutes, resume=resume,
                    as_json=as_json)
        return
    go_first()
    trainer = make_trainer(out, preset, settings, resume=resume, device=device)
    if not trainer.first:  # of several processes, one prints
        console.quiet, as_json = True, False
    state = run_with_bar(trainer, minutes)
    why = run_files.read_json(out / "status.json").get("why")
    report({"state": state, **({"why": why} if why else {}), "step": trainer.step,
            "best_validation_loss": trainer.best, "seconds": trainer.seconds, "folder": str(out)}, as_json)


def check(
    preset: Preset = "translate",
    steps: Annotated[int | None, typer.Option(help="Optimizer steps of the run that is checked.")] = None,
    device: Device = "auto",
    set_: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Say what a run would be, by its first ten steps: its data, parameters, memory and time, and what does not fit."""
    from transformer.jobs.process import go_first
    from transformer.settings.config import read_settings
    from transformer.settings.presets import preset as find_preset
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
