"""Training: exact to resume, honest about how it ended, and all on disk that watching needs."""

import json
import os
import signal
import subprocess
import sys
import threading
from itertools import pairwise
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file

from tests.rows import each_row
from tests.training import made_up
from tests.training.made_up import (
    CLASSIFIES,
    CPU,
    LABELLED_CORPUS,
    PAIRS,
    WRITES,
    assert_same,
    at,
    make,
    outcome,
    rows,
    status,
    stop_after,
)
from transformer.checkpoints import checkpoint
from transformer.evaluation.quality import HeldOut, cross_entropy, held_out_loss, label_logits
from transformer.jobs import run_files
from transformer.model.models import Transformer
from transformer.settings.config import RunConfig
from transformer.settings.presets import PRESETS, preset
from transformer.text.batches import PairBatches
from transformer.training import tasks, trainer
from transformer.training.event_file import read_events
from transformer.training.record import log_steps
from transformer.training.trainer import Trainer, TrainingError, choose_device, compiles

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def made_up_corpora(monkeypatch):
    made_up.use(monkeypatch)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """whole({"lr": 0.1}): the outcome of such a run that nothing interrupted."""
    known = {}

    def run(settings):
        if (key := str(settings)) not in known:
            folder = tmp_path_factory.mktemp("whole")
            assert make(folder, **settings).run() == "finished"
            known[key] = outcome(folder)
        return known[key]

    return run


# Learning


@pytest.mark.parametrize("settings", [
    pytest.param({"steps": 60}, id="translation"), pytest.param({**WRITES, "steps": 60}, id="text"),
    pytest.param({"steps": 40, "optimizer": "muon"}, id="muon",
                 marks=pytest.mark.rare("a run with it that is stopped is in make test")),
    pytest.param({**CLASSIFIES, "steps": 60}, id="classes")])
def test_the_loss_falls_and_the_run_finishes(tmp_path, settings):
    run, watched = make(tmp_path, **settings, eval_every=20), []
    assert run.run(watch=watched.append) == "finished"
    found = run_files.read(tmp_path / "metrics.jsonl")
    assert found == watched
    losses = [row["loss"] for row in found if "loss" in row]
    held_out = [row["validation_loss"] for row in found if "validation_loss" in row]
    assert losses[-1] < 0.8 * losses[0]
    assert held_out == sorted(held_out, reverse=True)
    steps = settings["steps"]
    assert [row["step"] for row in found if "loss" in row] == [*range(1, 10), *range(10, steps + 1, 10)]
    assert status(tmp_path) | {"state": "finished", "why": None, "step": steps, "steps": steps} == status(tmp_path)
    assert status(tmp_path)["best"] == min(held_out)
    last = found[-2]
    assert last["tokens_per_sec"] > 0
    assert last["epoch"] == pytest.approx(steps / len(run.task.batches))
    assert last["grad_norm"] > 0


def test_the_same_seed_gives_the_same_losses_however_often_one_looks_and_another_seed_others(tmp_path, whole):
    make(tmp_path / "again").run()
    assert_same(outcome(tmp_path / "again"), whole({}))
    assert rows(tmp_path / "again") != whole({"seed": 2})[0]
    make(tmp_path / "looked at", eval_every=2, save_every=3).run()
    found = load_file(tmp_path / "looked at" / "last" / "model.safetensors")
    assert all(torch.equal(weight, whole({})[2]["last/model.safetensors"][name]) for name, weight in found.items())


