"""A process that waits for a job: it does what it is given, and never loses it."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.waiting import until
from transformer.jobs import standby

WRITES = "import sys, pathlib\npathlib.Path(sys.argv[1]).write_text('done')\nprint('said')\n"


@pytest.fixture
def prepare(monkeypatch, tmp_path) -> Iterator:
    """prepare(code): a waiting process that has imported a module of this code, which can be given the job of `job`."""
    monkeypatch.setattr(standby, "MEMORY", 0)
    monkeypatch.setattr(standby, "_ready", None)
    (tmp_path / "writes.py").write_text(WRITES)
    started = []

    def prepare(code: str = "") -> subprocess.Popen:
        (tmp_path / "imported.py").write_text(code)
        standby.prepare(("imported",), {"PYTHONPATH": str(tmp_path)})
        started.append(standby._ready)
        return standby._ready

    yield prepare
    for process in started:
        process.kill()
        process.wait()


@pytest.fixture
def job(tmp_path) -> dict:
    return {"module": "writes", "arguments": [str(tmp_path / "written")], "output": str(tmp_path / "log.txt"),
            "log": str(tmp_path / "log.txt"), "turn": None}


def is_ready(process: subprocess.Popen) -> bool:
    return bool(standby.select.select([process.stdout], [], [], 0)[0])


@pytest.mark.parametrize("importing", [False, True])
def test_a_job_is_done_by_the_process_that_waits_also_while_it_still_imports(prepare, job, tmp_path, importing):
    seen = tmp_path / "go on"
    process = prepare(f"import pathlib, time\nwhile not pathlib.Path({str(seen)!r}).exists(): time.sleep(0.01)\n"
                      "print('an import that speaks')\n")
    if not importing:
        seen.touch()
        until(lambda: is_ready(process))
    assert standby.take(job) is process
    seen.touch()
    assert process.wait(60) == 0
    assert (tmp_path / "written").read_text() == "done" and Path(job["log"]).read_text() == "said\n"
    assert standby.take(job) is None  # it is given one


def test_a_process_that_has_waited_too_long_ends_at_once_and_takes_no_job(prepare, job, tmp_path, monkeypatch):
    monkeypatch.setattr(standby, "IDLE", 0.1)
    unloading = tmp_path / "unloading"
    process = prepare(f"import atexit, pathlib, time\natexit.register(time.sleep, 60)\n"
                      f"atexit.register(pathlib.Path({str(unloading)!r}).touch)\n")
    until(lambda: process.poll() is not None or unloading.exists())
    assert not unloading.exists()
    assert standby.take(job) is None


@pytest.mark.parametrize("last_words", ["", "r"])
def test_a_job_that_was_read_by_nobody_is_not_called_taken(job, monkeypatch, last_words):
    code = f"import os; os.write(1, {last_words.encode()!r}); os.read(0, 1); os._exit(0)"
    process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    until(lambda: not last_words or is_ready(process))
    monkeypatch.setattr(standby, "_ready", process)
    if not last_words:
        os.kill(process.pid, 9)
        until(lambda: is_ready(process))  # its end can be read, and nobody has waited for it
    assert standby.take(job) is None
    process.wait(60)


def test_one_process_is_ready_at_a_time(prepare):
    first = prepare()
    assert prepare() is first
    first.kill()
    first.wait()
    assert prepare() is not first
