"""A process that has imported what a training needs and waits for one, so that its first step comes at once.

`python -m transformer.jobs.standby MODULE...` imports the modules, which takes seconds, and waits for a job on its
standard input: then it does what `python -m` would have done. Nobody has to use it; without it a job starts slower.
"""

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

from transformer.jobs import queue
from transformer.paths import LIBRARY

IDLE = 600  # seconds that it waits for a job
MEMORY = 1_500_000_000  # bytes that have to be free

_lock = threading.Lock()
_ready: subprocess.Popen | None = None


def prepare(modules: tuple[str, ...], environment: dict[str, str]) -> None:
    """Have a process ready that has imported these modules, unless there is one, or memory is short."""
    global _ready
    if sys.platform == "win32" or psutil.virtual_memory().available < MEMORY:
        return
    with _lock:
        if _ready is None or _ready.poll() is not None:
            _ready = subprocess.Popen([sys.executable, "-m", "transformer.jobs.standby", *modules], cwd=LIBRARY.parent,
                                      stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                      start_new_session=True, env={**os.environ, **environment})


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
    assert process.stdin is not None
    try:
        with process.stdin as pipe:
            pipe.write(orjson.dumps(job) + b"\n")
    except OSError:  # it has just ended
        return None
    return process


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


if __name__ == "__main__":
    for module in sys.argv[1:]:
        importlib.import_module(module)
    if select.select([0], [], [], IDLE)[0] and (line := sys.stdin.buffer.readline()):  # nothing: who started it is gone
        _do(orjson.loads(line))
