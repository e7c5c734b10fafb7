"""When things go wrong: what is left is whole, it is said what happened, and nobody else's process is touched."""

import errno
import json
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path

import pytest
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file

from tests.training.made_up import CPU, at
from tests.waiting import until
from transformer.analysis.alignment import WordAligner
from transformer.checkpoints import checkpoint
from transformer.jobs import launch as launching
from transformer.jobs import lock as locking
from transformer.jobs import run_files
from transformer.jobs.launch import alive, launch, log_tail, progress, resume, stop
from transformer.jobs.process import identify
from transformer.settings.config import RunConfig
from transformer.settings.presets import preset
from transformer.training.distributed import World
from transformer.training.runs import as_csv, delete, describe, promote, rename
from transformer.training.trainer import Trainer, TrainingError

ROOT = Path(__file__).resolve().parents[2]
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("stopped_at_the_end")]


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


@pytest.fixture
def trainer(tmp_path, two_texts):
    """trainer(steps=4, ...): one whose folder is run/."""
    return lambda **settings: Trainer(tmp_path / "run", config(two_texts, **settings), device=CPU)


def saved(folder):
    return (folder / "last" / "manifest.json").exists()


@pytest.mark.rare("kills a process that trains")
def test_a_killed_trainer_has_died_and_goes_on_from_its_last_save(tmp_path, two_texts):
    run = tmp_path / "runs" / "killed"
    launch(run, arguments(two_texts), devices=("cpu",))
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
    steps = [row["step"] for row in run_files.read(run / "metrics.jsonl") if "loss" in row]
    assert steps == sorted(set(steps))
    assert checkpoint.load(run / "last").description.step >= steps[-1]


STARTER = """
import signal, sys
from pathlib import Path
from transformer.jobs.launch import launch
launch(Path(sys.argv[1]), sys.argv[2:], devices=("cpu",))
print("started", flush=True)
signal.pause()
"""


