"""When things go wrong: what is left is whole, it is said what happened, and nobody else's process is touched."""

import errno
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import torch

from transformer import checkpoint
from transformer.config import RunConfig
from transformer.presets import preset
from transformer.training import launch as launching
from transformer.training import metrics
from transformer.training.launch import alive, launch, log_tail, progress, resume, stop
from transformer.training.trainer import Trainer, TrainingError, choose_device

ROOT = Path(__file__).resolve().parents[2]
CPU = torch.device("cpu")
pytestmark = pytest.mark.usefixtures("stopped_at_the_end")


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "sentences.csv"
    path.write_text("text,label\nthis is awesome,positive\ni hated it,negative\n")
    return path


@pytest.fixture
def stopped_at_the_end(tmp_path):
    """No process of a test outlives it."""
    yield
    for folder in (tmp_path / "runs").glob("*"):
        pid = launching._process(folder) if folder.is_dir() else None
        if pid is not None:
            os.kill(pid, signal.SIGKILL)


def arguments(corpus, **settings):
    settings = {"corpus": corpus, "steps": 100_000, "save_every": 5, "eval_every": 5, **settings}
    changed = [part for name, value in settings.items() for part in ("--set", f"{name}={value}")]
    return ["--preset", "sentiment", *changed]


def config(corpus, **settings) -> RunConfig:
    return preset("sentiment").set({"corpus": str(corpus), "steps": 12, "save_every": 4, "eval_every": 4, **settings})


def until(condition, *, seconds=100):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def saved(folder):
    return (folder / "last" / "manifest.json").exists()


def test_a_killed_trainer_has_died_and_goes_on_from_its_last_save(tmp_path, corpus):
    run = tmp_path / "runs" / "killed"
    launch(run, arguments(corpus), devices=("cpu",))
    until(lambda: saved(run))
    os.kill(json.loads((run / "launch.json").read_text())["pid"], signal.SIGKILL)
    until(lambda: not alive(run))
    assert progress(run).state == "died"
    step = checkpoint.load(run / "last").description.step
    assert step >= 5
    resume(run)
    until(lambda: progress(run).state == "running" and progress(run).step > step)
    assert stop(run)
    until(lambda: not alive(run))
    assert progress(run).state == "stopped"
    steps = [row["step"] for row in metrics.read(run / "metrics.jsonl") if "loss" in row]
    assert steps == sorted(set(steps))
    assert checkpoint.load(run / "last").description.step >= steps[-1]


STARTER = """
import signal, sys
from pathlib import Path
from transformer.training.launch import launch
launch(Path(sys.argv[1]), sys.argv[2:], devices=("cpu",))
print("started", flush=True)
signal.pause()
"""


def test_a_run_outlives_the_app_that_started_it(tmp_path, corpus):
    run = tmp_path / "runs" / "orphan"
    app = subprocess.Popen([sys.executable, "-c", STARTER, str(run), *arguments(corpus)], cwd=ROOT, text=True,
                           stdout=subprocess.PIPE)
    assert app.stdout.readline() == "started\n"
    app.kill()
    app.communicate()
    until(lambda: progress(run).state == "running")
    before = progress(run).step
    until(lambda: progress(run).step > before)
    assert stop(run)
    until(lambda: not alive(run))
    assert progress(run).state == "stopped"


def test_a_second_stop_changes_nothing(tmp_path, corpus):
    run = tmp_path / "runs" / "twice"
    launch(run, arguments(corpus), devices=("cpu",))
    until(lambda: saved(run))
    assert stop(run)
    stop(run)  # it may have ended already
    until(lambda: not alive(run))
    assert progress(run).state == "stopped"
    assert not stop(run)
    checkpoint.load(run / "last")


