"""Switched heads, compared with zeroed weights; and the job that switches each in turn."""

import copy
import errno
import os
from dataclasses import replace
from math import sqrt

import numpy as np
import orjson
import pytest
import torch
from typer.testing import CliRunner

from tests.waiting import until
from transformer.__main__ import app
from transformer.analysis.ablation import (
    Head,
    all_heads,
    compare_paths,
    effects,
    loss_change,
    measure,
    switch_heads,
)
from transformer.analysis.sample import read_texts, sentence_with_class
from transformer.checkpoints import checkpoint
from transformer.evaluation.held_out import held_out_sentences
from transformer.evaluation.quality import evaluate, held_out_loss
from transformer.inference.beam_search import translate
from transformer.inference.decoding import steps
from transformer.inference.reading import attend
from transformer.jobs import run_files
from transformer.jobs.launch import alive, progress, stop
from transformer.jobs.lock import LOCK, file_lock
from transformer.jobs.process import identify
from transformer.jobs.queue import RECORD, record
from transformer.model.models import Transformer
from transformer.settings.config import ModelConfig, TrainConfig
from transformer.studies import ablation_job
from transformer.text.batches import PairBatches

PAIRS = [("I am cold.", "He is tall."), ("Go on.", "We can go home, can we?"), ("Who is it?", "I see a dog."),
         ("We, we can go home.", "a cat.")]


def without(ckpt, head, what="off"):
    """The checkpoint with the head's own weights changed so that it adds nothing, or attends uniformly."""
    model = copy.deepcopy(ckpt.model)
    part, width = model.attention(head.kind, head.layer), ckpt.config.width
    rows = slice(head.head * width, (head.head + 1) * width)
    if what == "off":
        part.out_proj.weight[:, rows] = 0
    else:
        part.q_proj.weight[rows], part.q_proj.bias[rows] = 0, 0
    return checkpoint.Checkpoint(ckpt.description, model, ckpt.tokenizer, ckpt.source_tokenizer)


@pytest.fixture(scope="module")
def trained(make_checkpoint, tiny_tokenizer, tmp_path_factory):
    """A checkpoint folder that names its training corpus: 40 pairs, of which 4 are held out."""
    folder = tmp_path_factory.mktemp("trained")
    words = ["dog", "cat", "cold", "tall"]
    (folder / "mine.tsv").write_text("".join(f"I see a {a} {b} {i}.\tHe is a {b} {a}.\n" for i, (a, b) in enumerate(
        (a, b) for a in words for b in words for _ in range(3))))
    model = Transformer(ModelConfig(d_model=16, n_heads=2, encoder_layers=1, decoder_layers=1, d_ff=32, max_len=24,
                                    vocab_size=tiny_tokenizer.vocab_size), generator=torch.Generator().manual_seed(3))
    checkpoint.save(folder / "tiny", model, tokenizer=tiny_tokenizer,
                    train=TrainConfig(corpus=str(folder / "mine.tsv"), tokenizer="char"))
    return folder / "tiny"


@pytest.mark.slow
@pytest.mark.parametrize("what", ["off", "uniform"])
def test_a_switched_head_is_one_whose_weights_say_so(make_checkpoint, what):
    ckpt, pairs = make_checkpoint(max_len=14), [("I am cold.", "He is tall."), ("Go on.", "a cat.")]
    sentences = read_texts(ckpt, *zip(*pairs, strict=True))
    before = copy.deepcopy(ckpt.model.state_dict())
    baseline = measure(ckpt, sentences)
    rows = list(effects(ckpt, sentences, baseline, all_heads(ckpt.config), what=what))
    assert len(rows) == 3 * 2 * 2
    for row in rows:
        other = without(ckpt, Head(row["kind"], row["layer"], row["head"]), what)
        again = measure(other, sentences)
        assert row["loss"] == pytest.approx(again.loss, abs=1e-5)
        assert row["change"] == pytest.approx(again.loss - baseline.loss, abs=1e-5)
        if row["layer"] == row["head"]:
            assert again.outputs == translate(other, [text for text, _ in pairs])
        assert row["bleu"] == again.bleu
        assert row["other"] == sum(a != b for a, b in zip(again.outputs, baseline.outputs, strict=True))
    assert all(torch.equal(value, before[name]) for name, value in ckpt.model.state_dict().items())


