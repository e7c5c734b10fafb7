"""Known results: each number against one made by hand, on models so small that it can be, and what is said of a result
that cannot be computed."""

import json
import time
from contextlib import suppress
from threading import Thread
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import transformer
from transformer.checkpoints.checkpoint import save
from transformer.checkpoints.openings import pairs_of
from transformer.model.changes import scale, uniform
from transformer.studies import known_results
from transformer.studies.known_results import BY_NAME, COLOURS, KNOWN, Models, Outcome, named
from ui.page.pages import EVERY_PAGE

MINUTES = {"left_out", "previous_first", "copying"}  # or a training: tests/browser has one of them
SECONDS = {"gradients", "tuned_lens"}
SOME = {"alignment", "uniform", "estimates"}
RARE = pytest.mark.rare("measures many texts with shipped weights; its formula is held to tiny ones")


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """No model but the shipped ones."""
    monkeypatch.setenv("HEADSUP_HOME", str(tmp_path / "home"))


def test_every_result_has_its_own_name_and_says_where_it_was_published_and_no_other_is_known():
    assert len(BY_NAME) == len(KNOWN)
    for one in KNOWN:
        assert one.published.endswith(".") and not one.agrees_if.endswith("."), one.name
        assert one.url.startswith("https://") and any(year in one.source for year in ("2019", "2020", "2021", "2022",
                                                                                      "2023", "2024", "2025")), one.name
    assert named([]) == list(KNOWN) and named(["sink", "ioi"]) == [BY_NAME["sink"], BY_NAME["ioi"]]
    with pytest.raises(ValueError, match="there is no known result 'sinks'; there are induction, sink,"):
        named(["sinks"])


def test_what_is_recorded_is_of_the_models_that_come_with_it():
    for one in KNOWN:
        found = one.recorded()
        assert (found is None) is (None in one.model_ids()), f"{one.name}: `headsup known {one.name} --record`"
        if found is not None:
            assert found.outcome.link and found.outcome.numbers and found.outcome.verdict != "not computed", one.name


@pytest.mark.slow
@pytest.mark.parametrize("one", [
    pytest.param(one, id=one.name, marks=RARE if one.name in SECONDS else pytest.mark.slow if one.name in SOME else ())
    for one in KNOWN if one.name not in MINUTES])
def test_a_result_comes_out_or_says_what_it_lacks(one):
    done = []
    outcome = one.outcome(Models(), lambda now, of: done.append((now, of)))
    assert all(0 <= now <= of for now, of in done)
    row = json.loads(json.dumps(one.row(outcome)))
    assert row["verdict"] == outcome.verdict in COLOURS and row["here"].endswith(".")
    if "smollm2" in one.models or "gpt2" in one.models:
        assert outcome.verdict == "not computed" and "headsup import" in outcome.here and outcome.link is None
        return
    assert outcome.verdict != "not computed" and outcome.numbers
    assert one.recorded().outcome.verdict == outcome.verdict
    assert dict(one.recorded().outcome.numbers) == pytest.approx(dict(outcome.numbers), rel=0.02, abs=0.02)
    page, _ = outcome.link
    assert page in EVERY_PAGE
    for number in outcome.numbers.values():
        assert np.isfinite(number)


@pytest.mark.parametrize("settings", [{}, {"kv_heads": 1}])
def test_induction_is_the_weight_on_what_came_next(make_checkpoint, settings):
    ckpt = make_checkpoint(encoder_layers=0, positions="rotary", **settings)
    found = known_results.induction_of(ckpt, rows=2, count=6, seed=3)
    generator, config = torch.Generator().manual_seed(3), ckpt.config
    pool = [id for id in range(config.vocab_size) if id not in (
        config.pad_id, config.unk_id, config.bos_id, config.eos_id)]
    expected = torch.zeros(2, 2)
    for _ in range(2):
        ids = [pool[at] for at in torch.randperm(len(pool), generator=generator)[:6].tolist()] * 2
        attention = ckpt.model.decode(torch.tensor([ids]), causal=True, readable=True).attention
        for query in range(6, 11):
            place = ids.index(ids[query]) + 1
            expected += torch.stack([layer.weights[0, :, query, place] for layer in attention]) / 10
    np.testing.assert_allclose(found, expected.numpy(), atol=1e-6)