def test_half_precision_on_the_way_keeps_weights_in_full(tmp_path):
    run = make(tmp_path, precision="bfloat16", steps=2)
    seen = []
    hook = run.model.output.register_forward_hook(lambda module, inputs, output: seen.append(output.dtype))
    run.train_step()
    hook.remove()
    assert set(seen) == {torch.bfloat16}
    assert {p.dtype for p in run.model.parameters()} == {torch.float32}


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_two_halves_accumulated_are_one_large_batch(tmp_path, smoothing):
    pairs = [([5, 6, 7], [8, 9]), ([9, 8], [7, 6, 5, 4, 9]), ([5], [6]), ([7, 7, 7, 8, 9, 5], [9])]
    options = {"batch_tokens": 1000, "pad_id": 0, "start_id": 2, "eos_id": 3, "seed": 1}
    halves = [PairBatches(part, **options)[0] for part in (pairs[:1], pairs[1:])]  # of different sizes
    whole = PairBatches(pairs, **options)[0]
    found = []
    for name, batches in (("halves", halves), ("whole", [whole])):
        run = make(tmp_path / name, accumulate=len(batches), dropout=0.0, clip=None, label_smoothing=smoothing)
        run.batches = batches
        done = run.train_step()
        found.append((done.loss / done.tokens, done.tokens, done.grad_norm, [p.grad for p in run.model.parameters()]))
    (loss, tokens, norm, gradients), (expected, all_tokens, expected_norm, expected_gradients) = found
    assert tokens == all_tokens == 13
    assert loss == pytest.approx(expected, rel=1e-5)
    assert norm == pytest.approx(expected_norm, rel=1e-4)
    for ours, theirs in zip(gradients, expected_gradients, strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-6, rtol=1e-4)


@pytest.mark.parametrize("clip", [None, 0.01])
def test_a_step_descends_along_the_mean_gradient_of_its_tokens_clipped_where_it_is_too_long(tmp_path, clip):
    run = make(tmp_path, dropout=0.0, clip=clip, optimizer="adamw")
    batch = run.task.batches[0]
    loss = cross_entropy(*label_logits(run.model, batch), label_smoothing=0.1) / batch.tokens
    expected = torch.autograd.grad(loss, list(run.model.parameters()))
    norm = torch.cat([g.flatten() for g in expected]).norm().item()
    found = run.train_step()
    assert found.loss / found.tokens == pytest.approx(loss.item())
    assert found.grad_norm == pytest.approx(norm, rel=1e-4) and norm > 0.1  # what is reported is what it was
    for parameter, gradient in zip(run.model.parameters(), expected, strict=True):
        torch.testing.assert_close(parameter.grad, gradient * (1 if clip is None else clip / norm))


# What is learned from beside the labels, and what is kept


def test_with_an_average_of_weights_the_average_is_measured_and_saved(tmp_path):
    run = make(tmp_path, ema=0.8, steps=12)
    run.run()
    saved = dict(checkpoint.load(tmp_path / "last").model.named_parameters())
    averaged, trained = dict(run.average.model.named_parameters()), dict(run.model.named_parameters())
    assert all(torch.equal(saved[name], weights) for name, weights in averaged.items())
    assert not all(torch.equal(weights, trained[name]) for name, weights in averaged.items())
    last = [row for row in rows(tmp_path) if "validation_loss" in row][-1]["validation_loss"]
    held_out = run.task.held_out
    assert last == pytest.approx(held_out_loss(run.average.model, held_out))
    assert last != pytest.approx(held_out_loss(run.model, held_out))


def test_an_average_can_begin_in_the_middle_of_a_run_and_end_there(tmp_path):
    stop_after(make(tmp_path), 7).run()
    stop_after(make(tmp_path, ema=0.9), 9).run()
    run = make(tmp_path, ema=0.9)
    trained = load_file(tmp_path / "last" / "state.safetensors")
    assert all(torch.equal(trained[f"weights.{name}"], weights) for name, weights in run.model.named_parameters())
    run.batches.close()
    run._held.close()
    make(tmp_path).run()
    assert not any(name.startswith("weights.") for name in load_file(tmp_path / "last" / "state.safetensors"))


def test_a_training_goes_on_from_the_weights_of_a_checkpoint_unless_they_mean_something_else(tmp_path):
    make(tmp_path / "first", steps=10).run()
    first, start_from = checkpoint.load(tmp_path / "first" / "last"), str(tmp_path / "first" / "last")
    run = make(tmp_path / "second", start_from=start_from, seed=5, steps=4)
    assert run.step == 0
    assert run.task.tokenizer.digest == first.tokenizer.digest
    for name, weights in first.model.named_parameters():
        assert torch.equal(weights, dict(run.model.named_parameters())[name])
    run.run()
    losses = [next(row["loss"] for row in rows(tmp_path / name) if "loss" in row) for name in ("second", "first")]
    assert losses[0] < losses[1]
    for setting, value in (("d_model", 24), ("n_heads", 4), ("activation", "gelu"), ("embedding_scale", False),
                           ("positions", "rotary")):
        with pytest.raises(ValueError, match=rf"start_from: last@\w+ has {setting} .*, and this model .*; choose its"):
            make(tmp_path / "third", start_from=start_from, **{setting: value})


