"""The commands that follow and stop a run, and what the others say of a cluster."""

import os
import signal
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from transformer.__main__ import app
from transformer.commands import runs
from transformer.commands.runs import NewLines
from transformer.jobs import ray_cluster, run_files
from transformer.jobs.launch import Progress
from transformer.jobs.process import identify


def call(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture
def run(tmp_path):
    run = tmp_path / "mine"
    run.mkdir()
    run_files.write_json(run / "config.json", {})
    run_files.write_json(run / "status.json", {"state": "finished", "step": 1_200, "steps": 1_200})
    for row in ({"step": 10, "loss": 2.5, "tokens_per_sec": 1234.5}, {"step": 20, "validation_loss": 1.25}):
        run_files.append(run / "metrics.jsonl", row)
    return run


def test_a_run_is_followed_to_its_end(run):
    with open(run / "metrics.jsonl", "ab") as file:
        file.write(b'{"step": 30, "loss": "high"}\nnonsense\n[1]\n{"step": 40, "lo')
    result = call("follow", run)
    assert result.output.splitlines() == ["step 10: loss 2.500 tokens/s 1,234", "step 20: held-out 1.250",
                                          "mine finished at step 1,200 of 1,200"]
    (run / "log.txt").write_text("step 20: held-out 1.250\n")  # which says the evaluations, where there is one
    assert call("follow", run).output.splitlines()[:2] == ["step 20: held-out 1.250",
                                                           "step 10: loss 2.500 tokens/s 1,234"]


def test_lines_are_read_when_they_are_whole_and_go_on_after_a_cut(tmp_path):
    path = tmp_path / "log.txt"
    lines = NewLines(path)
    assert lines.read() == []
    path.write_bytes(b"one\ntw")
    assert lines.read() == ["one"]
    path.write_bytes(b"one\ntwo\nthree\n")
    assert lines.read() == ["two", "three"]
    path.write_bytes(b"one\n")  # a resumed run takes back what came after its save
    assert lines.read() == []
    path.write_bytes(b"one\nzwei\n")
    assert lines.read() == ["zwei"]
    path.write_bytes(b"x" * (2 * run_files.TAIL) + b"\nlast\n")
    assert NewLines(path).read()[-1] == "last"


def test_a_run_of_this_machine_is_stopped(run):
    code = "import signal; signal.signal(signal.SIGTERM, lambda *_: exit(0)); print(flush=True); signal.pause()"
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    child.stdout.readline()
    run_files.write_json(run / "status.json", {"state": "running", "step": 7, "steps": 9} | identify(child.pid))
    assert call("stop", run, "--no-wait").output == ""
    assert child.wait(60) == 0
    child.stdout.close()
    assert call("stop", run).output == f"{run} has already ended\n"


def test_a_run_on_a_cluster_that_does_not_end_is_ended(run, monkeypatch):
    clock, stops = [0.0], []
    monkeypatch.setattr(runs.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(runs.time, "sleep", lambda seconds: clock.__setitem__(0, clock[0] + 100))
    monkeypatch.setattr(runs.ray_cluster, "status", lambda folder: ray_cluster.Job("RUNNING"))
    monkeypatch.setattr(runs.launch, "stop", lambda folder: stops.append(clock[0]) or True)
    monkeypatch.setattr(runs.launch, "progress",
                        lambda folder: Progress("stopped" if len(stops) == 2 else "running", 7, 9))
    assert call("stop", run).output == "mine stopped at step 7 of 9\n"
    assert stops == [0.0, 400.0]


def test_a_run_that_trains_here_does_not_go_on_on_a_cluster(run, monkeypatch):
    run_files.write_json(run / "status.json", {"state": "running"} | identify(os.getpid()))
    monkeypatch.setattr(os, "kill", lambda pid, number: pytest.fail(f"signalled {signal.Signals(number).name}"))
    assert str(call("train", "--cluster", "--resume", "--out", run).exception) == f"{run} is under way; stop it first"
    assert "--processes is for --cluster" in str(call("train", "--out", run, "--processes", 2).exception)


def test_several_runs_are_followed_until_all_have_ended_each_line_with_its_name(run, monkeypatch):
    other = run.with_name("others")
    other.mkdir()
    run_files.write_json(other / "config.json", {})
    run_files.append(other / "metrics.jsonl", {"step": 1, "loss": 3.0})
    states = {"mine": [Progress("running", 20, 40), Progress("finished", 40, 40)],
              "others": [Progress("running", 1, 9), Progress("running", 2, 9), Progress("stopped", 3, 9)]}
    monkeypatch.setattr(runs.launch, "progress", lambda folder: states[folder.name].pop(0))
    monkeypatch.setattr(runs.time, "sleep", lambda seconds: run_files.append(
        other / "metrics.jsonl", {"step": 4 - len(states["others"]), "loss": 0.5}))
    assert call("follow", run, other, run).output.splitlines() == [
        "mine    step 10: loss 2.500 tokens/s 1,234", "mine    step 20: held-out 1.250", "others  step 1: loss 3.000",
        "mine finished at step 40 of 40", "others  step 2: loss 0.500", "others  step 3: loss 0.500",
        "others stopped at step 3 of 9"]


def test_a_run_that_fails_is_said_when_all_have_ended_and_so_is_a_folder_without_one(run):
    other = run.with_name("bad")
    other.mkdir()
    run_files.write_json(other / "status.json", {"state": "failed", "why": "the disk is full", "step": 3})
    run_files.write_json(other / "config.json", {})
    result = call("follow", other, run)
    assert str(result.exception) == "bad: the disk is full"
    assert result.output.splitlines()[-1] == "mine finished at step 1,200 of 1,200"
    assert str(call("follow", other).exception) == "the disk is full"
    for name in ("follow", "stop"):
        nothing = call(name, run.parent).exception
        assert str(nothing) == f"{run.parent} is not a run; `train --out` makes one"


def test_what_happened_in_a_run_is_printed(run):
    head = b'{"step": 140, "words": "looks\\nback", "kind": "cross", "layer": 1, "head": 0, "measure": "gone"}'
    events = head + b'\n{"step": 150, "words": "idle", "alert": "idle"}\n{"words": 3}\n[]\nnonsense\n{"step": 9'
    (run / "events.jsonl").write_bytes(events)
    lines = call("follow", run).output.splitlines()
    assert {"X1H0 looks back from step 140 on", "step 150: idle"} <= set(lines)
    assert sum("step 1" in line for line in lines) == 4
