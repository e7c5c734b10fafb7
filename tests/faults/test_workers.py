"""kill -9 of one of the processes that train a run together."""

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from tests.waiting import until
from transformer.checkpoints import checkpoint
from transformer.jobs import run_files
from transformer.jobs.launch import alive, launch, log_tail, progress, resume, stop
from transformer.jobs.process import identify

pytestmark = [pytest.mark.faults, pytest.mark.timeout(600),
              pytest.mark.skipif(sys.platform != "linux", reason="the workers are found in /proc")]
def workers(launcher):
    """The pid of each rank."""
    found = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(stat.read_text().rsplit(")", 1)[1].split()[1])
            if parent == launcher:
                variables = dict(pair.partition("=")[::2] for pair in
                                 (stat.parent / "environ").read_text().split("\0"))
                found[int(variables["RANK"])] = int(stat.parent.name)
        except (OSError, KeyError):  # it ended, or is no worker
            continue
    return found


def saved(run):
    return (run / "last" / "manifest.json").exists()


@pytest.mark.parametrize("rank", [1, 0])
def test_a_worker_that_is_killed_is_named_and_the_run_resumes(tmp_path, two_texts, rank):
    settings = {"corpus": two_texts, "steps": 1_000_000, "save_every": 5, "eval_every": 50}
    run = tmp_path / "runs" / "two"

    def explain():
        return log_tail(run, lines=60)

    launch(run, ["--preset", "sentiment", *(part for name, value in settings.items()
                                            for part in ("--set", f"{name}={value}"))], devices=("cpu",), processes=2)
    until(lambda: saved(run), explain)
    launcher = run_files.read_json(run / "launch.json")["pid"]
    pids = workers(launcher)
    assert sorted(pids) == [0, 1]
    os.kill(pids[rank], signal.SIGKILL)
    began = time.monotonic()
    until(lambda: not alive(run) and not any(map(identify, pids.values())), explain)
    print(f"\nprocess {rank} killed: all ended after {time.monotonic() - began:.1f} s")
    now = progress(run)
    print(now.why)
    assert now.state == "failed"
    assert now.why.startswith(f"process {rank} was killed, perhaps because memory ran out; the save of step ")
    step = checkpoint.load(run / "last").description.step
    resume(run)
    until(lambda: progress(run).state == "running" and progress(run).step > step, explain)
    assert stop(run)
    until(lambda: not alive(run), explain)
    assert progress(run).state == "stopped"
