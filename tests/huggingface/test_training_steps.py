"""Folders that a text can mean, with the hub's cache; and several steps of a training as one checkpoint."""

import json
import os
import shutil

import pytest
import torch

import transformer
from tests.huggingface.random_models import save_random
from tests.rows import each_row
from transformer.checkpoints import checkpoint
from transformer.huggingface.importing import import_model
from transformer.huggingface.source import Source, wanted
from transformer.huggingface.training_steps import import_steps

GPT2 = {"vocab_size": 31, "n_embd": 12, "n_head": 3, "n_layer": 2, "n_positions": 20, "bos_token_id": 30,
        "eos_token_id": 30}
COMMIT = "0123456789abcdef0123456789abcdef01234567"


def make(folder, seed, **changes):
    """A tiny GPT-2 of theirs with random weights."""
    return save_random(folder, "GPT2LMHeadModel", "GPT2Config", GPT2 | changes, seed=seed, spread=0.3)


@pytest.fixture(scope="module")
def theirs(tmp_path_factory):
    """A training's folder with three of its steps -> the folder, and the models by their step."""
    place = tmp_path_factory.mktemp("theirs") / "mine"
    return place, {step: make(place / f"checkpoint-{step}", step) for step in (0, 40, 1000)}


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("HEADSUP_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty hub cache on a computer without a network; cache(model, revision, folder, commit) adds a model."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)

    def put(model, revision, folder, commit=COMMIT):
        place = tmp_path / "hub" / f"models--{model.replace('/', '--')}"
        (place / "refs").mkdir(parents=True, exist_ok=True)
        (place / "blobs").mkdir(exist_ok=True)
        (place / "refs" / revision).write_text(commit)
        (place / "snapshots" / commit).mkdir(parents=True)
        for path in folder.iterdir():
            shutil.copy(path, place / "blobs" / f"{commit}-{path.name}")
            (place / "snapshots" / commit / path.name).symlink_to(place / "blobs" / f"{commit}-{path.name}")
        return place / "snapshots" / commit

    return put


def same(folder, model):
    """Whether a checkpoint gives the logits of a model of transformers."""
    ours = transformer.attend(transformer.load(folder), "7 3 29 0 12").logits
    torch.testing.assert_close(ours, model(torch.tensor([[7, 3, 29, 0, 12]])).logits[0], rtol=0, atol=1e-4)


# Which folder


@each_row(("name", "step"), [
    ("a/b@step1000", 1000), ("a/b@step1000-tokens4B", 1000), ("a/b@stage2-step50-tokens3B", 50), ("a/b@step0", 0),
    ("a/b@global_step12", 12), ("b@checkpoint-7", 7), ("a/b@143000", 143_000), ("a/b@main", None), ("a/b", None),
    ("step9/step9", None), ("a/b@v1.0", None), ("a/b@step1.5", None), ("a/b@step3B", None), ("a/b@footstep4", None)])
def test_the_step_is_in_the_revision(name, step):
    assert Source.of(name).step == step


def test_the_step_is_in_the_folders_name(tmp_path):
    for name, step in (("checkpoint-40", 40), ("step0003", 3), ("model", None), ("gpt2", None), ("77", 77)):
        (tmp_path / name).mkdir()
        assert (Source.of(tmp_path / name).step, Source.of(tmp_path / name).origin) == (step, name)


@each_row("name", ["no/such/folder", "/nowhere", "a b", "../x", "a/b@", "@a", "a/b@../x", "a/b@x..y", "a/../b@step1",
                   "a/b@x/y", "a/b@ x", "a/b@x@y", "a/b@\n", "a/b@step1\n", "a/b@" + "x" * 300, "ａ/b", "-a/b"])
def test_what_is_no_name_is_refused(name):
    with pytest.raises(ValueError, match="there is no folder .* and it is no model's name") as error:
        Source.of(name)
    assert "\n" not in str(error.value) and len(str(error.value)) < 300


def test_a_name_that_is_too_long_or_cannot_be_read_is_refused(tmp_path, headsup):
    with pytest.raises(ValueError, match="aaa… cannot be read .File name too long.; name another folder$"):
        Source.of("a" * 5000)
    code, _, err = headsup("import", "a" * 5000)
    assert code == 2 and "cannot be read (File name too long)" in err
    place = tmp_path / os.fsdecode(b"bad\xff")
    place.mkdir()
    with pytest.raises(ValueError, match="bad\ufffd cannot be read, as it is not UTF-8; rename it$"):
        Source.of(place)


