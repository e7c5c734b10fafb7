"""Jobs: work in a process of its own, whose folder is all that others look at.

A run, a check of one and a measurement of heads are jobs. launch.json in the folder tells the process apart from every
other, so that nothing else is ever signalled; log.txt is what it prints, status.json how it says that it stands.
"""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transformer.basics.paths import LIBRARY
from transformer.jobs import queue, ray_cluster, run_files, standby
from transformer.jobs.lock import holder
from transformer.jobs.process import boot_id, identify, running
from transformer.jobs.queue import ASKED_TO_STOP, RECORD, TURN, locked, record

LOG = "log.txt"
SILENT = 180.0  # seconds without a change on the disk after which a run on another machine counts as dead
LEAVING = 10.0  # seconds that a process may take to end after it has written how it ended
SHUTDOWN = 300  # seconds that torchrun gives its processes to save


@dataclass(frozen=True)
class Progress:
    """The state of a job and how far it is."""

    state: str  # "queued", "starting", "running", "finished", "stopped", "failed", or "died": it ended without a word
    step: int
    steps: int | None
    why: str | None = None
    elsewhere: bool = False  # on another machine that shares the disk

    @property
    def under_way(self) -> bool:
        return self.state in ("queued", "starting", "running")


def launch(folder: Path, arguments: list[str], *, devices: tuple[str, ...] = (), processes: int = 1,
           owner: str | None = None, limit: int | None = None, in_all: int | None = None,
           minutes: float | None = None) -> None:
    """Start `headsup train --out folder` with more arguments.

    devices: what it trains on, after the other runs beside it that do; none: it starts at once. processes: started by
    torchrun if there are several. owner: whose it is. limit, in_all: how many runs of theirs, and of everybody, may be
    queued or training. minutes: it stops after so many. Raises ValueError if the folder already holds a run, or a limit
    is reached.
    """
    with locked(folder.parent):
        if alive(folder) or any((folder / name).exists() for name in (RECORD, "metrics.jsonl")):
            raise ValueError(f"the run {folder.name} has already been started; choose another name")
        check_limit(folder.parent, owner, limit=limit, in_all=in_all)
        folder.mkdir(parents=True, exist_ok=True)
        _start_run(folder, {"arguments": arguments, "devices": list(devices), "processes": processes, "owner": owner,
                            "minutes": minutes})


def check_limit(runs: Path, owner: str | None, *, limit: int | None, in_all: int | None = None) -> None:
    """Raises ValueError if so many runs of an owner, or of everybody, are queued or training, here or on a cluster;
    None is no limit."""
    if limit is None and in_all is None:
        return
    owners = [record(path.parent).get("owner") for path in runs.glob(f"*/{RECORD}") if progress(path.parent).under_way]
    theirs = owners.count(owner) if owner else 0
    if limit is not None and theirs >= limit:
        raise ValueError(f"{theirs} of your runs are queued or training; the limit is {limit}. Please stop one, or "
                         "wait until one ends")
    if in_all is not None and len(owners) >= in_all:
        raise ValueError(f"{len(owners)} runs are queued or training on this server; the limit is {in_all}. Please "
                         "wait until one ends")


def resume(folder: Path, *, limit: int | None = None, in_all: int | None = None, minutes: float | None = None) -> None:
    """Resume a run that has ended, from its last save, or from the start if it never saved; limits as in `launch`.

    Raises ValueError if it is still under way, or was not launched from here.
    """
    until = time.monotonic() + LEAVING
    while alive(folder) and not progress(folder).under_way and time.monotonic() < until:
        time.sleep(0.05)  # it has written how it ended, and is about to end
    with locked(folder.parent):
        about = record(folder)
        if alive(folder) or progress(folder).under_way:
            raise ValueError(f"the run {folder.name} is under way; stop it first")
        check_limit(folder.parent, _owner(about), limit=limit, in_all=in_all)
        if "cluster" in about:
            ray_cluster.resume(folder, minutes=minutes)
            return
        if not (folder / "config.json").exists() and not isinstance(about.get("arguments"), list):
            raise ValueError(f"the run {folder.name} has no config.json, so it cannot be resumed; start another")
        for name in (TURN, ASKED_TO_STOP, "status.json"):
            (folder / name).unlink(missing_ok=True)
        _start_run(folder, {**about, "minutes": minutes})


