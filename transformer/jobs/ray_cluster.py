"""Runs on a Ray cluster: submitted, resumed, watched and stopped over the Jobs API of its dashboard.

The cluster and this machine share only the run folder, on a disk that both see under the same path: the cluster's first
worker writes it as any trainer does. launch.json names the cluster and the job instead of a process.

`RAY_API_SERVER_ADDRESS` names the dashboard. Anybody who reaches a cluster that asks for no token can run code on it
(CVE-2023-48022), so a cluster without a token is refused. The token is read from where Ray reads it: `RAY_AUTH_TOKEN`,
the file that `RAY_AUTH_TOKEN_PATH` names, ~/.ray/auth_token.
"""

import argparse
import hashlib
import io
import os
import shlex
import sys
import time
import urllib.error
import urllib.request
import uuid
import zipfile
from dataclasses import dataclass, field
from functools import cache
from http.client import HTTPException
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import quote, urlsplit

import orjson

from transformer.basics.paths import LIBRARY
from transformer.jobs import run_files
from transformer.jobs.queue import ASKED_TO_STOP, RECORD, TURN, locked, next_ticket, record
from transformer.settings.config import RunConfig, read_settings
from transformer.settings.presets import preset

ADDRESS, TOKEN, TOKEN_PATH = "RAY_API_SERVER_ADDRESS", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"
PYTHON = "HEADSUP_CLUSTER_PYTHON"  # an absolute path on the cluster's machines; by default the one that runs here
TIMEOUT, STATUS_TIMEOUT = 30.0, 2.0  # seconds to wait for an answer: to an action, to a question for a job's status
FRESH, SILENCE = 2.0, 15.0  # seconds that a status counts, and that a cluster which did not answer is left alone
GRACE = 300.0  # seconds to save, after which a second stop ends the job as it is
SHUTDOWN = 60  # seconds that Ray gives a job to save when it ends it
LONGEST_REASON = 400  # characters
SILENT, GONE = "SILENT", "GONE"


@dataclass(frozen=True)
class Job:
    """The status of a job in Ray's words: PENDING, RUNNING, SUCCEEDED, STOPPED or FAILED; SILENT if the cluster does
    not answer, GONE if it knows no such job."""

    status: str
    message: str = ""

    @property
    def under_way(self) -> bool:
        return self.status in ("PENDING", "RUNNING")

    @property
    def ended(self) -> bool:
        return not self.under_way and self.status != SILENT

    @property
    def why(self) -> str | None:
        """What went wrong, as one sentence: our worker's error, or the last line that the job printed."""
        if self.status in (SILENT, GONE):
            return self.message
        lines = [line.strip() for line in self.message.splitlines() if line.strip()]
        if self.status != "FAILED" or not lines:
            return None
        if "exit code 127" in lines[0] or "exit code 126" in lines[0]:  # the shell's, for no such command
            return ("the cluster's head does not have that Python; set HEADSUP_CLUSTER_PYTHON to where its machines "
                    "have theirs")
        why = last_error(lines) or lines[-1]
        if "ModuleNotFoundError" in why:
            why += "; the cluster's Python needs requirements.txt and ray[default,train]"
        return why[:LONGEST_REASON]


def last_error(lines: list[str]) -> str | None:
    """The last error among the lines that a training printed."""
    return next((line.removeprefix("error: ") for line in reversed(lines) if line.startswith("error: ")), None)


class Refused(ValueError):
    """The cluster answered with an error."""

    def __init__(self, message: str, code: int):
        super().__init__(message)
        self.code = code


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, req, fp, code, msg, headers, newurl) -> None:
        """Follows nothing: the token is for this address and no other."""


