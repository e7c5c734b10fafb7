"""Models of the transformers package, imported once for the tests of a module."""

import os
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

import transformer
from transformer.checkpoints.checkpoint import Checkpoint
from transformer.huggingface.importing import import_model

os.environ["TRANSFORMERS_VERBOSITY"] = "error"


@pytest.fixture(scope="module")
def import_once(tmp_path_factory) -> Callable[..., tuple[Path, Checkpoint]]:
    """import_once(save, "gpt2"): the folder in which save(folder, "gpt2") has put a model, and our checkpoint of it."""

    @cache
    def import_once(save, name):
        place = tmp_path_factory.mktemp("huggingface")
        save(place / "theirs", name)
        return place / "theirs", transformer.load(import_model(place / "theirs", place / "ours"))

    return import_once
