"""Servers of the app, forked from one process that has imported it, as `make serve` forks its workers: the imports take
six seconds of the processor, a fork and all that the command does after them half of one."""

import ctypes
import gc
import json
import os
import re
import runpy
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.server.client import ADDRESS, Server
from tests.waiting import HEADLESS, ROOT, said, start_server, until

ENDED_WITH_ITS_PARENT = 1  # PR_SET_PDEATHSIG
# What a server of these tests does before it is one: it keeps no process ready for a training, which takes four seconds
# of the processor and which nobody here waits for, sees at once who has signed out, and lets a phone wait for an hour,
# so that a change that wakes nobody is seen.
BRISK = """from transformer.jobs import standby
from ui.server import middleware, room_routes
standby.MEMORY = 1 << 62
middleware.LOOKS_EVERY = 0.1
room_routes.WAIT_S = 3_600.0
"""


@dataclass
class Forked:
    """The process of a server, used as one of `subprocess` is."""

    pid: int
    ask: Callable[..., Any]
    returncode: int | None = None

    def poll(self) -> int | None:
        """Its exit status, once it has ended."""
        if self.returncode is None:
            self.returncode = self.ask(poll=self.pid)
        return self.returncode

    def wait(self, timeout: float = 60) -> int:
        until(lambda: self.poll() is not None, lambda: f"process {self.pid} goes on", seconds=timeout)
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class Importer:
    """The process that has imported the app. It ends with this one, and its forks with it."""

    def __init__(self) -> None:
        from ui.server.workers import NO_THREADS

        self.process = subprocess.Popen([sys.executable, "-m", "tests.serving"], cwd=ROOT, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, env=os.environ | NO_THREADS)

    def ask(self, **what: object) -> Any:
        self.process.stdin.write(f"{json.dumps(what)}\n".encode())
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def fork(self, command: Sequence[str], log: Path, *, cwd: Path = ROOT, **environment: str) -> Forked:
        """A process that does what `python` would with this command; what it prints goes to the log."""
        log.touch()
        return Forked(self.ask(command=command, log=str(log), cwd=str(cwd), environment=HEADLESS | environment),
                      self.ask)

    def fork_server(self, command: Sequence[str], log: Path, pattern: str, *, cwd: Path = ROOT,
                    **environment: str) -> tuple[Forked, re.Match]:
        """As `start_server` does with a new process."""
        forked = self.fork(command, log, cwd=cwd, **environment)
        return forked, said(forked, log, pattern)

    def end(self) -> None:
        self.process.stdin.close()
        self.process.wait()


@pytest.fixture(scope="session")
def importer() -> Iterator[Importer]:
    """Forks servers for all tests of this process."""
    importer = Importer()
    yield importer
    importer.end()


@contextmanager
def starting(importer: Importer, folder_for: Callable[[str], Path]) -> Iterator[Callable[..., Server]]:
    """Gives start(), a new server, which ends with the block. before: lines of Python that run in its process first;
    module: of ui, what is run; sign_in: its sign-in.toml; anew: by its command, in a process that has imported
    nothing."""
    started = []

    def start(*arguments: str, before: str = "", module: str = "serve", sign_in: str = "",
              anew: bool = False) -> Server:
        folder = folder_for("server")
        log, home = folder / "log.txt", folder / "home"
        if sign_in:
            home.mkdir()
            (home / "sign-in.toml").write_text(sign_in)
        code = f"import sys\nfrom ui.server import {module}\n{BRISK}{before}\n{module}.main()"
        command = [str(ROOT / "ui" / "server" / f"{module}.py")] if anew else ["-c", code]
        command += ["--host", ADDRESS, "--port", "0", *arguments]
        wanted = r"Teacher: http://[\w.]+:(\d+)/\S+ "
        environment = {"PYTHONPATH": str(ROOT), "HEADSUP_HOME": str(home)}
        if anew:
            process, found = start_server([sys.executable, *command], log, wanted, cwd=folder, **environment)
        else:
            process, found = importer.fork_server(command, log, wanted, cwd=folder, **environment)
        started.append(process)
        return Server(process, int(found[1]), log, home)

    yield start
    for process in started:
        process.kill()
        process.wait()


@pytest.fixture(scope="module")
def start(importer, tmp_path_factory) -> Iterator[Callable[..., Server]]:
    """Starts servers that end with the tests of a module: see `starting`."""
    with starting(importer, tmp_path_factory.mktemp) as start:
        yield start


@pytest.fixture(scope="session")
def server(importer, tmp_path_factory) -> Iterator[Server]:
    """One that others use, for all tests that need nothing of their own."""
    with starting(importer, tmp_path_factory.mktemp) as start:
        yield start()


def become(command: list[str], log: str, cwd: str, environment: dict[str, str]) -> None:
    """Do in a fork what `python` would with this command: `-c`, `-m` or a file, and arguments."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(ENDED_WITH_ITS_PARENT, signal.SIGKILL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for name, flags, numbers in ((os.devnull, os.O_RDONLY, (0,)), (log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, (1, 2))):
        file = os.open(name, flags, 0o666)
        for number in numbers:
            os.dup2(file, number)
        os.close(file)
    os.chdir(cwd)
    os.environ.update(environment)
    kind, *rest = command
    if kind == "-c":
        sys.argv = ["-c", *rest[1:]]
        exec(compile(rest[0], "<string>", "exec"), {"__name__": "__main__"})
    elif kind == "-m":
        sys.argv = rest
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    else:
        sys.argv = command
        runpy.run_path(kind, run_name="__main__")


def serve_forks() -> None:
    """Import the app and fork for whoever writes to standard input, until that is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the tests, which close what this reads
    from ui.components.scripts import SERVED
    from ui.server.serve import preload

    os.environ[SERVED] = "1"  # as `prepare` has it before components are imported
    preload()
    gc.collect()
    gc.freeze()  # or each fork would write into what they share to see whether it is in use
    forks: dict[int, int | None] = {}  # and the exit status of those that have ended
    for line in sys.stdin.buffer:
        asked = json.loads(line)
        if pid := asked.get("poll"):
            if forks[pid] is None and (ended := os.waitpid(pid, os.WNOHANG))[0]:
                forks[pid] = os.waitstatus_to_exitcode(ended[1])
            answer = forks[pid]
        elif answer := os.fork():
            forks[answer] = None
        else:
            return become(**asked)  # and end as any program does
        print(json.dumps(answer), flush=True)
    for pid in (pid for pid, status in forks.items() if status is None):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


if __name__ == "__main__":
    serve_forks()