def test_the_loss_is_the_one_that_training_watches(translator, writer, classifier):
    sentences = read_texts(translator, *zip(*PAIRS, strict=True))
    ids = translator.tokenizer.encode_batch
    rows = list(zip(ids([s for s, _ in PAIRS]), ids([t for _, t in PAIRS]), strict=True))
    batches = PairBatches(rows, batch_tokens=60, pad_id=0, start_id=2, eos_id=3, seed=0).in_order()
    assert measure(translator, sentences).loss == pytest.approx(held_out_loss(translator.model, batches), rel=1e-5)
    texts = read_texts(writer, ["I am cold. Go on.", "We can go"])
    found = measure(writer, texts, largest=1)
    for one, sentence in enumerate(texts):
        logits = writer.model(None, torch.tensor([sentence.tgt]))[0].log_softmax(-1)
        expected = -sum(float(logits[at, label]) for at, label in enumerate(sentence.labels))
        assert found.nats[one] == pytest.approx(expected, rel=1e-5)
    assert found.outputs is None and found.right is None
    classified = [replace(s, labels=(at,)) for at, s in enumerate(read_texts(classifier, ["a dog", "Go"]))]
    found = measure(classifier, classified)
    for at, text in enumerate(["a dog", "Go"]):
        scores = attend(classifier, text).logits
        assert found.nats[at] == pytest.approx(-float(scores[at]), rel=1e-5)
        assert found.right[at] == (int(scores.argmax()) == at)


def test_targets_may_start_with_padding(make_checkpoint):
    ckpt = make_checkpoint(start_id=0, bos_id=None)  # as Marian's do
    sentences = read_texts(ckpt, *zip(*PAIRS, strict=True))
    found = measure(ckpt, sentences)
    for one, sentence in enumerate(sentences):
        logs = attend(ckpt, sentence.text, sentence.target).logits.log_softmax(-1)
        expected = -sum(float(logs[at, label]) for at, label in enumerate(sentence.labels))
        assert found.nats[one] == pytest.approx(expected, rel=1e-5)
    path = compare_paths(ckpt, "Go on.", switch_heads(ckpt.config, Head("cross", 0, 0)), max_steps=4)
    assert [float(step.logits.softmax(-1)[step.id]) for step in path.before] == pytest.approx(
        path.probabilities[:, 0].tolist(), rel=1e-4)


def test_the_standard_error_is_that_of_a_ratio():
    baseline, nats, tokens = np.array([4.0, 6.0, 9.0]), np.array([5.0, 6.0, 12.0]), np.array([2, 3, 5])
    change, error = loss_change(nats, baseline, tokens)
    assert change == pytest.approx(4 / 10)
    beyond = [1 - 0.8, 0 - 1.2, 3 - 2.0]
    assert error == pytest.approx(sqrt(3 / 2 * sum(x * x for x in beyond)) / 10)
    same = np.array([4, 4, 4])  # of sentences equally long it is the ordinary one
    change, error = loss_change(nats, baseline, same)
    assert error == pytest.approx(np.std([1 / 4, 0, 3 / 4], ddof=1) / sqrt(3))
    assert loss_change(nats[:1], baseline[:1], tokens[:1]) == (0.5, None)


def test_the_error_of_an_accuracy_counts_the_texts_that_changed_either_way(classifier):
    sentences = [sentence_with_class(classifier, PAIRS[at % 4][0], classifier.classes[at % 3]) for at in range(20)]
    baseline = measure(classifier, sentences)
    baseline = replace(baseline, right=np.arange(20) % 2 == 0)  # some get better and some worse
    for row in effects(classifier, sentences, baseline, all_heads(classifier.config), what="off"):
        head = Head(row["kind"], row["layer"], row["head"])
        after = measure(classifier, sentences, switch_heads(classifier.config, head)).right
        better, worse = (after & ~baseline.right).sum(), (baseline.right & ~after).sum()
        assert row["accuracy_change"] == pytest.approx((better - worse) / 20)
        assert row["accuracy_se"] == pytest.approx(((better + worse) / 400) ** 0.5)
        assert better and worse


