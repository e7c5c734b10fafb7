"""One run in this process, from its settings to its end."""

from pathlib import Path

from transformer.config import RunConfig
from transformer.jobs.lock import check_free
from transformer.presets import preset as find_preset
from transformer.training.memory_size import check_least
from transformer.training.trainer import Trainer, Watch, choose_device


def train(out: Path | str, preset: str = "translate", *, resume: bool = False, device: str = "auto",
          minutes: float | None = None, watch: Watch = lambda row: None, **settings: object) -> Path:
    """Train a model, or go on with a run that was stopped, and return its folder: `load(folder / "best")` opens the
    weights with the lowest held-out loss, `runs.metrics(folder)` has its curve.

    preset: a name of `transformer.presets`; settings: what to change in it, such as steps=200 or d_model=64. resume: go
    on from the last save in `out`. minutes: stop after so many; an interrupt stops it too, and both save first. watch
    is called with every row of metrics. Raises ValueError for an unknown preset or setting, a folder that holds a run
    already, and what does not fit into memory.
    """
    trainer = begin(Path(out), preset, settings, resume=resume, device=device)
    trainer.run(minutes=minutes, watch=watch)
    return trainer.folder


def begin(out: Path, preset: str, settings: dict[str, object], *, resume: bool, device: str) -> Trainer:
    """The trainer of a new run, or of one that goes on; raises ValueError as `train` does."""
    if resume:
        if not (out / "config.json").exists():
            raise ValueError(f"{out} holds no run to resume; leave resume out to start one")
        config = RunConfig.model_validate_json((out / "config.json").read_bytes())
    else:
        if (out / "metrics.jsonl").exists():
            check_free(out, "training")
            raise ValueError(f"{out} holds a run already; resume it, or choose another folder")
        config = find_preset(preset)
    config, chosen = config.set(settings), choose_device(device)
    check_least(config, chosen)  # before the corpus is read, which takes a while
    return Trainer(out, config, device=chosen)
