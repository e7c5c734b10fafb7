"""Several processes train one model: the same losses as one, exact to resume, and none left behind."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from tests.training import made_up
from tests.waiting import until
from transformer.checkpoints import checkpoint
from transformer.jobs.launch import identify
from transformer.text.batches import Batch
from transformer.training import distributed
from transformer.training.distributed import IGNORED, World

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]

# torchrun CHILD folder stop_at sleep settings...: trains on made-up sentences; the last process asks to stop at a step
CHILD = """
import os, sys, threading, time
from pathlib import Path
import torch
from tests.training import made_up
made_up.tasks.corpus = lambda name: made_up.PAIR_CORPUS
folder, stop_at, wait = Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
run = made_up.make(folder, **dict(pair.split("=") for pair in sys.argv[4:]))
(folder / f"pid-{run.world.rank}").write_text(str(os.getpid()))
made_up.at(run, stop_at if run.world.rank == run.world.size - 1 else None, run.stopping.set)
real = run.train_step
run.train_step = lambda: (time.sleep(wait), real())[1]
state = run.run()
if run.first:
    print(state)
run.world.leave()
"""
NO_DROPOUT = ("dropout=0", "clip=0.5")


def torchrun(tmp_path, folder, *settings, stop_at=-1, wait=0.0):
    child = tmp_path / "child.py"
    child.write_text(CHILD)
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", str(child),
               str(folder), str(stop_at), str(wait), *settings]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(command, cwd=ROOT, env=environment, text=True, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE)


def ended(process):
    output, errors = process.communicate(timeout=500)
    assert process.returncode == 0, errors
    return output.split()[-1]


@pytest.fixture
def corpora(monkeypatch):
    monkeypatch.setattr(made_up.tasks, "corpus", lambda name: made_up.PAIR_CORPUS)


@pytest.fixture
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("corpora", "one_thread")
@pytest.mark.rare("two processes that train together")
@pytest.mark.parametrize("pieces", [(), ("micro_tokens=13",)], ids=["whole", "in pieces"])
def test_two_processes_lose_what_one_loses(tmp_path, pieces):
    assert ended(torchrun(tmp_path, tmp_path / "two", *NO_DROPOUT, *pieces)) == "finished"
    made_up.make(tmp_path / "one", dropout=0.0, clip=0.5).run()
    two, one = made_up.rows(tmp_path / "two"), made_up.rows(tmp_path / "one")
    assert [row["step"] for row in two] == [row["step"] for row in one]
    for mine, other in zip(two, one, strict=True):
        assert mine == pytest.approx(other, rel=2e-4)


@pytest.mark.rare("two processes that train together")
def test_two_processes_go_on_exactly_from_the_middle_of_an_epoch(tmp_path):
    # with dropout, whose random state each process has its own of, and in pieces, each of which draws
    settings = ("accumulate=3", "optimizer=muon", "micro_tokens=30")
    whole = torchrun(tmp_path, tmp_path / "whole", *settings)
    stopped = torchrun(tmp_path, tmp_path / "stopped", *settings, stop_at=6)
    assert (ended(whole), ended(stopped)) == ("finished", "stopped")
    assert checkpoint.load(tmp_path / "stopped" / "last").description.step == 7
    assert ended(torchrun(tmp_path, tmp_path / "stopped", *settings)) == "finished"
    made_up.assert_same(made_up.outcome(tmp_path / "stopped"), made_up.outcome(tmp_path / "whole"))


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a process that its parent died")
@pytest.mark.rare("two processes that train together")
def test_killing_the_launcher_leaves_no_worker_behind(tmp_path):
    folder = tmp_path / "run"
    process = torchrun(tmp_path, folder, "save_every=2", wait=0.3)
    try:
        until(lambda: (folder / "last" / "manifest.json").exists() or process.poll() is not None)
        assert process.poll() is None, process.stderr.read()
    finally:
        process.kill()
    process.communicate()
    workers = [int((folder / f"pid-{rank}").read_text()) for rank in (0, 1)]
    until(lambda: not any(map(identify, workers)))
    assert made_up.status(folder)["state"] in ("stopped", "failed")
    assert checkpoint.load(folder / "last").description.step >= 2


def test_shares_of_a_batch_are_the_batch_and_a_process_without_a_row_takes_part_with_one_that_does_not_count():
    batch = Batch(torch.arange(15).reshape(5, 3), torch.arange(10).reshape(5, 2), torch.arange(10).reshape(5, 2), 10)
    shares = [World(rank, 2).share(batch, pad_id=0) for rank in (0, 1)]
    assert [share.tokens for share in shares] == [10, 10]
    for whole, *parts in zip(batch[:3], *(share[:3] for share in shares), strict=True):
        assert sorted(torch.cat(parts).tolist()) == whole.tolist()
    assert World().share(batch, pad_id=0) is batch
    pair = Batch(torch.ones(1, 3), torch.ones(1, 2), torch.ones(1, 2), 2)
    assert World(1, 2).share(pair, pad_id=7).labels.tolist() == [[7, 7]]
    text = Batch(torch.ones(1, 3), None, torch.ones(1), 1)
    assert World(1, 2).share(text, pad_id=7).labels.tolist() == [IGNORED]


def test_a_process_without_a_gpu_of_its_own_says_so(monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("LOCAL_RANK", "1")
    monkeypatch.setattr(distributed, "_end_with_parent", lambda: None)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    with pytest.raises(ValueError, match="process 2 of this machine finds 1 GPUs; start at most 1"):
        distributed.join(torch.device("cuda"))


def test_a_process_group_that_is_there_is_joined_as_it_is(monkeypatch, tmp_path):
    monkeypatch.setenv("WORLD_SIZE", "2")  # as Ray Train says it, which has made the group and ends its workers
    monkeypatch.setattr(distributed, "_end_with_parent", lambda: pytest.fail("it is not torchrun's"))
    torch.distributed.init_process_group("gloo", init_method=f"file://{tmp_path / 'store'}", rank=0, world_size=1)
    try:
        world = distributed.join(torch.device("cpu"))
        assert (world.rank, world.size) == (0, 1)
    finally:
        torch.distributed.destroy_process_group()