def test_a_checkpoint_with_a_shorter_table_of_positions_is_not_gone_on_from(tmp_path):
    make(tmp_path / "first", steps=2, positions="learned").run()
    start_from = str(tmp_path / "first" / "last")
    make(tmp_path / "second", start_from=start_from, positions="learned", dropout=0.3)._held.close()
    with pytest.raises(ValueError, match=r"start_from: last@\w+ has \(\d+, \d+\) for .*, or set its max_len"):
        make(tmp_path / "third", start_from=start_from, positions="learned", max_len=48)


def test_the_kind_of_a_tokenizer_that_is_gone_on_with_stands_in_the_settings(tmp_path):
    make(tmp_path / "first", steps=2, tokenizer="char").run()
    run = make(tmp_path / "second", start_from=str(tmp_path / "first" / "last"), tokenizer="unigram")
    assert run.config.train.tokenizer == "char"
    run._held.close()
    with pytest.raises(ValueError, match="and the tokenizer of start_from is char; leave it out"):
        make(tmp_path / "third", start_from=str(tmp_path / "first" / "last"), tokenizer="bpe", subword_sampling=0.3)


@pytest.mark.parametrize("settings", [
    pytest.param({}, id="translation", marks=pytest.mark.rare("trains four models; classes are in make test")),
    pytest.param(WRITES, id="text", marks=pytest.mark.rare("trains four models; classes are in make test")),
    pytest.param(CLASSIFIES, id="classes")])
def test_teachers_pull_a_model_towards_what_they_predict(tmp_path, settings):
    settings = {**settings, "dropout": 0.0, "steps": 40}
    teachers = []
    for seed in (1, 2):
        make(tmp_path / f"teacher{seed}", **{**settings, "steps": 10}, seed=seed).run()  # far from certain
        teachers.append(str(tmp_path / f"teacher{seed}" / "last"))
    near = make(tmp_path / "taught", **settings, seed=3, distill=teachers, distill_share=0.9)
    far = make(tmp_path / "alone", **settings, seed=3)
    probabilities = []
    for run in (near, far):
        run.run()
        batch = run.task.batches[0]
        probabilities.append([label_logits(one, batch)[0].softmax(-1) for one in (
            run.model.eval(), *(checkpoint.load(folder).model for folder in teachers))])
    apart = [(ours - sum(theirs) / 2).abs().mean().item() for ours, *theirs in probabilities]
    assert apart[0] < apart[1]


OWN = {"tie_embeddings": False, "src_vocab_size": 30}


@pytest.mark.parametrize(("theirs", "ours", "why"), [
    ({"vocab_size": 25}, {}, "reads or predicts other pieces or classes than this run; train it"),
    ({**OWN, "src_vocab_size": 12}, OWN, "reads or predicts other pieces or classes than this run; train it"),
    ({"max_len": 20}, {"max_len": 24}, "reads at most 20 tokens, and this run 24; set max_len to 20 or less")])
def test_a_teacher_of_other_pieces_or_for_shorter_texts_is_refused(tmp_path, theirs, ours, why):
    make(tmp_path / "teacher", steps=2, **theirs).run()
    with pytest.raises(ValueError, match=rf"distill: last@\w+ {why}"):
        make(tmp_path / "student", distill=[str(tmp_path / "teacher" / "last")], **ours)


# Stopping and going on


