"""Held-out samples of each kind of corpus."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from transformer.analysis.sample import read_texts
from transformer.checkpoints.checkpoint import NO_TOKENIZER
from transformer.evaluation.held_out import WINDOW, held_out_sentences, piece_counts, word_aligner
from transformer.settings.config import TrainConfig
from transformer.text.corpora import corpus
from transformer.text.tokenizer_files import tokenizers_of


def trained_on(ckpt, path):
    """The checkpoint, saved with a file as its training corpus."""
    return replace(ckpt, description=replace(ckpt.description, train=TrainConfig(corpus=str(path))))


@pytest.fixture
def pairs(tmp_path):
    path = tmp_path / "mine.tsv"
    lines = [f"a dog {i}\tis a cat {i}" for i in range(50)] + ["a " * 60 + "\tGo", "Go\t" + "a " * 60]
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def test_pairs_are_drawn_from_what_was_held_out(translator, pairs):
    ckpt, found = trained_on(translator, pairs), corpus(str(pairs))
    test = [source for source, _ in found.split("test")]
    whole = held_out_sentences(ckpt, limit=None, seed=None)
    assert [s.text for s in whole] == [text for text in test if len(text) < 40 and len(found.find(text)[1][0]) < 40]
    assert held_out_sentences(ckpt, limit=2, seed=None) == whole[:2]
    drawn = held_out_sentences(ckpt, limit=3, seed=1)
    assert drawn == held_out_sentences(ckpt, limit=3, seed=1) and {s.text
                                                                   for s in drawn} <= set(test) and len(drawn) == 3
    assert {tuple(s.text for s in held_out_sentences(ckpt, limit=3, seed=seed)) for seed in range(5)} != {
        tuple(s.text for s in drawn)}
    one, config = whole[0], ckpt.config
    assert one.src == (*ckpt.tokenizer.encode(one.text), config.eos_id)
    assert one.tgt == (config.start_id, *one.labels[:-1]) and one.labels[-1] == config.eos_id
    assert one.references == tuple(found.find(one.text)[1]) and one.target == one.references[0]


def test_running_text_is_cut_into_windows(writer, tmp_path):
    (tmp_path / "mine.txt").write_text("I see a dog and a cat.\n" * 60)
    ckpt = trained_on(writer, tmp_path / "mine.txt")
    ids = ckpt.tokenizer.encode(corpus(str(tmp_path / "mine.txt")).split("validation"))
    found = held_out_sentences(ckpt, limit=None, seed=None)
    size = min(WINDOW, ckpt.config.max_len)
    assert [id for s in found for id in s.labels] == ids[1:1 + sum(s.tokens for s in found)]
    assert len(ids) - 1 - sum(s.tokens for s in found) < 2 and {len(s.tgt) for s in found[:-1]} == {size}
    assert all(s.tgt[1:] == s.labels[:-1] and s.src is None for s in found)
    assert len(held_out_sentences(ckpt, limit=2)) == 2


def test_texts_with_a_class_keep_the_class_that_the_model_knows(make_checkpoint, tmp_path):
    ckpt = make_checkpoint(decoder_layers=0, pooling="max", n_classes=2)
    ckpt = trained_on(ckpt, tmp_path / "mine.csv")
    ckpt = replace(ckpt, description=replace(ckpt.description, meta={"classes": ["x", "y"]}))
    (tmp_path / "mine.csv").write_text("text,label\n" + "".join(f"a dog {i},{'xz'[i % 2]}\n" for i in range(80)))
    found = held_out_sentences(ckpt, limit=None)
    known = {text: label for name in ("test", "train") for text, label in corpus(str(tmp_path / "mine.csv")).splits.get(
        name, [])}
    assert {s.labels for s in found} <= {(0,), None}
    assert all((s.labels == (0,)) == (known[s.text] == "x") for s in found)


def test_an_encoder_is_measured_on_any_text(make_checkpoint, pairs, tmp_path):
    ckpt = make_checkpoint(decoder_layers=0, pooling="max", n_classes=2, max_len=12)
    (tmp_path / "lines.txt").write_text("I see a dog.\n" * 80 + "Who is it?\n" * 20)
    assert [s.text
            for s in held_out_sentences(ckpt, seed=None, name=str(tmp_path / "lines.txt"))][1:] == ["Who is it?"] * 11
    (tmp_path / "paragraphs.txt").write_text("Go on.\n\n" * 90 + "He is tall.\nGo on.\n\n" * 20)
    found = held_out_sentences(ckpt, limit=None, seed=None,
                               name=str(tmp_path / "paragraphs.txt"))[1:]  # the first is cut
    assert {s.text for s in found} == {"He is tall.\nGo on."}
    assert {(len(s.src), s.tgt, s.labels) for s in found} == {(12, None, None)}
    sources = {source for source, _ in corpus(str(pairs)).split("test")}
    assert {s.text for s in held_out_sentences(ckpt, limit=None, name=str(pairs))} <= sources


def test_the_word_alignment_is_learned_once(translator, pairs, tmp_path, monkeypatch):
    from transformer.evaluation import held_out as module

    ckpt = trained_on(translator, pairs)
    first = word_aligner(ckpt, tmp_path / "cache")
    monkeypatch.setattr(module.WordAligner, "learn", lambda *_: pytest.fail("learned again"))
    again = word_aligner(ckpt, tmp_path / "cache")
    assert again.pairs == first.pairs == len(corpus(str(pairs)).split("train"))
    assert again.align(["dog"], ["cat"]) == first.align(["dog"], ["cat"])


def test_pieces_are_counted_as_they_were_read_in_training_where_the_corpus_is_here(translator, writer, pairs, tmp_path):
    ckpt, config = trained_on(translator, pairs), translator.config
    train = corpus(str(pairs)).split("train")
    counts, read = piece_counts(ckpt), {"src": Counter(), "tgt": Counter()}
    for source, references in train:
        read["src"].update((*ckpt.tokenizer.encode(source), config.eos_id))
        read["tgt"].update((config.start_id, *ckpt.tokenizer.encode(references[0])))
    assert counts.keys() == read.keys()
    for side, expected in read.items():
        assert counts[side].shape == (config.vocab_size,) and dict(expected) == {
            id: count for id, count in enumerate(counts[side].tolist()) if count}
    (tmp_path / "mine.txt").write_text("I see a dog.\n" * 50)
    counts = piece_counts(trained_on(writer, tmp_path / "mine.txt"))
    expected = Counter(writer.tokenizer.encode(corpus(str(tmp_path / "mine.txt")).split("train")))
    assert counts.keys() == {"tgt"}
    assert dict(expected) == {id: count for id, count in enumerate(counts["tgt"].tolist()) if count}
    assert piece_counts(translator) is None
    assert piece_counts(trained_on(translator, tmp_path / "gone.tsv")) is None
    assert piece_counts(replace(trained_on(translator, pairs), tokenizer=None)) is None


def test_what_cannot_be_drawn_is_said(translator, writer, pairs, tmp_path):
    with pytest.raises(ValueError, match="does not name its training corpus"):
        held_out_sentences(translator)
    with pytest.raises(ValueError, match="mine.tsv is not what .*: that is running text, tiny-shakespeare, repeat, "
                                         "brackets or the path"):
        held_out_sentences(writer, name=str(pairs))
    ids, _ = tokenizers_of(Path(), translator.config, **NO_TOKENIZER)
    silent = replace(translator, tokenizer=ids, source_tokenizer=ids)
    with pytest.raises(ValueError, match="has no tokenizer"):
        held_out_sentences(silent, name=str(pairs))
    with pytest.raises(ValueError, match="limit is 0"):
        held_out_sentences(translator, limit=0, name=str(pairs))
    (tmp_path / "long.tsv").write_text("".join(f"{'a ' * 50}{i}\tGo\n" for i in range(20)))
    with pytest.raises(ValueError, match="none of 2 sentences of long.tsv fits"):
        held_out_sentences(translator, name=str(tmp_path / "long.tsv"))
    (tmp_path / "mine.txt").write_text("I see a dog.\n" * 50)
    with pytest.raises(ValueError, match="no pairs of sentences"):
        word_aligner(writer, tmp_path, name=str(tmp_path / "mine.txt"))
    assert [s.labels[-1] for s in read_texts(translator, ["Go"], ["a"])] == [translator.config.eos_id]
