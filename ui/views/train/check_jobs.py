"""Checks of runs that somebody thinks of starting: processes of their own, and results that all visitors share."""

import contextlib
import hashlib
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import orjson

from transformer.jobs import run_files
from transformer.jobs.launch import identify
from transformer.jobs.lock import file_lock
from transformer.paths import LIBRARY, home
from transformer.presets import preset as find_preset
from transformer.text.user_corpus import is_user_corpus
from ui.access.owners import Thing
from ui.access.quotas import CHECK_SECONDS, CHECKS, held_to_them
from ui.access.visitors import owner

KEPT = 50     # results that stay
GRACE = 10    # seconds after which a check that had its time is ended by whoever looks
STARTED = time.time()


@dataclass(frozen=True)
class CheckStatus:
    """How a check stands: "none", "running", "done" with its result, or "died" without one."""

    state: str
    result: dict[str, object] | None = None
    seconds: float = 0.0  # since it began
    log: str = ""  # its last lines


def check_key(preset: str, settings: dict[str, object], device: str) -> str:
    """What tells one check from another: its arguments, and which state a corpus file of the user's own is in."""
    name = str(settings.get("corpus", find_preset(preset).train.corpus))
    written = None
    if is_user_corpus(name):
        with contextlib.suppress(OSError, ValueError):
            stat = Path(name).stat()
            written = [stat.st_mtime_ns, stat.st_size]
    what = orjson.dumps([preset, settings, device, written], option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(what).hexdigest()[:20]


def standing(key: str) -> CheckStatus:
    """How the check of that key stands; one that has just ended leaves its result to all."""
    for _ in range(2):  # another visitor may put the result in place in between
        if (result := _kept(key)) is not None:
            return CheckStatus("done", result)
        record, running = _process(key)
        if record is None:
            return CheckStatus("none")
        if running and not _overdue(key, record):
            return CheckStatus("running", seconds=max(0.0, time.time() - record["time"]), log=_tail(key))
        if (result := _result(_file(key, "out"))) is not None:
            run_files.write_json(_file(key, "json"), result)
            _clear(key)
            return CheckStatus("done", result)
    return CheckStatus("died", log=_tail(key))


def failure(key: str) -> str | None:
    """Why what was checked cannot be trained; None where it can, or nobody has checked."""
    problems = (standing(key).result or {}).get("problems", [])
    return next((problem["text"] for problem in problems if problem["level"] == "error"), None)


def _kept(key: str) -> dict[str, object] | None:
    """A result that an earlier check left. Files, networks and memory change, so what failed before this app started
    is not believed any more."""
    path = _file(key, "json")
    result = _result(path)
    if result is None or all(problem["level"] != "error" for problem in result["problems"]):
        return result
    with contextlib.suppress(FileNotFoundError):  # somebody checks again
        return result if path.stat().st_mtime >= STARTED else None
    return None


def start_check(preset: str, settings: dict[str, object], device: str) -> None:
    """Start `headsup check` with these arguments. Raises ValueError where too many run already."""
    key = check_key(preset, settings, device)
    folder = home() / "checks"
    with file_lock(home() / ".checks.lock"):
        folder.mkdir(exist_ok=True)
        keys = [path.stem for path in folder.glob("*.process")]
        busy = [other for other in keys if _process(other)[1] and not _overdue(other, _process(other)[0])]
        if key in busy:  # another visitor was faster
            return
        if len(busy) >= CHECKS:
            raise ValueError(f"{len(busy)} checks are running on this server; the limit is {CHECKS}. Please try again "
                             "in a minute")
        forget_check(key)
        _prune(folder)
        command = [sys.executable, "-m", "transformer", "check", "--preset", preset, "--device", device, "--json"]
        for name, value in settings.items():
            command += ["--set", f"{name}={orjson.dumps(value).decode()}"]
        _file(key, "tmp").mkdir()  # its own, so that it goes with a check that is cancelled
        with open(_file(key, "out"), "wb") as out, open(_file(key, "log"), "wb") as log:
            process = subprocess.Popen(command, cwd=LIBRARY.parent, stdin=subprocess.DEVNULL, stdout=out, stderr=log,
                                       start_new_session=True, env={
                                           **os.environ, "OMP_NUM_THREADS": "1", "NO_COLOR": "1", "COLUMNS": "100",
                                           "TMPDIR": str(_file(key, "tmp").resolve())})
        record = identify(process.pid) or {"pid": process.pid}
        seconds = CHECK_SECONDS if held_to_them() else None
        record |= {"time": time.time(), "owner": owner(), "seconds": seconds}
        run_files.write_json(_file(key, "process"), record)
    threading.Thread(target=_wait, args=[process, key, seconds], daemon=True).start()  # so that it leaves no zombie


def _wait(process: subprocess.Popen, key: str, seconds: float | None) -> None:
    """Until a check has ended, which is killed with all that it started where it takes longer."""
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        with contextlib.suppress(OSError), open(_file(key, "log"), "a") as log:
            log.write(f"It took more than {seconds:.0f} seconds, the limit of this server; make the model or the "
                      f"batches smaller.\n")


def _overdue(key: str, record: dict[str, object] | None) -> bool:
    """Whether a check has had its time, and ends it: the process that started it may have died and watch no more."""
    seconds = (record or {}).get("seconds")
    if not isinstance(seconds, int) or time.time() < record["time"] + seconds + GRACE:
        return False
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(record["pid"], signal.SIGKILL)
    return True


def check_thing(key: str) -> Thing:
    """A check that runs, and who started it."""
    return Thing("check", (_process(key)[0] or {}).get("owner"))


def cancel_check(key: str) -> None:
    """End a check that runs, with all that it started; nothing else is signalled."""
    record, running = _process(key)
    if running:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(record["pid"], signal.SIGKILL)
    forget_check(key)


def forget_check(key: str) -> None:
    """Remove a result, so that the next check is made anew."""
    _file(key, "json").unlink(missing_ok=True)
    _clear(key)


def _file(key: str, kind: str) -> Path:
    return home() / "checks" / f"{key}.{kind}"


def _clear(key: str) -> None:
    for kind in ("process", "out", "log"):
        _file(key, kind).unlink(missing_ok=True)
    shutil.rmtree(_file(key, "tmp"), ignore_errors=True)


def _process(key: str) -> tuple[dict[str, object] | None, bool]:
    """The process that was started for a check, and whether it still runs."""
    try:
        record = orjson.loads(_file(key, "process").read_bytes())
        found = identify(int(record["pid"]))
        float(record["time"])
    except (OSError, ValueError, KeyError, TypeError):
        return None, False
    return record, found is not None and all(record.get(name) == value for name, value in found.items())


def _result(path: Path) -> dict[str, object] | None:
    """The last line of a check's output, or its kept result; None while it has not been written whole."""
    try:
        content = path.read_bytes()
        found = orjson.loads(content if path.suffix == ".json" else content.splitlines()[-1])
    except (OSError, ValueError, IndexError):
        return None
    return found if isinstance(found, dict) and "problems" in found else None


def _tail(key: str, *, lines: int = 12) -> str:
    try:
        return "\n".join(_file(key, "log").read_text("utf-8", errors="replace").rstrip().splitlines()[-lines:])
    except OSError:
        return ""


def _prune(folder: Path) -> None:
    """Keep the newest results."""
    results = sorted(folder.glob("*.json"), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in results[KEPT - 1:]:
        forget_check(path.stem)
