"""A valid checkpoint opens after it is received, wherever it was in a zip and whatever its name."""

import io
import json
import os
import shutil
import zipfile
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

import transformer
from tests.rows import each_row
from transformer.checkpoints.checkpoint import describe
from transformer.intake.receiving import STALE, safe_name, take_in


def pack(folder, to, *, inside="", method=zipfile.ZIP_DEFLATED, more=()):
    with zipfile.ZipFile(to, "w", method) as archive:
        for path in sorted(folder.rglob("*")):
            archive.write(path, inside + path.relative_to(folder).as_posix())
        for name, content in more:
            archive.writestr(name, content)
    return to


def files(folder, *without):
    return [(path.relative_to(folder).as_posix(), path) for path in sorted(folder.rglob("*"))
            if path.is_file() and path.name not in without]


@pytest.fixture
def root(tmp_path) -> Path:
    return tmp_path / "home" / "uploads"


@pytest.mark.parametrize(("inside", "method"), [("", zipfile.ZIP_STORED), ("translate/", zipfile.ZIP_DEFLATED)])
def test_a_zip_of_ours_is_the_same_checkpoint(ours, root, tmp_path, inside, method):
    out = take_in(pack(ours, tmp_path / "ours.zip", inside=inside, method=method), root)
    assert out == root / "ours"
    assert transformer.load(out).id == transformer.load(ours).id
    assert {name: path.read_bytes() for name, path in files(out)} == {n: p.read_bytes() for n, p in files(ours)}
    assert os.listdir(root) == ["ours"]
    assert out.stat().st_mode & 0o777 == 0o755


def test_files_without_a_manifest_get_one(ours, root):
    shares = []
    out = take_in(files(ours, "manifest.json"), root, name="mine", watch=shares.append)
    ckpt = transformer.load(out)
    assert ckpt.id.startswith("mine@")
    assert ckpt.meta == transformer.load(ours).meta
    assert shares == sorted(shares) and shares[-1] == 1
    assert torch.equal(transformer.attend(ckpt, "Go on.").logits,
                       transformer.attend(transformer.load(ours), "Go on.").logits)


def test_what_a_browser_sends_is_read_where_it_is(ours, root, tmp_path):
    sent = [(name, io.BytesIO(path.read_bytes())) for name, path in files(ours)]
    assert describe(take_in(sent, root, name="one")).id.startswith("one@")
    zipped = pack(ours, tmp_path / "x.zip").read_bytes()
    assert take_in([("two.zip", io.BytesIO(zipped))], root) == root / "two"
    assert take_in(io.BytesIO(zipped), root, name="three") == root / "three"


def test_no_checkpoint_takes_the_place_of_another(ours, root, tmp_path):
    sent = pack(ours, tmp_path / "ours.zip")
    (root / "ours").mkdir(parents=True)
    (root / "ours-3").mkdir()
    assert [take_in(sent, root).name for _ in range(2)] == ["ours-2", "ours-4"]
    assert os.listdir(root / "ours") == os.listdir(root / "ours-3") == []
    assert take_in(sent, root, name="corpora").name == "corpora-2"  # where uploaded texts are


@each_row(("name", "safe"), [
    ("../../etc/x", "etc-x"), ("a b\n<c>", "a-b-c"), (".hidden", "hidden"), ("", "checkpoint"), ("Ω", "checkpoint"),
    ("x" * 500, "x" * 60), ("opus-mt_en.fr", "opus-mt_en.fr"), ("a" * 59 + ".." + "b", "a" * 59)])
def test_names_of_folders_are_plain(name, safe):
    assert safe_name(name) == safe


def test_what_is_no_part_of_a_checkpoint_is_left_out(ours, root, tmp_path):
    more = [("__MACOSX/x/._config.json", b"\0"), ("x/.DS_Store", b"\0"), ("x/evil.py", b"import os"), ("x/sub/", b""),
            ("x/sub/config.json", b"{")]
    out = take_in(pack(ours, tmp_path / "x.zip", inside="x/", more=more), root)
    assert [name for name, _ in files(out)] == [name for name, _ in files(ours)]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_weights_may_be_of_other_precisions(ours, root, dtype):
    weights = {name: weight.to(dtype) for name, weight in load_file(ours / "model.safetensors").items()}
    save_file(weights, ours / "model.safetensors")
    found = transformer.load(take_in(files(ours, "manifest.json"), root)).model.state_dict()
    assert all(torch.equal(found[name], weight.float()) for name, weight in weights.items())


def test_a_hugging_face_folder_becomes_one_of_ours(theirs, root, tmp_path):
    out = take_in(pack(theirs, tmp_path / "my gpt.zip", inside="gpt/"), root)
    ckpt = transformer.load(out)
    assert (out.name, ckpt.config.kinds, ckpt.meta["imported_from"]) == ("my-gpt", ("decoder",), "my-gpt")
    expected = transformer.attend(transformer.load(tmp_path / "decoder"), "5 6 7").logits
    torch.testing.assert_close(transformer.attend(ckpt, "5 6 7").logits, expected, rtol=0, atol=1e-5)
    assert os.listdir(root) == ["my-gpt"]


@pytest.mark.slow
def test_a_hugging_face_tokenizer_comes_along_or_not_and_is_taken_again(theirs_with_tokenizer, root, tmp_path):
    sent = files(theirs_with_tokenizer)
    out = take_in(sent, root)
    first, again = (transformer.load(one) for one in (out, take_in(pack(out, tmp_path / "again.zip"), root)))
    assert first.tokenizer.kind == "huggingface" and again.id.split("@")[1] == first.id.split("@")[1]
    assert transformer.load(take_in(sent, root, ids=True)).tokenizer.kind == "ids"


@pytest.mark.rare("copies and reads all weights that come with the app")
def test_the_checkpoints_that_come_with_the_app_are_taken(root, tmp_path):
    for folder in sorted((Path(__file__).resolve().parents[2] / "checkpoints").iterdir()):
        out = take_in(pack(folder, tmp_path / f"{folder.name}.zip", inside=f"{folder.name}/"), root)
        assert describe(out).id == describe(folder).id


def test_what_a_killed_process_left_is_removed_later(ours, root):
    for name, age in ((".intake-old", 2 * STALE), (".intake-new", 0)):
        (root / name / "sent").mkdir(parents=True)
        then = (root / name).stat().st_mtime - age
        os.utime(root / name, (then, then))
    shutil.rmtree(take_in(files(ours), root))
    assert os.listdir(root) == [".intake-new"]


def test_the_command_line_takes_a_zip(ours, tmp_path, monkeypatch, headsup):
    monkeypatch.setenv("HEADSUP_HOME", str(tmp_path / "home"))
    sent, there = pack(ours, tmp_path / "sent.zip"), tmp_path / "there"
    code, out, _ = headsup("import", sent, "--json")
    assert (code, json.loads(out.splitlines()[-1])["folder"]) == (0, str(tmp_path / "home" / "imports" / "sent"))
    assert headsup("import", sent, "--out", there, "--json")[0] == 0
    assert describe(there).id.startswith("there@")
    (tmp_path / "pickle.zip").write_bytes(b"\x80\x04\x95" + bytes(20))
    for arguments, message in (([sent, "--out", there], "already exists"),
                               ([sent, "--check"], "--check compares with a Hugging Face folder"),
                               ([tmp_path / "pickle.zip"], "is a pickle")):
        code, _, err = headsup("import", *arguments, "--json")
        assert code == 2 and message in " ".join(err.split())
