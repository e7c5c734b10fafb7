"""One worker of a run on a cluster: a Trainer in the process group that Ray Train has made."""

import sys
import time
from pathlib import Path

from transformer.config import RunConfig
from transformer.formatting import how_many
from transformer.jobs.queue import record

LOG = "log.txt"
SEEN_WITHIN = 20.0  # seconds until a disk of the network shows what was written on another machine


def check_folder(folder: Path, job: str) -> None:
    """Raises ValueError where this machine does not see the run folder as the one who submitted it does."""
    until = time.monotonic() + SEEN_WITHIN
    while (found := record(folder).get("job")) != job:
        if not folder.parent.is_dir() or time.monotonic() > until:
            if found:
                raise ValueError(f"the run in {folder} belongs to another job now")
            raise ValueError(f"the cluster does not see {folder}; put runs on a disk that both sides have under the "
                             "same path, and name it by HEADSUP_HOME or --out")
        time.sleep(0.5)


def work(task: dict[str, object]) -> None:
    """Train, as one of the processes that Ray Train has started. Raises ValueError for what a user can mend."""
    from ray.train.torch import get_device

    from transformer.jobs.process import go_first
    from transformer.training.trainer import Trainer

    go_first()
    folder, job = Path(str(task["folder"])), str(task["job"])
    check_folder(folder, job)
    about = record(folder)
    device = get_device()
    device = device[0] if isinstance(device, list) else device
    trainer = Trainer(folder, RunConfig.model_validate(about["config"]), device=device)

    def watch(row: dict[str, object]) -> None:
        if trainer.first and "validation_loss" in row:
            say(folder, f"step {row['step']}: held-out {row['validation_loss']:.3f}")

    if trainer.first:
        size, steps = trainer.world.size, trainer.config.train.steps
        say(folder, f"{how_many(size, 'worker')} on {device.type}, from step {trainer.step} of {steps}")
    state = trainer.run(minutes=about.get("minutes"), watch=watch)
    if trainer.first:
        say(folder, f"{state} at step {trainer.step}")


def say(folder: Path, line: str) -> None:
    """Into the run's log and the job's."""
    sys.stdout.write(line + "\n")  # Ray Train makes two of what is printed
    sys.stdout.flush()
    with open(folder / LOG, "a") as log:
        log.write(line + "\n")
