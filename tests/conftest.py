"""Tiny checkpoints, made once a test run, saved and loaded as real ones are."""

import os
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from threading import enumerate as all_threads

import pytest
import torch

from transformer.__main__ import main
from transformer.basics.paths import ROOT
from transformer.checkpoints.checkpoint import Checkpoint, load, save
from transformer.model.models import Transformer
from transformer.settings.config import ModelConfig
from transformer.text import tokenizer as tokenizers

# What pytest makes of every assertion is kept, whatever the environment says: to make it anew takes each process 8 s.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

pytest_plugins = ["tests.accepted", "tests.budget", "tests.serving"]

SENTENCES = ["I am cold.", "Go on.", "He is tall.", "We can go home.", "Who is it?", "I see a dog and a cat."]
TINY = {"d_model": 16, "n_heads": 2, "encoder_layers": 2, "decoder_layers": 2, "d_ff": 32, "max_len": 40}


@pytest.fixture(autouse=True)
def no_server_goes_on():
    """No test leaves a server of its own process going: one whose socket is closed under it takes a core from all tests
    that follow, and what comes to whichever socket is opened next."""
    before = set(all_threads())
    yield
    left = [thread for thread in all_threads() if "serve_forever" in thread.name and thread not in before]
    for thread in left:
        thread.join(10)  # it may be about to end
    assert not any(thread.is_alive() for thread in left)


@pytest.fixture
def headsup(monkeypatch, capsys) -> Callable[..., tuple[int, str, str]]:
    """headsup("list", ...): the exit status, and what went to standard output and to standard error."""
    def headsup(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["headsup", *map(str, arguments)])
        try:
            code = main()
        except SystemExit as stopped:
            code = stopped.code
        printed = capsys.readouterr()
        return code or 0, printed.out, printed.err

    return headsup


@pytest.fixture
def two_texts(tmp_path) -> Path:
    """A corpus that is learned in no time: a text of each of two classes."""
    path = tmp_path / "sentences.csv"
    path.write_text("text,label\nthis is awesome,positive\ni hated it,negative\n")
    return path


@pytest.fixture(scope="session")
def tiny_tokenizer() -> tokenizers.SentencePieceTokenizer:
    """One piece a character, so that a text cut anywhere reads as the same pieces."""
    return tokenizers.train(SENTENCES, kind="char", vocab_size=40, verbatim=True)


@pytest.fixture(scope="session")
def make_checkpoint(tiny_tokenizer, tmp_path_factory) -> Callable[..., Checkpoint]:
    """make_checkpoint(positions="rotary", ...): that model, with random weights sharp enough that every head and every
    token matters."""

    @cache
    def make(**changes: object) -> Checkpoint:
        settings = {**TINY, "vocab_size": tiny_tokenizer.vocab_size, "tie_embeddings": False, "logits_bias": True}
        model = Transformer(ModelConfig(**{**settings, **changes}), generator=torch.Generator().manual_seed(29))
        with torch.no_grad():
            for parameter in model.parameters():
                if parameter.dim() == 2:
                    parameter.mul_(1.5)
        folder = tmp_path_factory.mktemp("checkpoints") / "tiny"
        save(folder, model, tokenizer=tiny_tokenizer, meta={"step": 7})
        return load(folder)

    return make


@pytest.fixture(scope="session")
def translator(make_checkpoint) -> Checkpoint:
    """An encoder-decoder."""
    return make_checkpoint()


@pytest.fixture(scope="session")
def writer(make_checkpoint) -> Checkpoint:
    """A decoder."""
    return make_checkpoint(encoder_layers=0, positions="rotary")


@pytest.fixture(scope="session")
def classifier(make_checkpoint) -> Checkpoint:
    """An encoder that tells three classes apart."""
    return make_checkpoint(decoder_layers=0, pooling="max", n_classes=3)


@pytest.fixture(scope="session")
def shipped() -> Callable[[str], Checkpoint]:
    """A checkpoint that comes with the app: `shipped("write")`."""
    return cache(lambda name: load(ROOT / "checkpoints" / name))


def pytest_generate_tests(metafunc) -> None:
    """What takes `ckpt` runs with each of the `MODELS` of its file."""
    if "ckpt" in metafunc.fixturenames and hasattr(metafunc.module, "MODELS"):
        metafunc.parametrize("ckpt", metafunc.module.MODELS, indirect=True, ids=str, scope="module")


@pytest.fixture(scope="module")
def ckpt(request, make_checkpoint, shipped) -> Checkpoint:
    """The model that a file is about: each of its `MODELS` in turn, or that of its `MODEL` or its `PAGE`. A name is a
    checkpoint that comes with the app; settings make a tiny one."""
    model = getattr(request, "param", None)
    if model is None:
        model = getattr(request.module, "MODEL", None) or request.module.PAGE
    return shipped(model) if isinstance(model, str) else make_checkpoint(**model)


@pytest.fixture(scope="session")
def target_for() -> Callable[[Checkpoint, str], str | None]:
    """target_for(ckpt, text): the text, if the model has a place for a target."""
    return lambda ckpt, text: text if "cross" in ckpt.config.kinds else None
