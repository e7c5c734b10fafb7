"""Runs on a Ray cluster: submitted, resumed, looked at and stopped.

The run folder, on a disk that both sides see under the same path, is all that the two share: the cluster's first worker
writes it as any trainer does. launch.json names the cluster and the job instead of a process.
"""

import argparse
import os
import shlex
import sys
import time
import uuid
from pathlib import Path
from typing import Any, NoReturn

from transformer.config import RunConfig, read_settings
from transformer.jobs import ray_jobs, run_files
from transformer.jobs.queue import ASKED_TO_STOP, RECORD, TURN, locked, next_ticket, record
from transformer.jobs.ray_jobs import Job
from transformer.presets import preset

PYTHON = "HEADSUP_CLUSTER_PYTHON"  # of the cluster's machines, an absolute path; else what runs here
GRACE = 300.0  # seconds for a save, after which a second stop ends the job as it is
SHUTDOWN = 60  # seconds that Ray leaves a job which it ends to save


def submit(folder: Path, arguments: list[str], *, processes: int = 1, gpus_per_process: int | None = None,
           owner: str | None = None) -> None:
    """Have the cluster run `headsup train --out folder` with more arguments, on so many workers.

    gpus_per_process: None takes one each where the cluster has that many. Raises ValueError where the folder holds a
    run already, an argument is wrong, or the cluster does not take it.
    """
    with locked(folder.parent):
        if folder.exists() and any((folder / name).exists() for name in (RECORD, "metrics.jsonl")):
            raise ValueError(f"the run {folder.name} has already been started; choose another name")
        config, minutes, gpus = read_arguments(arguments)
        there = folder.exists()
        folder.mkdir(parents=True, exist_ok=True)
        try:
            _start(folder, {"arguments": arguments, "processes": processes, "owner": owner, "minutes": minutes,
                            "gpus_per_process": gpus if gpus_per_process is None else gpus_per_process,
                            "config": config.model_dump(mode="json")})
        except ValueError:
            if not there:
                folder.rmdir()
            raise


class _Arguments(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ValueError(f"a run on a cluster: {message}")


def read_arguments(arguments: list[str]) -> tuple[RunConfig, float | None, int | None]:
    """What arguments of `train` ask for: a configuration, minutes, and GPUs a process (None: if there are)."""
    parser = _Arguments(prog="train", add_help=False, allow_abbrev=False)
    parser.add_argument("--preset", default="translate")
    parser.add_argument("--steps", type=int)
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--set", action="append", default=[])
    found = parser.parse_args(arguments)
    config = preset(found.preset).set(read_settings(found.set) | ({"steps": found.steps} if found.steps else {}))
    if (corpus := Path(config.train.corpus)).suffix and corpus.is_file():  # the workers stand elsewhere
        config = config.set({"corpus": str(corpus.resolve())})
    gpus = {"auto": None, "cpu": 0}.get(found.device, 1)
    return config, found.minutes, gpus


def resume(folder: Path, *, processes: int | None = None, minutes: float | None = None,
           changes: dict[str, Any] | None = None) -> None:
    """Submit a run that has ended once more, from its last save, wherever it ran before; with some settings changed.

    The caller has seen that it is not under way, and holds the lock of the runs.
    """
    about = record(folder)
    if not (known := run_files.read_json(folder / "config.json") or about.get("config")):
        raise ValueError(f"the run {folder.name} has no config.json, so it cannot be resumed; start another run")
    config = RunConfig.model_validate(known).set(changes or {})
    kept = {name: about[name] for name in ("arguments", "owner", "gpus_per_process") if name in about}
    _start(folder, {**kept, "processes": processes or int(about.get("processes") or 1), "minutes": minutes,
                    "config": config.model_dump(mode="json")})
    for name in (TURN, "status.json"):  # what it said when it ended; nobody says more for some seconds
        (folder / name).unlink(missing_ok=True)


def _start(folder: Path, about: dict[str, Any]) -> None:
    if (cluster := ray_jobs.configured()) is None:
        raise ValueError(f"no cluster is named; set {ray_jobs.ADDRESS} to the address of a Ray dashboard, such as "
                         "http://head:8265")
    job = f"headsup-{uuid.uuid4().hex[:12]}"
    stop, known = folder / ASKED_TO_STOP, record(folder)
    asked = stop.exists()
    stop.unlink(missing_ok=True)
    run_files.write_json(folder / RECORD, {**about, "cluster": cluster.address, "job": job, "time": time.time(),
                                         "ticket": next_ticket(folder.parent)})  # the worker looks for its job there
    try:
        cluster.submit(job, _entrypoint(folder, job), run=folder.name,
                       environment={"RAY_JOB_STOP_WAIT_TIME_S": str(SHUTDOWN), "NO_COLOR": "1"})
    except ValueError:
        if known:
            run_files.write_json(folder / RECORD, known)
        else:
            (folder / RECORD).unlink(missing_ok=True)
        if asked:
            stop.touch()
        raise


def _entrypoint(folder: Path, job: str) -> str:
    python = os.environ.get(PYTHON) or sys.executable  # a bare name would be looked up on the head's PATH
    return shlex.join([python, "-m", "transformer.training.cluster_job", str(folder.resolve()), job])


def status(folder: Path) -> Job | None:
    """How the run's job stands; None for a run that no cluster has."""
    about = record(folder)
    if not isinstance(about.get("cluster"), str) or not isinstance(about.get("job"), str):
        return None
    return ray_jobs.look(about["cluster"], about["job"])


def logs(folder: Path) -> str:
    """All that the run's job has printed, Ray's own words too. Raises ValueError where the cluster does not say."""
    return _its_cluster(folder).logs(str(record(folder)["job"]))


def _its_cluster(folder: Path) -> ray_jobs.Cluster:
    address = record(folder).get("cluster")
    cluster = ray_jobs.configured()
    if cluster is None or cluster.address != address:
        raise ValueError(f"the run {folder.name} is on the cluster at {address}; set {ray_jobs.ADDRESS} to that")
    return cluster


def stop(folder: Path) -> bool:
    """Ask a run that is under way to save and end, by a file that its trainer looks for; always True.

    Where it does not train yet, or was asked GRACE seconds ago, its job is ended. Raises ValueError where the cluster
    does not do that.
    """
    asked = folder / ASKED_TO_STOP
    training = run_files.read_json(folder / "status.json").get("state") == "running"
    since = _seconds_ago(asked)
    if since is None:
        asked.touch()
    if not training or (since is not None and since > GRACE):
        about = record(folder)
        _its_cluster(folder).stop(str(about["job"]))
        ray_jobs.forget(str(about["cluster"]), str(about["job"]))
    return True


def _seconds_ago(path: Path) -> float | None:
    """Since when a file is there, by the clock of its disk."""
    probe = path.with_name(".now")
    try:
        probe.touch()
        return probe.stat().st_mtime - path.stat().st_mtime
    except FileNotFoundError:
        return None
    finally:
        probe.unlink(missing_ok=True)