@pytest.mark.parametrize("settings", [{}, {"kv_heads": 1}, {"tie_embeddings": True}])
def test_copying_is_that_of_the_whole_map_from_token_to_logit(make_checkpoint, settings):
    ckpt = make_checkpoint(encoder_layers=0, **settings)
    model, found = ckpt.model, known_results.copying_of(ckpt)
    embedded, written = model.tgt_embedding.tokens.weight.double(), model.output.weight.double()
    for layer in range(2):
        part = model.attention("decoder", layer)
        for head in range(2):
            group = head // (2 // part.groups)
            v = part.v_proj.weight.double()[8 * group: 8 * group + 8]
            o = part.out_proj.weight.double()[:, 8 * head: 8 * head + 8]
            values = torch.linalg.eigvals(embedded @ v.T @ o.T @ written.T)
            assert found[layer, head] == pytest.approx(float(values.real.sum() / values.abs().sum()), abs=1e-5)


def test_kendalls_tau():
    assert known_results.kendall(np.array([1.0, 2, 3, 4]), np.array([10.0, 20, 30, 40])) == pytest.approx(1)
    assert known_results.kendall(np.array([1.0, 2, 3, 4]), np.array([4.0, 3, 2, 1])) == pytest.approx(-1)
    # one pair of six is the other way round: (5 - 1) / 6
    assert known_results.kendall(np.array([1.0, 2, 3, 4]), np.array([1.0, 2, 4, 3])) == pytest.approx(4 / 6)
    # a tie counts for neither: 5 pairs, and 6 on the other side
    assert known_results.kendall(np.array([1.0, 1, 3, 4]), np.array([1.0, 2, 3, 4])) == pytest.approx(5 / np.sqrt(30))
    assert np.isnan(known_results.kendall(np.ones(3), np.arange(3.0)))


def test_importance_is_attention_gradient_and_what_is_lost_without(classifier):
    text = "I see a dog."
    ids = classifier.source_tokenizer.encode(text)
    found = known_results.importance(classifier, ids)
    read = transformer.run(classifier, text, capture="encoder.*.pattern")
    chosen = int(read.logits.argmax())
    np.testing.assert_allclose(found["attention"], read["encoder.1.pattern"].mean((0, 1)).numpy(), atol=1e-6)
    small = 1e-3
    for at in range(len(ids)):
        without = torch.tensor([ids[:at] + ids[at + 1:]])
        logs = classifier.model.classify(classifier.model.encode(without).x, without)[0]
        assert found["left out"][at] == pytest.approx(
            abs(float(read.logits[chosen].exp() - logs[chosen].exp())), abs=1e-6)
        up, down = (float(transformer.run(classifier, text, change=scale("encoder.embed", factor, rows=[at])).logits[
            chosen].exp()) for factor in (1 + small, 1 - small))
        assert found["gradient"][at] == pytest.approx(abs(up - down) / (2 * small), abs=2e-4)


def test_two_names_are_told_apart_by_their_logits(writer, monkeypatch):
    """The mean over prompts, the begin token before each, of the right name's logit less the other's."""
    monkeypatch.setattr(known_results, "IOI", (("{} and {} go, {} is", "I", "a"),))

    def encode(self, text: str) -> list[int]:
        return [10 + len(word) + ord(word[0]) % 7 for word in text.split()]

    monkeypatch.setattr(type(writer.source_tokenizer), "encode", encode)
    begin, expected = writer.config.bos_id, []
    for names, subject, right in ((("I", "a"), "a", "I"), (("I", "a"), "I", "a")):
        ids = [begin, *encode(None, "{} and {} go, {} is".format(*names, subject))]
        logits = writer.model(None, torch.tensor([ids]))[0, -1]
        expected.append(float(logits[encode(None, right)[0]] - logits[encode(None, subject)[0]]))
    assert known_results.name_difference(writer) == pytest.approx(np.mean(expected), abs=1e-5)
    monkeypatch.undo()
    assert len(known_results.IOI) == 4  # as published
    with pytest.raises(ValueError, match="this result is of GPT-2's tokenizer"):
        known_results.name_difference(writer)


@pytest.mark.slow
def test_uniform_heads_are_what_the_result_says(shipped):
    ckpt = shipped("punctuate")
    outcome = BY_NAME["uniform"].outcome(Models())
    from transformer.evaluation.held_out import held_out_sentences

    sentences = held_out_sentences(ckpt, limit=None)
    read = transformer.run(ckpt, [one.text for one in sentences], change=uniform("encoder.*"))
    right = [int(row.argmax()) == one.labels[0] for row, one in zip(read.logits, sentences, strict=True)]
    assert outcome.numbers["uniform"] == pytest.approx(np.mean(right))


