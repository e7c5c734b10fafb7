"""The accuracy of a classifier, beside simple baselines."""

import sys

import pytest
import torch

from transformer.checkpoints.checkpoint import load, save
from transformer.evaluation.quality import bag_of_words, class_quality, evaluate, likeliest_class
from transformer.settings.config import TrainConfig
from transformer.text.corpora import LabelledCorpus

TRAIN = [("go home", "a"), ("go on", "a"), ("we go", "a"), ("dog and cat", "b"), ("a cat", "b")]
TEST = [("go", "a"), ("we see a cat", "b"), ("dog", "b"), ("home", "a"), ("who is it", "b")]
FOUND = LabelledCorpus("made up", "0" * 64, "public domain", "nobody", ("a", "b"),
                       {"train": TRAIN, "validation": TRAIN[:4], "test": TEST})


@pytest.fixture(autouse=True)
def without_scikit_learn(monkeypatch):
    """Which takes seconds to import."""
    monkeypatch.setitem(sys.modules, "sklearn", None)
    monkeypatch.setitem(sys.modules, "sklearn.feature_extraction.text", None)


@pytest.fixture(scope="module")
def ckpt(make_checkpoint, tmp_path_factory):
    tiny = make_checkpoint(decoder_layers=0, pooling="max", n_classes=2)
    folder = tmp_path_factory.mktemp("classes") / "tiny"
    save(folder, tiny.model, tokenizer=tiny.tokenizer, meta={"classes": ["b", "a"], "step": 3},
         train=TrainConfig(task="classification", corpus="speakers"))
    return load(folder)


def test_the_likeliest_class_is_the_models_by_the_names_that_the_checkpoint_says(ckpt, make_checkpoint, writer):
    assert ckpt.classes == ("b", "a")
    assert make_checkpoint(decoder_layers=0, pooling="max", n_classes=2).classes == ("class 0", "class 1")
    assert writer.classes == ()
    for text, _ in TRAIN + TEST:
        said = ckpt.model(torch.tensor([ckpt.tokenizer.encode(text)]))[0]
        assert likeliest_class(ckpt, text) == ("b" if said[0] > said[1] else "a")
    assert likeliest_class(ckpt, "go " * 400) == likeliest_class(ckpt, ("go " * 400)[:ckpt.config.max_len])
    assert likeliest_class(ckpt, "") is None


def test_accuracy_and_majority_are_shares_of_the_split(ckpt):
    seen = []
    quality = class_quality(ckpt, FOUND, "test", watch=lambda done, of: seen.append((done, of)))
    right = sum(likeliest_class(ckpt, text) == label for text, label in TEST)
    assert quality["accuracy"] == pytest.approx(right / 5)
    assert quality["majority"] == pytest.approx(2 / 5)  # "a" is more frequent in training, and 2 of 5 here
    assert quality["n"] == 5
    assert seen[-1] == (5, 5)
    assert class_quality(ckpt, FOUND, "test", limit=2)["n"] == 2


@pytest.mark.slow
def test_the_baseline_counts_words(monkeypatch):
    monkeypatch.undo()
    pytest.importorskip("sklearn", reason="pip install scikit-learn")
    words = LabelledCorpus("made up", "0" * 64, "", "", ("a", "b"), {
        "train": [("yes sure", "a"), ("yes indeed", "a"), ("no never", "b"), ("no thanks", "b")]})
    assert bag_of_words(words, [("yes yes", "a"), ("oh no", "b"), ("no no no", "a")]) == (pytest.approx(2 / 3), None)


def test_without_scikit_learn_the_baseline_is_none_and_says_why(ckpt):
    quality = class_quality(ckpt, FOUND, "test")
    assert quality["baseline"] is None
    assert "scikit-learn is not installed; pip install" in quality["baseline_note"]


def test_evaluate_takes_the_test_split_or_what_there_is_and_no_other_classes(ckpt, monkeypatch):
    monkeypatch.setattr("transformer.evaluation.quality.corpus", lambda name: FOUND)
    assert evaluate(ckpt) == {
        "checkpoint": ckpt.id, "step": 3, "corpus": "made up", "corpus_sha256": "0" * 64, "split": "test",
        **class_quality(ckpt, FOUND, "test")}
    assert evaluate(ckpt, split="validation")["n"] == 4
    small = LabelledCorpus("made up", "0" * 64, "", "", ("a", "b"), {"train": TRAIN})
    monkeypatch.setattr("transformer.evaluation.quality.corpus", lambda name: small)
    assert evaluate(ckpt)["split"] == "train"
    with pytest.raises(ValueError, match="no split 'test'"):
        evaluate(ckpt, split="test")
    other = LabelledCorpus("made up", "0" * 64, "", "", ("a", "c"), {"train": [("x", "a"), ("y", "c")]})
    with pytest.raises(ValueError, match=r"tells b, a\.\.\. apart"):
        class_quality(ckpt, other, "train")
