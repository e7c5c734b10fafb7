"""Models of random configurations give what the transformers package computes. HEADSUP_DRAWS sets how many."""

import os

import pytest

from tests.huggingface.random_models import save_random
from tests.huggingface.random_settings import FAMILIES, draw
from transformer import checkpoint
from transformer.huggingface.comparison import both, open_theirs
from transformer.huggingface.importing import import_model

DRAWS = int(os.environ.get("HEADSUP_DRAWS", "2"))  # of each family
LENGTHS = (1, 2, 7, 17, 30, 60)


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.rare("another draw of each family"))
                                       for seed in range(1, DRAWS))])
@pytest.mark.parametrize("family", FAMILIES)
def test_logits_and_every_heads_weights_are_theirs(family, seed, tmp_path):
    name, config, settings = draw(family, seed)
    save_random(tmp_path / "theirs", name, config, settings, seed=seed)
    ckpt = checkpoint.load(import_model(tmp_path / "theirs", tmp_path / "ours"))
    theirs = open_theirs(ckpt, tmp_path / "theirs")
    for length in LENGTHS:
        if length <= ckpt.config.max_len:
            ours, expected = both(ckpt, theirs, seed=seed, length=length)
            for part, found in ours.items():
                assert found.shape == expected[part].shape, (part, settings)
                assert (found - expected[part]).abs().max() < 1e-4, (part, length, settings)
