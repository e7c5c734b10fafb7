"""Where things are: HEADSUP_HOME has one default, and a checkpoint's name is enough to open it."""

from pathlib import Path

import pytest

from transformer.basics import paths
from transformer.checkpoints import checkpoint
from transformer.checkpoints.checkpoint import CheckpointError


def test_home_is_the_clones_runs_unless_it_is_named(monkeypatch, tmp_path):
    monkeypatch.delenv("HEADSUP_HOME", raising=False)
    assert paths.home() == Path(__file__).resolve().parents[1] / "runs"
    monkeypatch.setenv("HEADSUP_HOME", str(tmp_path))
    assert paths.home() == tmp_path


def test_a_checkpoints_name_opens_it_from_any_folder(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    shipped = checkpoint.describe("translate")
    assert shipped.folder == paths.ROOT / "checkpoints" / "translate"
    with pytest.raises(CheckpointError, match="no folder translate; did you mean translate alone"):
        checkpoint.describe("elsewhere/translate")
    (tmp_path / "translate").mkdir()
    with pytest.raises(CheckpointError, match=r"translate has no config\.json"):  # a folder that is there comes first
        checkpoint.describe("translate")
