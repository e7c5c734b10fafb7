"""The Jobs API of a Ray cluster, over HTTP: what is submitted, how it stands, what it printed, and its end.

`RAY_API_SERVER_ADDRESS` names the dashboard. Whoever reaches a cluster that asks for no token runs code on it
(CVE-2023-48022), so one without a token is refused. The token is looked for where Ray does: `RAY_AUTH_TOKEN`, the file
that `RAY_AUTH_TOKEN_PATH` names, ~/.ray/auth_token.
"""

import hashlib
import io
import os
import time
import urllib.error
import urllib.request
import zipfile
from dataclasses import dataclass, field
from functools import cache
from http.client import HTTPException
from pathlib import Path
from urllib.parse import quote, urlsplit

import orjson

from transformer.paths import LIBRARY

ADDRESS, TOKEN, TOKEN_PATH = "RAY_API_SERVER_ADDRESS", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"
PATIENCE, IMPATIENCE = 30.0, 2.0  # seconds until an answer: to what somebody asked for, and to a look at how it stands
FRESH, SILENCE = 2.0, 15.0  # seconds that a look counts, and that a cluster which did not answer is left alone
LONGEST_WHY = 400  # characters
SILENT, GONE = "SILENT", "GONE"


@dataclass(frozen=True)
class Job:
    """How a job stands: PENDING, RUNNING, SUCCEEDED, STOPPED or FAILED, as Ray says; SILENT where the cluster does not
    answer, GONE where it knows no such job."""

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
        """What went wrong, as one sentence: what our worker said, or the end of what was printed."""
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
        return why[:LONGEST_WHY]


def last_error(lines: list[str]) -> str | None:
    """The last that a training printed as what went wrong."""
    return next((line.removeprefix("error: ") for line in reversed(lines) if line.startswith("error: ")), None)


class Refused(ValueError):
    """The cluster answered, and not with what was asked for."""

    def __init__(self, message: str, code: int):
        super().__init__(message)
        self.code = code


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, req, fp, code, msg, headers, newurl) -> None:
        """The token is for this address and no other."""


@dataclass(frozen=True)
class Cluster:
    """A cluster that may be talked to. Every method raises ValueError with what to do where that fails."""

    address: str
    token: str = field(repr=False)

    def ask(self, method: str, path: str, body: bytes | None = None, *, patience: float = PATIENCE,
            token: bool = True) -> bytes:
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {self.token}"} if token else {})
        request = urllib.request.Request(f"{self.address}{path}", data=body, method=method, headers=headers)
        try:
            with urllib.request.build_opener(_NoRedirect).open(request, timeout=patience) as answer:
                return answer.read()
        except urllib.error.HTTPError as error:
            with error:
                said = (error.read().decode(errors="replace").strip().splitlines() or [""])[-1][:LONGEST_WHY]
            if error.code in (401, 403):
                raise Refused(f"the cluster at {self.address} refuses the token; set {TOKEN} to the one that its head "
                              "was started with", error.code) from None
            raise Refused(f"the cluster at {self.address} answers {error.code} ({said or error.reason}); is that the "
                          "address of a Ray dashboard?", error.code) from None
        except (OSError, HTTPException) as error:
            reason = getattr(error, "reason", None) or error
            raise ValueError(f"the cluster at {self.address} does not answer ({str(reason) or type(reason).__name__}); "
                             "check that its head is running and that this machine can reach it") from None

    def submit(self, job: str, entrypoint: str, *, environment: dict[str, str], run: str) -> None:
        """Have the head run a command, with this library as it is here at hand for it and for all its workers."""
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

    def look(self, job: str, *, patience: float = IMPATIENCE) -> Job:
        try:
            found = orjson.loads(self.ask("GET", f"/api/jobs/{quote(job, safe='')}", patience=patience))
            return Job(str(found["status"]), str(found.get("message") or ""))
        except Refused as refused:
            if refused.code == 404:
                return Job(GONE, f"the cluster at {self.address} no longer knows job {job}; resume the run")
            return Job(SILENT, str(refused))
        except (KeyError, TypeError, AttributeError, orjson.JSONDecodeError):
            return Job(SILENT, f"what answers at {self.address} is not a Ray dashboard; see {ADDRESS}")
        except ValueError as error:
            return Job(SILENT, str(error))

    def logs(self, job: str) -> str:
        """All that a job has printed."""
        return str(orjson.loads(self.ask("GET", f"/api/jobs/{quote(job, safe='')}/logs")).get("logs") or "")

    def stop(self, job: str) -> None:
        """End a job: its command is asked to by SIGTERM, and killed where it does not."""
        self.ask("POST", f"/api/jobs/{quote(job, safe='')}/stop", b"")


def configured() -> Cluster | None:
    """The cluster that the environment names; None where it names none.

    Raises ValueError for one without a token, or where the address is not that of a dashboard.
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


def _token() -> str:
    if token := os.environ.get(TOKEN, "").strip():
        return token
    named = os.environ.get(TOKEN_PATH)
    try:
        return (Path(named) if named else Path.home() / ".ray" / "auth_token").read_text().strip()
    except (OSError, UnicodeDecodeError, RuntimeError):  # none is there, or no home
        return ""


_seen: dict[tuple[str, str], tuple[float, Job]] = {}
_silent: dict[str, tuple[float, Job]] = {}


def look(address: str, job: str) -> Job:
    """How a job stands, asked at most every two seconds, and not at all once it has ended.

    Only the cluster that the environment names is asked: a folder does not say who gets the token.
    """
    try:
        cluster = configured()
    except ValueError as error:
        return Job(SILENT, str(error))
    if cluster is None or cluster.address != address:
        return Job(SILENT, f"the run is on the cluster at {address}; set {ADDRESS} to that to see its status")
    now = time.monotonic()
    when, known = _seen.get((address, job), (0.0, None))
    if known and (known.ended or now - when < FRESH):
        return known
    when, known = _silent.get(address, (0.0, None))
    if known and now - when < SILENCE:
        return known
    found = cluster.look(job)
    if found.status == SILENT:
        _silent[address] = time.monotonic(), found
    else:
        _seen[address, job] = time.monotonic(), found
    return found


def forget(address: str, job: str) -> None:
    """Ask anew at the next look: something was done to the job."""
    _seen.pop((address, job), None)
    _silent.pop(address, None)


@cache
def library() -> tuple[str, bytes]:
    """This library as a zip that is the same for the same files, and what it is called."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(LIBRARY.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                archive.writestr(zipfile.ZipInfo(str(Path(LIBRARY.name) / path.relative_to(LIBRARY))),
                                 path.read_bytes(), zipfile.ZIP_DEFLATED)
    return f"_ray_pkg_{hashlib.sha256(content.getvalue()).hexdigest()[:20]}.zip", content.getvalue()
