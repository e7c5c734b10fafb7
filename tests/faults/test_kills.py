"""kill -9 at moments of chance: a run goes on from its last save, and ends as if nothing had happened."""

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from tests.training.made_up import rows
from transformer.basics.folders import recover
from transformer.checkpoints import checkpoint
from transformer.jobs import run_files

pytestmark = [pytest.mark.faults, pytest.mark.timeout(1_800)]
ROOT = Path(__file__).resolve().parents[2]
KILLS, LONGEST = 20, 0.25  # seconds of training before a kill, at most
TRAIN = """
import sys
from pathlib import Path
import torch
from transformer.settings.presets import preset
from transformer.training.trainer import Trainer
config = preset("sentiment").set({"corpus": sys.argv[2], "steps": 800, "save_every": 1, "eval_every": 7,
                                  "dropout": 0.2})
run = Trainer(Path(sys.argv[1]), config, device=torch.device("cpu"))
print(run.step, flush=True)
print(run.run(), flush=True)
"""


def start(folder, corpus):
    """A training that has begun, and the step that it begins at."""
    child = subprocess.Popen([sys.executable, "-c", TRAIN, str(folder), str(corpus)], cwd=ROOT, text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    first = child.stdout.readline()
    assert first, child.stderr.read()
    return child, int(first)


def test_twenty_kills_at_moments_of_chance_lose_nothing_that_was_saved(tmp_path, two_texts):
    seed = random.SystemRandom().randrange(1_000_000)
    print(f"\nthe moments of seed {seed}")
    chance = random.Random(seed)
    folder, inside, kept = tmp_path / "run", 0, 0
    for _ in range(KILLS):
        child, step = start(folder, two_texts)
        assert step >= kept
        with pytest.raises(subprocess.TimeoutExpired):  # else it ended by itself
            child.wait(timeout=chance.uniform(0, LONGEST))
        child.kill()
        child.communicate()
        inside += any(folder.glob(".last.*"))
        recover(folder)  # as the next start does, to see what it will find
        kept = checkpoint.load(folder / "last").description.step if (folder / "last").exists() else 0
        seen = max((row["step"] for row in run_files.read(folder / "metrics.jsonl") if "loss" in row), default=0)
        assert seen <= kept + 1  # of the step whose save was killed there may be a row
    child, step = start(folder, two_texts)
    assert step == kept
    assert child.communicate()[0].split() == ["finished"]
    print(f"{KILLS} kills, {inside} of them inside a save; step {kept} was reached by then, and nothing was lost")

    unbroken = tmp_path / "unbroken"
    assert start(unbroken, two_texts)[0].communicate()[0].split() == ["finished"]
    assert rows(folder) == rows(unbroken)
    steps = [row["step"] for row in rows(folder) if "loss" in row]
    assert steps == sorted(set(steps)) == list(range(10, 801, 10))
    for name in ("last/model", "last/state", "best/model"):
        one, other = (load_file(place / f"{name}.safetensors") for place in (folder, unbroken))
        assert one.keys() == other.keys()
        assert all(torch.equal(one[key], other[key]) for key in one), name
    assert [path.name for path in folder.rglob(".*")] == [".lock"]
    assert json.loads((folder / "status.json").read_text())["state"] == "finished"
