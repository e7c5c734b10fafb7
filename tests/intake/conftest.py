"""Small valid checkpoints to send, ours and Hugging Face's."""

import json
from pathlib import Path

import pytest
import torch

from transformer.checkpoints.checkpoint import load, save
from transformer.huggingface.exporting import export_model
from transformer.model.models import Transformer
from transformer.settings.config import ModelConfig

SIZES = {"d_model": 16, "n_heads": 2, "encoder_layers": 1, "decoder_layers": 1, "d_ff": 24, "max_len": 400}


@pytest.fixture
def ours(tiny_tokenizer, tmp_path) -> Path:
    """A checkpoint folder with every file that one can have."""
    model = Transformer(ModelConfig(**SIZES, vocab_size=tiny_tokenizer.vocab_size),
                        generator=torch.Generator().manual_seed(1))
    rows = [{"step": step, "loss": 3.0 - step / 10, "lr": 1e-3, "seconds": 1.5} for step in range(5)]
    save(tmp_path / "ours", model, tokenizer=tiny_tokenizer, meta={"step": 7, "metrics": {"bleu": 1.5, "n": 3}}, files={
        "metrics.jsonl": b"".join(json.dumps(row).encode() + b"\n" for row in rows), "README.md": b"# ours\n",
        "attention/pinned.json": b"[]", "attention/0.safetensors": b"\x02\0\0\0\0\0\0\0{}",
        "attention/untrained.safetensors": b"\x02\0\0\0\0\0\0\0{}", "events.jsonl": b"{}\n", "samples.jsonl": b""})
    return tmp_path / "ours"


@pytest.fixture
def theirs(tmp_path) -> Path:
    """A Hugging Face folder: a GPT-2 of random weights."""
    settings = {**SIZES, "encoder_layers": 0, "vocab_size": 280, "positions": "learned", "activation": "gelu_tanh",
                "pad_id": None, "embedding_scale": False, "bos_id": 0, "eos_id": 0, "start_id": 0, "unk_id": None}
    model = Transformer(ModelConfig(**settings), generator=torch.Generator().manual_seed(1))
    save(tmp_path / "decoder", model, tokenizer=None)
    export_model(load(tmp_path / "decoder"), tmp_path / "theirs")
    return tmp_path / "theirs"


@pytest.fixture
def theirs_with_tokenizer(theirs) -> Path:
    """The same with a tokenizer.json."""
    tokenizers = pytest.importorskip("tokenizers", reason="pip install transformers")
    trained = tokenizers.ByteLevelBPETokenizer()
    trained.train_from_iterator(["I am cold. I am here.", "Go on, go home!"] * 4, vocab_size=280, min_frequency=1,
                                special_tokens=["<|endoftext|>"])
    trained.save(str(theirs / "tokenizer.json"))
    return theirs