@pytest.mark.slow
def test_the_command_prints_rows(headsup):
    code, out, _ = headsup("known", "sink", "sink_forms", "--json")
    rows = json.loads(out)["rows"]
    assert code == 0 and [row["name"] for row in rows] == ["sink", "sink_forms"]
    assert rows[0]["verdict"] == "not computed" and set(rows[1]["numbers"]) >= {"translate", "write"}
    code, out, _ = headsup("known", "sink_forms")
    assert code == 0 and f"When sinks form (Gu et al. 2025): {rows[1]['verdict']}\n" in out
    assert rows[1]["here"] in out
    code, _, err = headsup("known", "nothing")
    assert code == 2 and "there is no known result 'nothing'" in err


def test_a_verdict_needs_two_standard_errors_and_a_result_is_as_plain_values():
    assert known_results.beyond_chance([(3.0, 1.0), (0.5, 0.1)]) == "agrees"
    assert known_results.beyond_chance([(3.0, 1.0), (1.9, 1.0)]) == "undecided"
    assert known_results.beyond_chance([(3.0, 1.0), (-2.1, 1.0)]) == "does not agree"
    one = KNOWN[0]
    row = one.row(Outcome(here="Nothing.", verdict="undecided"))
    assert row["verdict"] == "undecided" and row["numbers"] == {} and row["published"] == one.published


def test_what_calls_itself_a_known_model_and_is_none_is_not_taken(home, make_checkpoint, tmp_path, monkeypatch):
    ckpt = make_checkpoint(encoder_layers=0)
    for place in ("uploads", "imports"):
        save(tmp_path / "home" / place / "mine", ckpt.model, tokenizer=ckpt.tokenizer,
             meta={"step": 1, "imported_from": "smollm2"})
    assert Models.find("smollm2") is None
    monkeypatch.setitem(known_results.SHAPES, "smollm2", (16, 2, 2, ckpt.config.vocab_size))
    assert Models.find("smollm2") == tmp_path / "home" / "imports" / "mine"
    save(tmp_path / "home" / "imports" / "mine", ckpt.model, tokenizer=ckpt.tokenizer,
         meta={"step": 1, "imported_from": "org/smollm2@0a1b2c3"})
    assert Models.find("smollm2") == tmp_path / "home" / "imports" / "mine"  # whatever its revision


class Left(Exception):
    """A visitor has gone."""


def test_who_leaves_a_training_ends_it_and_who_waits_gets_one(monkeypatch):
    """Each who asks waits for the one that trains; if that one goes, the next trains."""
    started, folders = [], []

    def train(folder, preset, *, device, watch):
        started.append(folder)
        folder.mkdir()
        for step in range(3):
            time.sleep(0.05)
            watch({"step": step})

    def leaves(done, of):
        if of:
            raise Left

    def asks(watch):
        with suppress(Left):
            folders.append(known_results.trained_repeat(watch))

    monkeypatch.setattr(known_results, "train", train)
    monkeypatch.setattr(known_results, "_repeat", None)
    visitors = [Thread(target=asks, args=[watch]) for watch in (leaves, lambda done, of: None, lambda done, of: None)]
    for one in visitors:
        one.start()
    for one in visitors:
        one.join(20)
    assert len(started) == 2 and len(folders) == 2 and folders[0] == folders[1] == started[1]
    assert not started[0].exists() and started[1].exists()


def test_a_sink_says_of_how_many_texts_of_each_length_it_is(make_checkpoint, monkeypatch):
    ckpt = make_checkpoint(encoder_layers=0, decoder_layers=4, max_len=200)
    texts = [SimpleNamespace(tgt=[5] * length) for length in (16, 20, 15, 130)]
    monkeypatch.setattr(known_results, "held_out_sentences", lambda *_, **__: texts)
    assert " of 3 texts of 16 tokens" in BY_NAME["sink"].compute({"smollm2": ckpt}, lambda *_: None).here


def test_an_estimate_is_of_pairs_whose_translations_differ(monkeypatch):
    models, translate = Models(), known_results.translate
    pairs = pairs_of(models["translate"])
    monkeypatch.setattr(known_results, "pairs_of", lambda _: pairs[:2])
    monkeypatch.setattr(known_results, "translate", lambda ckpt, texts: (
        translate(ckpt, texts) if texts == [*pairs[0]] else ["Oui.", "Oui."]))
    assert "over 1 pair of sentences" in BY_NAME["estimates"].compute(models, lambda *_: None).here
    monkeypatch.setattr(known_results, "translate", lambda *_: ["Oui.", "Oui. Non."])
    with pytest.raises(ValueError, match="translates no two sentences of a pair differently"):
        BY_NAME["estimates"].compute(models, lambda *_: None)
