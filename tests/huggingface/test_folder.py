"""Things in a Hugging Face folder that are not files, or cannot be, are refused before they are opened."""

import json
import os

import pytest

from transformer.huggingface.folder import Folder, Refused, tensors


def put(kind, path):
    os.mkfifo(path) if kind == "pipe" else path.symlink_to("/dev/zero") if kind == "device" else path.mkdir()


@pytest.mark.timeout(20)
@pytest.mark.parametrize("name", ["config.json", "generation_config.json"])
@pytest.mark.parametrize("kind", ["pipe", "device", "folder"])
def test_what_is_not_a_file_is_refused(tmp_path, kind, name):
    if name != "config.json":
        (tmp_path / "config.json").write_text("{}")
    put(kind, tmp_path / name)
    with pytest.raises(Refused, match=f"^{name} is not a file; copy the folder again$"):
        _ = Folder(tmp_path).config


@pytest.mark.timeout(20)
@pytest.mark.parametrize("kind", ["pipe", "device", "folder"])
def test_a_readme_that_is_not_a_file_names_no_licence(tmp_path, kind):
    put(kind, tmp_path / "README.md")
    assert Folder(tmp_path).licence is None


@pytest.mark.parametrize("name", ["m" * 300, "漢" * 90], ids=["ASCII", "others"])
def test_a_part_with_a_name_that_no_file_has_is_refused(tmp_path, name):
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"a": f"{name}.safetensors"}}))
    with pytest.raises(Refused, match="should name the .safetensors files beside it; copy the folder again"):
        tensors(tmp_path)
