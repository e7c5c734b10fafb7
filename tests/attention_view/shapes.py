"""Small models of every preset and of every other family."""

from pathlib import Path

import pytest
import torch

from tests.huggingface.cases import CASES
from transformer.checkpoints.checkpoint import Checkpoint, load, save
from transformer.huggingface.folder import Folder
from transformer.huggingface.importing import plan_of
from transformer.model.models import Transformer
from transformer.settings.config import ModelConfig
from transformer.settings.presets import PRESETS

FAMILIES = {case[1]: case for case in reversed(CASES)}  # the first of each class
SMALL = {"d_model": 24, "d_ff": 20, "vocab_size": 30, "src_vocab_size": None, "max_len": 16, "embedding_dim": None}
IDS = "5 6 7 8 9 6"  # which each of them reads


def shaped(name: str, folder: Path) -> Checkpoint:
    """The preset of that name, or the class of transformers, as a checkpoint in that folder."""
    config = _of_preset(name) if name in PRESETS else _of_family(name, folder / "theirs")
    save(folder / "model", Transformer(config, generator=torch.Generator().manual_seed(2)), tokenizer=None)
    return load(folder / "model")


def _of_preset(name: str) -> ModelConfig:
    config = PRESETS[name].model
    heads = 4 if config.n_heads % 4 == 0 else config.n_heads
    return config.replace(**SMALL, n_heads=heads, kv_heads=None, head_dim=6, n_classes=config.n_classes and 3)


def _of_family(name: str, folder: Path) -> ModelConfig:
    pytest.importorskip("transformers")
    from tests.huggingface.random_models import random_model

    random_model(*FAMILIES[name][1:]).save_pretrained(folder)
    theirs = Folder(folder)
    return plan_of(theirs.config, theirs.tensors).config