def test_of_two_starts_at_once_one_starts(tmp_path, corpus):
    run, refused = tmp_path / "runs" / "one", []

    def start():
        try:
            launch(run, arguments(corpus), devices=("cpu",))
        except ValueError as error:
            refused.append(str(error))

    threads = [threading.Thread(target=start) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert refused == ["the run one was started already; choose another name for the run"] * 7
    assert json.loads((run / "launch.json").read_text())["ticket"] == 1
    assert stop(run)
    until(lambda: not alive(run))


KILLED = """
import os, signal, sys
from pathlib import Path
import torch
from transformer import checkpoint
from transformer.presets import preset
from transformer.training.trainer import Trainer
at = int(sys.argv[3])
run = Trainer(Path(sys.argv[1]), preset("sentiment").set({"corpus": sys.argv[2], "steps": 12, "save_every": 4,
              "eval_every": 100}), device=torch.device("cpu"))
names = "rename", "fsync"
calls = 0
def counted(real):
    def call(*arguments):
        global calls
        calls += 1
        if run.step == 8 and calls >= at:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*arguments)
    return call
os.fsync = counted(os.fsync)
Path.rename = counted(Path.rename)
real_step = run.train_step
def train_step():
    global calls
    calls = 0
    return real_step()
run.train_step = train_step
run.run()
"""


@pytest.mark.parametrize("at", [1, 4, 9, 10])
def test_killed_in_the_middle_of_a_save_the_save_before_or_this_one_is_whole(tmp_path, corpus, at):
    folder = tmp_path / "run"
    done = subprocess.run([sys.executable, "-c", KILLED, str(folder), str(corpus), str(at)], cwd=ROOT,
                          capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    checkpoint.recover(folder / "last")
    assert checkpoint.load(folder / "last").description.step in (4, 8)
    assert Trainer(folder, config(corpus, eval_every=100), device=CPU).run() == "finished"


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_said_and_the_save_before_is_whole(tmp_path, corpus, monkeypatch, number):
    run = Trainer(tmp_path / "run", config(corpus, eval_every=100), device=CPU)
    real = checkpoint.save_model

    def save_model(model, path, **options):
        real(model, path, **options)
        if run.step == 8:
            Path(path).write_bytes(b"half")
            raise OSError(number, os.strerror(number))

    monkeypatch.setattr(checkpoint, "save_model", save_model)
    with pytest.raises(TrainingError, match="the disk is full: step 8 could not be saved; .* Free some space"):
        run.run()
    now = progress(tmp_path / "run")
    assert (now.state, now.why.startswith("the disk is full")) == ("failed", True)
    assert checkpoint.load(tmp_path / "run" / "last").description.step == 4
    assert [path.name for path in (tmp_path / "run").iterdir() if path.name.startswith(".")] == []
    monkeypatch.setattr(checkpoint, "save_model", real)
    assert Trainer(tmp_path / "run", config(corpus), device=CPU).run() == "finished"


def test_a_disk_too_full_to_say_so_does_not_hide_what_happened(tmp_path, corpus, monkeypatch):
    run = Trainer(tmp_path / "run", config(corpus), device=CPU)
    full = OSError(errno.ENOSPC, "No space left on device")

    def refuse(*_, **__):
        raise full

    monkeypatch.setattr(run, "train_step", refuse)
    write = metrics.write_json
    monkeypatch.setattr(metrics, "write_json", lambda path, value: refuse() if value.get("state") == "failed" else
                        write(path, value))
    with pytest.raises(TrainingError, match="the disk is full"):
        run.run()


def test_a_gpu_without_memory_is_said_with_what_to_change(tmp_path, corpus, monkeypatch):
    run = Trainer(tmp_path / "run", config(corpus), device=CPU)
    real = run.train_step

    def train_step():
        if run.step == 6:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")
        return real()

    monkeypatch.setattr(run, "train_step", train_step)
    with pytest.raises(TrainingError, match="no memory left at step 7; resume with a lower batch_tokens"):
        run.run()
    assert progress(tmp_path / "run").state == "failed"
    assert checkpoint.load(tmp_path / "run" / "last").description.step == 4


def test_a_clock_set_back_a_day_disturbs_nothing(tmp_path, corpus, monkeypatch):
    real, run = time.time, Trainer(tmp_path / "run", config(corpus), device=CPU)
    monkeypatch.setattr(time, "time", lambda: real() - (86_400 if run.step > 5 else 0))
    assert run.run() == "finished"
    now = progress(tmp_path / "run")
    assert (now.state, now.step) == ("finished", 12)
    losses = [row for row in metrics.read(tmp_path / "run" / "metrics.jsonl") if "loss" in row]
    assert [row["step"] for row in losses] == [10, 12]
    assert 0 < losses[0]["seconds"] < losses[1]["seconds"] < 100
    first, second = (tmp_path / "runs" / name for name in "ab")
    launch(first, arguments(corpus), devices=("cpu",))
    monkeypatch.setattr(time, "time", lambda: real() - 86_400)
    launch(second, arguments(corpus), devices=("cpu",))
    until(lambda: saved(first))
    assert progress(second).state == "queued"  # who came first does not depend on the clock
    assert stop(second)
    assert stop(first)
    until(lambda: not alive(first) and not alive(second))


def test_a_run_that_cannot_begin_says_why_in_its_log(tmp_path):
    run = tmp_path / "runs" / "wrong"
    launch(run, ["--preset", "sentiment", "--set", "corpus=/nowhere/at/all.csv"], devices=("cpu",))
    until(lambda: not alive(run))
    assert progress(run).state == "died"
    assert "all.csv" in log_tail(run)
    assert "Traceback" not in log_tail(run)


def test_an_unknown_device_is_refused_with_a_way_out():
    with pytest.raises(ValueError, match="is not to be had here .*; use --device auto"):
        choose_device("cuda:99")
