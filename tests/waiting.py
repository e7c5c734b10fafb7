"""Waiting for what another process does, without taking the processor from it."""

import os
import re
import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

ROOT = Path(__file__).resolve().parents[1]
HEADLESS = {"STREAMLIT_SERVER_HEADLESS": "true"}


class Process(Protocol):
    """What is asked of a process."""

    def poll(self) -> int | None: ...

    def kill(self) -> None: ...


def until(condition: Callable[[], object], explain: Callable[[], str] = lambda: "it did not happen", *,
          seconds: float = 300) -> None:
    """Returns once the condition holds; the limit is for a machine ten times slower, and measures nothing."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, explain()
        time.sleep(0.02)


def listens(port: int) -> bool:
    """Whether anybody listens on a port of this computer."""
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


def start_server(command: Sequence[str | Path], log: Path, pattern: str, *, cwd: Path = ROOT,
                 **environment: str) -> tuple[subprocess.Popen, re.Match]:
    """Starts a server whose output goes to a file -> its process, and what a pattern found in the file. It is killed if
    it ends or never writes that."""
    with log.open("w") as output:
        process = subprocess.Popen(command, cwd=cwd, stdout=output, stderr=subprocess.STDOUT,
                                   env=os.environ | HEADLESS | environment)
    return process, said(process, log, pattern)


def said(process: Process, log: Path, pattern: str) -> re.Match:
    """What a pattern finds in the log of a process, which is killed if it ends or never writes that."""
    try:
        until(lambda: re.search(pattern, log.read_text(), re.DOTALL) or process.poll() is not None, log.read_text)
        assert process.poll() is None, log.read_text()
    except BaseException:
        process.kill()
        raise
    return re.search(pattern, log.read_text(), re.DOTALL)
