"""The real server without a browser: `visitor(key="a student").open("train").send("train_start")`."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.raw.client import Client
from transformer.checkpoints.checkpoint import describe, save
from transformer.jobs import run_files
from transformer.jobs.process import identify, running
from transformer.jobs.queue import record
from transformer.settings.config import TrainConfig
from ui.access import visitors

MINE, THEIRS = "a student", "another student"  # their keys


@pytest.fixture(autouse=True)
def nothing_goes_on(server) -> Iterator[None]:
    """What a test has started is ended with it, and takes no processor from those that follow; what it has made goes,
    so that they find nothing of it."""
    before = made(server.home)
    yield
    for launched in server.home.rglob("launch.json"):
        if (pid := running(record(launched.parent))) not in (None, os.getpid()):
            os.kill(pid, signal.SIGKILL)
    for path in made(server.home) - before:
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


def made(home: Path) -> set[Path]:
    """What visitors have had made: runs, measurements, checkpoints, files sent, and whose they are."""
    kinds = ("runs", "analysis", "checkpoints", "imports", "uploads")
    return {path for kind in kinds for path in (home / kind).glob("*")} | set(home.glob("keepers.json"))


@pytest.fixture
def visitor(server, monkeypatch) -> Iterator[Callable[..., Client]]:
    """Makes visitors: a stranger without a cookie, `visitor(key="a student")`, `visitor(teacher=True)`."""
    made = []
    monkeypatch.setenv("HEADSUP_HOME", str(server.home))  # where the teacher's key is

    def visitor(*, key: str | None = None, teacher: bool = False) -> Client:
        cookies = {visitors.VISITOR: key} if key else {}
        made.append(Client(server, cookies | ({visitors.TEACHER: visitors.teacher_cookie()} if teacher else {})))
        return made[-1]

    yield visitor
    for client in made:
        client.close()


@pytest.fixture
def give() -> Callable[..., None]:
    """Makes a run or a measurement somebody's, by their key: `give(folder, "a student")`, `give(folder, None)`; and
    under way as the process of that pid."""
    def give(folder: Path, owner: str | None, *, running: int | None = None) -> None:
        about = {"owner": owner and visitors.digest(owner), "ticket": 1, "time": 1.0, "devices": []}
        run_files.write_json(folder / "launch.json", about | (identify(running) if running else {}))

    return give


@pytest.fixture
def process() -> Iterator[subprocess.Popen]:
    """A process that stands for a training."""
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    yield child
    child.kill()
    child.communicate()


@pytest.fixture(autouse=True)
def others_may_start(server) -> Iterator[Callable[[bool | None], None]]:
    """As the teacher has allowed, so that nothing is refused for another reason; gone after the test."""
    def allow(allowed: bool | None) -> None:
        switch.unlink(missing_ok=True)
        if allowed is not None:
            switch.write_text("yes" if allowed else "no")

    switch = server.home / "others-may-start"
    allow(True)
    yield allow
    allow(None)


SECRET = "hide me at noon"  # in letters that the tiny tokenizer knows


@pytest.fixture
def trained_on(server, make_checkpoint, tiny_tokenizer):
    """Brings in a checkpoint that says it was trained on a file -> its id."""
    folder = server.home / "uploads" / "trained-on"

    def make(corpus: Path) -> str:
        corpus.parent.mkdir(parents=True, exist_ok=True)
        corpus.write_text(f"{SECRET}. " * 200)
        save(folder, make_checkpoint(encoder_layers=0).model, tokenizer=tiny_tokenizer,
             train=TrainConfig(task="language-model", corpus=str(corpus)))
        return describe(folder).id

    yield make
    shutil.rmtree(folder)