@pytest.mark.rare("kills a process that has started another")
def test_a_run_outlives_the_app_that_started_it(tmp_path, two_texts):
    run = tmp_path / "runs" / "orphan"
    app = subprocess.Popen([sys.executable, "-c", STARTER, str(run), *arguments(two_texts)], cwd=ROOT, text=True,
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


def test_a_second_stop_changes_nothing(tmp_path, two_texts):
    run = tmp_path / "runs" / "twice"
    launch(run, arguments(two_texts), devices=("cpu",))
    until(lambda: saved(run))
    assert stop(run)
    stop(run)  # it may have ended already
    until(lambda: not alive(run))
    assert progress(run).state == "stopped"
    assert not stop(run)
    checkpoint.load(run / "last")


def test_of_two_starts_at_once_one_starts(tmp_path, two_texts):
    run, refused = tmp_path / "runs" / "one", []

    def start():
        try:
            launch(run, arguments(two_texts), devices=("cpu",))
        except ValueError as error:
            refused.append(str(error))

    threads = [threading.Thread(target=start) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert refused == ["the run one has already been started; choose another name"] * 7
    assert json.loads((run / "launch.json").read_text())["ticket"] == 1
    assert stop(run)
    until(lambda: not alive(run))


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_said_in_safetensors_words_too_and_the_save_before_is_whole(tmp_path, monkeypatch, number,
                                                                                   trainer):
    run = trainer(eval_every=100)
    real = checkpoint.save_file

    def save_file(tensors, path, **options):
        real(tensors, path, **options)
        if run.step == 8:
            Path(path).write_bytes(b"half")
            raise SafetensorError(f"Error while serializing: I/O error: {os.strerror(number)} (os error {number})")

    monkeypatch.setattr(checkpoint, "save_file", save_file)
    with pytest.raises(TrainingError, match="the disk is full at step 8 .*the save of step 4 is whole. Free some"):
        run.run()
    now = progress(tmp_path / "run")
    assert (now.state, now.why.startswith("the disk is full")) == ("failed", True)
    assert checkpoint.load(tmp_path / "run" / "last").description.step == 4
    assert [path.name for path in (tmp_path / "run").rglob(".*")] == [".lock"]
    monkeypatch.setattr(checkpoint, "save_file", real)
    assert trainer().run() == "finished"


def test_a_disk_too_full_to_say_so_does_not_hide_what_happened(tmp_path, monkeypatch, trainer):
    run = trainer()
    full = OSError(errno.ENOSPC, "No space left on device")

    def refuse(*_, **__):
        raise full

    monkeypatch.setattr(run, "train_step", refuse)
    replace = run_files.replace
    monkeypatch.setattr(run_files, "replace", lambda path, content, **how: refuse() if b'"failed"' in content else
                        replace(path, content, **how))
    with pytest.raises(TrainingError, match="the disk is full"):
        run.run()
    monkeypatch.undo()
    now = progress(tmp_path / "run")  # once there is room again
    assert (now.state, now.why.startswith("the disk is full")) == ("failed", True)


def test_a_clock_set_back_a_day_disturbs_nothing(tmp_path, two_texts, monkeypatch, trainer):
    real, run = time.time, trainer()
    monkeypatch.setattr(time, "time", lambda: real() - (86_400 if run.step > 5 else 0))
    assert run.run() == "finished"
    now = progress(tmp_path / "run")
    assert (now.state, now.step) == ("finished", 12)
    losses = [row for row in run_files.read(tmp_path / "run" / "metrics.jsonl") if "loss" in row]
    assert [row["step"] for row in losses] == [*range(1, 10), 10, 12]
    assert 0 < losses[0]["seconds"] < losses[1]["seconds"] < 100


@pytest.mark.rare("two processes that train; that they take turns is in make test")
def test_a_clock_set_back_changes_no_order(tmp_path, two_texts, monkeypatch):
    real = time.time
    first, second = (tmp_path / "runs" / name for name in "ab")
    launch(first, arguments(two_texts), devices=("cpu",))
    monkeypatch.setattr(time, "time", lambda: real() - 86_400)
    launch(second, arguments(two_texts), devices=("cpu",))
    until(lambda: saved(first))
    assert progress(second).state == "queued"  # who came first does not depend on the clock
    assert stop(second)
    assert stop(first)
    until(lambda: not alive(first) and not alive(second))


# A disk without room


@pytest.fixture
def small_files():
    """small_files(n): from then on no file takes more than n bytes, until the test ends."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    yield lambda size: resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize(("full_after", "step", "saved"), [
    (6, 8, "the save of step 4 is whole. Free some"), (0, 1, "nothing had been saved before")])
def test_a_disk_that_takes_no_more_is_reported_as_a_full_one(tmp_path, trainer, small_files, full_after, step, saved):
    run = trainer(eval_every=100)
    with pytest.raises(TrainingError, match=f"the disk is full at step {step} .*{saved}"):
        at(run, full_after, lambda: small_files(20_000)).run()
    assert progress(tmp_path / "run").why.startswith(f"the disk is full at step {step} (File too large)")
    assert step == 1 or checkpoint.load(tmp_path / "run" / "last").description.step == 4


def test_what_is_kept_or_exported_of_a_run_says_that_the_disk_is_full_and_leaves_nothing(tmp_path, trainer, small_files,
                                                                                         headsup):
    trainer().run()
    small_files(5_000)
    with pytest.raises(ValueError, match="^the disk is full .File too large.; free some space"):
        promote(tmp_path / "run", tmp_path / "checkpoints" / "mine", processor="a CPU")
    assert list((tmp_path / "checkpoints").iterdir()) == []
    code, _, err = headsup("export", tmp_path / "run", "--out", tmp_path / "mine")
    assert code == 2 and "error: the disk is full (File too large); free some space" in err


def test_a_word_alignment_that_finds_no_room_says_so_and_leaves_nothing(tmp_path, small_files):
    aligner = WordAligner.learn([([f"a{n}"], [f"b{n}"]) for n in range(2_000)])
    small_files(5_000)
    with pytest.raises(OSError, match="File too large"):
        aligner.save(tmp_path / "kept" / "words.safetensors")
    assert list((tmp_path / "kept").iterdir()) == []


# Memory


@pytest.mark.parametrize("error", [
    torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB"),
    RuntimeError("[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: you tried "
                 "to allocate 4000000000 bytes. Error code 12 (Cannot allocate memory)"),
    RuntimeError("std::bad_alloc"), MemoryError(), OSError(errno.ENOMEM, "Cannot allocate memory")])
def test_memory_that_runs_out_is_said_with_what_to_change(tmp_path, error, trainer):
    run = trainer()

    def fail():
        raise error

    with pytest.raises(TrainingError, match="cpu ran out of memory at step 7; resume with a lower micro_tokens"):
        at(run, 6, fail).run()
    assert progress(tmp_path / "run").state == "failed"
    assert checkpoint.load(tmp_path / "run" / "last").description.step == 4


# Numbers that are none


@pytest.fixture
def steep():
    """steep(run, step, lr): a gradient that is infinite at that step where the learning rate is over lr."""
    def spoil(run, step, lr):
        def steepen(gradient):
            too_fast = run.optimizers[0].param_groups[0]["lr"] > lr
            return gradient * float("inf") if run.step + 1 == step and too_fast else gradient

        next(run.model.parameters()).register_hook(steepen)
        return run

    return spoil


@pytest.mark.parametrize("evaluates", [4, 1])
def test_a_gradient_that_is_not_finite_spoils_nothing_that_is_saved(tmp_path, steep, trainer, evaluates):
    settings = {"eval_every": evaluates, "steps": 8, "save_every": 4, "warmup": 0, "lr": 0.004, "schedule": "constant"}
    folder = tmp_path / "run"
    for _ in range(2):  # resumed as it was, it fails in the same place
        with pytest.raises(TrainingError, match=r"the gradient at step 8 is .*the save of step 4 is whole.*"
                                                r"--set lr=0.002 --set clip=0.5"):
            steep(trainer(**settings), 8, 0.002).run()
    found = list(folder.rglob("model.safetensors"))
    assert {path.parent.name for path in found} >= {"last", "best"}
    for path in found:
        assert all(tensor.isfinite().all() for tensor in load_file(path).values()), path
    assert checkpoint.load(folder / "last").description.step == 4
    assert steep(trainer(**settings | {"lr": 0.002}), 8, 0.002).run() == "finished"
    known = RunConfig.model_validate_json((folder / "config.json").read_bytes())
    assert known.train.lr == 0.002  # the next Resume goes on with what helped


def test_right_after_a_save_a_lower_rate_is_no_advice(steep, trainer):
    with pytest.raises(TrainingError, match="in the first step after the save, so.*--set seed=2"):
        steep(trainer(warmup=0), 5, 0.0).run()
    assert steep(trainer(warmup=0, seed=2), 50, 0.0).run() == "finished"


def test_weights_that_are_not_finite_are_never_saved(tmp_path, trainer):
    run = trainer()
    real = run.train_step

    def train_step():
        done = real()
        if run.step == 8:
            with torch.no_grad():
                next(run.model.parameters()).view(-1)[0] = float("inf")
        return done

    run.train_step = train_step
    with pytest.raises(TrainingError, match="the weights after step 8 are not finite.*the save of step 4 is whole"):
        run.run()
    for path in (tmp_path / "run").rglob("model.safetensors"):
        assert all(tensor.isfinite().all() for tensor in load_file(path).values()), path


# Two at once


def test_a_trainer_that_could_not_begin_holds_nothing(tmp_path, trainer):
    with pytest.raises(ValueError, match="nowhere.csv"):
        Trainer(tmp_path / "run", config("/nowhere.csv"), device=CPU)
    assert trainer().run() == "finished"


def test_what_a_trainer_in_a_shell_holds_is_not_trained_twice_resumed_renamed_or_deleted(tmp_path, two_texts, headsup,
                                                                                        monkeypatch):
    monkeypatch.setattr(launching, "LEAVING", 0)
    folder, refused = tmp_path / "runs" / "mine", []
    run = Trainer(folder, config(two_texts), device=CPU)

    def others():
        said = f"process {os.getpid()} is training mine already; stop it first"
        with pytest.raises(ValueError, match=said):
            Trainer(folder, config(two_texts), device=CPU)
        for more in (["--resume"], arguments(two_texts)):
            code, _, err = headsup("train", "--out", folder, *more)
            assert code == 2 and f"error: {said}" in err
        for act in (resume, delete, partial(rename, name="other"), partial(launch, arguments=[])):
            with pytest.raises(ValueError, match="under way|already been started"):
                act(folder)
        refused.append(True)

    others()  # it has not said that it is running yet
    assert at(run, 6, others).run() == "finished"
    assert len(refused) == 2
    rename(folder, "other")
    assert Trainer(tmp_path / "runs" / "other", config(two_texts), device=CPU).run() == "finished"


def test_on_a_disk_without_locks_a_process_that_lives_is_believed(tmp_path, monkeypatch):
    def none(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(locking.FileLock, "acquire", none)
    with locking.alone(tmp_path, "training"):
        pass
    run_files.write_json(tmp_path / locking.HOLDER, {**identify(os.getppid()), "host": socket.gethostname()})
    with pytest.raises(ValueError, match=f"process {os.getppid()} is training"), locking.alone(tmp_path, "training"):
        pass
    run_files.write_json(tmp_path / locking.HOLDER, {**identify(os.getppid()), "start_time": 1})
    with locking.alone(tmp_path, "training"):
        pass


# What is left behind


def test_what_a_kill_left_is_removed_by_the_next_start(tmp_path, trainer):
    run = tmp_path / "run"
    trainer(steps=8).run()
    for name in (".last.new-1", ".best.new-22", "snapshots/.3.new-1", "snapshots/.3.old"):
        shutil.copytree(run / "last", run / name)
    for name in ("last", "best"):
        (run / name).rename(run / f".{name}.old")  # killed between the two renames of a save
    for name in (".metrics.jsonl.abc", ".status.json.x_1", ".config.json.q", ".samples.jsonl.7",
                 "attention/.5.safetensors.zz"):
        (run / name).write_bytes(b"half")
    again = trainer()
    assert again.step == 8
    assert again.run() == "finished"
    left = sorted(path.name for path in run.rglob(".*"))
    assert left == [".lock"]
    assert checkpoint.load(run / "best").description.step


# What is said


ODD = [b'{"step": "abc"}', b"[1, 2]", b"{}", b'{"step": 1e999}', b'{"step": 2, "validation_loss": {}, "best": []}',
       b'{"step": null, "loss": 1}', b"7", b"null", b'{"step": [3]}', b'{"step": true}', b'{"loss": "x", "step": 2}',
       b'{"step": 3, "samples": [null, 1]}']


@pytest.mark.parametrize("rows", [ODD, ODD[::-1]], ids=["forwards", "backwards"])
def test_odd_rows_stop_neither_resuming_nor_keeping(tmp_path, trainer, rows):
    run = tmp_path / "run"
    trainer(steps=4).run()
    for name in ("metrics.jsonl", "samples.jsonl"):
        with open(run / name, "ab") as file:
            file.write(b"\n".join([*rows, b""]))
    assert trainer().run() == "finished"
    assert describe(run).now.state == "finished"
    as_csv(run)
    promote(run, tmp_path / "kept", processor="a CPU")
    steps = [found["step"] for found in run_files.read(run / "metrics.jsonl") if "loss" in found]
    assert steps[-1] == 12


def test_another_process_that_was_killed_is_named(tmp_path, trainer):
    run = trainer()
    other = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    together = World(0, 2, CPU, (identify(os.getpid()), identify(other.pid)))
    other.kill()

    def lose():
        run.world = together
        raise RuntimeError("[/__w/pytorch/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:547] Connection closed "
                           "by peer [127.0.0.1]:40577. This means the remote process crashed. GLHF!")

    with pytest.raises(TrainingError, match="^process 1 was killed, perhaps because memory ran out; the save of"):
        at(run, 6, lose).run()
    assert progress(tmp_path / "run").why.startswith("process 1 was killed")
    other.communicate()


@pytest.mark.rare("a process of its own; how its reason is read is in make test")
def test_a_run_that_ends_before_it_trains_gives_its_error_as_the_reason(tmp_path):
    run = tmp_path / "runs" / "wrong"
    launch(run, ["--preset", "sentiment", "--set", "corpus=/nowhere/at/all/with/a/long/name/that/fills/a/line.csv"])
    until(lambda: not alive(run))
    now = progress(run)
    assert now.state == "failed"
    assert "/nowhere/at/all/with/a/long/name/that/fills/a/line.csv" in now.why
    assert "Traceback" not in log_tail(run)


def test_an_error_of_an_earlier_start_is_no_reason_for_a_later_end(tmp_path):
    (tmp_path / "log.txt").write_text("error: from before\n")
    run_files.write_json(tmp_path / "launch.json", {"pid": 0, "printed": (tmp_path / "log.txt").stat().st_size})
    assert (progress(tmp_path).state, progress(tmp_path).why) == ("died", None)
    with open(tmp_path / "log.txt", "a") as log:
        log.write("step 3\nerror: the corpus is gone\nmore\n")
    assert (progress(tmp_path).state, progress(tmp_path).why) == ("failed", "the corpus is gone")


def test_a_run_whose_folder_is_moved_says_so_and_goes_on_from_there(tmp_path, trainer, two_texts):
    run, elsewhere = trainer(eval_every=100), tmp_path / "elsewhere"
    with pytest.raises(TrainingError, match="run was moved or deleted at step 7; where it is now, resume goes on"):
        at(run, 6, lambda: (tmp_path / "run").rename(elsewhere)).run()
    assert not (tmp_path / "run").exists()
    assert Trainer(elsewhere, config(two_texts, eval_every=100), device=CPU).run() == "finished"
    assert [row["step"] for row in run_files.read(elsewhere / "metrics.jsonl") if "loss" in row][-1] == 12


def test_minutes_that_are_no_time_are_refused(trainer):
    run = trainer()
    for minutes in (0, -1, float("nan"), float("inf")):
        with pytest.raises(ValueError, match=f"minutes is {minutes:g}; give a number above 0"):
            run.run(minutes=minutes)