@pytest.mark.parametrize("name", ["n" * 245, "漢" * 80], ids=["ASCII", "others"])
def test_a_long_name_is_cut_where_no_place_is_given(theirs, home, tmp_path, name):
    place = tmp_path / name
    shutil.copytree(theirs[0] / "checkpoint-0", place)
    folder = import_model(place)
    assert folder.parent == home / "imports" and 98 < len(folder.name.encode()) <= 100
    with pytest.raises(ValueError, match="… is too long a name for a folder; choose a shorter one with --out"):
        import_model(place, tmp_path / ("m" * 245))


def test_a_revision_comes_out_of_the_hubs_cache(cache, theirs, home):
    place, models = theirs
    cache("org/tiny", "step40", place / "checkpoint-40")
    cache("org/tiny", "main", place / "checkpoint-1000", "f" * 40)
    out = import_model("org/tiny@step40")
    about = checkpoint.describe(out)
    assert (out, about.step) == (home / "imports" / "tiny-step40", 40)
    assert about.meta["imported_from"] == "org/tiny@step40" and "`org/tiny@step40`" in (out / "README.md").read_text()
    same(out, models[40])
    same(import_model("org/tiny", home / "newest"), models[1000])
    same(import_model(f"org/tiny@{COMMIT}", home / "commit"), models[40])


def test_what_the_cache_has_in_part_or_as_a_pickle_is_said(cache, theirs, tmp_path):
    shutil.copytree(theirs[0] / "checkpoint-0", tmp_path / "part")
    (tmp_path / "part" / "model.safetensors").rename(tmp_path / "part" / "pytorch_model.bin")
    cache("org/tiny", "step0", tmp_path / "part")
    with pytest.raises(ValueError, match=r"cache .* only as pytorch_model.bin, .* cannot be fetched") as error:
        import_model("org/tiny@step0", tmp_path / "ours")
    assert COMMIT not in str(error.value) and not (tmp_path / "ours").exists()


def test_a_cache_that_points_elsewhere_is_not_followed(cache, theirs, tmp_path):
    cache("org/tiny", "step0", theirs[0] / "checkpoint-0")
    shutil.copytree(theirs[0] / "checkpoint-0", tmp_path / "hub" / "outside")
    for ref in ("../../outside", "..", "/etc", "", "x" * 300):
        (tmp_path / "hub" / "models--org--tiny" / "refs" / "step0").write_text(ref)
        with pytest.raises(ValueError, match="cannot be fetched by that name"):
            import_model("org/tiny@step0", tmp_path / "ours")


def test_what_is_fetched_is_the_texts_and_the_weights_once():
    texts = ["config.json", "tokenizer.json", "README.md", "LICENSE", "spiece.model"]
    others = ["pytorch_model.bin", "flax_model.msgpack", "code.py", "onnx/model.safetensors", "original/config.json"]
    one, shards = ["model.safetensors"], ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"]
    whole = ["consolidated.safetensors", "model.fp16.safetensors"]
    assert set(wanted("x", texts + others + one + shards + whole + ["x.gguf"])) == {*texts, *one}
    assert set(wanted("x", texts + others + shards + whole)) == {*texts, *shards}
    assert set(wanted("x", ["README.md", "x.Q4_1.gguf"])) == {"README.md", "x.Q4_1.gguf"}
    for files, message in ((others, "only pytorch_model.bin, a format that can run code"), ([], "no weights"),
                           (["a.gguf", "b.gguf"], "has 2 GGUF files, such as a.gguf")):
        with pytest.raises(ValueError, match=message):
            wanted("x", files)


def test_a_revision_is_fetched_where_the_cache_has_none(cache, theirs, home, monkeypatch):
    requests = {}

    class Hub:
        def model_info(self, name, *, revision):
            requests["about"] = name, revision
            files = [type("File", (), {"rfilename": file}) for file in ("config.json", "model.safetensors", "x.bin")]
            return type("Info", (), {"sha": COMMIT, "siblings": files})

    def download(name, *, revision, local_dir, allow_patterns):
        requests["fetched"] = name, revision, sorted(allow_patterns)
        for file in allow_patterns:
            shutil.copy(theirs[0] / "checkpoint-40" / file, local_dir / file)

    monkeypatch.setattr("huggingface_hub.HfApi", Hub)
    monkeypatch.setattr("huggingface_hub.snapshot_download", download)
    same(import_model("org/tiny@step40"), theirs[1][40])
    assert requests == {"about": ("org/tiny", "step40"),
                        "fetched": ("org/tiny", COMMIT, ["config.json", "model.safetensors"])}


