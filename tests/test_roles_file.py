"""Roles stored beside a checkpoint are read back as measured, and only for the same weights and sample."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import orjson
import pytest
import torch

from tests.rows import each_row
from transformer.analysis.roles import measure_roles, read_weights
from transformer.basics.folders import ROLES
from transformer.checkpoints.checkpoint import describe, load
from transformer.evaluation.held_out import held_out_sentences, piece_counts, word_aligner
from transformer.measures.catalogue import MEASURES
from transformer.measures.matrices import measure_heads
from transformer.studies.roles_file import count_held_out, read_roles, write_roles

CHECKPOINTS = Path(__file__).resolve().parents[1] / "checkpoints"
SHIPPED = {"translate": "eng-fra", "write": "tiny-shakespeare", "classify": "speakers"}


@pytest.fixture
def play(tmp_path):
    (tmp_path / "play.txt").write_text("I see a dog and a cat.\nWho is it?\n" * 60)
    return str(tmp_path / "play.txt")


@pytest.fixture
def writer(make_checkpoint, tmp_path):
    """A decoder in a folder of its own."""
    shutil.copytree(make_checkpoint(encoder_layers=0).description.folder, tmp_path / "tiny")
    return load(tmp_path / "tiny")


@pytest.fixture
def measured(writer, play):
    roles = measure_roles(writer, held_out_sentences(writer, limit=5, seed=3, name=play), seed=3)
    write_roles(writer, roles, corpus=play, limit=5)
    return roles


def same(one, other):
    """Whether two measurements have the same numbers, sentences and notes."""
    pairs = [(a[kind][name], b[kind][name]) for part in ("values", "untrained", "best", "best_short", "even", "queries")
             for a, b in [(getattr(one, part), getattr(other, part))] for kind in a for name in a[kind]]
    return (one.checkpoint, one.seed, one.notes, one.tokens) == (
        other.checkpoint, other.seed, other.notes, other.tokens) and all(
        np.array_equal(a, b, equal_nan=True) for a, b in pairs) and [(s.src, s.tgt) for s in one.sentences] == [
        (s.src, s.tgt) for s in other.sentences]


def test_what_was_written_is_read_and_the_id_stays(writer, measured, play):
    assert same(read_roles(writer, corpus=play, limit=5, seed=3), measured)
    assert count_held_out(writer, play) == len(held_out_sentences(writer, limit=None, name=play))
    assert load(writer.description.folder).id == writer.id  # which holds every file against the manifest


@pytest.mark.parametrize(("make", "texts"), [
    ({}, "a dog is\to dog is\nI see it\tI go on\n" * 3),
    ({"decoder_layers": 0, "pooling": "max", "n_classes": 2}, None)], ids=["pairs", "texts"])
def test_pairs_and_texts_are_read_back_as_the_same_tokens(make, texts, make_checkpoint, tmp_path, play):
    shutil.copytree(make_checkpoint(**make).description.folder, tmp_path / "tiny")
    ckpt, corpus = load(tmp_path / "tiny"), play
    if texts:
        (tmp_path / "mine.tsv").write_text(texts)
        corpus = str(tmp_path / "mine.tsv")
    roles = measure_roles(ckpt, held_out_sentences(ckpt, limit=4, name=corpus))
    write_roles(ckpt, roles, corpus=corpus, limit=4)
    assert same(read_roles(ckpt, corpus=corpus, limit=4, seed=0), roles)


def test_it_is_nothing_to_another_sample_or_to_other_weights(writer, measured, play, tmp_path):
    assert read_roles(writer, corpus=play, limit=6, seed=3) is None
    assert read_roles(writer, corpus=play, limit=5, seed=0) is None
    assert read_roles(writer, corpus="tiny-shakespeare", limit=5, seed=3) is None
    other = replace(writer, description=replace(writer.description, id="tiny@00000000"))
    assert read_roles(other, corpus=play, limit=5, seed=3) is None
    assert count_held_out(other, play) is None
    Path(play).write_text("I see a dog.\n" * 100)
    assert read_roles(writer, corpus=play, limit=5, seed=3) is None
    (writer.description.folder / ROLES).unlink()
    assert read_roles(writer, corpus=play, limit=5, seed=3) is None


@each_row(("path", "value"), [  # without a measure, of another shape, of a sentence that is not there, ...
    ("heads/decoder/entropy", None), ("heads/decoder/first/trained", [[1.0]]), ("heads/decoder/first/best/0/0", 5),
    ("sentences/0/0", "x"), ("heads", [])])
def test_a_damaged_file_and_what_is_none_are_as_none(writer, measured, play, path, value):
    file = writer.description.folder / ROLES
    whole = file.read_bytes()
    kept = part = json.loads(whole)
    *above, last = [int(name) if name.isdigit() else name for name in path.split("/")]
    for name in above:
        part = part[name]
    part[last] = value
    if value is None:
        del part[last]
    file.write_text(json.dumps(kept))
    assert read_roles(writer, corpus=play, limit=5, seed=3) is None
    for content in (b"", b"{", b"[]", b"null", b"{}", b'{"sample": 1}', b" " * 5_000_000):
        file.write_bytes(content)
        assert read_roles(writer, corpus=play, limit=5, seed=3) is None and count_held_out(writer, play) is None
    file.write_bytes(whole)


@pytest.mark.parametrize(("name", "corpus"), SHIPPED.items())
def test_a_shipped_checkpoint_has_the_roles_of_its_weights_by_every_measure_and_knows_what_is_held_out(name, corpus,
                                                                                                       shipped):
    kept = orjson.loads((CHECKPOINTS / name / ROLES).read_bytes())
    assert kept["checkpoint"] == describe(CHECKPOINTS / name).id
    assert {measure for heads in kept["heads"].values() for measure in heads} == {
        measure.name for measure in MEASURES if set(measure.kinds) & kept["heads"].keys()}, (
        f"python -m transformer roles {name} --write")
    assert (kept["sample"]["corpus"], kept["sample"]["limit"], kept["sample"]["seed"]) == (corpus, 200, 0)
    if name != "translate":
        ckpt = shipped(name)
        assert count_held_out(ckpt, corpus) == len(held_out_sentences(ckpt, limit=None, seed=None))


RARE = pytest.mark.rare("measures two hundred texts of shipped weights again; those of Classify are in make test")


@pytest.mark.parametrize("name", [pytest.param("translate", marks=RARE),
                                  pytest.param("classify", marks=pytest.mark.slow)])
def test_shipped_roles_are_what_is_measured_again(name, shipped, tmp_path):
    ckpt = shipped(name)
    kept = read_roles(ckpt, corpus=SHIPPED[name], limit=200, seed=0)
    aligner = word_aligner(ckpt, tmp_path) if name == "translate" else None
    roles = measure_roles(ckpt, held_out_sentences(ckpt, limit=200), aligner=aligner, counts=piece_counts(ckpt))
    assert [sentence.text for sentence in kept.sentences] == [sentence.text for sentence in roles.sentences]
    assert kept.queries == roles.queries and kept.notes == roles.notes
    for part in ("values", "untrained", "even"):
        for kind, measures in getattr(roles, part).items():
            for measure, values in measures.items():
                np.testing.assert_allclose(getattr(kept, part)[kind][measure], values, atol=1e-4, err_msg=measure)


@RARE
def test_shipped_roles_of_running_text_are_those_of_its_windows(shipped):
    """Compares three measures of the same windows, each computed by itself; all of them would take ten seconds."""
    ckpt = shipped("write")
    kept = read_roles(ckpt, corpus="tiny-shakespeare", limit=200, seed=0)
    assert [(one.text, one.tgt) for one in kept.sentences] == [(one.text, one.tgt)
                                                               for one in held_out_sentences(ckpt, limit=200)]
    sums, rows = {}, torch.tensor([sentence.tgt for sentence in kept.sentences])  # all 128 tokens long
    for batch in rows.split(20):
        layers = torch.stack(dict(read_weights(ckpt.model, None, batch))["decoder"])  # (layers, B, H, T, T)
        for name, values in measure_heads(layers, ["entropy", "previous", "first"], kind="decoder").items():
            sums[name] = sums.get(name, 0) + values.sum(1)
    for name, total in sums.items():
        np.testing.assert_allclose(kept.values["decoder"][name], total / len(rows), atol=1e-4)