def _owner(about: dict[str, Any]) -> str | None:
    owner = about.get("owner")
    return owner if isinstance(owner, str) else None


def _start_run(folder: Path, about: dict[str, Any]) -> None:
    """Start the process of a run, which waits for its turn and becomes the training; the queue's lock is held."""
    processes = int(about.get("processes") or 1)
    train = ["-m", "transformer", "train", "--out", str(folder.resolve())]
    train += ["--resume"] if (folder / "config.json").exists() else list(about.get("arguments") or [])
    if about.get("minutes"):
        train += ["--minutes", str(about["minutes"])]
    if processes > 1:
        train = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes),
                 "--shutdown-timeout", str(SHUTDOWN), *train]
    if device := next(iter(about.get("devices") or ()), None):
        train += ["--device", "cuda" if processes > 1 and device.startswith("cuda") else device] if (
            "--device" not in train) else []
    command = [sys.executable, *train]
    if about.get("devices"):
        command = [sys.executable, "-m", "transformer.jobs.queue", str(folder.resolve()), *command]
    about = about | {"ticket": queue.next_ticket(folder.parent)}
    start(folder, command, about, processes=processes, ready=processes == 1 and not queue.runs_alive(folder.parent))


def prepare() -> None:
    """Have a process ready for the next run, so that it starts at once."""
    standby.prepare(("torch._dynamo", "transformer.training.trainer"), _environment(1))


def _environment(processes: int) -> dict[str, str]:
    """What a job's process has in its environment; so many share the cores."""
    threads = max(1, (os.cpu_count() or 2) // 2 // processes)  # the app and other jobs need the rest
    return {"OMP_NUM_THREADS": str(threads), "NO_COLOR": "1", "COLUMNS": "100"}


def start(folder: Path, command: list[str], about: dict[str, Any], *, processes: int = 1, seconds: float | None = None,
          output: str = LOG, ready: bool = False, **environment: str) -> None:
    """Start a command in a session of its own, and write its record: `about`, and what tells its process apart.

    It goes on when the starter ends. What it prints goes into the folder's log, its standard output into `output`.
    processes: so many share the cores. seconds: it is killed if it takes longer. ready: the process that `prepare` has
    made may do it.
    """
    with open(folder / LOG, "ab") as log, open(folder / output, "ab") as out:
        printed = log.tell()  # by earlier processes
        process = (standby.take(_job(folder, command, output)) if ready else None) or subprocess.Popen(
            command, cwd=LIBRARY.parent, stdin=subprocess.DEVNULL, stdout=out, stderr=log, start_new_session=True,
            env={**os.environ, **_environment(processes), **environment})
    run_files.write_json(folder / RECORD, {**about, **(identify(process.pid) or {"pid": process.pid}),
                                           "printed": printed, "time": time.time(), "seconds": seconds})
    threading.Thread(target=_wait, args=[process, folder, seconds], daemon=True).start()


def _job(folder: Path, command: list[str], output: str) -> dict[str, Any]:
    """A command of ours, `python -m module ...`, as `standby` does it."""
    waits = command[2] == "transformer.jobs.queue"
    _, _, module, *arguments = command[4:] if waits else command
    return {"module": module, "arguments": arguments, "output": str((folder / output).resolve()),
            "log": str((folder / LOG).resolve()), "turn": str(folder.resolve()) if waits else None}


def _wait(process: subprocess.Popen, folder: Path, seconds: float | None) -> None:
    """Wait for a process, so that it leaves no zombie, and kill it with all that it started if it takes longer."""
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        with contextlib.suppress(OSError), open(folder / LOG, "a", encoding="utf-8") as log:
            log.write(f"It took more than {seconds:.0f} seconds, the limit of this server; make the model or the "
                      "batches smaller.\n")


def kill(folder: Path) -> None:
    """End the process that was started for this folder, with all that it started; no other is signalled."""
    if (pid := running(record(folder))) is not None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)


