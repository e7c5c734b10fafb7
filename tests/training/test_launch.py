"""Training in a process of its own: recognised, stopped, and never mistaken for another."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from transformer.training import launch as launching
from transformer.training import metrics
from transformer.training.launch import alive, identify, launch, log_tail, progress, stop


@pytest.fixture
def command(monkeypatch, tmp_path):
    """Have `launch` run this Python code instead of a training."""
    def run(code):
        (tmp_path / "python").write_text(f"#!/bin/sh\nexec {sys.executable} -c '{code}'\n")
        (tmp_path / "python").chmod(0o755)
        monkeypatch.setattr(launching.sys, "executable", str(tmp_path / "python"))
        return tmp_path / "run"

    return run


def until(condition):
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, "it did not happen in a minute"
        os.sched_yield()


def test_a_process_is_recognised_until_it_ends():
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    known = identify(child.pid)
    assert known["pid"] == child.pid
    assert identify(child.pid) == known
    assert identify(os.getpid()) != known
    child.kill()
    until(lambda: identify(child.pid) is None)  # dead, though nobody has waited for it
    child.communicate()
    assert identify(child.pid) is None


def test_a_run_is_started_once_in_a_session_of_its_own_and_stopped(command):
    folder = command('import signal; print("here", flush=True); signal.pause()')
    launch(folder, [])
    until(lambda: log_tail(folder) == "here")
    pid = json.loads((folder / "launch.json").read_text())["pid"]
    assert os.getsid(pid) != os.getsid(0)
    assert alive(folder)
    assert progress(folder).state == "starting"
    with pytest.raises(ValueError, match="was started already"):
        launch(folder, [])
    assert stop(folder)
    until(lambda: not alive(folder))
    assert progress(folder).state == "stopped"
    assert not stop(folder)


def test_a_run_that_ends_without_a_word_has_died_and_its_log_says_why(command):
    folder = command('import sys; print("\\n".join(map(str, range(50)))); sys.exit("out of luck")')
    launch(folder, [])
    until(lambda: not alive(folder))
    assert progress(folder).state == "died"
    assert not progress(folder).under_way
    assert log_tail(folder, lines=3).splitlines()[-1] in ("out of luck", "49")
    assert len(log_tail(folder, lines=3).splitlines()) == 3


@pytest.mark.parametrize("changed", ["start_time", "boot_id"])
def test_another_process_with_the_same_pid_is_never_signalled(tmp_path, monkeypatch, changed):
    metrics.write_json(tmp_path / "launch.json", identify(os.getpid()) | {changed: 1})
    monkeypatch.setattr(os, "kill", lambda *_: pytest.fail("signalled"))
    assert not alive(tmp_path)
    assert not stop(tmp_path)


@pytest.mark.parametrize("record", ["", "[]", "{}", '{"pid": "x"}', '{"pid": -1}', '{"pid": 0}'])
def test_a_record_that_is_damaged_is_nobody(tmp_path, monkeypatch, record):
    (tmp_path / "launch.json").write_text(record)
    monkeypatch.setattr(os, "kill", lambda *_: pytest.fail("signalled"))
    assert not alive(tmp_path)
    assert not stop(tmp_path)


def test_the_status_file_says_how_a_run_ended(tmp_path):
    assert progress(tmp_path).state == "died"
    for state in ("finished", "stopped", "failed"):
        metrics.write_json(tmp_path / "status.json", {"state": state, "step": 3, "steps": 9, "why": "because"})
        found = progress(tmp_path)
        assert (found.state, found.step, found.steps, found.why) == (state, 3, 9, "because")
    metrics.write_json(tmp_path / "status.json", {"state": "running", "step": 0, "steps": 9})
    metrics.append(tmp_path / "metrics.jsonl", {"step": 7, "loss": 1.0})
    assert (progress(tmp_path).state, progress(tmp_path).step) == ("died", 7)
    metrics.write_json(tmp_path / "launch.json", identify(os.getpid()))
    assert progress(tmp_path).state == "running"


def test_the_run_gets_the_signal_that_makes_it_save(tmp_path, monkeypatch):
    sent = []
    monkeypatch.setattr(os, "kill", lambda *what: sent.append(what))
    metrics.write_json(tmp_path / "launch.json", identify(os.getpid()))
    assert stop(tmp_path)
    assert sent == [(os.getpid(), signal.SIGTERM)]
