"""Training in a process of its own: recognised, stopped, and never mistaken for another."""

import json
import os
import signal
import subprocess
import sys

import pytest

from tests.waiting import until
from transformer.jobs import launch as launching
from transformer.jobs import queue as turns
from transformer.jobs import run_files
from transformer.jobs.launch import alive, launch, log_tail, progress, resume, stop
from transformer.jobs.process import identify
from transformer.jobs.queue import before

pytestmark = pytest.mark.slow

PYTHON = sys.executable


@pytest.fixture
def command(monkeypatch, tmp_path):
    """Have `launch` run this Python code instead of a training."""
    def run(code):
        (tmp_path / "python").write_text(f'#!/bin/sh\n[ "$2" = transformer.jobs.queue ] && exec {PYTHON} "$@"\n'
                                         f"exec {PYTHON} -c '{code}'\n")
        (tmp_path / "python").chmod(0o755)
        monkeypatch.setattr(launching.sys, "executable", str(tmp_path / "python"))
        return tmp_path / "run"

    return run


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
    for again, refusal in ((lambda: launch(folder, []), "has already been started"),
                           (lambda: resume(folder), "is under way; stop it first")):
        with pytest.raises(ValueError, match=refusal):
            again()
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


@pytest.mark.parametrize("record", [
    "", "[]", "{}", '{"pid": "x"}', '{"pid": -1}', '{"pid": 0}', "start_time", "boot_id"])
def test_a_damaged_record_or_one_of_another_process_with_the_same_pid_is_never_signalled(tmp_path, monkeypatch, record):
    (tmp_path / "launch.json").write_text(
        json.dumps(identify(os.getpid()) | {record: 1}) if record.isidentifier() else record)
    monkeypatch.setattr(os, "kill", lambda *_: pytest.fail("signalled"))
    assert not alive(tmp_path)
    assert not stop(tmp_path)


def test_the_status_file_says_how_a_run_ended(tmp_path):
    assert progress(tmp_path).state == "died"
    for state in ("finished", "stopped", "failed"):
        run_files.write_json(tmp_path / "status.json", {"state": state, "step": 3, "steps": 9, "why": "because"})
        found = progress(tmp_path)
        assert (found.state, found.step, found.steps, found.why) == (state, 3, 9, "because")
    run_files.write_json(tmp_path / "status.json", {"state": "running", "step": 0, "steps": 9})
    run_files.append(tmp_path / "metrics.jsonl", {"step": 7, "loss": 1.0})
    assert (progress(tmp_path).state, progress(tmp_path).step) == ("died", 7)
    for damaged in ("[]", "{", '{"state": 7}', '{"state": "running", "step": "x", "steps": -1}'):
        (tmp_path / "status.json").write_text(damaged)
        assert progress(tmp_path).state == "died"
    run_files.write_json(tmp_path / "status.json", {"state": "running", "step": 0, "steps": 9})
    run_files.write_json(tmp_path / "launch.json", identify(os.getpid()))
    assert progress(tmp_path).state == "running"


@pytest.mark.parametrize("file", ["launch.json", "status.json"])  # status.json alone: a run that a shell has started
def test_the_run_gets_the_signal_that_makes_it_save(tmp_path, monkeypatch, file):
    sent = []
    monkeypatch.setattr(os, "kill", lambda *arguments: sent.append(arguments))
    run_files.write_json(tmp_path / file, {"state": "running", "step": 1, "steps": 9} | identify(os.getpid()))
    assert alive(tmp_path) and progress(tmp_path).state == ("running" if file == "status.json" else "starting")
    assert stop(tmp_path)
    assert sent == [(os.getpid(), signal.SIGTERM)]


def test_a_device_trains_one_run_at_a_time_and_the_others_wait_in_order(command, tmp_path):
    command('import signal; print("mine", flush=True); signal.pause()')
    runs = [tmp_path / "runs" / name for name in "abcd"]
    for run, device in zip(runs, ("cpu", "cpu", "cpu", "cuda:0"), strict=True):
        launch(run, [], devices=(device,))
    first, second, third, other = runs
    until(lambda: log_tail(first) == log_tail(other) == "mine")
    assert [progress(run).state for run in runs] == ["starting", "queued", "queued", "starting"]
    assert before(third) == [first, second]
    assert stop(second)  # before it had its turn
    until(lambda: not alive(second))
    assert (progress(second).state, before(third)) == ("stopped", [first])
    os.kill(json.loads((first / "launch.json").read_text())["pid"], signal.SIGKILL)
    until(lambda: log_tail(third) == "mine")  # it needs nobody to tell it
    assert progress(first).state == "died"
    for run in (third, other):
        assert stop(run)
        until(lambda run=run: not alive(run))


def test_an_owner_has_so_many_runs_at_once(command, tmp_path):
    command("import signal; signal.pause()")
    for name in "ab":
        launch(tmp_path / "runs" / name, [], owner="me", limit=2)
    with pytest.raises(ValueError, match="2 of your runs .* limit is 2"):
        launch(tmp_path / "runs" / "c", [], owner="me", limit=2)
    launch(tmp_path / "runs" / "c", [], owner="you", limit=2)
    for name in "abc":
        assert stop(tmp_path / "runs" / name)
        until(lambda name=name: not alive(tmp_path / "runs" / name))
    launch(tmp_path / "runs" / "d", [], owner="me", limit=2)
    stop(tmp_path / "runs" / "d")


