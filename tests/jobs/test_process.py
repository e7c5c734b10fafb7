"""Which process the kernel ends first when memory runs out."""

import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.waiting import until
from transformer.__main__ import app
from transformer.jobs import process, run_files
from transformer.jobs.launch import alive, launch, log_tail, progress, stop
from transformer.jobs.process import EXPENDABLE
from transformer.jobs.queue import record

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="oom_score_adj is Linux's")]


def score(pid: int | str) -> int:
    return int(Path(f"/proc/{pid}/oom_score_adj").read_text())


def family(pid: int) -> list[int]:
    """A process and all that it started."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *(one for child in children for one in family(int(child)))]


@pytest.mark.parametrize("processes", [1, 2])
@pytest.mark.rare("processes that train, and their workers")
def test_a_training_and_its_workers_go_before_the_app(tmp_path, processes):
    run, mine = tmp_path / "runs" / "mine", score("self")
    launch(run, ["--preset", "sentiment", "--steps", "100000"], devices=("cpu",), processes=processes)
    try:
        until(lambda: progress(run).state == "running" or not alive(run))
        pid = process.running(record(run))
        assert pid, log_tail(run)
        assert [score(one) for one in family(pid)].count(EXPENDABLE) >= processes
        assert run_files.read_json(run / "status.json")["world_size"] == processes
    finally:
        stop(run)
        until(lambda: not alive(run))
    assert score("self") == mine


@pytest.mark.parametrize("words", [["train", "--out", "nowhere"], ["check"], ["ablate", "nowhere", "--out", "out"]])
def test_each_command_that_computes_for_long_offers_itself(words, monkeypatch, tmp_path):
    def offered():
        raise ValueError("offered")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(process, "go_first", offered)
    assert str(CliRunner().invoke(app, [*words, "--device", "cpu"]).exception) == "offered"


def test_what_somebody_raised_further_stays_and_nothing_is_said(monkeypatch, tmp_path):
    monkeypatch.setattr(process, "Path", lambda *_: tmp_path / "no" / "such")
    process.go_first()