@pytest.mark.parametrize(("settings", "stops"), [
    ({}, [7]),
    ({"ema": 0.9, "r_drop": 1.0}, [3, 11]),
    ({"tokenizer": "unigram", "subword_sampling": 0.3, "as_typed": 0.2, "joined": 0.2, "other_names": 0.5,
      "steps": 30}, [11]),
    ({"optimizer": "rmsprop", "schedule": "plateau", "plateau_patience": 1, "eval_every": 3, "lr": 0.05}, [11]),
    ({**WRITES, "optimizer": "muon", "accumulate": 2}, [9]),
    (CLASSIFIES, [7]),
    *(pytest.param(*row, marks=pytest.mark.rare("trains three times; its parts are in earlier rows")) for row in (
        ({}, [10]), ({"accumulate": 2}, [3, 11]), ({"optimizer": "muon"}, [13]),
        ({"optimizer": "adam", "schedule": "inverse_sqrt", "output_dropout": 0.3}, [1]),
        ({"src_vocab_size": 50, "tie_embeddings": False, "standardise": True}, [7])))], ids=str)
def test_a_run_that_was_stopped_ends_as_one_that_was_not(tmp_path, whole, settings, stops):
    for stop in stops:
        run = stop_after(make(tmp_path, **settings), stop)
        assert run.run() == "stopped"
        assert run.step == status(tmp_path)["step"] == stop
        assert run.epoch % 1  # in the middle of one
    assert make(tmp_path, **settings).run() == "finished"
    assert_same(outcome(tmp_path), whole(settings))


@pytest.mark.parametrize("crash", [
    8, pytest.param(10, marks=pytest.mark.rare("at a save; between two is in make test"))])
def test_a_run_that_crashed_goes_on_from_its_last_save_and_ends_the_same(tmp_path, whole, crash):
    def fail():
        raise RuntimeError("out of luck")

    with pytest.raises(RuntimeError, match="out of luck"):
        at(make(tmp_path), crash, fail).run()
    assert status(tmp_path) | {"state": "failed", "why": "out of luck"} == status(tmp_path)
    with open(tmp_path / "metrics.jsonl", "ab") as file:
        file.write(b'{"step": 11, "lo')  # as a process that was killed leaves it
    run = make(tmp_path)
    assert run.step == crash - crash % 5
    assert all(row["step"] <= run.step for row in rows(tmp_path))
    run.run()
    assert_same(outcome(tmp_path), whole({}))


def test_minutes_stop_early_and_leave_the_schedule_alone(tmp_path, whole):
    assert make(tmp_path).run(minutes=1e-12) == "stopped"
    assert status(tmp_path) | {"step": 0, "why": "its time was up (1e-12 minutes)"} == status(tmp_path)
    assert make(tmp_path).run() == "finished"
    assert status(tmp_path)["why"] is None
    assert outcome(tmp_path)[0] == whole({})[0]


CHILD = """
import os, signal, sys, torch
from pathlib import Path
from tests.training import made_up
made_up.tasks.corpus = lambda name: made_up.PAIR_CORPUS
torch.set_num_threads(int(sys.argv[2]))
run = made_up.make(Path(sys.argv[1]), optimizer="muon")
made_up.at(run, 6, lambda: os.kill(os.getpid(), signal.SIGTERM))
print(run.run())
"""


@pytest.fixture
def threads():
    """threads(2): torch computes with so many, until the test ends."""
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


@pytest.mark.rare("trains in a process of its own that is told to end")
def test_sigterm_saves_and_exits_and_another_process_goes_on_exactly(tmp_path, threads):
    folder, unbroken = tmp_path / "stopped", tmp_path / "whole"
    result = subprocess.run([sys.executable, "-c", CHILD, str(folder), "2"], cwd=ROOT, timeout=120,
                            capture_output=True, text=True)
    assert (result.returncode, result.stdout) == (0, "stopped\n"), result.stderr
    about = status(folder)
    assert about | {"state": "stopped", "why": None, "step": 7} == about
    assert about["pid"] not in (os.getpid(), None)
    assert checkpoint.load(folder / "last").description.step == 7
    threads(1)
    make(folder, optimizer="muon").run()
    assert torch.get_num_threads() == 1
    threads(2)
    make(unbroken, optimizer="muon").run()
    assert_same(outcome(folder), outcome(unbroken))


def test_a_run_works_outside_the_main_thread(tmp_path):
    found = []
    thread = threading.Thread(target=lambda: found.append(make(tmp_path, steps=3).run()))
    thread.start()
    thread.join()
    assert found == ["finished"]