def test_so_many_runs_in_all_are_under_way_whoever_starts_them(command, tmp_path):
    command("import signal; signal.pause()")
    for owner in "ab":
        launch(tmp_path / "runs" / owner, [], owner=owner, limit=3, in_all=2)
    for start in (lambda: launch(tmp_path / "runs" / "c", [], owner="a new key", limit=3, in_all=2),
                  lambda: launch(tmp_path / "runs" / "c", [], in_all=2)):
        with pytest.raises(ValueError, match="2 runs .* limit is 2"):
            start()
    assert stop(tmp_path / "runs" / "a")
    until(lambda: not alive(tmp_path / "runs" / "a"))
    resume(tmp_path / "runs" / "a", in_all=2)
    for owner in "ab":
        assert stop(tmp_path / "runs" / owner)


def test_minutes_are_given_to_a_run_and_again_when_it_is_resumed(tmp_path, monkeypatch):
    commands = []
    ended = type("Process", (), {"pid": 0, "wait": lambda self, seconds: None})()
    monkeypatch.setattr(launching.subprocess, "Popen", lambda command, **_: commands.append(command) or ended)
    launch(tmp_path / "run", ["--preset", "translate"], minutes=60.0)
    resume(tmp_path / "run", minutes=12.5)
    resume(tmp_path / "run")
    assert [command[command.index("--minutes") + 1] if "--minutes" in command else None for command in commands] == [
        "60.0", "12.5", None]


@pytest.fixture
def queue(tmp_path):
    """queue(a1=("a", 1), ...): runs that wait on one device, by owner and ticket; those named in `training` do not."""
    def queue(training=(), **waiting):
        for name, (owner, number) in waiting.items():
            (tmp_path / name).mkdir()
            run_files.write_json(tmp_path / name / "launch.json", {
                "owner": owner, "ticket": number, "devices": ["cpu"], **identify(os.getpid())})
            if name in training:
                (tmp_path / name / "turn").touch()
        last = max(waiting, key=lambda name: len(before(tmp_path / name)))
        order = [*before(tmp_path / last), tmp_path / last]
        for place, run in enumerate(order[len(training):], start=len(training)):
            assert before(run) == order[:place]  # all see one order, or two would wait for each other
        return [run.name for run in order]

    return queue


def test_runs_that_ended_are_read_once_and_again_when_they_are_started(tmp_path, queue, monkeypatch):
    queue(a=("me", 2))
    for number in range(5):
        (tmp_path / f"old{number}").mkdir()
        run_files.write_json(tmp_path / f"old{number}" / "launch.json", {
            "ticket": 1, "devices": ["cpu"], **identify(os.getpid()), "start_time": -1})
    read, real = [], turns.record
    monkeypatch.setattr(turns, "record", lambda folder: read.append(folder.name) or real(folder))
    assert before(tmp_path / "a") == []
    assert {f"old{number}" for number in range(5)} <= {*read}
    read.clear()
    assert before(tmp_path / "a") == []
    assert {*read} == {"a"}
    run_files.write_json(tmp_path / "old3" / "launch.json", {
        "owner": "me", "ticket": 1, "devices": ["cpu"], **identify(os.getpid())})
    assert before(tmp_path / "a") == [tmp_path / "old3"]


@pytest.mark.parametrize(("training", "waiting", "order"), [
    ((), {"a1": ("a", 1), "a2": ("a", 2), "a3": ("a", 3), "b1": ("b", 4), "b2": ("b", 5), "c1": ("c", 6)},
     ["a1", "b1", "c1", "a2", "b2", "a3"]),
    # whose run trains waits for the first ones of the others
    (["a1"], {"a1": ("a", 1), "a2": ("a", 2), "b1": ("b", 3), "b2": ("b", 4)}, ["a1", "b1", "a2", "b2"]),
    # runs of a shell are one owner's
    ((), {"s1": (None, 1), "s2": (None, 2), "a1": ("a", 3)}, ["s1", "a1", "s2"])])
def test_turns_go_round_by_owner(queue, training, waiting, order):
    assert queue(training, **waiting) == order


def test_a_run_on_another_machine_is_running_while_it_speaks_and_stops_by_a_file(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "kill", lambda *_: pytest.fail("signalled"))
    status = {"state": "running", "step": 1, "steps": 9, "pid": os.getpid(), "boot_id": "another", "start_time": 1}
    run_files.write_json(tmp_path / "status.json", status)
    assert (progress(tmp_path).state, progress(tmp_path).elsewhere) == ("running", True)
    assert stop(tmp_path)
    assert (tmp_path / "stop").exists()
    os.utime(tmp_path / "status.json", (1, 1))
    assert progress(tmp_path).state == "stopped"
    (tmp_path / "stop").unlink()
    assert progress(tmp_path).state == "died"


def test_a_run_that_has_said_how_it_ended_is_waited_for_and_gone_on_with(command):
    folder = command('import time; print("once", flush=True); time.sleep(1)')
    launch(folder, ["--preset", "translate"], owner="me")
    until(lambda: log_tail(folder) == "once")
    run_files.write_json(folder / "status.json", {"state": "stopped", "step": 3, "steps": 9})
    assert alive(folder)
    resume(folder)
    until(lambda: log_tail(folder) == "once\nonce")
    about = json.loads((folder / "launch.json").read_text())
    assert (about["owner"], about["arguments"], about["ticket"]) == ("me", ["--preset", "translate"], 2)
    stop(folder)
