"""Checkpoints: saving and loading, refusals of incomplete folders, and killed saves that lose nothing."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest
import torch
from safetensors import safe_open

from transformer.basics.folders import recover, whole_folder, write_manifest
from transformer.checkpoints.checkpoint import CheckpointError, describe, find, load, save, snapshots, verify
from transformer.inference.decoding import start
from transformer.model.models import Transformer
from transformer.settings.config import ModelConfig, TrainConfig
from transformer.text import tokenizer as tokenizers

ROOT = Path(__file__).resolve().parents[1]
FILES = ("manifest.json", "config.json", "model.safetensors", "tokenizer.model", "attention/0.safetensors")


def build(tokenizer, *, seed=1, **changes):
    settings = {"d_model": 16, "n_heads": 2, "encoder_layers": 1, "decoder_layers": 1, "d_ff": 24, "max_len": 20}
    config = ModelConfig(**{**settings, "vocab_size": tokenizer.vocab_size, **changes})
    return Transformer(config, generator=torch.Generator().manual_seed(seed))


@pytest.fixture
def model(tiny_tokenizer):
    return build(tiny_tokenizer)


@pytest.fixture
def folder(model, tiny_tokenizer, tmp_path):
    save(tmp_path / "tiny", model, tokenizer=tiny_tokenizer, meta={"step": 7}, files={FILES[-1]: bytes(40)})
    return tmp_path / "tiny"


def change_config(folder, **changes):
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def weights(model):
    return {name: value.clone() for name, value in model.state_dict().items()}


def equal(some, others):
    return some.keys() == others.keys() and all(torch.equal(some[name], others[name]) for name in some)


def test_what_is_saved_comes_back(model, tiny_tokenizer, tmp_path):
    train, meta = TrainConfig(steps=9), {"step": 3, "corpus": "made up", "validation_loss": None, "seconds": 1.5}
    files = {"metrics.jsonl": b"{}\n", "attention/0.safetensors": b"\0\1"}
    save(tmp_path / "a" / "tiny", model, tokenizer=tiny_tokenizer, train=train, meta=meta, files=files)
    found = load(tmp_path / "a" / "tiny")
    assert equal(weights(found.model), weights(model))
    assert (found.config, found.description.train) == (model.config, train)
    assert date.fromisoformat(found.meta.pop("saved")) <= date.today()
    assert found.meta == {**meta, "parameters": sum(p.numel() for p in model.parameters())}
    assert found.description.step == 3
    assert found.tokenizer is found.source_tokenizer
    assert found.tokenizer.digest == tiny_tokenizer.digest
    assert (found.tokenizer.kind, found.tokenizer.standardise) == ("char", False)
    assert {name: (tmp_path / "a" / "tiny" / name).read_bytes() for name in files} == files
    assert os.listdir(tmp_path / "a") == ["tiny"]


def test_a_loaded_model_is_only_looked_at_and_saving_does_not_disturb_training(folder, model, tiny_tokenizer, tmp_path):
    model.train()
    found = load(str(folder))
    assert not any(part.training for part in found.model.modules())
    assert not any(p.requires_grad for p in found.model.parameters())
    assert not any(p.is_inference() for p in found.model.parameters())  # attribution needs gradients through them
    assert {p.dtype for p in found.model.parameters()} == {torch.float32}
    assert found.device == torch.device("cpu")
    state = torch.get_rng_state()
    save(tmp_path / "tiny", model, tokenizer=tiny_tokenizer)
    assert torch.equal(torch.get_rng_state(), state)
    assert model.training
    assert all(p.requires_grad for p in model.parameters())


def test_two_tokenizers_come_back_on_their_own_sides(tiny_tokenizer, tmp_path):
    words = tokenizers.train(["go on", "go home"], kind="word", vocab_size=20, standardise=True)
    target = tokenizers.train(["Va !", "Allez"], kind="char", vocab_size=30, standardise=True)
    model = build(target, src_vocab_size=words.vocab_size, tie_embeddings=False)
    save(tmp_path / "tiny", model, tokenizer=target, source_tokenizer=words)
    found = load(tmp_path / "tiny")
    assert found.source_tokenizer.digest == words.digest
    assert found.tokenizer.digest == target.digest
    assert found.tokenizer.standardise
    assert not (tmp_path / "tiny" / "tokenizer.model").exists()


def test_a_checkpoint_without_a_tokenizer_reads_and_shows_ids_and_nothing_else(model, tmp_path):
    save(tmp_path / "tiny", model, tokenizer=None)
    found = load(tmp_path / "tiny")
    assert found.tokenizer is found.source_tokenizer
    step = start(found, "5 17,  8")
    assert [(piece.text, piece.id, piece.start, piece.end) for piece in step.source] == [
        ("5", 5, 0, 1), ("17", 17, 2, 4), ("8", 8, 7, 8)]
    assert step.axes("cross") == (["2"], ["5", "17", "8", "3"])
    assert step.output == step.piece == str(step.id)
    save(tmp_path / "again", found.model, tokenizer=found.tokenizer, half=True)
    assert sorted(path.name for path in (tmp_path / "again").iterdir()) == [
        "config.json", "manifest.json", "model.safetensors"]
    for text in ("five", "5 -1", "5 999", "1e3", "²", "9" * 5000):
        with pytest.raises(ValueError, match="reads ids, whole numbers from 0 to"):
            start(found, text)


@pytest.mark.parametrize("tied", [True, False])
def test_tied_weights_are_stored_once_and_half_precision_halves_the_file_and_loads_as_float32(tiny_tokenizer, tmp_path,
                                                                                              tied):
    model = build(tiny_tokenizer, tie_embeddings=tied)
    save(tmp_path / "tiny", model, tokenizer=None)
    with safe_open(str(tmp_path / "tiny" / "model.safetensors"), "pt") as file:
        stored = [name for name in file.keys() if file.get_slice(name).get_shape() == [model.config.vocab_size, 16]]  # noqa: SIM118
    assert len(stored) == (1 if tied else 3)
    found = load(tmp_path / "tiny").model
    assert (found.output.weight is found.tgt_embedding.tokens.weight is found.src_embedding.tokens.weight) == tied
    before = weights(model)
    assert equal(weights(found), before)
    for half in (False, True):
        save(tmp_path / f"half-{half}", model, tokenizer=None, half=half)
    sizes = [(tmp_path / f"half-{half}" / "model.safetensors").stat().st_size for half in (False, True)]
    parameters = sum(p.numel() for p in model.parameters())
    assert sizes[0] - sizes[1] == pytest.approx(2 * parameters, abs=100)
    assert equal(weights(load(tmp_path / "half-True").model), {name: w.half().float() for name, w in before.items()})
    assert equal(weights(model), before)


def test_the_id_is_the_folders_name_and_the_hash_of_its_manifest_wherever_it_is(folder, tmp_path):
    digest = hashlib.sha256((folder / "manifest.json").read_bytes()).hexdigest()
    assert describe(folder).id == load(folder).id == f"tiny@{digest[:8]}"
    ids = [describe(folder).id]
    shutil.copytree(folder, tmp_path / "elsewhere" / "tiny")
    assert describe(tmp_path / "elsewhere" / "tiny").id == ids[0]
    for name in ("model.safetensors", "config.json", "tokenizer.model"):
        with open(folder / name, "ab") as file:
            file.write(b"\n")
        with pytest.raises(CheckpointError, match="damaged"):
            verify(folder)
        write_manifest(folder)
        ids.append(f"tiny@{hashlib.sha256((folder / 'manifest.json').read_bytes()).hexdigest()[:8]}")
    assert len(set(ids)) == 4


def test_the_manifest_lists_every_file_but_what_the_heads_do(folder):
    found = {str(p.relative_to(folder)): hashlib.sha256(p.read_bytes()).hexdigest()
             for p in folder.rglob("*") if p.is_file() and p.name != "manifest.json"}
    assert json.loads((folder / "manifest.json").read_text()) == found
    assert found.keys() == {*FILES} - {"manifest.json"}
    before = (folder / "manifest.json").read_bytes()
    (folder / "roles.json").write_text("{}")
    write_manifest(folder)
    assert (folder / "manifest.json").read_bytes() == before


def test_describing_reads_no_weights(folder):
    before = describe(folder)
    path = folder / "model.safetensors"
    content = path.read_bytes()
    header = 8 + int.from_bytes(content[:8], "little")
    path.write_bytes(content[:header] + b"\xff" * (len(content) - header))
    assert describe(folder) == before
    assert before.meta["step"] == 7
    assert before.tokenizer == {"kind": "char", "standardise": False, "shared": True}
    with pytest.raises(CheckpointError, match=r"tiny/model\.safetensors is damaged"):
        load(folder)


def test_weights_that_are_replaced_while_they_are_opened_are_not_called_damaged(folder, tiny_tokenizer, tmp_path,
                                                                              monkeypatch):
    save(tmp_path / "larger", build(tiny_tokenizer, d_ff=48), tokenizer=tiny_tokenizer)

    def replaced_before(*given):
        monkeypatch.undo()
        (tmp_path / "larger" / "model.safetensors").replace(folder / "model.safetensors")
        return open(*given)

    monkeypatch.setattr("transformer.checkpoints.weights.open", replaced_before, raising=False)
    assert describe(folder).id


def test_folders_are_found_by_name_and_unfinished_ones_are_not_and_what_is_none_is_said(model, tmp_path):
    for place, name in (("b", "zebra"), ("b", "ant"), ("a", "bear")):
        save(tmp_path / place / name, model, tokenizer=None)
    for junk in ("b/.ant.new-1", "b/empty"):
        (tmp_path / junk).mkdir()
    (tmp_path / "b" / ".ant.new-1" / "config.json").touch()
    (tmp_path / "b" / "config.json").touch()
    assert [p.name for p in find(tmp_path / "b", tmp_path / "nowhere", tmp_path / "a")] == ["ant", "bear", "zebra"]
    (tmp_path / "file").touch()
    for name in ("best", "last"):
        save(tmp_path / "run" / name, model, tokenizer=None)
    (tmp_path / "run" / "config.json").write_text("{}")
    for name, said in (("b", "b is no checkpoint, .* name .*/b/ant or .*/b/zebra"),
                       ("run", "name .*/run/best or .*/run/last"),
                       ("nothing", "there is no folder nothing; .*list"), ("file", "file is a file.* import")):
        with pytest.raises(CheckpointError, match=said):
            load(tmp_path / name)


DAMAGES = {
    "missing": lambda path: path.unlink(),
    "empty": lambda path: path.write_bytes(b""),
    "cut": lambda path: path.write_bytes(path.read_bytes()[:-10]),
    "longer": lambda path: path.write_bytes(path.read_bytes() + b"!"),
    "flipped": lambda path: path.write_bytes(bytes([*(c := path.read_bytes())[:-5], c[-5] ^ 1, *c[-4:]])),
    "flipped early": lambda path: path.write_bytes(bytes([*(c := path.read_bytes())[:20], c[20] ^ 1, *c[21:]])),
    "noise": lambda path: path.write_bytes(b"\xff\xfe\0noise"),
    "null": lambda path: path.write_bytes(b"null"),
    "a folder": lambda path: (path.unlink(), path.mkdir()),
    "a pipe": lambda path: (path.unlink(), os.mkfifo(path)),
}


@pytest.mark.timeout(20)
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_file_missing_or_damaged_is_said_in_a_sentence(folder, damage):
    for name in FILES:
        damaged = shutil.copytree(folder, folder.parent / Path(name).stem / "tiny")
        DAMAGES[damage](damaged / name)
        with pytest.raises(CheckpointError, match=r"tiny.*(copy|\.json|update)") as caught:
            load(damaged)
        assert "\n" not in str(caught.value) and len(str(caught.value)) < 400
        if damage in ("missing", "empty", "cut", "noise", "a folder", "a pipe") and name != "manifest.json":
            assert name in str(caught.value)


@pytest.mark.parametrize(("changes", "message"), [
    ({"format": 99}, "has format 99, this version reads format 1; update"),
    ({"format": None}, "has format None"),
    ({"model": None}, r"config\.json"),
    ({"model": {"colour": "red"}}, r"config\.json: colour is not a setting that this version knows"),
    ({"model": {"d_model": 10**9}}, r"config\.json: d_model"),
    ({"model": {}}, "the weights do not fit"),
    ({"train": {"lr": -1}}, r"config\.json: lr"),
    ({"tokenizer": {"kind": "char"}}, "tokenizer should be null or have kind, standardise and shared"),
    ({"tokenizer": "char"}, "tokenizer should be"),
    ({"tokenizer": {"kind": "runes", "standardise": False, "shared": True}}, "no tokenizer of kind 'runes'"),
    ({"tokenizer": {"kind": "char", "standardise": False, "shared": False}}, r"target\.model"),
], ids=str)
def test_a_configuration_that_makes_no_sense_is_refused(folder, changes, message):
    change_config(folder, **changes)
    write_manifest(folder)
    with pytest.raises(CheckpointError, match=f"tiny.*{message}"):
        load(folder)


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.model"])
def test_a_file_that_is_something_else_is_refused_even_where_the_manifest_lists_it(folder, name):
    (folder / name).write_bytes(b"\x80\x04not what it should be" * 10)
    write_manifest(folder)
    with pytest.raises(CheckpointError, match=f"tiny.*{name}"):
        load(folder)


def test_a_manifest_that_leaves_out_what_is_read_or_names_a_file_outside_is_refused(folder):
    secret, whole = folder.parent / "secret", json.loads((folder / "manifest.json").read_text())
    secret.write_text("secret")
    (folder / "link").symlink_to(secret)
    digest = hashlib.sha256(secret.read_bytes()).hexdigest()
    for name in ("config.json", "model.safetensors"):
        (folder / "manifest.json").write_text(json.dumps({key: one for key, one in whole.items() if key != name}))
        with pytest.raises(CheckpointError, match=f"tiny/manifest.json does not list {name}"):
            load(folder)
    for name in ("../secret", "/etc/hostname", "link"):
        (folder / "manifest.json").write_text(json.dumps({**whole, name: digest}))
        with pytest.raises(CheckpointError, match="names a file outside its folder; do not use it"):
            load(folder)


def test_a_save_that_fails_or_was_killed_leaves_what_was_there(folder, tmp_path):
    def fail():
        with whole_folder(folder) as new:
            (new / "half").touch()
            raise RuntimeError("disk full")

    before = load(folder).id
    with pytest.raises(RuntimeError, match="disk full"):
        fail()
    assert load(folder).id == before
    assert os.listdir(tmp_path) == ["tiny"]
    folder.rename(tmp_path / ".tiny.old")
    recover(tmp_path)
    assert load(folder).id == before
    assert os.listdir(tmp_path) == ["tiny"]
    recover(tmp_path)  # nothing to do
    for left in (".tiny.old", ".tiny.new-7"):
        (tmp_path / left).mkdir()
    recover(tmp_path)  # a save that was killed while clearing up: what is there is newer
    assert load(folder).id == before
    assert os.listdir(tmp_path) == ["tiny"]
    recover(tmp_path / "nothing")
    assert not (tmp_path / "nothing").exists()


KILL = """
import json, os, shutil, signal, sys
from pathlib import Path
import torch
from transformer.checkpoints.checkpoint import load, save
from transformer.basics.folders import recover
from transformer.settings.config import ModelConfig
from transformer.model.models import Transformer