@pytest.mark.parametrize("number", [
    float("nan"), pytest.param(float("inf"), marks=pytest.mark.rare("found by the same line as nan"))])
def test_a_loss_that_is_no_number_fails_the_run_and_keeps_what_was_saved(tmp_path, number):
    run = make(tmp_path)

    def spoil():
        with torch.no_grad():
            run.model.output.weight.fill_(number)

    with pytest.raises(TrainingError, match="the loss at step 8 is nan; the save of step 5 is whole. Resume"):
        at(run, 7, spoil).run()
    about = status(tmp_path)
    assert about["state"] == "failed"
    assert "the loss at step 8 is nan" in about["why"]
    assert [(event["step"], event["alert"]) for event in read_events(tmp_path) if event["alert"]] == [
        (8, "not_a_number")]
    kept = checkpoint.load(tmp_path / "last")
    assert kept.description.step == 5
    assert all(p.isfinite().all() for p in kept.model.parameters())
    assert make(tmp_path).run() == "finished"


# What lies in the folder


def test_a_signal_that_interrupts_a_stop_does_not_hold_the_run_up(tmp_path):
    """The app writes the request into the folder and sends a signal: both may be read in the same moment."""
    run, sent = make(tmp_path, steps=12), []

    def interrupt(frame, event, argument):
        if len(sent) < 20:
            sent.append(frame.f_lineno)
            signal.raise_signal(signal.SIGTERM)
        return interrupt

    def ask():
        sys.settrace(interrupt)
        run.stopping.set()
        sys.settrace(None)

    def give_up(*_):
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(30)
    try:
        assert at(run, 5, ask).run() == "stopped"
    finally:
        sys.settrace(None)
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    assert sent


def test_the_status_says_who_is_training_sigterm_stops_only_then_and_a_finished_run_has_nothing_left_to_do(tmp_path):
    seen, run, before = [], make(tmp_path, steps=12), signal.getsignal(signal.SIGTERM)
    assert not (tmp_path / "status.json").exists()
    at(run, 5, lambda: seen.append((status(tmp_path), signal.getsignal(signal.SIGTERM)))).run()
    [(during, handler)], after, mine = seen, status(tmp_path), os.getpid()
    assert (during["state"], during["device"], during["pid"], after["pid"]) == ("running", "cpu", mine, mine)
    assert {"boot_id", "start_time", "time"} < during.keys() and during["start_time"] == after["start_time"]
    assert handler != before and signal.getsignal(signal.SIGTERM) is before
    left = outcome(tmp_path)
    assert make(tmp_path, steps=12).run() == "finished"
    assert_same(left, outcome(tmp_path))


@each_row(("total", "count"), [(1, 8), (2, 8), (7, 8), (100, 8), (4000, 80), (100_000, 80), (60, 80)])
def test_snapshots_are_spaced_by_the_logarithm_of_the_step(total, count):
    found = sorted(log_steps(total, count))
    assert found[0] == 1
    assert found[-1] == total
    assert count / 2 < len(found) <= count or len(found) == total  # the first ones fall together
    ratios = [later / earlier for earlier, later in pairwise(found) if earlier > count]
    assert not ratios or max(ratios) / min(ratios) < 1.1


@pytest.mark.parametrize("settings", [
    pytest.param({}, id="translation"),
    *(pytest.param(settings, id=name, marks=pytest.mark.rare("sixty steps; a translation has all that is kept"))
      for name, settings in (("text", WRITES), ("classes", CLASSIFIES)))])
