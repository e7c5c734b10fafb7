"""Models of random configurations give what the transformers package computes. HEADSUP_DRAWS sets how many."""

import os

import pytest
import torch

from tests.huggingface.random_settings import FAMILIES, draw
from transformer import checkpoint
from transformer.huggingface.comparison import both, open_theirs
from transformer.huggingface.importing import import_model

transformers = pytest.importorskip("transformers")
DRAWS = int(os.environ.get("HEADSUP_DRAWS", "2"))  # of each family
LENGTHS = (1, 2, 7, 17, 30, 60)


@pytest.mark.parametrize("seed", [pytest.param(seed, marks=pytest.mark.rare if seed else ()) for seed in range(DRAWS)])
@pytest.mark.parametrize("family", FAMILIES)
def test_logits_and_every_heads_weights_are_theirs(family, seed, tmp_path):
    name, config, settings = draw(family, seed)
    torch.manual_seed(seed)
    model = getattr(transformers, name)(getattr(transformers, config)(**settings)).eval()
    for parameter in model.parameters():  # norms and biases too, none of them 0 or 1 as they begin
        parameter.data += 0.2 * torch.randn_like(parameter)
    model.save_pretrained(tmp_path / "theirs")
    ckpt = checkpoint.load(import_model(tmp_path / "theirs", tmp_path / "ours"))
    theirs = open_theirs(ckpt, tmp_path / "theirs")
    for length in LENGTHS:
        if length <= ckpt.config.max_len:
            ours, expected = both(ckpt, theirs, seed=seed, length=length)
            for part, found in ours.items():
                assert found.shape == expected[part].shape, (part, settings)
                assert (found - expected[part]).abs().max() < 1e-4, (part, length, settings)
