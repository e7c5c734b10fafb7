"""What a cluster's head runs: a job that has Ray Train start the workers, waits for them, and says how it went.

`python -m transformer.training.cluster_job FOLDER JOB` ends with 0 where the run finished or was stopped; otherwise the
last it prints, and the end of log.txt in the run folder, is one line: `error: ` and why.
"""

import logging
import shutil
import signal
import sys
from pathlib import Path

from transformer.jobs import run_files
from transformer.jobs.queue import ASKED_TO_STOP, record
from transformer.training.cluster_worker import check_folder, say, work

RAYS_OWN = ".ray"  # what Ray Train insists on writing where all workers see it

class WorkerLost(ValueError):
    """A worker ended and could not say why."""


def run(folder: Path, job: str) -> None:
    """Have the workers train and wait for them. Raises ValueError for what a user can mend."""
    check_folder(folder, job)
    import ray
    from ray.train import FailureConfig, ScalingConfig, TrainingFailedError
    from ray.train import RunConfig as RayConfig
    from ray.train.torch import TorchTrainer

    about = record(folder)
    ray.init(log_to_driver=True, logging_level=logging.WARNING)
    signal.signal(signal.SIGTERM, lambda *_: _asked(folder))
    processes, gpus = int(about.get("processes") or 1), about.get("gpus_per_process")
    there = ray.cluster_resources()
    gpus = int(there.get("GPU", 0) >= processes) if gpus is None else int(gpus)
    for what, each in (("CPU", 1), ("GPU", gpus)):
        if there.get(what, 0) < processes * each:
            raise ValueError(f"the cluster has {there.get(what, 0):.0f} {what}s, and {processes} processes need "
                             f"{processes * each}; ask for fewer, or add machines")
    scaling = ScalingConfig(num_workers=processes, use_gpu=gpus > 0,
                            resources_per_worker={"CPU": 1} | ({"GPU": gpus} if gpus else {}))
    try:
        TorchTrainer(work, train_loop_config={"folder": str(folder), "job": job}, scaling_config=scaling,
                     run_config=RayConfig(name=job, storage_path=str(folder / RAYS_OWN),
                                          failure_config=FailureConfig(max_failures=0))).fit()
    except TrainingFailedError as error:
        raise _explained(error) from error
    finally:
        shutil.rmtree(folder / RAYS_OWN, ignore_errors=True)


def _asked(folder: Path) -> None:
    """Ray ends the job: what trains is asked to save first; what does not yet has nothing to lose."""
    if run_files.read_json(folder / "status.json").get("state") != "running":
        sys.exit(128 + signal.SIGTERM)
    (folder / ASKED_TO_STOP).touch()


def _explained(error: BaseException) -> ValueError:
    """What Ray Train says of its workers, as the one error that the others followed from."""
    from ray.exceptions import RayError

    found = list((getattr(error, "worker_failures", None) or {0: error}).values())
    for wrapped in ("_base_exc", "health_check_failure", "controller_failure"):
        found = [getattr(one, wrapped, None) or one for one in found]
    ours = next((one for one in found if isinstance(one, ValueError)), None)
    if ours is None and any(isinstance(one, RayError) or "gloo" in str(one) or "NCCL" in str(one) for one in found):
        return WorkerLost("a worker ended without a message: it was killed, its machine had no memory left, or was "
                          "lost; "
                          "resume the run")
    cause = ours or found[0]
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
            said = run_files.read_json(folder / "status.json")
            if said.get("state") == "failed" and not isinstance(error, WorkerLost):  # of which others only noticed
                why = str(said.get("why") or why)
            else:  # nobody could say it
                run_files.write_json(folder / "status.json", {**said, "state": "failed", "why": why})
            say(folder, f"error: {why}")
        else:
            print(f"error: {why}", flush=True)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2]))
