"""What is said before a run: counted again here, timed by a clock of its own, and never a traceback."""

import json
from pathlib import Path

import pytest
import torch

from tests.rows import each_row
from tests.training.made_up import CPU
from tests.training.made_up import THIRTY_PAIRS as PAIRS
from transformer.model.models import Transformer
from transformer.settings.presets import preset
from transformer.training import check as checking
from transformer.training import memory_size
from transformer.training.check import TIMED, check, summary
from transformer.training.memory_size import kept_memory
from transformer.training.tasks import prepare
from transformer.training.trainer import Trainer, TrainingError

ROOT = Path(__file__).resolve().parents[2]
TINY = {"d_model": 16, "n_heads": 2, "d_ff": 24, "encoder_layers": 1, "decoder_layers": 2, "max_len": 40,
        "tokenizer": "word", "optimizer": "adamw", "batch_tokens": 60, "steps": 50, "eval_every": 20}


@pytest.fixture
def config(tmp_path, monkeypatch):
    """config(steps=3, ...) of a small translator on thirty pairs, without waiting for the disk."""
    monkeypatch.setattr("os.fsync", lambda handle: None)
    path = tmp_path / "mine.tsv"
    path.write_text(PAIRS, "utf-8")
    return lambda **settings: preset("translate-small").set({**TINY, "corpus": str(path), **settings})


def levels(found):
    return [problem["level"] for problem in found["problems"]]


# The check


@pytest.mark.slow
def test_everything_is_said_before_a_run_and_nothing_is_left_behind(config, tmp_path, monkeypatch):
    monkeypatch.setattr(checking.tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    reports = []
    found = check(config(), device=CPU, watch=reports.append)
    assert json.loads(json.dumps(found)) == found
    task = prepare(config())
    assert found["config"] == task.config.model_dump(mode="json")
    assert found["preview"]["splits"] == {"train": 24, "validation": 3, "test": 3}
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
    assert sum("step" in line for line in reports) == TIMED + 1
    assert levels(found) == []
    lines = "\n".join(summary(found))
    for expected in ("mine.tsv: train 24, validation 3, test 3 different sources", f"{labels / len(task.batches):,.0f} "
                     "tokens a step", "by 10 steps timed", f"{found['parameters']['total']:,} parameters"):
        assert expected in lines
    assert "pieces of" not in lines
    joined = check(config(joined=0.99, micro_tokens=20), device=CPU)
    assert joined["tokens"]["an_epoch"] > 1.5 * labels  # as an epoch draws them
    assert joined["memory"]["micro_tokens"] == 20
    assert "batches are processed in pieces of 20 positions" in summary(joined)
    left = {path.name for path in (tmp_path / "temporary").iterdir()}
    assert all(name.startswith("torchinductor_") for name in left), left  # PyTorch's own, made when it first compiles


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


# What does not fit


@each_row(("settings", "message"), [
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


@pytest.fixture
def memory(monkeypatch):
    """memory(bytes): so much is left, for all who ask."""
    def left(count):
        for asking in (checking, memory_size):
            monkeypatch.setattr(asking, "device_memory", lambda device: count)

    return left


def test_a_model_larger_than_the_memory_is_not_tried_and_the_data_is_shown_all_the_same(config, memory):
    memory(50_000)
    found = check(config(), device=CPU)
    assert found["preview"] is not None
    assert found["time"] is None
    kept = sum(found["memory"][part] for part in ("weights", "gradients", "optimizer"))
    (problem,) = found["problems"]
    assert problem["level"] == "error"
    assert f"weights, gradients and optimizer take {kept / 1e3:.1f} kB" in problem["text"]
    assert problem["text"].endswith("cpu has 50.0 kB left; lower d_model, d_ff or the number of layers")


def test_a_vocabulary_that_the_corpus_does_not_fill_takes_no_memory(config, memory):
    small = config(vocab_size=100_000)
    memory(10_000_000)
    assert sum(kept_memory(small).values()) > 10_000_000
    assert check(small, device=CPU)["time"]["steps_timed"] == TIMED


@each_row(("error", "message"), [
    (torch.OutOfMemoryError("CUDA out of memory. Tried to allocate"), "cpu ran out of memory; set micro_tokens below "
                                                                      "60"),
    (RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried"), "cpu ran out of memory"),
    (MemoryError(), "cpu ran out of memory"),
    (TrainingError("the loss at step 3 is nan"), "the loss at step 3 is nan"),
    (RuntimeError("shapes do not match"), None)])  # a mistake of ours
def test_a_trial_that_fails_is_a_problem_beside_all_else_but_a_mistake_of_ours_is_none(config, monkeypatch, error,
                                                                                     message):
    def train_step(self):
        raise error

    monkeypatch.setattr(Trainer, "train_step", train_step)
    if message is None:
        with pytest.raises(RuntimeError, match="shapes do not match"):
            check(config(), device=CPU)
        return
    found = check(config(), device=CPU)
    assert levels(found) == ["error"]
    assert message in found["problems"][0]["text"]
    assert found["memory"]["measured_steps"] == 0
    assert found["tokens"] is not None


@pytest.mark.slow
@each_row(("settings", "level", "message"), [
    ({"max_len": 19, "tokenizer": "char"}, "warning", "max_len 19 leaves "),
    ({"tokenizer": "bpe", "vocab_size": 5_000}, "warning", "the corpus yields no more pieces"),
    ({"steps": 9_999}, "warning", "9,999 steps read the corpus"),
    ({"schedule": "constant", "hold": 0.5}, "warning", "hold has no effect on the schedule constant"),
    ({"dropout": 0.0, "r_drop": 1.0}, "warning", "r_drop compares two passes"),
    ({"distill": ["nowhere"]}, "error", "nowhere"), ({"start_from": "nowhere"}, "error", "nowhere")])
def test_what_is_probably_not_meant_is_a_warning_and_a_folder_that_is_not_there_an_error(config, settings, level,
                                                                                        message):
    found = check(config(**settings), device=CPU)
    assert levels(found) == [level]
    assert message in found["problems"][0]["text"]


def test_words_that_training_never_saw_and_a_corpus_too_small_to_hold_out_are_warned_of(config, tmp_path):
    (tmp_path / "mine.tsv").write_text("".join(f"word{i}\tmot{i}\n" for i in range(30)))
    assert "% of the held-out pieces are not in the vocabulary" in check(config(), device=CPU)["problems"][0]["text"]
    (tmp_path / "mine.tsv").write_text("Go.\tVa !\nStop.\tArrête.\n")
    assert any("nothing is held out" in problem["text"] for problem in check(config(), device=CPU)["problems"])


def test_the_command_prints_one_json_line_last_and_its_progress_beside(config, tmp_path, headsup):
    config()
    command = ["check", "--preset", "translate-small", "--device", "cpu", "--steps", 7, "--json"]
    for name, value in {**TINY, "corpus": tmp_path / "mine.tsv"}.items():
        command += ["--set", f"{name}={value}"]
    code, out, err = headsup(*command)
    assert not code
    found = json.loads(out.splitlines()[-1])
    assert found["time"]["steps"] == found["tokens"]["steps"] == 7
    assert "Timing: step 11 of 11" in err
    code, out, err = headsup(*command, "--set", "max_len=2")
    assert code == 1
    assert "fits max_len 2" in json.loads(out)["problems"][0]["text"]
    assert "Traceback" not in err
