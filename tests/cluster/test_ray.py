"""Runs on a real Ray head: they look like any other, are stopped, go on, and say what went wrong."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from tests.waiting import until
from transformer.jobs import launch, ray_cluster, run_files
from transformer.jobs.process import running
from transformer.settings.config import RunConfig
from transformer.training.trainer import Trainer

ROOT = Path(__file__).resolve().parents[2]
LONG = ["--steps", "100000", "--set", "eval_every=1000", "--set", "save_every=100000"]


def command(*words):
    return subprocess.run([sys.executable, "-m", "transformer", *map(str, words)], cwd=ROOT, capture_output=True,
                          text=True, timeout=250, env=os.environ | {"COLUMNS": "200"})


def asked_for(corpus, *more):
    return ["--preset", "sentiment", "--set", f"corpus={corpus}", *more]


def ended(run, *, seconds=200):
    until(lambda: not launch.progress(run).under_way, seconds=seconds)
    return launch.progress(run)


def trains(run):
    return run_files.last(run / "metrics.jsonl").get("step", 0) >= 10


def losses(run, name):
    return [row[name] for row in run_files.read(run / "metrics.jsonl") if name in row]


def test_two_workers_train_a_run_that_looks_like_any_other(tmp_path, two_texts):
    run, began = tmp_path / "runs" / "two", time.monotonic()
    given = command("train", "--cluster", "--processes", 2, "--out", run, *asked_for(two_texts, "--steps", "60"))
    assert given.returncode == 0, given.stderr
    until(lambda: trains(run) or not launch.progress(run).under_way)
    print(f"\nthe first metric comes {time.monotonic() - began:.1f} s after submitting")
    followed = command("follow", run)
    assert followed.returncode == 0, followed.stdout + followed.stderr
    assert followed.stdout.splitlines()[-1] == "two finished at step 60 of 60"
    assert "2 workers on cpu, from step 0 of 60" in followed.stdout
    status, about = (run_files.read_json(run / name) for name in ("status.json", "launch.json"))
    assert (status["state"], status["world_size"], "pid" in about) == ("finished", 2, False)
    alone = tmp_path / "alone"
    config = RunConfig.model_validate(run_files.read_json(run / "config.json"))
    Trainer(alone, config, device=torch.device("cpu")).run()
    for name in ("loss", "validation_loss"):
        assert losses(run, name) == pytest.approx(losses(alone, name), rel=2e-4)
    until(lambda: ray_cluster.status(run).status == "SUCCEEDED")
    assert "finished at step 60" in ray_cluster.logs(run)
    assert not (run / ".ray").exists()


def test_a_run_is_stopped_half_way_and_goes_on_to_its_end(tmp_path, two_texts):
    run = tmp_path / "runs" / "long"
    ray_cluster.submit(run, asked_for(two_texts, *LONG), processes=2, owner="me")
    until(lambda: trains(run))
    with pytest.raises(ValueError, match="long is under way; stop it first"):
        launch.resume(run)
    stopped = command("stop", run)
    assert stopped.returncode == 0, stopped.stderr
    at = run_files.read_json(run / "status.json")["step"]
    assert stopped.stdout.splitlines()[-1] == f"long stopped at step {at:,} of 100,000"
    assert 0 < at < 100_000
    assert command("stop", run).stdout == f"{run} has already ended\n"
    again = command("train", "--cluster", "--resume", "--out", run, "--steps", at + 40)
    assert again.returncode == 0, again.stderr
    now = ended(run)
    assert (now.state, now.step) == ("finished", at + 40)
    steps = [row["step"] for row in run_files.read(run / "metrics.jsonl") if "loss" in row]
    assert steps == [*range(10, at + 40, 10), at + 40]
    assert launch.record(run)["owner"] == "me"


def test_a_run_stopped_by_ray_itself_saves(tmp_path, two_texts):
    run = tmp_path / "runs" / "ended"
    ray_cluster.submit(run, asked_for(two_texts, *LONG))
    until(lambda: trains(run))
    ray_cluster.configured().stop(launch.record(run)["job"])
    now = ended(run)
    assert now.state == "stopped"
    assert (run / "last" / "manifest.json").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="only there a worker's pid is told apart from any other")
def test_a_killed_worker_ends_the_run_and_leaves_no_other_behind(tmp_path, head, two_texts):
    run = tmp_path / "runs" / "killed"
    ray_cluster.submit(run, asked_for(two_texts, *LONG, "--set", "eval_every=20"), processes=2)
    until(lambda: trains(run))
    worker = running(run_files.read_json(run / "status.json"))
    assert worker in head.processes()
    os.kill(worker, signal.SIGKILL)
    until(lambda: ray_cluster.status(run).ended)
    now = launch.progress(run)
    assert now.state == "failed"
    # Ray reports it, or the other worker does, which has waited for it: whichever is first
    assert now.why.startswith(("a worker ended without a message: it was killed", "process 0 was killed"))
    assert launch.log_tail(run, lines=1) == f"error: {now.why}"
    until(lambda: not [pid for pid in head.processes() if "RayTrainWorker" in Path(f"/proc/{pid}/cmdline").read_text()])


@pytest.mark.parametrize(("missing", "processes", "why"), [
    ("folder", 1, "the cluster does not see /nowhere/mine; put runs on a disk that both sides have"),
    ("python", 1, "the cluster's head does not have that Python; set HEADSUP_CLUSTER_PYTHON"),
    ("processors", 64, "the cluster has 2 CPUs, and 64 processes need 64; ask for fewer, or add machines")])
def test_what_the_cluster_does_not_have_is_said(tmp_path, two_texts, monkeypatch, missing, processes, why):
    if missing == "folder":
        made = ray_cluster._entrypoint
        monkeypatch.setattr(ray_cluster, "_entrypoint", lambda folder, job: made(Path("/nowhere") / folder.name, job))
    if missing == "python":
        monkeypatch.setenv("HEADSUP_CLUSTER_PYTHON", "/nowhere/python")
    run = tmp_path / "runs" / "mine"
    ray_cluster.submit(run, asked_for(two_texts), processes=processes)
    now = ended(run)
    assert now.state == "failed" and now.why.startswith(why)


def test_a_wrong_token_submits_nothing(tmp_path, monkeypatch, head, two_texts):
    monkeypatch.setenv("RAY_AUTH_TOKEN", "f" * 32)
    run = tmp_path / "runs" / "refused"
    with pytest.raises(ValueError, match=f"the cluster at {head.address} refuses the token"):
        ray_cluster.submit(run, asked_for(two_texts))
    assert not run.exists()
