"""BLEU, chrF and cross-entropy, compared with their own definitions on made-up text."""

from math import log

import pytest
import sacrebleu
import torch

from tests.rows import each_row
from transformer.checkpoints.checkpoint import Checkpoint, Description
from transformer.evaluation import quality as evaluation
from transformer.evaluation.quality import evaluate, human_quality, text_quality, translation_quality
from transformer.model.models import Transformer
from transformer.settings.config import ModelConfig
from transformer.text.tokenizer import standardise, train

TRAIN = [("Go on now.", ["Continue."]), ("I see it!", ["Je le vois."])]
PAIRS = [("The cat sleeps.", ["Le chat dort.", "Le chat dort en paix."]), ("I see it.", ["Je le vois."]),
         ("My house is old.", ["Ma maison est vieille."]), ("We go home.", ["Nous rentrons chez nous."])]
SAID = ["Le chat dort.", "Je le vois !", "ma maison est vieille", "Nous rentrons à la maison."]


@pytest.fixture
def figures(monkeypatch):
    monkeypatch.setattr(evaluation, "translate", lambda ckpt, texts, **_: [
        SAID[[source for source, _ in PAIRS].index(text)] for text in texts])
    return translation_quality(None, PAIRS, train=TRAIN)


def test_each_figure_is_sacrebleus_of_the_sentences_that_it_is_said_to_be_of(figures):
    first = [references[0] for _, references in PAIRS]
    assert figures["bleu"] == sacrebleu.corpus_bleu(SAID, [first]).score
    assert figures["chrf"] == sacrebleu.corpus_chrf(SAID, [first]).score
    second = ["Le chat dort en paix.", None, None, None]
    assert figures["bleu_all_references"] == sacrebleu.corpus_bleu(SAID, [first, second]).score
    assert figures["signature"].startswith("nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:")
    assert (figures["n"], figures["beam"]) == (4, 1)
    kept = [0, 2, 3]  # "I see it!" is trained on
    assert figures["n_unseen"] == 3
    assert figures["bleu_unseen"] == sacrebleu.corpus_bleu(
        [SAID[i] for i in kept], [[PAIRS[i][1][0] for i in kept]]).score
    said = ["le chat dort", "je le vois", "ma maison est vieille", "nous rentrons à la maison"]
    expected = ["le chat dort", "je le vois", "ma maison est vieille", "nous rentrons chez nous"]
    assert figures["bleu_standardised"] == sacrebleu.corpus_bleu(said, [expected]).score
    assert figures["bleu_standardised"] > figures["bleu"]
    assert figures["bleu_human"] == sacrebleu.corpus_bleu(["Le chat dort en paix."], [["Le chat dort."]]).score
    assert figures["bleu_beside_human"] == sacrebleu.corpus_bleu(SAID[:1], [["Le chat dort."]]).score
    assert figures["n_human"] == 1


def test_sources_with_one_word_exchanged_are_left_out_of_bleu_no_neighbours(monkeypatch):
    monkeypatch.setattr(evaluation, "translate", lambda ckpt, texts, **_: SAID[:len(texts)])
    figures = translation_quality(None, PAIRS, train=[*TRAIN, ("My dog is old.", ["Mon chien est vieux."])])
    kept = [0, 1, 3]
    assert figures["n_no_neighbours"] == 3
    assert figures["bleu_no_neighbours"] == sacrebleu.corpus_bleu(
        [SAID[i] for i in kept], [[PAIRS[i][1][0] for i in kept]]).score


def test_people_are_measured_by_the_length_of_what_they_translate():
    long = ("one two three four five six", ["un deux trois quatre cinq six", "un deux trois quatre six cinq"])
    found = human_quality([*PAIRS, long])
    assert found["n_human"] == 2
    assert found["n_by_length"] == {"1 to 5 words": 1, "6 to 8 words": 1, "9 to 12 words": 0, "13 words and more": 0}
    assert found["bleu_by_length"]["6 to 8 words"] == sacrebleu.corpus_bleu([long[1][1]], [[long[1][0]]]).score
    assert found["bleu_by_length"]["13 words and more"] is None


def test_sources_as_people_type_them_are_measured_apart(monkeypatch):
    asked = []
    monkeypatch.setattr(evaluation, "translate", lambda ckpt, texts, **_: asked.extend(texts) or [*texts])
    figures = translation_quality(None, PAIRS, train=TRAIN, as_typed=True)
    sources = [source for source, _ in PAIRS]
    typed = ["the cat sleeps", "i see it", "my house is old", "we go home"]
    joined = [" ".join(sources[:3]), sources[3]]
    assert asked == [*sources, *typed, *joined]
    expected = ["le chat dort", "je le vois", "ma maison est vieille", "nous rentrons chez nous"]
    assert figures["bleu_as_typed"] == sacrebleu.corpus_bleu(typed, [expected]).score
    first = [references[0] for _, references in PAIRS]
    assert figures["bleu_joined"] == sacrebleu.corpus_bleu(joined, [[" ".join(first[:3]), first[3]]]).score


def test_what_translates_nothing_is_not_measured_against_people(shipped):
    for asked in ("human", "as_typed"):
        with pytest.raises(ValueError, match="has no translations to measure; leave out"):
            evaluate(shipped("write"), **{asked: True})


@each_row(("text", "found"), [
    ("J'ai froid !", "jai froid"), ("« OUI »,\u00a0dit-elle…", "oui ditelle"), ("", ""), ("?!", ""), ("É  À", "é à")])
def test_standardising_leaves_words_in_lower_case(text, found):
    assert standardise(text) == found


def test_the_loss_of_a_text_counts_every_token_but_the_first_once():
    text = "to be or not to be that is the question " * 3
    tokenizer = train([text], kind="char", vocab_size=40, verbatim=True)
    config = ModelConfig(d_model=16, n_heads=2, encoder_layers=0, decoder_layers=1, d_ff=16, max_len=10,
                         vocab_size=tokenizer.vocab_size, positions="rotary")
    model = Transformer(config, generator=torch.Generator().manual_seed(0)).eval()
    ckpt = Checkpoint(Description(None, "made up", config, None, None), model, tokenizer, tokenizer)
    ids = tokenizer.encode(text)
    nats = []
    for start in range(0, len(ids) - 1, 10):
        window = ids[start:start + 11]
        with torch.no_grad():
            chances = model(None, torch.tensor([window[:-1]])).log_softmax(dim=-1)[0]
        nats += [-float(chances[i, id]) for i, id in enumerate(window[1:])]
    found = text_quality(ckpt, text)
    assert len(nats) == found["n"] == len(ids) - 1
    assert found["loss"] == pytest.approx(sum(nats) / len(nats), rel=1e-5)
    assert found["bits_per_char"] == pytest.approx(sum(nats) / (len(text) - 1) / log(2), rel=1e-5)