@dataclass(frozen=True)
class Cluster:
    """The dashboard of a cluster. Its methods raise ValueError, with what to do, if it refuses or does not answer."""

    address: str
    token: str = field(repr=False)

    def ask(self, method: str, path: str, body: bytes | None = None, *, timeout: float = TIMEOUT,
            token: bool = True) -> bytes:
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {self.token}"} if token else {})
        request = urllib.request.Request(f"{self.address}{path}", data=body, method=method, headers=headers)
        try:
            with urllib.request.build_opener(_NoRedirect).open(request, timeout=timeout) as answer:
                return answer.read()
        except urllib.error.HTTPError as error:
            with error:
                lines = error.read().decode(errors="replace").strip().splitlines()
            if error.code in (401, 403):
                raise Refused(f"the cluster at {self.address} refuses the token; set {TOKEN} to the one that its head "
                              "was started with", error.code) from None
            reason = (lines[-1][:LONGEST_REASON] if lines else "") or error.reason
            raise Refused(f"the cluster at {self.address} answers {error.code} ({reason}); is that the address of a "
                          "Ray dashboard?", error.code) from None
        except (OSError, HTTPException) as error:
            reason = getattr(error, "reason", None) or error
            raise ValueError(f"the cluster at {self.address} does not answer ({str(reason) or type(reason).__name__}); "
                             "check that its head is running and that this machine can reach it") from None

    def submit(self, job: str, entrypoint: str, *, environment: dict[str, str], run: str) -> None:
        """Have the head run a command, with this version of the library on its path and on that of all its workers."""
        self._must_ask_for_a_token()
        name, content = library()
        try:
            self.ask("GET", f"/api/packages/gcs/{name}")
        except Refused as refused:
            if refused.code != 404:
                raise
            self.ask("PUT", f"/api/packages/gcs/{name}", content)
        self.ask("POST", "/api/jobs/", orjson.dumps({
            "submission_id": job, "entrypoint": entrypoint, "metadata": {"run": run},
            "runtime_env": {"working_dir": f"gcs://{name}", "env_vars": environment}}))

    def _must_ask_for_a_token(self) -> None:
        try:
            self.ask("GET", "/api/version", token=False)
        except Refused as refused:
            if refused.code in (401, 403):
                return
            raise
        raise ValueError(f"the cluster at {self.address} asks for no token, so anybody who reaches it can run code on "
                         f"it (CVE-2023-48022); start its head with RAY_AUTH_MODE=token")

    def status(self, job: str) -> Job:
        """The status of a job; never raises."""
        try:
            answer = orjson.loads(self.ask("GET", f"/api/jobs/{quote(job, safe='')}", timeout=STATUS_TIMEOUT))
            return Job(str(answer["status"]), str(answer.get("message") or ""))
        except Refused as refused:
            if refused.code == 404:
                return Job(GONE, f"the cluster at {self.address} no longer knows job {job}; resume the run")
            return Job(SILENT, str(refused))
        except (KeyError, TypeError, AttributeError, orjson.JSONDecodeError):
            return Job(SILENT, f"what answers at {self.address} is not a Ray dashboard; see {ADDRESS}")
        except ValueError as error:
            return Job(SILENT, str(error))

    def logs(self, job: str) -> str:
        return str(orjson.loads(self.ask("GET", f"/api/jobs/{quote(job, safe='')}/logs")).get("logs") or "")

    def stop(self, job: str) -> None:
        """End a job: Ray sends its command SIGTERM, and kills it if that does not end it."""
        self.ask("POST", f"/api/jobs/{quote(job, safe='')}/stop", b"")


def configured() -> Cluster | None:
    """The cluster that the environment names; None if it names none.

    Raises ValueError if no token is set, or the address is not that of a dashboard.
    """
    address = os.environ.get(ADDRESS, "").strip().rstrip("/")
    if not address:
        return None
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username:
        raise ValueError(f"{ADDRESS} is {address!r}; it must be the address of a Ray dashboard, such as "
                         "http://head:8265")
    if not (token := _token()):
        raise ValueError(f"{ADDRESS} is set and no token is; set {TOKEN}, or {TOKEN_PATH} to its file: a cluster that "
                         "asks for none runs anybody's code (CVE-2023-48022) and is not used")
    if not (token.isascii() and token.isprintable()):
        raise ValueError("the cluster's token has invalid characters; copy it again")
    return Cluster(address, token)


def offered_address() -> str | None:
    """The address of the cluster that runs can be given to; None if there is none, or no token for it."""
    try:
        cluster = configured()
    except ValueError:
        return None
    return cluster.address if cluster else None