def test_snapshots_of_weights_and_attention_are_there(tmp_path, settings):
    run = make(tmp_path, steps=60, save_every=60, eval_every=60, **settings)
    run.run()
    weights = sorted(int(path.name) for path in (tmp_path / "snapshots").iterdir())
    assert weights == sorted(log_steps(60, 8))
    assert len(weights) == 8
    for step in weights:
        assert checkpoint.describe(tmp_path / "snapshots" / str(step)).step == step
        assert not (tmp_path / "snapshots" / str(step) / "state.safetensors").exists()
    attention = sorted(int(path.stem) for path in (tmp_path / "attention").glob("*.safetensors"))
    assert attention == [0, *sorted(log_steps(60, 80))]
    assert len(attention) <= 81
    pinned = json.loads((tmp_path / "attention" / "pinned.json").read_text())
    assert 1 <= len([text for text in pinned if not text["random"]]) <= 4
    first = None
    for step in attention:
        path = tmp_path / "attention" / f"{step}.safetensors"
        with safe_open(str(path), "pt") as file:
            assert file.metadata() == {"step": str(step)}
        found = load_file(path)
        assert found.keys() == {f"{i}.{kind}" for i in range(len(pinned)) for kind in run.config.model.kinds}
        for name, bytes_ in found.items():
            text = pinned[int(name.split(".")[0])]
            read, source = len(text["target"] or ()), len(text["source"] or ())
            shapes = {"encoder": (source, source), "decoder": (read, read), "cross": (read, source)}
            assert bytes_.dtype == torch.uint8
            layers = 1 if name.endswith("encoder") else 2
            assert bytes_.shape == (layers, 2, *shapes[name.split(".")[1]])
            assert max(bytes_.shape[2:]) <= 32
            sums = (bytes_.double() / 255).square().sum(-1)
            torch.testing.assert_close(sums, torch.ones_like(sums), atol=0.05, rtol=0)
        first = first or found
    assert any(not torch.equal(found[name], first[name]) for name in found)
    assert sum(path.stat().st_size for path in (tmp_path / "attention").iterdir()) < 10_000_000


def test_a_classifier_learns_its_classes_and_keeps_their_names(tmp_path):
    run = make(tmp_path, **CLASSIFIES, steps=60, eval_every=20)
    run.run()
    assert run.config.model.n_classes == 3
    ckpt = checkpoint.load(tmp_path / "best")
    assert ckpt.classes == ("I", "we", "she")
    items = LABELLED_CORPUS.split("validation")
    log_probabilities = torch.stack([ckpt.model(torch.tensor([ckpt.tokenizer.encode(text)]))[0] for text, _ in items])
    classes = torch.tensor([ckpt.classes.index(label) for _, label in items])
    assert (log_probabilities.argmax(dim=-1) == classes).float().mean() > 0.9
    assert run.best == pytest.approx(-log_probabilities[range(len(items)), classes].mean().item(), rel=1e-4)


