"""Damaged and harmful files are refused in one sentence, quickly, and leave nothing behind."""

import io
import json
import os
import pickle
import struct
import time
import tracemalloc
import zipfile
from collections import OrderedDict
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from safetensors.torch import load_file, save_file

from tests.rows import each_row
from transformer.basics.folders import write_manifest
from transformer.checkpoints import checkpoint
from transformer.checkpoints.weights import expected_tensors
from transformer.intake.file_kinds import is_pickle
from transformer.intake.receiving import take_in
from transformer.model.models import Transformer
from transformer.settings.config import ModelConfig
from transformer.text import tokenizer as tokenizers
from transformer.text.huggingface_tokenizers import HuggingFaceTokenizer

WEIGHTS, FLOAT = "model.safetensors", struct.pack("<f", 1.0)


def contents(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*"))
            if path.is_file() and path.name != "manifest.json"}


def refused(sent, tmp_path, *, most=20_000_000):
    """The sentence with which it is refused; nothing is left anywhere, and little memory was used."""
    if isinstance(sent, dict):
        sent = [(name, io.BytesIO(content)) for name, content in sent.items()]
    before = set(tmp_path.rglob("*"))
    (tmp_path / "home").mkdir()
    tracemalloc.start()
    begun = time.process_time()
    with pytest.raises(ValueError) as error:  # noqa: PT011
        take_in(sent, tmp_path / "home")
    took, (_, peak) = time.process_time() - begun, tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert took < 5  # seconds of a processor: it needs a hundredth of one; tracing and a first import take the rest
    assert peak < most
    assert os.listdir(tmp_path / "home") == []
    (tmp_path / "home").rmdir()
    assert set(tmp_path.rglob("*")) == before
    message = str(error.value)
    assert message.isprintable()
    assert 20 < len(message) <= 600
    return message


@pytest.fixture(scope="module", autouse=True)
def laid_out():
    """Builds a first model, which takes seconds because torch imports much of itself; a server does it when it
    starts."""
    expected_tensors(ModelConfig())


@pytest.fixture
def sent(ours):
    """The files of a valid checkpoint, by name."""
    return contents(ours)


class Evil:
    def __reduce__(self):
        return os.mkdir, ("/tmp/heads-up-was-here",)


def torch_pickle(**options) -> bytes:
    file = io.BytesIO()
    torch.save(OrderedDict(a=torch.ones(3)), file, **options)
    return file.getvalue()


PICKLES = {"torch": torch_pickle, "old torch": lambda: torch_pickle(_use_new_zipfile_serialization=False)} | {
    f"protocol {number}": lambda number=number: pickle.dumps(Evil(), number) for number in range(6)}


@each_row("kind", PICKLES)
@each_row("name", [WEIGHTS, "pytorch_model.bin", "config.json", "README.md", "notes.txt", "metrics.jsonl",
                   "tokenizer.model", "attention/0.safetensors"])
def test_a_pickle_is_refused_under_any_name(sent, tmp_path, kind, name):
    assert f"{name} is a pickle, which can run code" in refused(sent | {name: PICKLES[kind]()}, tmp_path)
    assert not Path("/tmp/heads-up-was-here").exists()


def test_a_file_of_torch_save_is_no_zip_of_files_and_what_is_no_pickle_is_not_taken_for_one(tmp_path, ours):
    (tmp_path / "model.zip").write_bytes(torch_pickle())
    assert "it was written by torch.save, a pickle" in refused(tmp_path / "model.zip", tmp_path)
    for length in (0x0280, 0x0380, 0x0480, 0x0580):  # such headers begin as pickles do
        assert not is_pickle(struct.pack("<Q", length) + b'{"a":', whole=False)
    for text in (b"config stuff\nmore of it\nand an end.", b"N.", b"I am cold.\n", b"", b".", b"{}"):
        assert not is_pickle(text, whole=True)
    assert not any(is_pickle(content, whole=True) for content in contents(ours).values())


