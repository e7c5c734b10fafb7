"""A checkpoint with any mutated file is received whole and runs, or is refused in a sentence."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.rare("two hundred mutations of each kind of file")

ROOT = Path(__file__).resolve().parents[2]
COUNT = 200
OURS = ["safetensors", "zip", "config", "tokenizer", "manifest", "metrics"]
measured = pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(),
                              reason="this system does not say how much memory is used")
THEIRS = ["tokenizer.json", "Hugging Face config", "Hugging Face safetensors"]


def in_a_child(sandbox: Path, kinds: list[str]) -> list[dict[str, object]]:
    for name in ("root", "elsewhere"):
        (sandbox / name).mkdir()
    places = {name: str(sandbox / "elsewhere") for name in ("HOME", "TMPDIR", "HF_HOME", "HEADSUP_HOME")}
    result = subprocess.run(
        [sys.executable, str(ROOT / "tests" / "intake" / "mutations.py"), str(sandbox), str(COUNT), *kinds],
        cwd=sandbox, capture_output=True, text=True, timeout=500, env={
            **os.environ, **places, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1",
            "TOKENIZERS_PARALLELISM": "false", "HF_HUB_OFFLINE": "1"})
    assert result.returncode == 0, result.stderr[-3_000:]
    found = [json.loads(line) for line in result.stdout.splitlines()]
    assert [one["kind"] for one in found] == kinds
    return found


def holds(found: dict[str, object]) -> None:
    assert found["accepted"] + found["refused"] == found["count"] == COUNT
    assert found["refused"] > COUNT / 20
    assert found["slowest"] < 10, found["slowest_said"]  # seconds of a processor; it takes a tenth of one
    assert found["peak"] < 400_000_000  # bytes


@measured
def test_mutated_files_of_ours_are_taken_whole_or_refused(ours, tmp_path):
    for found in in_a_child(tmp_path, OURS):
        holds(found)


@measured
def test_mutated_files_of_theirs_are_taken_whole_or_refused(theirs_with_tokenizer, tmp_path):
    shutil.rmtree(tmp_path / "decoder")
    for found in in_a_child(tmp_path, THEIRS):
        holds(found)
