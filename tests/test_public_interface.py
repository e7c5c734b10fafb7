"""`import transformer`: its names, its cost, and the axes of attention, which are the same everywhere."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch

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


def test_a_step_a_reading_and_a_model_give_the_same_weights_on_the_same_axes(translator):
    *_, step = transformer.steps(translator, "Go on.", max_steps=4)
    reading = transformer.attend(translator, "Go on.", translator.tokenizer.decode(step.tokens[1:]))
    src = torch.tensor([[*(piece.id for piece in step.source), translator.config.eos_id]])
    encoded = translator.model.encode(src, readable=True)
    decoded = translator.model.decode(torch.tensor([step.tokens]), encoded.x, causal=True, readable=True)
    batches = {"encoder": encoded.attention, "decoder": decoded.attention, "cross": decoded.cross}
    for kind in step.kinds:
        queries, keys = step.axes(kind)
        assert step.attentions[kind].shape == (2, 2, len(queries), len(keys))
        torch.testing.assert_close(step.attentions[kind], reading.attentions[kind])
        for layer, attended in enumerate(batches[kind]):
            torch.testing.assert_close(attended.weights[0], step.attentions[kind][layer])
