"""A process that has imported what a training needs and waits for one, so that its first step comes at once.

`python -m transformer.jobs.standby SECONDS MODULE...` imports the modules, which takes seconds, and waits so long for a
job on its standard input: then it does what `python -m` would have done. On its standard output it says that it is
ready, and that it has taken the job. Nobody has to use it; without it a job starts slower.
"""

import contextlib
import importlib
import os
import runpy
import select
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import orjson
import psutil

from transformer.basics.paths import LIBRARY
from transformer.jobs import queue

IDLE = 600  # seconds that it waits for a job
MEMORY = 1_500_000_000  # bytes that have to be free
ANSWERS = 10  # seconds within which a process that is ready says that it has taken a job
READY, TAKEN = b"r", b"t"

_lock = threading.Lock()
_ready: subprocess.Popen | None = None


def prepare(modules: tuple[str, ...], environment: dict[str, str]) -> None:
    """Have a process ready that has imported these modules, unless there is one, or memory is short."""
    global _ready
    if sys.platform == "win32" or psutil.virtual_memory().available < MEMORY:
        return
    with _lock:
        if _ready is None or _ready.poll() is not None:
            _ready = subprocess.Popen([sys.executable, "-m", "transformer.jobs.standby", str(IDLE), *modules],
                                      cwd=LIBRARY.parent, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      stderr=subprocess.DEVNULL, start_new_session=True,
                                      env={**os.environ, **environment})


def take(job: dict[str, Any]) -> subprocess.Popen | None:
    """Give a job to the process that waits, and return it; None if there is none.

    job: `module` and its `arguments`; `output` and `log`, the files that take what it prints; `turn`, the folder of a
    run that waits for its turn first, or None.
    """
    global _ready
    with _lock:
        process, _ready = _ready, None
    if process is None or process.poll() is not None:
        return None
    assert process.stdin is not None and process.stdout is not None
    try:
        with process.stdout as told:
            waits = _hear(told.fileno(), 0) is not None  # else it still imports, and begins to wait after that
            with process.stdin as pipe:
                pipe.write(orjson.dumps(job) + b"\n")
            taken = not waits or _hear(told.fileno(), ANSWERS) == TAKEN
    except OSError:
        taken = False
    if not taken:  # it has just ended; where it only says nothing, it must not begin when another does the job
        process.kill()
        return None
    return process


def _hear(file: int, seconds: float) -> bytes | None:
    """What a process says within so many seconds: nothing at its end, None where it says nothing."""
    return os.read(file, 1) if select.select([file], [], [], seconds)[0] else None


def _say(file: int, word: bytes) -> None:
    with contextlib.suppress(OSError):  # nobody listens any more
        os.write(file, word)


def _do(job: dict[str, Any]) -> None:
    for name, number in (("output", 1), ("log", 2)):
        file = os.open(job[name], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        os.dup2(file, number)
        os.close(file)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    if job["turn"]:
        queue.wait(Path(job["turn"]))
    sys.argv = [job["module"], *job["arguments"]]
    runpy.run_module(job["module"], run_name="__main__", alter_sys=True)


def _wait(seconds: float, modules: list[str]) -> None:
    """What this process does."""
    told, nothing = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)  # a module that prints says nothing to who listens
    os.close(nothing)
    for module in modules:
        importlib.import_module(module)
    _say(told, READY)
    if not select.select([0], [], [], seconds)[0] or not (line := sys.stdin.buffer.readline()):
        os._exit(0)  # at once: while an interpreter takes itself apart, it could be given a job that nobody does
    _say(told, TAKEN)
    os.close(told)
    _do(orjson.loads(line))


if __name__ == "__main__":
    _wait(float(sys.argv[1]), sys.argv[2:])