# Several as one


def test_folders_become_the_steps_of_one_checkpoint(theirs, home):
    place, models = theirs
    progress, folders = [], [place / f"checkpoint-{step}" for step in (1000, 0, 40)]
    out = import_steps(folders, watch=lambda *now: progress.append(now))
    assert out == home / "imports" / "mine" and progress == [(0, 3), (1, 3), (2, 3)]
    assert [path.name for path in checkpoint.snapshots(out)] == ["0", "40"]
    for folder, step in zip((*checkpoint.snapshots(out), out), (0, 40, 1000), strict=True):
        same(folder, models[step])
        assert checkpoint.describe(folder).step == step
    assert checkpoint.describe(out / "snapshots" / "40").id.startswith("mine-40@")
    assert not any("snapshots" in name for name in json.loads((out / "manifest.json").read_text()))
    assert [path.name for path in out.parent.iterdir()] == ["mine"]
    again = import_steps([place / "checkpoint-0", place / "checkpoint-40"])
    assert again == out and [path.name for path in checkpoint.snapshots(out)] == ["0"]
    same(out, models[40])


def test_revisions_do_too_and_a_number_before_one_says_its_step(cache, theirs, home, headsup):
    place, models = theirs
    cache("org/tiny", "step40-tokens1B", place / "checkpoint-40")
    cache("org/tiny", "main", place / "checkpoint-1000", "f" * 40)
    code, out, _ = headsup("import", "2000=org/tiny@main", "org/tiny@step40-tokens1B", "--json")
    result = json.loads(out)
    assert code == 0
    assert result["steps"] == [40, 2000] and result["folder"] == str(home / "imports" / "tiny")
    same(home / "imports" / "tiny", models[1000])
    same(home / "imports" / "tiny" / "snapshots" / "40", models[40])


@pytest.mark.parametrize(("sources", "message"), [
    (["checkpoint-0", "last"], "last does not say which training step it is; write its number before it: 1000="),
    (["checkpoint-0", "0=checkpoint-40"], "checkpoint-0 and checkpoint-40 are both step 0"),
    (["checkpoint-0", "5=wide"], "wide has d_model 24 and checkpoint-0 12"),
    (["checkpoint-0", "5=named"], "named has another tokenizer than checkpoint-0, or only one"),
    (["checkpoint-0", "5=broken"], "broken has no model.safetensors"),
    (["checkpoint-0", "5=gone"], "there is no folder .*gone")])
def test_what_cannot_be_steps_of_one_is_refused(theirs, cache, tmp_path, sources, message):
    place = shutil.copytree(theirs[0], tmp_path / "theirs")
    shutil.copytree(place / "checkpoint-40", place / "last")
    make(place / "wide", 1, n_embd=24)
    shutil.copytree(place / "checkpoint-40", place / "named")
    vocabulary = {"<unk>": 0, "a": 1}
    (place / "named" / "tokenizer.json").write_text(json.dumps({
        "version": "1.0", "added_tokens": [], "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": "<unk>"},
        "normalizer": None, "pre_tokenizer": None, "post_processor": None, "decoder": None}))
    shutil.copytree(place / "checkpoint-40", place / "broken")
    (place / "broken" / "model.safetensors").unlink()
    given = [f"{one.rpartition('=')[0]}{'=' * ('=' in one)}{place / one.rpartition('=')[2]}" for one in sources]
    with pytest.raises(ValueError, match=message) as error:
        import_steps(given, tmp_path / "out" / "ours")
    assert "\n" not in str(error.value) and len(str(error.value)) < 500
    assert not list((tmp_path / "out").glob("**/*"))


def test_what_was_not_imported_stays(theirs, tmp_path):
    (tmp_path / "mine").mkdir()
    with pytest.raises(ValueError, match="was not imported; choose another place"):
        import_steps([theirs[0] / "checkpoint-0", theirs[0] / "checkpoint-40"], tmp_path / "mine")
    assert not list((tmp_path / "mine").iterdir())
