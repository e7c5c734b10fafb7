"""The preview of a corpus before training: every number again, counted by hand from the corpus."""

import json
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from transformer.settings.presets import preset
from transformer.text.corpora import LabelledCorpus, PairCorpus, TextCorpus
from transformer.training import tasks
from transformer.training.check import LONGEST_SAMPLE, preview

PAIRS = {f"{who} {does} {what}.": [f"{qui} {fait} {quoi} !", f"{qui} {fait} bien {quoi}."]
         for who, qui in (("I", "je"), ("we", "nous"), ("she", "elle"))
         for does, fait in (("see", "vois"), ("like", "aime"))
         for what, quoi in (("a dog", "un chien"), ("the old cat", "le vieux chat"), ("it", "ça"))}
TEXT = "".join(f"{source}\n  {target}\n\n" for source, targets in PAIRS.items() for target in targets)


def split(items):
    return {"train": items[:-6], "validation": items[-6:-3], "test": items[-3:]}


MADE = {
    "translation": PairCorpus("pairs", "0" * 64, "none", "nobody", {
        name: dict(items) for name, items in split(list(PAIRS.items())).items()}),
    "language-model": TextCorpus("plays", "1" * 64, "none", "nobody", TEXT),
    "classification": LabelledCorpus("labelled", "2" * 64, "none", "nobody", ("je", "nous", "elle"), split([
        (source, targets[0].split()[0]) for source, targets in PAIRS.items()])),
}
PRESET = {"translation": "translate-small", "language-model": "shakespeare", "classification": "pooled-classifier"}


@pytest.fixture
def prepared(monkeypatch):
    """prepared("translation", max_len=6) -> the task."""

    def prepared(task, **settings):
        monkeypatch.setattr(tasks, "corpus", lambda name: MADE[task])
        return tasks.prepare(preset(PRESET[task]).set(
            {"tokenizer": "char" if task == "language-model" else "word", **settings}))

    return prepared


def with_training(task, *items):
    """The same task with another training part to draw samples from."""
    return replace(task, corpus=replace(task.corpus, splits=task.corpus.splits | {"train": list(items)}))


@pytest.mark.parametrize("task", MADE)
def test_it_goes_to_json_and_the_seed_decides_the_samples(prepared, task):
    made = prepared(task)
    first, again, other = (preview(made, seed=seed) for seed in (1, 1, 2))
    assert json.loads(json.dumps(first)) == first == again
    assert other["samples"] != first["samples"]
    assert {key: value for key, value in other.items() if key != "samples"} == {
        key: value for key, value in first.items() if key != "samples"}


def test_split_sizes_are_those_of_the_corpus(prepared):
    pairs, text, labelled = (preview(prepared(task)) for task in MADE)
    assert (pairs["unit"], pairs["splits"]) == ("different sources", {"train": 12, "validation": 3, "test": 3})
    assert pairs["train_pairs"] == 24
    cut = int(len(TEXT) * 0.9)
    assert (text["unit"], text["splits"]) == ("characters", {"train": cut, "validation": len(TEXT) - cut})
    counts = Counter(label for _, label in MADE["classification"].split("train"))
    assert (labelled["unit"], labelled["n_classes"]) == ("texts", 3)
    assert {row["name"]: row["texts"] for row in labelled["classes"]} == {"elle": 0} | counts
    assert all(found["validation_from"] == "validation" for found in (pairs, text, labelled))


@pytest.mark.parametrize("task", MADE)
@pytest.mark.parametrize("kind", ["word", "char"])
def test_a_sample_is_text_pieces_ids_and_back_again(prepared, task, kind):
    made = prepared(task, tokenizer=kind)
    found = preview(made, samples=4)["samples"]
    assert len(found) == 4
    training = str(MADE[task].splits["train"]) if task != "language-model" else MADE[task].split("train")
    for sample in found:
        for name, part in sample["parts"].items():
            tokenizer = made.source_tokenizer if name == "source" else made.tokenizer
            assert part["text"] in training
            assert part["ids"] == tokenizer.encode(part["text"])
            assert part["unknown"] == [at for at, id in enumerate(part["ids"]) if id == tokenizer.unk_id]
            assert all(piece == tokenizer.piece(id) for piece, id in zip(part["pieces"], part["ids"], strict=True)
                       if id != tokenizer.unk_id)
            assert part["back"] == tokenizer.decode(part["ids"])
            assert part["same"] == (part["back"] == part["text"])
            assert (part["why"] is None) == part["same"]
        if task == "classification":
            assert (sample["parts"]["text"]["text"], sample["label"]) in MADE[task].split("train")