def with_header(header, body=b"", *, length=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + body


def entry(shape, start, end, dtype="F32"):
    return {"dtype": dtype, "shape": shape, "data_offsets": [start, end]}


def changed(content, change):
    """The weights with a change to their header, which is a dict, and body."""
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8:8 + length])
    return with_header(header, change(header) or content[8 + length:])


def rename(header):
    del header["__metadata__"]
    header["../../etc/x<script>\n"] = header.pop("output.weight")


def twice(content):
    length = int.from_bytes(content[:8], "little")
    first = b'{"encoder.norm.bias":' + json.dumps(entry([16], 0, 64)).encode() + b","
    return with_header(first + content[9:8 + length], content[8 + length:])


HEADERS = {
    "empty": (lambda c: b"", "header would have 0 bytes"),
    "cut": (lambda c: c[:-1], "header describes"),
    "longer": (lambda c: c + b"!", "header describes"),
    "a header that is too long": (lambda c: with_header(b"{}", length=2**63), "9,223,372,036,854,775,808 bytes"),
    "a header of 5 MB": (lambda c: with_header(b" " * 5_000_000), "header would have 5,000,000 bytes"),
    "no JSON": (lambda c: with_header(b"{'a'}"), "its header is not JSON"),
    "a list": (lambda c: with_header([]), "not a JSON object"),
    "deep": (lambda c: with_header(b'{"a":' * 100_000 + b"1" + b"}" * 100_000), "its header is not JSON"),
    "a huge shape": (lambda c: with_header({"a": entry([0, 2**62], 0, 0)}), "'a' does not add up"),
    "a shape of many axes": (lambda c: with_header({"a": entry([2**40] * 100_000, 0, 4)}, FLOAT), "does not add up"),
    "overlapping": (lambda c: with_header({"a": entry([1], 0, 4), "b": entry([1], 0, 4)}, FLOAT), "overlap"),
    "a gap": (lambda c: with_header({"a": entry([1], 4, 8)}, FLOAT * 2), "leave gaps"),
    "a name twice": (twice, "lists a name twice"),
    "many tensors": (lambda c: with_header({str(i): entry([0], 0, 0) for i in range(40_000)}), "40,000 tensors"),
    "a name like a path": (lambda c: changed(c, rename), "the weights do not fit config.json"),
    "one too many": (lambda c: changed(c, lambda h: h.update({"../../x<b>": entry([0], 0, 0)})), "'../../x<b>'"),
    "one missing": (lambda c: changed(c, lambda h: h.update({"x": h.pop("encoder.norm.bias")})),
                    "there are no weights encoder.norm.bias"),
    "none": (lambda c: with_header({"a": entry([1], 0, 4)}, FLOAT), "weights for 0 encoder layers"),
    "another shape": (lambda c: changed(c, lambda h: h["encoder.norm.bias"].update(shape=[4, 4])), "the shape (4, 4"),
    "whole numbers": (lambda c: changed(c, lambda h: h["encoder.norm.bias"].update(dtype="I32")), "is stored as I32"),
    "another type": (lambda c: changed(c, lambda h: h["encoder.norm.bias"].update(dtype="F4")), "does not add up"),
    "a type that is a list": (lambda c: changed(c, lambda h: h["encoder.norm.bias"].update(dtype=[])), "not add up"),
    "metadata of numbers": (lambda c: changed(c, lambda h: h["__metadata__"].update(step=7)), "metadata should be"),
    "metadata that is no JSON": (lambda c: changed(c, lambda h: h["__metadata__"].update(step="{")), "notes 'step'"),
    "a step that is none": (lambda c: changed(c, lambda h: h["__metadata__"].update(step='"x"')), "notes 'step'"),
    "metrics that are none": (lambda c: changed(c, lambda h: h["__metadata__"].update(metrics='{"n": 1.5}')), "'n'"),
    "deep metadata": (lambda c: changed(c, lambda h: h["__metadata__"].update(x="[" * 900 + "]" * 900)), "notes 'x'"),
    "much metadata": (lambda c: changed(c, lambda h: h["__metadata__"].update(x=f'"{"x" * 2_000_000}"')),
                      "characters of metadata"),
}


