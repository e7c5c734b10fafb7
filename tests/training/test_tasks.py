"""From a corpus to batches: every kind of file of one's own, however small, and the texts that are pinned."""

import pytest
import torch

from tests.training.made_up import THIRTY_PAIRS as PAIRS
from transformer.checkpoints import checkpoint
from transformer.settings.config import RunConfig, TrainConfig
from transformer.settings.presets import preset
from transformer.text.corpus_catalogue import corpus_choices, form_of
from transformer.training.tasks import LONGEST_PINNED, Prepared, prepare
from transformer.training.trainer import Trainer

SMALL = {"d_model": 16, "n_heads": 2, "d_ff": 16, "steps": 2, "batch_tokens": 200, "eval_every": 2, "save_every": 2}
ROWS = "text,label\nthis is awesome,positive\ni hated it,negative\nwhat a film,positive\n"
TEXT = "It was a bright cold day in April,\nand the clocks were striking thirteen.\n"
OF = {"translate-small": "mine.tsv", "word-level": "mine.tsv", "gpt2": "mine.txt", "shakespeare": "mine.txt",
      "sentiment": "mine.csv", "pooled-classifier": "mine.csv"}


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    """mine.tsv, mine.txt and mine.csv in the folder that one is in."""
    for name, content in (("mine.tsv", PAIRS), ("mine.txt", TEXT), ("mine.csv", ROWS)):
        (tmp_path / name).write_text(content, "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("os.fsync", lambda handle: None)
    return tmp_path


def config(name: str, **settings: object) -> RunConfig:
    layers = {side: min(1, getattr(preset(name).model, side)) for side in ("encoder_layers", "decoder_layers")}
    return preset(name).set({**SMALL, **layers, "corpus": OF[name], **settings})


def watched(task: Prepared) -> list[tuple[str | None, str | None]]:
    """The pinned texts as they read."""
    sides = (task.source_tokenizer, "src"), (task.tokenizer, "tgt")
    return [tuple(None if getattr(batch, side) is None else tokenizer.decode(getattr(batch, side)[0].tolist())
                  for tokenizer, side in sides) for batch in task.pinned]


@pytest.mark.slow
@pytest.mark.parametrize("name", OF)
def test_every_kind_of_ones_own_file_trains_at_the_vocabulary_of_its_preset(name, tmp_path):
    run = Trainer(tmp_path / "run", config(name), device=torch.device("cpu"))
    assert run.config.model.vocab_size < preset(name).model.vocab_size
    assert run.config.model.vocab_size == run.task.tokenizer.vocab_size
    assert run.run() == "finished"
    assert run.best < float("inf")
    assert checkpoint.load(tmp_path / "run" / "best").meta["corpus"] == OF[name]


@pytest.mark.parametrize(("name", "content", "amounts"), [
    ("translate-small", "Go.\tVa !\nStop.\tArrête.\n", {"train_pairs": 2, "validation": 2}),
    ("sentiment", ROWS, {"train_texts": 3, "validation": 3}),
    ("gpt2", " ".join(["abcdef"] * 10), {"train_tokens": 9, "validation": 9}),  # one piece is held out
])
def test_where_nothing_is_held_out_the_training_part_is_measured_and_that_is_said(files, name, content, amounts):
    (files / OF[name]).write_text(content)
    about = prepare(config(name)).about
    assert about | amounts | {"validation_from": "train"} == about


def test_held_out_pairs_are_said_to_be_so(files):
    about = prepare(config("translate-small")).about
    assert "validation_from" not in about
    assert (about["train_pairs"], about["validation"], about["left_out"]) == (24, 3, 0)
    (files / "mine.tsv").write_text(PAIRS.replace("\t", " and so on and so forth until the end of the day\t", 29))
    short = prepare(config("translate-small", max_len=20))
    assert short.about["left_out"] + short.about["train_pairs"] == 24


@pytest.mark.parametrize(("name", "corpus", "message"), [
    ("translate-small", "mine.csv", "has no pairs of sentences, which translation"),
    ("gpt2", "mine.tsv", "has no running text, which language-model"),
    ("sentiment", "mine.txt", "has no texts with a class, which classification")])
def test_a_corpus_of_another_kind_is_refused_with_what_fits(name, corpus, message):
    fits = corpus_choices(form_of(preset(name).train.task))
    with pytest.raises(ValueError, match=f"{corpus} {message} learns from; set corpus to {fits}"):
        prepare(config(name, corpus=corpus))


@pytest.mark.parametrize(("name", "settings", "message"), [
    ("translate-small", {"encoder_layers": 0}, "by encoder and decoder, .* has 0 encoder layers; set encoder_la"),
    ("gpt2", {"encoder_layers": 1}, "learned by decoder, .* has 1 encoder layers; set encoder_layers to 0")])
def test_a_model_of_another_shape_is_refused(name, settings, message):
    with pytest.raises(ValueError, match=message):
        prepare(config(name, **settings))


def test_all_lengths_are_kept_also_of_what_is_left_out():
    task = prepare(config("translate-small"))
    rows = [(source, reference) for source, references in task.corpus.split("train") for reference in references]
    assert task.lengths["source"].tolist() == [len(task.source_tokenizer.encode(source)) for source, _ in rows]
    assert task.lengths["target"].tolist() == [len(task.tokenizer.encode(target)) for _, target in rows]
    short = prepare(config("translate-small", max_len=int(task.lengths["target"].max())))
    assert short.about["left_out"] > 0
    assert (short.lengths["target"] == task.lengths["target"]).all()
    lines = prepare(config("shakespeare")).lengths["line"].tolist()
    assert lines == [len(line) for line in TEXT[:int(0.9 * len(TEXT))].split("\n")]


# Pinned texts


def test_pinned_sentences_take_the_translation_given_or_that_of_the_corpus():
    task = prepare(config("translate-small", pinned=["The cat is red.", "The cat is old.\tun chat rouge"]))
    assert watched(task) == [("The cat is red.", "Le chat est rouge."), ("The cat is old.", "un chat rouge")]


def test_a_pinned_beginning_is_recorded_up_to_32_tokens():
    task = prepare(config("shakespeare", pinned=["a cold day", "thirteen " * 9]))
    assert [text for _, text in watched(task)] == ["a cold da", ("thirteen " * 9)[:LONGEST_PINNED]]
    assert [task.tokenizer.decode(batch.labels[0].tolist()) for batch in task.pinned] == [
        " cold day", ("thirteen " * 9)[1:LONGEST_PINNED + 1]]


def test_pinned_texts_of_a_classifier_need_no_class():
    assert watched(prepare(config("sentiment", pinned=["I hated this", "awesome!"]))) == [
        ("i hated this", None), ("awesome", None)]


def test_without_any_the_corpus_gives_them():
    pairs = [watched(prepare(config(name))) for name in ("translate-small", "shakespeare", "sentiment")]
    assert all(source in PAIRS and target in PAIRS for source, target in pairs[0])
    assert len(pairs[0]) == 3
    assert pairs[1] == [(None, "irteen⁇")]  # how the text ends, with a full stop that the training part lacks
    assert {text for text, _ in pairs[2]} <= {"this is awesome", "i hated it", "what a film"}


@pytest.mark.parametrize(("name", "pinned", "message"), [
    ("translate-small", "The sky is blue.", "'The sky is blue.' is not in mine.tsv; give its translation after a tab"),
    ("translate-small", "The cat is red. " * 9 + "\tOui", "tokens, and from 1 to 32 can be recorded; shorten it"),
    ("sentiment", "it " * 40, "takes 40 tokens, and from 1 to 32 can be recorded; shorten it"),
    ("sentiment", "?!", "takes 0 tokens, .*; give one that the tokenizer knows"),
    ("shakespeare", "a", "the pinned text 'a' is 1 token, and at least 2 are needed; make it longer"),
])
def test_what_cannot_be_pinned_is_refused(name, pinned, message):
    with pytest.raises(ValueError, match=message):
        prepare(config(name, pinned=[pinned]))


@pytest.mark.parametrize(("pinned", "message"), [
    (["a"] * 5, "5 pinned texts; the limit is 4"),
    (["a", " "], "pinned text 2 is empty"),
    (["a" * 501], "pinned text 1 has 501 characters; the limit is 500"),
    (["a\t "], "pinned text 1 has nothing on one side of its tab"),
])
def test_the_configuration_refuses_pinned_texts_out_of_range(pinned, message):
    with pytest.raises(ValueError, match=message):
        TrainConfig(pinned=pinned)
    assert TrainConfig.model_validate_json(TrainConfig(pinned=["a\tb"]).model_dump_json()).pinned == ("a\tb",)
