"""Checks of runs that somebody thinks of starting: a job and a folder for each, whose result all visitors share."""

import contextlib
import hashlib
import shutil
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from transformer.jobs.launch import kill, log_tail, start
from transformer.jobs.process import running
from transformer.jobs.queue import locked, record
from transformer.settings.presets import preset as find_preset

RESULT, TEMPORARY = "result.json", "tmp"  # standard output of the check, and its own temporary files
KEPT = 50     # newest checks that stay
GRACE = 10    # seconds after which a check that had its time is ended by whoever looks
STARTED = time.time()


@dataclass(frozen=True)
class CheckStatus:
    """How a check stands: "none", "running", "done" with its result, or "died" without one."""

    state: str
    result: dict[str, Any] | None = None
    seconds: float = 0.0  # since it began
    log: str = ""  # its last lines


def folder_of(checks: Path, preset: str, settings: dict[str, object], device: str) -> Path:
    """The folder of a check: there is one for each set of arguments and each state of the files that they name."""
    written = []
    taught = settings.get("distill") or ()
    folders = [settings.get("start_from"), *(taught if isinstance(taught, list | tuple) else ())]
    for file in (str(settings.get("corpus", find_preset(preset).train.corpus)),
                 *(f"{folder}/manifest.json" for folder in folders if folder)):
        with contextlib.suppress(OSError, ValueError):  # a built-in corpus is no file
            stat = Path(file).stat()
            written.append([file, stat.st_mtime_ns, stat.st_size])
    what = orjson.dumps([preset, settings, device, written], option=orjson.OPT_SORT_KEYS)
    return checks / hashlib.sha256(what).hexdigest()[:20]


def status(folder: Path) -> CheckStatus:
    about = record(folder)
    if _is_running(folder, about):
        return CheckStatus("running", seconds=max(0.0, time.time() - about["time"]), log=log_tail(folder))
    if (result := _result(folder)) is not None:
        shutil.rmtree(folder / TEMPORARY, ignore_errors=True)
        return CheckStatus("none") if _is_outdated(folder, result) else CheckStatus("done", result)
    return CheckStatus("died", log=log_tail(folder)) if about else CheckStatus("none")


def failure(folder: Path) -> str | None:
    """Why the run that was checked cannot be trained; None if it can, or has not been checked."""
    return next(iter(_errors(status(folder).result or {})), None)


def start_check(folder: Path, preset: str, settings: dict[str, object], device: str, *, owner: str | None = None,
                seconds: float | None = None, at_once: int) -> None:
    """Start `headsup check` with these arguments in its folder, anew if it has ended; not if it is running.

    owner: whose it is. seconds: it is ended if it takes longer. Raises ValueError if so many are running already.
    """
    with locked(folder.parent):
        running_checks = [path for path in folder.parent.iterdir() if _is_running(path, record(path))]
        if folder in running_checks:  # another visitor was faster
            return
        if len(running_checks) >= at_once:
            raise ValueError(f"{len(running_checks)} checks are running on this server; the limit is {at_once}. Please "
                             "try again in a minute")
        forget(folder)
        ended = [path for path in folder.parent.iterdir() if path.is_dir() and path not in running_checks]
        for path in sorted(ended, key=lambda path: path.stat().st_mtime, reverse=True)[KEPT - 1:]:
            forget(path)
        command = [sys.executable, "-m", "transformer", "check", "--preset", preset, "--device", device, "--json"]
        for name, value in settings.items():
            command += ["--set", f"{name}={orjson.dumps(value).decode()}"]
        (folder / TEMPORARY).mkdir(parents=True)
        start(folder, command, {"owner": owner}, seconds=seconds, output=RESULT, OMP_NUM_THREADS="1",
              TMPDIR=str((folder / TEMPORARY).resolve()))


def cancel(folder: Path) -> None:
    """End a check that is running, with all that it started, and remove it."""
    kill(folder)
    forget(folder)


def forget(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)


def _is_running(folder: Path, about: dict[str, Any]) -> bool:
    """Whether a check is running; one that had its time is ended, for whoever started it may no longer watch."""
    if running(about) is None:
        return False
    if about.get("seconds") and time.time() > about["time"] + about["seconds"] + GRACE:
        kill(folder)
        return False
    return True


def _result(folder: Path) -> dict[str, Any] | None:
    """The last line of what the check printed; None until it has been written whole."""
    try:
        result = orjson.loads((folder / RESULT).read_bytes().splitlines()[-1])
    except (OSError, ValueError, IndexError):
        return None
    return result if isinstance(result, dict) and "problems" in result else None


def _errors(result: dict[str, Any]) -> list[str]:
    return [problem["text"] for problem in result.get("problems", []) if problem["level"] == "error"]


def _is_outdated(folder: Path, result: dict[str, Any]) -> bool:
    """Whether it failed before this app started: files, networks and memory change."""
    try:
        return bool(_errors(result)) and (folder / RESULT).stat().st_mtime < STARTED
    except FileNotFoundError:  # it is being checked again
        return True
