"""`import transformer`: its names and its cost."""

import subprocess
import sys
from pathlib import Path

import pytest

import transformer
from transformer.training import trainer  # imports the most there is

ROOT = Path(__file__).resolve().parents[1]


def python(code: str) -> str:
    result = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


def test_importing_it_and_reading_a_folder_of_runs_needs_no_torch():
    code = ("import sys, transformer; transformer.ModelConfig, transformer.runs.find; "
            "print([name for name in ('torch', 'pandas', 'numpy') if name in sys.modules])")
    assert python(code) == "[]"


def test_every_name_is_there_and_is_what_it_says_whatever_was_imported_before():
    assert trainer.Trainer
    for name in transformer.__all__:
        value = getattr(transformer, name)
        assert callable(value) or value is transformer.runs, name
    assert issubclass(transformer.CheckpointError, ValueError)
    with pytest.raises(AttributeError, match="has no attribute 'lode'"):
        _ = transformer.lode