@pytest.mark.slow
def test_the_first_token_that_differs_is_marked(translator, writer):
    for ckpt in translator, writer:
        seen = set()
        for head in all_heads(ckpt.config):
            found = compare_paths(ckpt, "I am cold.", switch_heads(ckpt.config, head), max_steps=7)
            other = list(steps(without(ckpt, head), "I am cold.", max_steps=7))
            assert [step.id for step in found.after] == [step.id for step in other]
            ids = [[step.id for step in path] for path in (found.before, found.after)]
            differ = [at for at, (a, b) in enumerate(zip(*ids, strict=False)) if a != b]
            assert found.differs == (differ[0] if differ else None)
            seen.add(found.differs)
            forced = steps(ckpt, "I am cold.", max_steps=7, change=switch_heads(ckpt.config, head),
                           forced=dict(enumerate(ids[0])))
            for at, step in enumerate(forced):
                assert found.probabilities[at, 1] == pytest.approx(float(step.logits.softmax(-1)[step.id]), rel=1e-4)
                assert found.probabilities[at, 0] == pytest.approx(
                    float(found.before[at].logits.softmax(-1)[step.id]), rel=1e-4)
        assert seen - {None}  # else nothing was compared


def test_classes_with_a_head_off_and_what_is_not_there(classifier, translator):
    head = Head("encoder", 1, 0)
    after = attend(classifier, "a dog", change=switch_heads(classifier.config, head)).logits.exp()
    np.testing.assert_allclose(after, attend(without(classifier, head), "a dog").logits.exp(), rtol=1e-4)
    with pytest.raises(ValueError, match="is an encoder and writes no tokens"):
        compare_paths(classifier, "a dog", [])
    for gone in (("memory", 0, 0), ("encoder", 2, 0), ("cross", 0, -1), ("decoder", 0, 2)):
        with pytest.raises(ValueError, match="there is no"):
            switch_heads(translator.config, Head(*gone))
    with pytest.raises(ValueError, match="choose off or uniform"):
        switch_heads(translator.config, Head("encoder", 0, 0), what="on")


@pytest.mark.slow
def test_a_job_that_is_stopped_goes_on_where_it_was(trained, tmp_path):
    ckpt = checkpoint.load(trained)
    seen = []

    def watch(done, of, row):
        seen.append((done, of))
        if len(seen) == 2:
            (folder / "stop").touch()

    folder = ablation_job.place(tmp_path, ckpt.id, limit=3)
    assert ablation_job.run(ckpt, tmp_path, limit=3, watch=watch) == folder
    assert seen == [(1, 6), (2, 6)]
    assert (progress(folder).state, progress(folder).step, progress(folder).steps) == ("stopped", 2, 6)
    found = ablation_job.read(folder)
    assert (found.done, found.of, found.n) == (2, 6, 3)
    assert np.isnan(found.values["cross"]["change"]).all() and not np.isnan(found.values["encoder"]["change"]).any()
    with open(folder / "heads.jsonl", "ab") as file:
        file.write(b'{"kind": "dec')  # as a machine that lost power leaves it

    ablation_job.run(ckpt, tmp_path, limit=3, watch=lambda done, of, row: seen.append((done, of)))
    assert seen[2:] == [(3, 6), (4, 6), (5, 6), (6, 6)]
    assert progress(folder).state == "finished"
    ablation_job.run(ckpt, tmp_path, limit=3, watch=lambda *_: pytest.fail("measured again"))
    found = ablation_job.read(folder)
    assert found.done == 6 and found.baseline["bleu"] == evaluate(ckpt, limit=3)["bleu"]
    sentences = held_out_sentences(ckpt, limit=3, seed=None)
    baseline = measure(ckpt, sentences)
    for row in effects(ckpt, sentences, baseline, all_heads(ckpt.config), what="off"):
        for name in ("change", "se", "bleu_change", "other"):
            assert found.values[row["kind"]][name][row["layer"], row["head"]] == pytest.approx(row[name], abs=1e-12)
    table = found.frame()
    assert [tuple(row) for row in table[["kind", "layer", "head"]].to_numpy()] == all_heads(ckpt.config)
    for row in table.to_dict("records"):
        for name in ("change", "se", "bleu_change", "other"):
            assert row[name] == found.values[row["kind"]][name][row["layer"], row["head"]]


