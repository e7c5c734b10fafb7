"""The job that a Ray cluster runs for one run: its head has Ray Train start the workers, and each worker is a Trainer.

`python -m transformer.training.ray_job FOLDER JOB` waits for them and ends with 0 if the run finished or was
stopped; otherwise the last line that it prints, and that of log.txt in the run folder, is `error: ` and the reason.
"""

import logging
import shutil
import signal
import sys
import time
from pathlib import Path

from transformer.basics.formatting import how_many
from transformer.jobs import run_files
from transformer.jobs.launch import LOG
from transformer.jobs.process import go_first
from transformer.jobs.queue import ASKED_TO_STOP, record
from transformer.settings.config import RunConfig

RAY_FILES = ".ray"  # what Ray Train insists on writing where all workers see it
VISIBLE_WITHIN = 20.0  # seconds until a network disk shows what was written on another machine


class WorkerLost(ValueError):
    """A worker ended without saying why."""


def run(folder: Path, job: str) -> None:
    """Have the workers train and wait for them. Raises ValueError for what a user can mend."""
    check_folder(folder, job)
    import ray.train.torch  # pyright: ignore[reportMissingImports]: an extra

    about = record(folder)
    ray.init(log_to_driver=True, logging_level=logging.WARNING)
    signal.signal(signal.SIGTERM, lambda *_: _stop(folder))
    processes, gpus = int(about.get("processes") or 1), about.get("gpus_per_process")
    resources = ray.cluster_resources()
    gpus = int(resources.get("GPU", 0) >= processes) if gpus is None else int(gpus)
    for what, each in (("CPU", 1), ("GPU", gpus)):
        if resources.get(what, 0) < processes * each:
            raise ValueError(f"the cluster has {resources.get(what, 0):.0f} {what}s, and {processes} processes need "
                             f"{processes * each}; ask for fewer, or add machines")
    train, resources = ray.train, {"CPU": 1} | ({"GPU": gpus} if gpus else {})
    scaling = train.ScalingConfig(num_workers=processes, use_gpu=gpus > 0, resources_per_worker=resources)
    try:
        train.torch.TorchTrainer(
            work, train_loop_config={"folder": str(folder), "job": job}, scaling_config=scaling,
            run_config=train.RunConfig(name=job, storage_path=str(folder / RAY_FILES),
                                       failure_config=train.FailureConfig(max_failures=0))).fit()
    except train.TrainingFailedError as error:
        raise _cause(error) from error
    finally:
        shutil.rmtree(folder / RAY_FILES, ignore_errors=True)


def check_folder(folder: Path, job: str) -> None:
    """Raises ValueError if this machine does not see the run folder as the machine that submitted it does."""
    until = time.monotonic() + VISIBLE_WITHIN
    while (owner := record(folder).get("job")) != job:
        if not folder.parent.is_dir() or time.monotonic() > until:
            if owner:
                raise ValueError(f"the run in {folder} belongs to another job now")
            raise ValueError(f"the cluster does not see {folder}; put runs on a disk that both sides have under the "
                             "same path, and name it by HEADSUP_HOME or --out")
        time.sleep(0.5)


def work(task: dict[str, object]) -> None:
    """Train, in one of the processes that Ray Train has started. Raises ValueError for what a user can mend."""
    from ray.train.torch import get_device  # pyright: ignore[reportMissingImports]: an extra

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
    """Write a line into the log of the run and that of the job."""
    sys.stdout.write(line + "\n")  # Ray Train would make two lines of one that is printed
    sys.stdout.flush()
    with open(folder / LOG, "a", encoding="utf-8") as log:
        log.write(line + "\n")


def _stop(folder: Path) -> None:
    """Ray ends the job: a run that trains is asked to save first; any other has nothing to lose."""
    if run_files.read_json(folder / "status.json").get("state") != "running":
        sys.exit(128 + signal.SIGTERM)
    (folder / ASKED_TO_STOP).touch()


def _cause(error: BaseException) -> ValueError:
    """The one error that Ray Train's report of its workers follows from."""
    from ray.exceptions import RayError  # pyright: ignore[reportMissingImports]: an extra

    errors = list((getattr(error, "worker_failures", None) or {0: error}).values())
    for wrapped in ("_base_exc", "health_check_failure", "controller_failure"):
        errors = [getattr(one, wrapped, None) or one for one in errors]
    ours = next((one for one in errors if isinstance(one, ValueError)), None)
    if ours is None and any(isinstance(one, RayError) or "gloo" in str(one) or "NCCL" in str(one) for one in errors):
        return WorkerLost("a worker ended without a message: it was killed, its machine had no memory left, or was "
                          "lost; resume the run")
    cause = ours or errors[0]
    return ValueError(str(cause).strip().splitlines()[0] if str(cause).strip() else type(cause).__name__)


def main(folder: Path, job: str) -> int:
    try:
        run(folder, job)
    except Exception as error:
        why = str(error)
        if not isinstance(error, ValueError):
            logging.exception("the job failed")
            why = f"{type(error).__name__}: {error}".splitlines()[0]
        if record(folder).get("job") == job:
            status = run_files.read_json(folder / "status.json")
            if status.get("state") == "failed" and not isinstance(error, WorkerLost):  # a worker has said more
                why = str(status.get("why") or why)
            else:
                run_files.write_status(folder / "status.json", {**status, "state": "failed", "why": why})
            say(folder, f"error: {why}")
        else:
            print(f"error: {why}", flush=True)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2]))