torch.set_num_threads(1)
place = Path(sys.argv[1])
config = ModelConfig(d_model=8, n_heads=1, encoder_layers=0, decoder_layers=1, d_ff=8, vocab_size=8, max_len=8)
old, new = (Transformer(config, generator=torch.Generator().manual_seed(seed)) for seed in (1, 2))
events = 0

def die_at(last):
    # each time a path under `place` is touched is a moment to die at
    def count(event, arguments):
        global events
        if event.split(".")[0] in ("open", "os", "shutil") and str(place) in repr(arguments):
            events += 1
            if events == last:
                os.kill(os.getpid(), signal.SIGKILL)
    sys.addaudithook(count)

found, killed = [], True
while killed:
    folder = place / str(len(found)) / "tiny"
    save(folder, old, tokenizer=None)
    child = os.fork()
    if not child:
        die_at(len(found) + 1)
        save(folder, new, tokenizer=None)
        os._exit(0)
    killed = os.WIFSIGNALED(os.waitpid(child, 0)[1])
    recover(folder.parent)
    assert os.listdir(folder.parent) == ["tiny"]
    weight = load(folder).model.output.weight
    found.append([name for name, model in (("old", old), ("new", new)) if torch.equal(weight, model.output.weight)])
    save(folder, new, tokenizer=None)  # and what was left behind is in nobody's way
    assert torch.equal(load(folder).model.output.weight, new.output.weight)
    shutil.rmtree(folder.parent)
print(json.dumps(found))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork a process to kill")
@pytest.mark.rare("kills a process at every moment of a save")
def test_a_save_killed_at_any_moment_leaves_the_old_checkpoint_or_the_new_one(tmp_path):
    result = subprocess.run([sys.executable, "-c", KILL, str(tmp_path)], cwd=ROOT, capture_output=True, text=True,
                            timeout=300, env={**os.environ, "OMP_NUM_THREADS": "1"})
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout)
    moments = found.index(["new"])
    assert moments > 10
    assert found == [["old"]] * moments + [["new"]] * (len(found) - moments)


def test_snapshots_are_in_the_order_of_their_steps(tmp_path):
    for name in ("1000", "200", "30", "4", "½", "٣", "last", "5"):
        folder = tmp_path / "snapshots" / name
        folder.mkdir(parents=True)
        if name != "5":  # not yet whole
            (folder / "config.json").touch()
    assert [path.name for path in snapshots(tmp_path)] == ["4", "30", "200", "1000"]
