"""Disks that are really full: said in one sentence, and what was saved before is whole."""

import subprocess
from pathlib import Path

import pytest

from tests.training.made_up import CPU, at
from transformer.checkpoints import checkpoint
from transformer.intake.receiving import take_in
from transformer.jobs.launch import progress
from transformer.settings.config import RunConfig
from transformer.settings.presets import preset
from transformer.training.runs import promote
from transformer.training.trainer import Trainer, TrainingError

pytestmark = pytest.mark.faults


def config(corpus, **settings) -> RunConfig:
    return preset("sentiment").set({"corpus": str(corpus), "steps": 12, "save_every": 4, "eval_every": 100,
                                    "d_model": 64, "d_ff": 128, "encoder_layers": 2, **settings})


@pytest.fixture
def disk(tmp_path):
    """A disk of eight megabytes."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(place)], capture_output=True,
                             text=True)
    if mounted.returncode:
        pytest.skip(f"no disk can be mounted here ({mounted.stderr.strip()}); the limit of file sizes stands in for it")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def fill(disk) -> Path:
    """Leave no room -> the file that takes it."""
    filler = disk / "filler"
    with open(filler, "wb", buffering=0) as file:
        try:
            while file.write(b"\0" * 4096):
                pass
        except OSError as error:
            print(f"\n{error.strerror} after {filler.stat().st_size:,} bytes of filling")
    return filler


def test_a_disk_that_fills_while_a_run_trains(disk, two_texts):
    run, fillers = Trainer(disk / "run", config(two_texts), device=CPU), []
    at(run, 6, lambda: fillers.append(fill(disk)))
    with pytest.raises(TrainingError, match="the disk is full at step [78] .No space left on device.; the save of "
                                            "step 4 is whole. Free some space and resume"):
        run.run()
    assert checkpoint.load(disk / "run" / "last").description.step == 4
    fillers[0].unlink()
    now = progress(disk / "run")
    assert (now.state, now.why.startswith("the disk is full")) == ("failed", True)
    assert Trainer(disk / "run", config(two_texts), device=CPU).run() == "finished"
    assert progress(disk / "run").state == "finished"
    assert [path.name for path in (disk / "run").rglob(".*")] == [".lock"]


def test_a_disk_too_small_for_the_first_save(disk, two_texts):
    with pytest.raises(TrainingError, match="the disk is full at step .*nothing had been saved before"):
        Trainer(disk / "run", config(two_texts, d_model=256, d_ff=512), device=CPU).run()
    now = progress(disk / "run")
    assert (now.state, now.why.startswith("the disk is full")) == ("failed", True)


def test_keeping_and_taking_in_where_there_is_no_room(disk, two_texts, tmp_path):
    Trainer(tmp_path / "run", config(two_texts), device=CPU).run()
    kept = promote(tmp_path / "run", tmp_path / "kept", processor="a CPU")
    filler = fill(disk)
    with pytest.raises(ValueError, match="the disk is full .No space left on device.; free some space"):
        promote(tmp_path / "run", disk / "mine", processor="a CPU")
    with pytest.raises(ValueError, match=r"too little room|cannot be kept here .No space left on device.*make room"):
        take_in([(path.name, path) for path in kept.iterdir() if path.is_file()], disk / "taken", name="mine")
    filler.unlink()
    assert checkpoint.load(promote(tmp_path / "run", disk / "mine", processor="a CPU"))
    assert [path.name for path in disk.iterdir() if path.name.startswith(".")] == []