def _token() -> str:
    if token := os.environ.get(TOKEN, "").strip():
        return token
    path = os.environ.get(TOKEN_PATH)
    try:
        return (Path(path) if path else Path.home() / ".ray" / "auth_token").read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError, RuntimeError):  # there is no such file, or no home
        return ""


@cache
def library() -> tuple[str, bytes]:
    """This library as a zip, the same for the same files, and the name that Ray keeps it under."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(LIBRARY.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                archive.writestr(zipfile.ZipInfo(str(Path(LIBRARY.name) / path.relative_to(LIBRARY))),
                                 path.read_bytes(), zipfile.ZIP_DEFLATED)
    return f"_ray_pkg_{hashlib.sha256(content.getvalue()).hexdigest()[:20]}.zip", content.getvalue()


def submit(folder: Path, arguments: list[str], *, processes: int = 1, gpus_per_process: int | None = None,
           owner: str | None = None) -> None:
    """Have the cluster run `headsup train --out folder` with more arguments, on so many workers.

    gpus_per_process: None gives each process a GPU if the cluster has enough. Raises ValueError if the folder already
    holds a run, an argument is wrong, or the cluster refuses.
    """
    with locked(folder.parent):
        if folder.exists() and any((folder / name).exists() for name in (RECORD, "metrics.jsonl")):
            raise ValueError(f"the run {folder.name} has already been started; choose another name")
        config, minutes, gpus = read_arguments(arguments)
        is_new = not folder.exists()
        folder.mkdir(parents=True, exist_ok=True)
        try:
            _start(folder, {"arguments": arguments, "processes": processes, "owner": owner, "minutes": minutes,
                            "gpus_per_process": gpus if gpus_per_process is None else gpus_per_process,
                            "config": config.model_dump(mode="json")})
        except ValueError:
            if is_new:
                folder.rmdir()
            raise


class _Arguments(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ValueError(f"a run on a cluster: {message}")


def read_arguments(arguments: list[str]) -> tuple[RunConfig, float | None, int | None]:
    """Read arguments of `train`: the configuration, minutes, and GPUs for each process (None: if there are enough)."""
    parser = _Arguments(prog="train", add_help=False, allow_abbrev=False)
    parser.add_argument("--preset", default="translate")
    parser.add_argument("--steps", type=int)
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--set", action="append", default=[])
    options = parser.parse_args(arguments)
    config = preset(options.preset).set(read_settings(options.set) | (
        {"steps": options.steps} if options.steps else {}))
    train = config.train  # workers run in another directory
    whole: dict[str, object] = {"distill": [str(Path(folder).resolve()) for folder in train.distill]}
    if train.start_from:
        whole["start_from"] = str(Path(train.start_from).resolve())
    if (corpus := Path(train.corpus)).suffix and corpus.is_file():
        whole["corpus"] = str(corpus.resolve())
    config = config.set(whole)
    return config, options.minutes, {"auto": None, "cpu": 0}.get(options.device, 1)


def resume(folder: Path, *, processes: int | None = None, minutes: float | None = None,
           changes: dict[str, Any] | None = None) -> None:
    """Submit a run that has ended again, from its last save, wherever it ran before; with some settings changed.

    The caller has checked that it is not under way, and holds the lock of the runs.
    """
    about = record(folder)
    if not (settings := run_files.read_json(folder / "config.json") or about.get("config")):
        raise ValueError(f"the run {folder.name} has no config.json, so it cannot be resumed; start another run")
    config = RunConfig.model_validate(settings).set(changes or {})
    kept = {name: about[name] for name in ("arguments", "owner", "gpus_per_process") if name in about}
    _start(folder, {**kept, "processes": processes or int(about.get("processes") or 1), "minutes": minutes,
                    "config": config.model_dump(mode="json")})
    for name in (TURN, ASKED_TO_STOP, "status.json"):  # of its end; the job writes nothing for some seconds
        (folder / name).unlink(missing_ok=True)


def _start(folder: Path, about: dict[str, Any]) -> None:
    if (cluster := configured()) is None:
        raise ValueError(f"no cluster is named; set {ADDRESS} to the address of a Ray dashboard, such as "
                         "http://head:8265")
    job, before = f"headsup-{uuid.uuid4().hex[:12]}", record(folder)
    run_files.write_json(folder / RECORD, {**about, "cluster": cluster.address, "job": job, "time": time.time(),
                                           "ticket": next_ticket(folder.parent)})  # the worker looks for its job there
    try:
        cluster.submit(job, _entrypoint(folder, job), run=folder.name,
                       environment={"RAY_JOB_STOP_WAIT_TIME_S": str(SHUTDOWN), "NO_COLOR": "1"})
    except ValueError:
        if before:
            run_files.write_json(folder / RECORD, before)
        else:
            (folder / RECORD).unlink(missing_ok=True)
        raise


def _entrypoint(folder: Path, job: str) -> str:
    python = os.environ.get(PYTHON) or sys.executable  # a bare name would be looked up on the head's PATH
    return shlex.join([python, "-m", "transformer.training.ray_job", str(folder.resolve()), job])


_statuses: dict[tuple[str, str], tuple[float, Job]] = {}  # (address, job) -> when it was asked for, and the answer
_silent: dict[str, tuple[float, Job]] = {}  # address -> the same, if there was no answer


def status(folder: Path) -> Job | None:
    """The status of the run's job; None for a run that no cluster has.

    The cluster is asked at most every two seconds, and not again once the job has ended. Only the cluster that the
    environment names is asked: a folder does not decide who gets the token.
    """
    about = record(folder)
    address, job = about.get("cluster"), about.get("job")
    if not isinstance(address, str) or not isinstance(job, str):
        return None
    try:
        cluster = configured()
    except ValueError as error:
        return Job(SILENT, str(error))
    if cluster is None or cluster.address != address:
        return Job(SILENT, f"the run is on the cluster at {address}; set {ADDRESS} to that to see its status")
    now = time.monotonic()
    asked, known = _statuses.get((address, job), (0.0, None))
    if known and (known.ended or now - asked < FRESH):
        return known
    asked, known = _silent.get(address, (0.0, None))
    if known and now - asked < SILENCE:
        return known
    answer = cluster.status(job)
    if answer.status == SILENT:
        _silent[address] = time.monotonic(), answer
    else:
        _statuses[address, job] = time.monotonic(), answer
    return answer


def forget(address: str, job: str) -> None:
    """Ask for the status anew next time: something was done to the job."""
    _statuses.pop((address, job), None)
    _silent.pop(address, None)


def logs(folder: Path) -> str:
    """All that the run's job and Ray itself have printed. Raises ValueError if the cluster does not answer."""
    return _cluster_of(folder).logs(str(record(folder)["job"]))


def _cluster_of(folder: Path) -> Cluster:
    address, cluster = record(folder).get("cluster"), configured()
    if cluster is None or cluster.address != address:
        raise ValueError(f"the run {folder.name} is on the cluster at {address}; set {ADDRESS} to that")
    return cluster


def stop(folder: Path) -> bool:
    """Ask a run that is under way to save and end, by a file that its trainer looks for; always True.

    If it does not train yet, or was asked GRACE seconds ago, its job is ended. Raises ValueError if the cluster
    refuses or does not answer.
    """
    request = folder / ASKED_TO_STOP
    is_training = run_files.read_json(folder / "status.json").get("state") == "running"
    age = _age(request)
    if age is None:
        request.touch()
    if not is_training or (age is not None and age > GRACE):
        about = record(folder)
        _cluster_of(folder).stop(str(about["job"]))
        forget(str(about["cluster"]), str(about["job"]))
    return True


def _age(path: Path) -> float | None:
    """Seconds since a file was written, by the clock of its disk; None if there is no such file."""
    probe = path.with_name(".now")
    try:
        probe.touch()
        return probe.stat().st_mtime - path.stat().st_mtime
    except FileNotFoundError:
        return None
    finally:
        probe.unlink(missing_ok=True)