@pytest.mark.slow
@each_row("damage", HEADERS)
def test_weights_that_are_damaged_or_hostile_are_refused_by_their_header(sent, tmp_path, damage):
    change, message = HEADERS[damage]
    assert message in refused(sent | {WEIGHTS: change(sent[WEIGHTS])}, tmp_path, most=60_000_000)


@each_row("damage", ["overlapping", "a huge shape", "one too many", "another shape", "much metadata"])
def test_a_folder_put_in_place_by_hand_is_held_to_the_same(ours, damage):
    change, message = HEADERS[damage]
    whole = (ours / WEIGHTS).read_bytes()
    (ours / WEIGHTS).write_bytes(change(whole))
    write_manifest(ours)
    with pytest.raises(checkpoint.CheckpointError) as error:
        checkpoint.load(ours)
    assert message in str(error.value)
    (ours / WEIGHTS).write_bytes(whole)


def with_weights(ours, weights, tmp_path):
    """The files of a checkpoint with these weights."""
    save_file(weights, tmp_path / "w")
    return contents(ours) | {WEIGHTS: (tmp_path / "w").read_bytes()}


@each_row("number", [float("nan"), float("inf"), -float("inf")])
@each_row("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.float64])
def test_weights_that_are_not_finite_are_refused(ours, tmp_path, number, dtype):
    weights = {name: weight.to(dtype) for name, weight in load_file(ours / WEIGHTS).items()}
    weights["decoder.norm.weight"][-1] = number
    files = with_weights(ours, weights, tmp_path)
    assert "decoder.norm.weight holds numbers that are not finite" in refused(files, tmp_path)


def test_weights_too_large_to_compute_with_and_tied_ones_stored_twice_are_refused(ours, tmp_path, monkeypatch):
    weights = load_file(ours / WEIGHTS)
    twice = weights | {"src_embedding.tokens.weight": weights["output.weight"].clone()}
    message = refused(with_weights(ours, twice, tmp_path), tmp_path)
    assert "are one matrix, which is stored once" in message
    large = {name: weight.double() for name, weight in weights.items()}
    large["decoder.norm.weight"][0] = 1e300
    message = refused(with_weights(ours, large, tmp_path), tmp_path)
    assert "decoder.norm.weight holds a number as large as 1e+300, at most 100,000" in message
    monkeypatch.setattr("transformer.checkpoints.weights.LARGEST_WEIGHT", 1e39)
    weights["decoder.norm.weight"].fill_(3e38)
    weights["output.weight"].fill_(3e38)
    message = refused(with_weights(ours, weights, tmp_path), tmp_path)
    assert "checkpoint computes values that are not finite" in message


CONFIGS = [
    ({"d_model": 10**9}, "d_model is 1000000000"), ({"d_model": -16}, "d_model is -16"),
    ({"d_model": 17}, "does not divide"), ({"n_heads": 3}, "d_model 16 does not divide by n_heads 3"),
    ({"d_model": "16.5"}, "d_model is 16.5"),
    ({"d_model": [16]}, "d_model is [16]"), ({"d_model": 65_536}, "the weights do not fit"),
    ({"encoder_layers": 96, "decoder_layers": 96}, "should be 96"), ({"encoder_layers": -1}, "encoder_layers is -1"),
    ({"vocab_size": 1_000_000, "d_ff": 65_536}, "the weights do not fit"),
    ({"vocab_size": 10**18}, "vocab_size is 1000"), ({"colour": "red"}, "colour is not a setting"),
    ({"a\nb" * 100: 1}, "is not a setting"), ({"norm_position": "sideways"}, "norm_position is sideways"),
    ({"dropout": 1e400}, "not readable JSON"), ({"pad_id": 10_000}, "pad_id 10000 is outside the vocabulary"),
    ({"d_model": None}, "d_model is None"), ({"tie_embeddings": False}, "there are no weights"),
    ({"eos_id": None}, "cannot be run"), ({"eos_id": 5}, "eos_id is 5 in config.json and 3 in its tokenizer"),
]


@each_row(("changes", "message"), CONFIGS)
def test_a_configuration_that_is_huge_negative_unknown_or_does_not_fit_is_refused(sent, tmp_path, changes, message):
    config = json.loads(sent["config.json"])
    config["model"] |= changes
    assert message in refused(sent | {"config.json": json.dumps(config).encode()}, tmp_path)


def test_a_table_of_positions_that_no_file_holds_is_bounded(tiny_tokenizer, tmp_path):
    sizes = {"d_model": 2_000, "n_heads": 1, "head_dim": 1, "encoder_layers": 0, "decoder_layers": 1, "d_ff": 1}
    settings = {"vocab_size": tiny_tokenizer.vocab_size, "max_len": 10}
    checkpoint.save(tmp_path / "wide", Transformer(ModelConfig(**sizes, **settings)), tokenizer=tiny_tokenizer)
    files = contents(tmp_path / "wide")
    files["config.json"] = files["config.json"].replace(b'"max_len": 10,', b'"max_len": 60000,')
    assert "max_len 60,000 would take 480,000,000 bytes" in refused(files, tmp_path)


@each_row(("content", "message"), [
    (b"", "not readable JSON"), (b"[]", "should hold a JSON object"), (b"{}", "neither format"), (b"\xff{}", "JSON"),
    (b'{"format":' + b"[" * 900 + b"]" * 900 + b"}", "of a few levels"), (b"[" * 10**6, "not readable JSON"),
    (b" " * 5_000_000, "more than 4,000,000 bytes"), (b'{"format": 2}', "has format 2, this version reads format 1"),
    (b'{"format": 1}', "input should be a valid dictionary"), (b'{"model_type": "t5"}', "config.json has no d_model"),
    (b'{"model_type": "mamba"}', "layers that keep a state in place of attention"),
    (b'{"model_type": "t5", "auto_map": {"AutoModel": "evil.Model"}}', "code that comes with it, which is never run"),
])
def test_a_file_that_is_no_configuration_is_refused(sent, tmp_path, content, message):
    assert message in refused(sent | {"config.json": content}, tmp_path).replace("Input", "input")


@each_row(("tokenizer", "message"), [
    ("char", "tokenizer should be null or have"), ({"kind": "char"}, "tokenizer should be null or have"),
    ({"kind": [], "standardise": False, "shared": True}, "tokenizer should be null or have"),
    ({"kind": "runes", "standardise": False, "shared": True}, "no tokenizer of kind 'runes'"),
    ({"kind": "char", "standardise": False, "shared": False}, "target.model"),
    ({"kind": "huggingface", "standardise": False, "shared": True}, "tokenizer.json"),
    ({"kind": "marian", "standardise": False, "shared": True}, "source.spm"),
])
def test_a_tokenizer_that_is_not_the_one_announced_is_refused(sent, tmp_path, tokenizer, message):
    config = json.loads(sent["config.json"]) | {"tokenizer": tokenizer}
    assert message in refused(sent | {"config.json": json.dumps(config).encode()}, tmp_path)


@each_row(("kind", "size"), [("char", 10), ("bpe", 30)])
def test_a_tokenizer_that_does_not_fit_the_vocabulary_is_refused(sent, tmp_path, kind, size):
    tokenizers.train(["I am cold.", "Go on, go home now."], kind=kind, vocab_size=size).save(tmp_path / kind)
    files = sent | {"tokenizer.model": (tmp_path / kind).read_bytes()}
    assert f"has {size} pieces and the model's vocabulary 25" in refused(files, tmp_path)


def test_a_source_tokenizer_is_held_to_the_source_vocabulary(tiny_tokenizer, tmp_path):
    words = tokenizers.train(["go on", "go home"], kind="word", vocab_size=20)
    sizes = {"d_model": 16, "n_heads": 2, "encoder_layers": 1, "decoder_layers": 1, "tie_embeddings": False}
    settings = {"vocab_size": tiny_tokenizer.vocab_size, "src_vocab_size": words.vocab_size + 1}
    checkpoint.save(tmp_path / "two", Transformer(ModelConfig(**sizes, **settings)), tokenizer=tiny_tokenizer,
                    source_tokenizer=words)
    message = refused(contents(tmp_path / "two"), tmp_path)
    assert f"has {words.vocab_size} pieces and the model's vocabulary {words.vocab_size + 1}" in message


@each_row(("name", "content", "message"), [
    *(("tokenizer.model", content, "not a sentencepiece model") for content in (b"", b"\n\xff" * 100, b"{}")),
    ("tokenizer.model", bytes(25_000_000), "24,000,000"), ("README.md", b"\xff\xfe", "README.md is not UTF-8 text"),
    ("README.md", b"a\0b", "README.md is not UTF-8 text"),
    ("README.md", b"x" * 1_000_001, "README.md has 1,000,001 bytes"),
    ("metrics.jsonl", b'{"step": 1}\n[1]\n', "line 2 of metrics.jsonl"),
    ("metrics.jsonl", b'{"step": {"a": 1}}\n', "line 1 of metrics.jsonl"),
    ("metrics.jsonl", b"\n" * 20_000_001, "metrics.jsonl has 20,000,001 bytes"),
    ("attention/1.safetensors", bytes(10_000_001), "attention/1.safetensors has 10,000,001 bytes"),
    ("x.zip", b"PK\x03\x04" + bytes(100), "x.zip is a zip inside"),
    ("x.tgz", b"\x1f\x8b\x08\0", "is a gzip file inside"),
    ("a/x.7z", b"7z\xbc\xaf\x27\x1c", "is a 7z archive inside"), ("../x", b"", "could be written outside"),
    ("/etc/x", b"", "could be written outside"), ("a\\b", b"", "could be written outside"),
    ("C:x", b"", "could be written outside"), ("a//b", b"", "outside"), ("a/./b", b"", "outside"),
    ("a\nb", b"", "outside"),
    ("\u202egpj.x", b"", "outside"), ("x" * 201, b"", "outside"), ("CONFIG.JSON", b"", "was sent twice")])
def test_files_are_bounded_and_named_as_files_are_and_are_what_their_name_says(sent, tmp_path, name, content, message):
    assert message in refused(sent | {name: content}, tmp_path, most=60_000_000)


def test_what_is_sent_must_be_there_once_and_be_one_checkpoint(sent, tmp_path):
    assert "nothing was sent" in refused({}, tmp_path)
    two = {f"{name}.zip": zipped(sent, tmp_path / "two").read_bytes() for name in "ab"}
    assert "2 zips were sent; send one zip at a time" in refused(two, tmp_path)
    assert "501 files were sent" in refused({f"{i}.txt": b"" for i in range(501)}, tmp_path)
    assert "there is no config.json" in refused({WEIGHTS: sent[WEIGHTS]}, tmp_path)
    deep = {f"a/b/{name}": content for name, content in sent.items()}
    assert "but one at b/config.json" in refused(deep, tmp_path)
    del sent[WEIGHTS]
    assert "has no model.safetensors" in refused(sent, tmp_path)


@each_row(("change", "message"), [
    (lambda m: m | {"config.json": "0" * 64}, "config.json is damaged"),
    (lambda m: m | {WEIGHTS: "0" * 64}, "is damaged"),
    (lambda m: m | {"../x": "0" * 64}, "lists ../x"), (lambda m: m | {"a\0b": ""}, "which was not sent"),
    (lambda m: {"config.json": m["config.json"]}, "does not list"), (lambda m: [m], "should hold a JSON object"),
    (lambda m: m | {"config.json": None}, "config.json is damaged"),
])
def test_a_manifest_that_comes_along_is_held_to(ours, tmp_path, change, message):
    manifest = json.dumps(change(json.loads((ours / "manifest.json").read_bytes()))).encode()
    assert message in refused(contents(ours) | {"manifest.json": manifest}, tmp_path)


def test_a_disk_that_is_full_and_a_home_that_cannot_be_written_to_are_said(sent, tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    with pytest.raises(ValueError, match="cannot be kept here"):
        take_in([(name, io.BytesIO(content)) for name, content in sent.items()], tmp_path / "file")
    monkeypatch.setattr("transformer.intake.receiving.shutil.disk_usage", lambda path: SimpleNamespace(free=1_000))
    assert "too little room on the disk" in refused(sent, tmp_path)


def zipped(files, path, *, method=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def test_a_zip_is_looked_into_as_files_are(sent, tmp_path):
    files = {f"x/{name}": content for name, content in sent.items()}
    assert "is a pickle" in refused(zipped(files | {"x/a": PICKLES["protocol 4"]()}, tmp_path / "a.zip"), tmp_path)
    assert "is a zip inside" in refused(zipped(files | {"x/a": b"PK\x03\x04"}, tmp_path / "b.zip"), tmp_path)
    damaged = files | {f"x/{WEIGHTS}": HEADERS["none"][0](b"")}
    assert "weights for 0 encoder" in refused(zipped(damaged, tmp_path / "c.zip"), tmp_path)


@each_row(("change", "message"), [
    (lambda about: about["model"]["vocab"].update(z=2**31), "the id 2147483648"),
    (lambda about: about["model"]["vocab"].update(z=5_000), "has 5,001 pieces and the model 280"),
    (lambda about: about["added_tokens"][0].update(id=-1), "the id -1"),
    *((lambda about, tokens=tokens: about.update(added_tokens=tokens), "tokenizer.json should list its added_tokens")
      for tokens in (7, {"a": 1})),
    (lambda about: about.update(model=[]), "has no vocabulary"),
])
def test_a_hugging_face_tokenizer_with_other_ids_is_refused(theirs_with_tokenizer, tmp_path, change, message):
    files = contents(theirs_with_tokenizer)
    change(about := json.loads(files["tokenizer.json"]))
    assert message in refused(files | {"tokenizer.json": json.dumps(about).encode()}, tmp_path, most=60_000_000)


REPLACE = {"type": "Replace", "pattern": {"String": "a"}, "content": "a" * 10}


@each_row(("changes", "message"), [
    ({"normalizer": {"type": "Sequence", "normalizers": [REPLACE] * 12}}, "a normalizer that makes a text more than"),
    ({"decoder": REPLACE | {"content": "a" * 200}}, "a decoder that makes a text more than 100 times longer"),
    ({"normalizer": {"type": "Prepend", "prepend": "a" * 200}}, "a normalizer that makes"),
])
def test_a_tokenizer_that_makes_texts_explode_is_refused(theirs_with_tokenizer, changes, message):
    content = json.dumps(json.loads((theirs_with_tokenizer / "tokenizer.json").read_bytes()) | changes).encode()
    with pytest.raises(ValueError, match=message):
        HuggingFaceTokenizer(content, pad_id=None, unk_id=None, bos_id=None, eos_id=None)


def test_a_tokenizer_that_gives_up_on_a_text_says_so(theirs_with_tokenizer, monkeypatch):
    """Like a tokenizer whose slow pattern was not noticed."""
    pytest.importorskip("tokenizers")
    monkeypatch.setattr("transformer.text.huggingface_tokenizers.check_patterns", lambda *steps: None)
    slow = {"type": "Split", "pattern": {"Regex": "(x|xx)+y"}, "behavior": "Isolated", "invert": False}
    about = json.loads((theirs_with_tokenizer / "tokenizer.json").read_bytes()) | {"pre_tokenizer": slow}
    tokenizer = HuggingFaceTokenizer(json.dumps(about).encode(), pad_id=None, unk_id=None, bos_id=None, eos_id=None)
    assert tokenizer.encode("xy")
    with pytest.raises(ValueError, match="the checkpoint's tokenizer fails on this text"):
        tokenizer.encode("x" * 300)