@pytest.mark.parametrize(("settings", "text", "why"), [
    ({}, "We see zebras", "unknown pieces"), ({"standardise": True}, "I see.", "lower case, no punctuation"),
    ({"tokenizer": "char"}, "I  see", "spaces and characters in their usual form (NFKC)")])
def test_what_does_not_come_back_says_why(prepared, settings, text, why):
    made = with_training(prepared("classification", **{"standardise": False, **settings}), (text, "je"))
    (part,) = [sample["parts"]["text"] for sample in preview(made)["samples"]]
    assert (part["same"], part["why"]) == (False, why)


def test_lengths_are_counted_in_pieces_side_by_side(prepared):
    made = prepared("translation", tokenizer="char", max_len=20)
    found = preview(made)
    longer = []
    for side, at in (("source", 0), ("target", 1)):
        texts = [pair for source, targets in MADE["translation"].split("train") for pair in
                 [(source, target)[at] for target in targets]]
        tokenizer = made.source_tokenizer if side == "source" else made.tokenizer
        lengths = [len(tokenizer.encode(text)) for text in texts]
        longer.append(lengths)
        histogram = found["lengths"][side]
        assert (histogram["median"], histogram["longest"]) == (np.median(lengths), max(lengths))
        assert histogram["width"] == 1
        assert {histogram["first"] + at: count for at, count in enumerate(histogram["counts"]) if count} == Counter(
            lengths)
    out = sum(max(pair) + 1 > 20 for pair in zip(*longer, strict=True))
    assert 0 < out < 24
    assert found["left_out"] | {"how": "left out", "count": out, "of": 24, "share": out / 24} == found["left_out"]
    assert out == made.about["left_out"]


def test_long_lengths_share_bins(prepared):
    made = prepared("classification")
    made.lengths["text"] = np.array([1, 2, 2, 121])
    histogram = preview(made)["lengths"]["text"]
    assert (histogram["first"], histogram["width"], sum(histogram["counts"])) == (1, 3, 4)
    assert (histogram["counts"][0], histogram["counts"][40]) == (3, 1)


def test_texts_are_cut_and_running_text_is_read_in_windows(prepared):
    found = preview(prepared("classification", max_len=4))
    lengths = [len(text.rstrip(".").split()) for text, _ in MADE["classification"].split("train")]
    assert (found["left_out"]["how"], found["left_out"]["count"]) == ("cut", sum(length > 4 for length in lengths))
    assert found["left_out"]["count"] > 0
    text = preview(prepared("language-model", max_len=4))["left_out"]
    assert (text["how"], text["count"]) == ("read in windows", 0)


def test_coverage_is_of_the_vocabulary_in_training_and_of_held_out_pieces(prepared):
    made = prepared("classification")
    (found,) = preview(made)["coverage"].values()
    words = {word for text, _ in MADE["classification"].split("train") for word in text.lower().rstrip(".").split()}
    held_out = [word for text, _ in MADE["classification"].split("validation")
                for word in text.lower().rstrip(".").split()]
    assert (found["pieces"], found["used"]) == (len(words), len(words))
    unknown = sum(word not in words for word in held_out)
    assert unknown > 0
    assert (found["held_out"], found["unknown"], found["unknown_share"]) == (
        len(held_out), unknown, unknown / len(held_out))
    assert list(preview(prepared("translation"))["coverage"]) == ["both sides"]
    apart = preview(prepared("translation", src_vocab_size=300, vocab_size=300, tie_embeddings=False))["coverage"]
    assert list(apart) == ["source", "target"]
    assert apart["source"]["pieces"] != apart["target"]["pieces"]


def test_long_texts_are_shown_in_part(prepared):
    made = with_training(prepared("classification"), ("we see " * 99, "je"))
    (part,) = [sample["parts"]["text"] for sample in preview(made)["samples"]]
    assert part["cut"]
    assert part["text"] == ("we see " * 99)[:LONGEST_SAMPLE]