def alive(folder: Path) -> bool:
    """Whether a process of this machine runs the job of a folder, or waits to run it."""
    return _process(folder) is not None


def _process(folder: Path) -> int | None:
    """The pid of the launched process, or of one that was started from a shell; never a cluster's worker."""
    job = ray_cluster.status(folder)
    if job and not job.ended:
        return None
    pids = (running(record(folder)), running(_status(folder)), holder(folder))
    return next((pid for pid in pids if pid is not None), None)


def _status(folder: Path) -> dict[str, Any]:
    status = run_files.read_json(folder / "status.json")
    return status if status.get("state") == "running" else {}


def stop(folder: Path) -> bool:
    """Ask a job to save and end; returns False if it has already ended, and then signals nothing."""
    pid = _process(folder)
    if pid is None and ray_cluster.status(folder):
        return progress(folder).under_way and ray_cluster.stop(folder)
    if pid is None and not progress(folder).elsewhere:
        return False
    (folder / ASKED_TO_STOP).touch()  # for one on another machine, and one that ends before it writes its status
    if pid is not None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
    return True


def progress(folder: Path) -> Progress:
    """Tells how a job stands, by its status file and whether its process or its cluster's job is alive."""
    here, job = alive(folder), ray_cluster.status(folder)  # read before the status, which a job writes before it ends
    if (here and queue.waiting(folder)) or (job and job.status == "PENDING"):
        return Progress("queued", 0, None)
    status = run_files.read_json(folder / "status.json")
    elsewhere = not here and _runs_elsewhere(folder, status, job)
    state, why = _state(folder, status, job, is_alive=here or elsewhere)
    last = run_files.last(folder / "metrics.jsonl") if status else {}
    return Progress(state, max(_whole(status.get("step")), _whole(last.get("step"))),
                    _whole(status.get("steps")) or None, why, elsewhere and state in ("starting", "running"))


def _runs_elsewhere(folder: Path, status: dict[str, Any], job: ray_cluster.Job | None) -> bool:
    """Whether a run that has no process here is under way on a cluster, or on another machine that shares the disk."""
    if job and job.status != ray_cluster.SILENT:
        return job.under_way
    return (job is not None or status.get("boot_id") not in (None, boot_id())) and _wrote_recently(folder)


def _state(folder: Path, status: dict[str, Any], job: ray_cluster.Job | None, *,
           is_alive: bool) -> tuple[str, str | None]:
    """The state of a job and why it ended, by its status file, its cluster or the end of its log."""
    state, why = status.get("state"), status.get("why")
    why = why if isinstance(why, str) else job.why if job else None
    if state in ("finished", "stopped", "failed"):
        return state, why
    if is_alive:
        return "running" if state else "starting", why
    if job and job.status in ("STOPPED", "FAILED"):
        return job.status.lower(), why
    if (folder / ASKED_TO_STOP).exists():
        return "stopped", why
    if not job and (error := _last_error(folder)):  # it failed before it could write its status
        return "failed", error
    return "died", why


def _whole(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _wrote_recently(folder: Path) -> bool:
    """Whether a run wrote something within SILENT seconds, even if the clock of its machine is ahead."""
    for name in ("metrics.jsonl", "status.json", RECORD):
        with contextlib.suppress(OSError):
            if abs(time.time() - (folder / name).stat().st_mtime) < SILENT:
                return True
    return False


def _last_error(folder: Path) -> str | None:
    """The last error that the process printed, unless the run has written its status since then."""
    printed, status, log = record(folder).get("printed"), folder / "status.json", folder / LOG
    try:
        if not isinstance(printed, int) or (status.exists() and status.stat().st_mtime_ns > log.stat().st_mtime_ns):
            return None
    except OSError:
        return None
    return ray_cluster.last_error(log_tail(folder, lines=400, start=printed).splitlines())


def log_tail(folder: Path, *, lines: int = 12, start: int = 0) -> str:
    """The last lines that a job has printed, after byte `start`."""
    try:
        with open(folder / LOG, "rb") as log:
            log.seek(max(start, log.seek(0, os.SEEK_END) - 20_000))
            return "\n".join(log.read().decode(errors="replace").rstrip().splitlines()[-lines:])
    except OSError:
        return ""