def test_a_job_is_refused_where_another_corpus_or_process_was_at_it(trained, tmp_path):
    ckpt = checkpoint.load(trained)
    folder = ablation_job.run(ckpt, tmp_path, limit=1, what="uniform")
    job = run_files.read_json(folder / "job.json")
    run_files.write_json(folder / "job.json", {**job, "corpus_sha256": "another"})
    with pytest.raises(ValueError, match="another corpus_sha256; delete it"):
        ablation_job.run(ckpt, tmp_path, limit=1, what="uniform")
    assert progress(folder).state == "failed"
    with file_lock(folder / LOCK), pytest.raises(ValueError, match="another process"):
        ablation_job.run(ckpt, tmp_path, limit=1, what="uniform")
    assert ablation_job.read(tmp_path / "nowhere") is None
    for options in ({"what": "on"}, {"limit": 0}):
        with pytest.raises(ValueError, match="choose"):
            ablation_job.run(ckpt, tmp_path, **options)


def test_a_full_disk_and_odd_rows_spoil_no_job(trained, tmp_path, monkeypatch):
    ckpt, append = checkpoint.load(trained), run_files.append

    def refuse(path, row):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(run_files, "append", refuse)
    with pytest.raises(OSError, match="No space left"):
        ablation_job.run(ckpt, tmp_path, limit=1, what="uniform")
    folder = ablation_job.place(tmp_path, ckpt.id, what="uniform", limit=1)
    assert progress(folder).why == "the disk is full (No space left on device); free some space and try again"
    monkeypatch.setattr(run_files, "append", append)
    (folder / "heads.jsonl").write_bytes(b'{"kind": 3}\n[]\n{"kind": "decoder", "layer": 99, "head": 0}\n{}\n')
    assert ablation_job.read(folder).done == 0
    ablation_job.run(ckpt, tmp_path, limit=1, what="uniform")
    assert ablation_job.read(folder).done == ablation_job.read(folder).of


@pytest.mark.slow
def test_a_process_of_its_own_does_it_and_is_stopped(trained, tmp_path):
    folder = ablation_job.launch(trained, tmp_path, limit=2)
    until(lambda: not progress(folder).under_way and not alive(folder),  # it says so before it ends
          lambda: (folder / "log.txt").read_text())
    assert progress(folder).state == "finished", (folder / "log.txt").read_text()
    said = orjson.loads((folder / "log.txt").read_text().splitlines()[-1])
    assert (said["state"], said["done"], said["of"], said["n"]) == ("finished", 6, 6, 2)
    assert len(said["heads"]) == 6
    assert ablation_job.launch(trained, tmp_path, limit=2) == folder
    assert not stop(folder)  # it was not started again
    other = ablation_job.launch(trained, tmp_path, limit=3)
    assert stop(other)
    until(lambda: not progress(other).under_way)
    assert progress(other).state == "stopped"


def test_it_says_whose_it_is_and_keeps_to_so_many_at_once(trained, tmp_path):
    busy = tmp_path / "another@1" / "off-3"
    busy.mkdir(parents=True)
    run_files.write_json(busy / RECORD, identify(os.getpid()))
    assert ablation_job.under_way(tmp_path) == [busy]
    with pytest.raises(ValueError, match="1 of these measurements under way here, at most 1: another@1, off-3"):
        ablation_job.launch(trained, tmp_path, limit=2, at_once=1)
    folder = ablation_job.launch(trained, tmp_path, limit=2, at_once=2, owner="me")
    assert record(folder)["owner"] == "me" and set(ablation_job.under_way(tmp_path)) == {busy, folder}
    assert stop(folder)
    until(lambda: not alive(folder))


def test_the_commands_give_json(trained, tmp_path):
    result = CliRunner().invoke(app, ["ablate", str(trained), "--out", str(tmp_path), "--limit", "1", "--json"])
    said = orjson.loads(result.stdout.splitlines()[-1])
    assert said["state"] == "finished" and said["heads"][0]["kind"] == "encoder"
    result = CliRunner().invoke(app, ["roles", str(trained), "--limit", "3", "--cache", str(tmp_path), "--json"])
    said = orjson.loads(result.stdout.splitlines()[-1])
    assert np.shape(said["roles"]["cross"]["alignment"]["trained"]) == (1, 2)
    assert said["sentences"] == 3 and list(tmp_path.glob("word-alignment-*.safetensors"))
