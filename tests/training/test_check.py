"""What is said before a run: counted again here, timed by a clock of its own, and never a traceback."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from transformer.model.models import Transformer
from transformer.presets import PRESETS, preset
from transformer.training import check as checking
from transformer.training.check import TIMED, check, summary
from transformer.training.optim import make_optimizers
from transformer.training.size import (
    Peak,
    device_memory,
    estimated_activations,
    kept_memory,
    parameters_by_part,
    skeleton,
)
from transformer.training.tasks import prepare
from transformer.training.trainer import Trainer, TrainingError

ROOT = Path(__file__).resolve().parents[2]
CPU = torch.device("cpu")
PAIRS = "".join(f"The {thing} is {how}.\tLe {chose} est {comment}.\n" for thing, chose in (
    ("cat", "chat"), ("dog", "chien"), ("wind", "vent"), ("bread", "pain"), ("book", "livre"), ("bed", "lit"))
    for how, comment in (("red", "rouge"), ("big", "grand"), ("old", "vieux"), ("cold", "froid"), ("dry", "sec")))
TINY = {"d_model": 16, "n_heads": 2, "d_ff": 24, "encoder_layers": 1, "decoder_layers": 2, "max_len": 40,
        "tokenizer": "word", "optimizer": "adamw", "batch_tokens": 60, "steps": 50, "eval_every": 20}


@pytest.fixture
def config(tmp_path, monkeypatch):
    """config(steps=3, ...) of a small translator on thirty pairs, without waiting for the disk."""
    monkeypatch.setattr("os.fsync", lambda handle: None)
    path = tmp_path / "mine.tsv"
    path.write_text(PAIRS, "utf-8")
    return lambda **settings: preset("translate").set({**TINY, "corpus": str(path), **settings})


def levels(found):
    return [problem["level"] for problem in found["problems"]]


# Size


@pytest.mark.parametrize("name", PRESETS)
def test_the_parts_add_up_to_all_parameters(name):
    shrunk = {stack: min(1, getattr(preset(name).model, stack)) for stack in ("encoder_layers", "decoder_layers")}
    config = preset(name).set({**shrunk, "d_model": 32, "n_heads": 2, "d_ff": 48, "vocab_size": 90} | (
        {"src_vocab_size": 80} if preset(name).model.src_vocab_size else {})).model
    model = Transformer(config)
    parts = parameters_by_part(model)
    assert parts == parameters_by_part(skeleton(config))
    assert sum(parts.values()) == sum(p.numel() for p in model.parameters())
    cross = [layer.cross for layer in model.decoder.layers] if "cross" in config.kinds else []
    norms = sum(p.numel() for layer in model.decoder.layers for p in layer.cross_norm.parameters()) if cross else 0
    assert parts.get("cross attention", 0) == sum(p.numel() for one in cross for p in one.parameters()) + norms
    tied = config.tie_embeddings and config.decoder_layers
    assert parts.get("output", 0) == (0 if tied else sum(p.numel() for p in model.output.parameters())) + (
        config.vocab_size if tied and config.logits_bias else 0)
    assert parts["embeddings"] >= 90 * 32


def test_a_shape_has_only_its_own_parts():
    assert list(parameters_by_part(skeleton(preset("shakespeare").model))) == ["embeddings", "decoder"]
    assert list(parameters_by_part(skeleton(preset("sentiment").model))) == ["embeddings", "encoder", "output"]


@pytest.mark.parametrize("optimizer", ["adam", "adamw", "rmsprop", "muon"])
def test_weights_gradients_and_optimizer_take_what_they_take(optimizer):
    config = preset("translate").set({**TINY, "optimizer": optimizer, "vocab_size": 50})
    model = Transformer(config.model)
    optimizers = make_optimizers(model, config.train)
    model(torch.tensor([[5, 6]]), torch.tensor([[2, 7]])).sum().backward()
    for one in optimizers:
        one.step()
    kept = kept_memory(model, config.train)
    assert kept["weights"] == sum(4 * p.numel() for p in model.parameters())
    assert kept["gradients"] == sum(4 * p.grad.numel() for p in model.parameters())
    states = [value for one in optimizers for state in one.state.values() for value in state.values()]
    assert kept["optimizer"] == sum(4 * value.numel() for value in states if value.dim())


def test_the_estimate_grows_with_what_it_depends_on():
    small = preset("translate").set(TINY)
    base = estimated_activations(small.model, small.train, length=10)
    for change in ({"batch_tokens": 120}, {"d_ff": 48}, {"decoder_layers": 3}, {"vocab_size": 9_000}):
        other = small.set(change)
        assert estimated_activations(other.model, other.train, length=10) > base
    assert estimated_activations(small.model, small.train, length=20) > base


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="the kernel counts no peak here")
def test_the_peak_is_what_was_in_use_in_between_and_has_gone():
    peak = Peak(CPU)
    torch.ones(60_000_000 // 4)  # freed at once
    assert 55e6 < peak.read() < 120e6


def test_the_cpu_says_how_much_memory_it_has():
    assert 0 < device_memory(CPU) < 1e15


# The check


def test_everything_is_said_before_a_run(config):
    said = []
    found = check(config(), device=CPU, watch=said.append)
    assert json.loads(json.dumps(found)) == found
    task = prepare(config())
    assert found["config"] == task.config.model_dump(mode="json")
    assert found["look"]["splits"] == {"train": 24, "validation": 3, "test": 3}
    assert found["parameters"]["total"] == sum(p.numel() for p in Transformer(task.config.model).parameters())
    labels = sum(task.batches[i].tokens for i in range(len(task.batches)))
    tokens = found["tokens"]
    assert (tokens["an_epoch"], tokens["counted"]) == (labels, "tokens")
    assert tokens["a_step"] == pytest.approx(labels / len(task.batches))
    assert tokens["epochs"] == pytest.approx(50 / len(task.batches))
    assert tokens["total"] == pytest.approx(tokens["epochs"] * labels)
    took = found["time"]
    assert took["steps_timed"] == TIMED
    assert took["fastest"] <= took["seconds_a_step"] <= took["slowest"]
    assert took["evaluations"] == 3
    assert took["total"] == pytest.approx(50 * took["seconds_a_step"] + took["evaluation"])
    memory = found["memory"]
    assert memory["total"] == sum(memory[part] for part in ("weights", "gradients", "optimizer", "activations"))
    assert sum("step" in line for line in said) == TIMED + 1
    assert levels(found) == []
    lines = "\n".join(summary(found))
    for expected in ("mine.tsv: train 24, validation 3, test 3 different sources", f"{labels / len(task.batches):,.0f} "
                     "tokens a step", "by 10 steps timed", f"{found['parameters']['total']:,} parameters"):
        assert expected in lines


@pytest.mark.parametrize(("changes", "counted", "an_epoch"), [
    ({"task": "language-model", "corpus": "mine.txt", "encoder_layers": 0, "tokenizer": "char", "max_len": 20},
     "tokens", 1_260),
    ({"task": "classification", "corpus": "mine.csv", "decoder_layers": 0, "pooling": "max", "n_classes": 2,
      "tie_embeddings": False}, "texts", 30)])
def test_text_and_classes_are_counted_in_their_own_units(config, tmp_path, monkeypatch, changes, counted, an_epoch):
    sources = [line.split("\t")[0] for line in PAIRS.splitlines()]
    (tmp_path / "mine.txt").write_text("\n".join(sources * 3))
    (tmp_path / "mine.csv").write_text("text,label\n" + "".join(f"{text},{'ab'[i % 2]}\n" for i, text in
                                                                enumerate(sources)))
    monkeypatch.chdir(tmp_path)
    found = check(config(**changes), device=CPU)
    assert found["tokens"]["counted"] == counted
    assert found["tokens"]["an_epoch"] == pytest.approx(an_epoch, abs=60 * (counted == "tokens"))
    assert found["time"]["steps_timed"] == TIMED
    assert "error" not in levels(found)


def test_the_time_is_that_of_the_steps_without_the_first(config, monkeypatch):
    clock, real = [0.0], Trainer.train_step

    def train_step(self):
        clock[0] += 9.0 if self.step == 0 else 2.0 + 0.1 * self.step
        return real(self)

    monkeypatch.setattr(Trainer, "train_step", train_step)
    monkeypatch.setattr(checking.time, "perf_counter", lambda: clock[0])
    monkeypatch.setattr(checking.time, "monotonic", lambda: clock[0])
    took = check(config(), device=CPU)["time"]
    assert took["steps_timed"] == 9  # 9 + 2.1 + 2.2 + ... is over 30 seconds after these
    assert (took["first"], took["fastest"], took["slowest"]) == pytest.approx((9, 2.1, 2.9))
    assert took["seconds_a_step"] == pytest.approx(2.5)
    assert took["training"] == pytest.approx(125)


def test_nothing_is_left_behind(config, tmp_path, monkeypatch):
    monkeypatch.setattr(checking.tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    check(config(), device=CPU)
    assert not list((tmp_path / "temporary").iterdir())


# What does not fit


@pytest.mark.parametrize(("settings", "message"), [
    ({"max_len": 2}, "none of the 24 training pairs fits max_len 2: the shortest takes 5 tokens; set max_len to 5"),
    ({"corpus": "nowhere.tsv"}, "nowhere.tsv cannot be read"),
    ({"task": "language-model", "encoder_layers": 0}, "mine.tsv has no running text, which language-model learns from"),
    ({"vocab_size": 20, "tokenizer": "bpe"}, "a vocabulary of 20 pieces is too small for this corpus"),
    ({"pinned": ["Never read."]}, "give its translation after a tab"),
    ({"encoder_layers": 0}, "this model has 0 encoder layers"),
])
def test_what_does_not_fit_is_a_problem_with_its_remedy(config, settings, message):
    found = check(config(**settings), device=CPU)
    (problem,) = found["problems"]
    assert problem["level"] == "error"
    assert message in problem["text"]
    assert found["time"] is None
    assert found["parameters"]["total"] > 0
    assert f"error: {problem['text']}" in summary(found)


def test_a_model_larger_than_the_memory_is_not_tried_and_the_data_is_shown_all_the_same(config, monkeypatch):
    monkeypatch.setattr(checking, "device_memory", lambda device: 50_000)
    found = check(config(), device=CPU)
    assert found["look"] is not None
    assert found["time"] is None
    kept = sum(found["memory"][part] for part in ("weights", "gradients", "optimizer"))
    assert f"weights, gradients and optimizer take {kept / 1e6:.1f} MB, and cpu has 0.1 MB left; lower d_model" in (
        found["problems"][0]["text"])
    assert "error" in levels(found)


def test_a_vocabulary_that_the_corpus_does_not_fill_takes_no_memory(config, monkeypatch):
    small = config(vocab_size=100_000)
    monkeypatch.setattr(checking, "device_memory", lambda device: 10_000_000)
    assert sum(kept_memory(skeleton(small.model), small.train).values()) > 10_000_000
    assert check(small, device=CPU)["time"]["steps_timed"] == TIMED


@pytest.mark.parametrize(("error", "message"), [
    (torch.OutOfMemoryError("CUDA out of memory. Tried to allocate"), "cpu ran out of memory; lower batch_tokens from "
                                                                      "60"),
    (RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried"), "cpu ran out of memory"),
    (MemoryError(), "cpu ran out of memory"),
    (TrainingError("the loss at step 3 is nan"), "the loss at step 3 is nan"),
])
def test_a_trial_that_fails_is_a_problem_beside_all_else(config, monkeypatch, error, message):
    def train_step(self):
        raise error

    monkeypatch.setattr(Trainer, "train_step", train_step)
    found = check(config(), device=CPU)
    assert levels(found) == ["error"]
    assert message in found["problems"][0]["text"]
    assert found["memory"]["measured_steps"] == 0
    assert found["tokens"] is not None


def test_a_mistake_of_ours_is_no_problem_of_the_users(config, monkeypatch):
    def train_step(self):
        raise RuntimeError("shapes do not match")

    monkeypatch.setattr(Trainer, "train_step", train_step)
    with pytest.raises(RuntimeError, match="shapes do not match"):
        check(config(), device=CPU)


@pytest.mark.parametrize(("settings", "message"), [
    ({"max_len": 19, "tokenizer": "char"}, "max_len 19 leaves "),
    ({"tokenizer": "bpe", "vocab_size": 5_000}, "the corpus yields no more pieces"),
    ({"steps": 9_999}, "9,999 steps read the corpus"),
])
def test_what_is_probably_not_meant_is_a_warning(config, settings, message):
    found = check(config(**settings), device=CPU)
    assert levels(found) == ["warning"]
    assert message in found["problems"][0]["text"]


def test_words_that_training_never_saw_and_a_corpus_too_small_to_hold_out_are_warned_of(config, tmp_path):
    (tmp_path / "mine.tsv").write_text("".join(f"word{i}\tmot{i}\n" for i in range(30)))
    assert "% of the held-out pieces are unknown" in check(config(), device=CPU)["problems"][0]["text"]
    (tmp_path / "mine.tsv").write_text("Go.\tVa !\nStop.\tArrête.\n")
    assert any("nothing is held out" in problem["text"] for problem in check(config(), device=CPU)["problems"])


def test_the_command_prints_one_json_line_last_and_its_progress_beside(config, tmp_path):
    config()
    command = [sys.executable, "-m", "transformer", "check", "--device", "cpu", "--steps", "7", "--json"]
    for name, value in {**TINY, "corpus": tmp_path / "mine.tsv"}.items():
        command += ["--set", f"{name}={value}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["time"]["steps"] == found["tokens"]["steps"] == 7
    assert "Trying out: step 11 of 11" in done.stderr
    failed = subprocess.run([*command, "--set", "max_len=2"], cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert failed.returncode == 1
    assert "fits max_len 2" in json.loads(failed.stdout)["problems"][0]["text"]
    assert "Traceback" not in failed.stderr