def test_pinned_sentences_that_the_corpus_has_are_preferred(tmp_path, monkeypatch):
    monkeypatch.setattr(tasks, "_built_in_pinned", lambda config: (PAIRS[0][0], "not there at all", PAIRS[-1][0]))
    make(tmp_path)
    *pinned, random = json.loads((tmp_path / "attention" / "pinned.json").read_text())
    assert random["random"] and random["target"][1:] == 2 * random["target"][1:][:len(random["target"]) // 2]
    assert ["".join(text["source"]).replace("▁", " ").strip() for text in pinned] == [
        f"{PAIRS[0][0]}</s>", f"{PAIRS[-1][0]}</s>"]
    assert [text["target"][0] for text in pinned] == ["<s>", "<s>"]


def test_a_checkpoint_of_a_run_says_what_it_was_learned_from(tmp_path):
    run = make(tmp_path)
    run.run()
    for name in ("last", "best", "snapshots/1"):
        found = checkpoint.load(tmp_path / name)
        assert found.description.train == run.config.train
        assert found.meta["corpus"] == "made up"
        assert found.meta["corpus_sha256"] == "0" * 64
        assert found.meta["device"] == "cpu"
        assert found.meta["train_pairs"] == len(PAIRS) - 4
        assert found.meta["tokenizer_sha256"] == found.tokenizer.digest
        assert (tmp_path / name / "metrics.jsonl").exists()
    assert RunConfig.model_validate_json((tmp_path / "config.json").read_bytes()) == run.config


def scripted(monkeypatch, losses):
    """Held-out losses as they are told."""
    script = iter(losses)
    monkeypatch.setattr(trainer, "held_out_sums", lambda model, batches, **_: HeldOut(
        next(script) * sum(batch.tokens for batch in batches), 0, 0))


def test_the_best_weights_by_held_out_loss_are_kept(tmp_path, monkeypatch):
    scripted(monkeypatch, [3.0, 2.0, 2.5, 1.5, 1.75])
    make(tmp_path, steps=10, eval_every=2).run()
    best, last = (checkpoint.load(tmp_path / name).description for name in ("best", "last"))
    assert (best.step, best.meta["validation_loss"], last.step) == (8, 1.5, 10)
    assert [row["best"] for row in rows(tmp_path) if "best" in row] == [3.0, 2.0, 2.0, 1.5, 1.5]
    assert status(tmp_path)["best"] == 1.5


def test_a_run_stops_early_where_nothing_gets_better(tmp_path, monkeypatch):
    scripted(monkeypatch, [3.0, 2.0, 2.5, 2.1, 2.0, 1.0])
    run = make(tmp_path, steps=100, eval_every=2, early_stopping=3)
    assert run.run() == "finished"
    assert run.step == 10
    assert status(tmp_path)["why"] == "no improvement of the held-out loss for 3 evaluations"
    assert checkpoint.load(tmp_path / "best").description.step == 4
    assert make(tmp_path, steps=100, eval_every=2, early_stopping=3).run() == "finished"


def test_a_plateau_lowers_the_rate_each_time_patience_ends(tmp_path, monkeypatch):
    scripted(monkeypatch, [2.0, 2.5, 2.5, 2.5, 2.5, 1.0, 1.5, 1.5])
    run, rates = make(tmp_path, steps=8, eval_every=1, warmup=0, schedule="plateau", plateau_patience=2,
                      plateau_factor=0.5, lr=0.01), []
    real = run.train_step
    run.train_step = lambda: (found := real(), rates.append(found.lr))[0]
    run.run()
    assert rates == pytest.approx([0.01, 0.01, 0.01, 0.005, 0.005, 0.0025, 0.0025, 0.0025])


def test_a_device_that_is_not_there_is_refused():
    assert choose_device("cpu") == CPU
    assert choose_device("auto").type in ("cpu", "cuda", "mps")
    for name in ("abacus", "cuda:99"):
        with pytest.raises(ValueError, match=f"device '{name}' is not available here .*; use --device auto"):
            choose_device(name)


@pytest.mark.parametrize(("name", "device", "compiled"), [
    ("shakespeare", "cuda", True), ("translate", "cuda", False), ("pooled-classifier", "cuda", False),
    ("shakespeare", "cpu", False)])
def test_batches_of_one_length_are_compiled_on_a_gpu(name, device, compiled):
    train = preset(name).train
    assert compiles(train, torch.device(device)) == compiled
    for said in (True, False):
        assert compiles(train.replace(compile=said), torch.device(device)) == said


# Presets


SIZES = {"paper-base": 48_000_000, "annotated": 48_000_000, "gpt2": 92_000_000, "shakespeare": 3_200_000}


@each_row("name", PRESETS)
def test_every_preset_builds_at_its_full_size(name):
    config = preset(name)
    assert RunConfig.model_validate_json(config.model_dump_json()) == config
    with torch.device("meta"):
        model = Transformer(config.model)
    if name in SIZES:
        assert sum(p.numel() for p in model.parameters()) == pytest.approx(SIZES[name], rel=0.05)


@pytest.mark.parametrize("name", PRESETS)
def test_a_shrunken_copy_of_every_preset_trains(name, tmp_path):
    config = preset(name)
    layers = {name: min(getattr(config.model, name), 1) for name in ("encoder_layers", "decoder_layers")}
    small = {"d_model": 16, "n_heads": 2, "d_ff": 24, "max_len": 30, "vocab_size": 45, "steps": 2, "batch_tokens": 64}
    small |= layers
    if config.model.src_vocab_size:
        small["src_vocab_size"] = 50
    run = Trainer(tmp_path, config.set(small), device=CPU)
    assert run.run() == "finished"
    for path in (tmp_path / "last", tmp_path / "best"):
        found = checkpoint.load(path)
        kept = ("norm_position", "positions", "activation", "tie_embeddings", "init", "embedding_scale", "logits_bias")
        assert all(getattr(found.config, field) == getattr(config.model, field) for field in kept)
        assert found.tokenizer.kind == config.train.tokenizer
        assert found.tokenizer.standardise == config.train.standardise
