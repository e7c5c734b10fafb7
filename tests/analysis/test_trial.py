"""Trials of a model on a few held-out sentences."""

import pytest
import torch
from sacrebleu.metrics import CHRF

import transformer
from transformer.analysis.sample import read_texts, sentence_with_class, sentence_with_target
from transformer.analysis.trial import try_sentences

REFERENCES = ("We can go.", "We go home.")


def test_a_translator_gives_translation_score_and_loss_and_a_writer_the_loss(translator, writer):
    sentence = sentence_with_target(translator, "I am cold.", REFERENCES[0], REFERENCES)
    other = sentence_with_target(translator, "Go on.", "Who is it?")
    first, second = try_sentences(translator, [sentence, other])
    assert (first.text, second.text) == ("I am cold.", "Go on.")
    assert [first.output, second.output] == transformer.translate(translator, ["I am cold.", "Go on."])
    assert first.chrf == pytest.approx(CHRF().sentence_score(first.output, list(REFERENCES)).score)
    assert first.references == REFERENCES and first.probability is None
    logits = translator.model(torch.tensor([sentence.src]), torch.tensor([sentence.tgt]))[0]
    loss = torch.nn.functional.cross_entropy(logits, torch.tensor(sentence.labels))
    assert first.loss == pytest.approx(float(loss), rel=1e-5)
    (found,) = try_sentences(writer, read_texts(writer, ["go on a bit"]))
    assert found.output is None and found.chrf is None and found.loss > 0


def test_a_classifier_says_which_class_and_how_likely_the_right_one_was(classifier):
    ckpt, seen = classifier, []
    right, unknown = try_sentences(
        ckpt, [sentence_with_class(ckpt, "go on", "class 1"), sentence_with_class(ckpt, "go on")],
        watch=lambda done, of: seen.append((done, of)))
    logs = transformer.attend(ckpt, "go on").logits
    assert right.output == ckpt.classes[int(logs.argmax())] and right.references == ("class 1",)
    assert right.probability == pytest.approx(float(logs[1].exp())) and right.loss == pytest.approx(float(-logs[1]))
    assert unknown.loss is None and unknown.probability is None and unknown.references == ()
    assert seen == [(1, 2), (2, 2)]
