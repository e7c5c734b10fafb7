"""Runs as things with names: listed, renamed, deleted, promoted, written as a table."""

import csv
import io
import json
import math
import os
import shutil
from dataclasses import replace

import pytest
import torch

from tests.rows import each_row
from transformer.basics.spreadsheet import MARK
from transformer.checkpoints import checkpoint
from transformer.jobs import run_files
from transformer.jobs.process import identify
from transformer.settings.config import RunConfig
from transformer.settings.presets import preset
from transformer.training import runs
from transformer.training.model_card import model_card
from transformer.training.runs import as_csv, check_name, delete, describe, find, free_name, promote, rename
from transformer.training.trainer import Trainer


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A run of a few steps that has ended."""
    corpus = tmp_path_factory.mktemp("corpus") / "sentences.csv"
    corpus.write_text("text,label\nthis is awesome,positive\ni hated it,negative\n")
    config = preset("sentiment").set({"corpus": str(corpus), "steps": 12, "eval_every": 5})
    folder = tmp_path_factory.mktemp("runs") / "first"
    Trainer(folder, config, device=torch.device("cpu")).run()
    return folder


@pytest.fixture
def run(trained, tmp_path):
    """A copy of it that may be changed."""
    return shutil.copytree(trained, tmp_path / "runs" / "first")


@each_row(("name", "why"), [
    ("", "has no name"), ("   ", "has no name"), ("../../etc", "starts with a letter or a digit"),
    ("a/b", "something else"),
    ("x" * 300, "300 characters; at most 60"), (".hidden", "starts with"), ("a\0b", "something else"),
    ("día", "something else"), ("-rf", "starts with"), ("a b", "something else"), ("a\nb", "something else")])
def test_names_that_any_folder_can_have_are_taken_and_others_refused_with_what_is_wrong(name, why):
    for fits in ("a", "my-run_2.0", "A" * 60, "  padded  "):
        assert check_name(fits) == fits.strip()
    with pytest.raises(ValueError, match=why):
        check_name(name)


def test_a_run_says_what_it_is_and_how_it_stands(run):
    found = describe(run)
    assert (found.name, found.now.state, found.now.step, found.now.steps) == ("first", "finished", 12, 12)
    assert (found.task, found.device, found.processes, found.owner) == ("classification", "cpu", 1, None)
    assert (found.processor, found.accuracy, found.exact) == ("cpu", 0.5, None)
    assert found.shape == "1 × 32, 2 heads"
    assert found.best == min(row["best"] for row in run_files.read(run / "metrics.jsonl") if "best" in row)
    assert found.seconds == run_files.read(run / "metrics.jsonl")[-2]["seconds"]
    run_files.write_json(run / "status.json", {"state": "finished", "device": "cuda", "gpu": "NVIDIA H100"})
    assert describe(run).processor == "NVIDIA H100 (cuda)"


def test_the_best_loss_is_that_of_the_newest_evaluation_though_training_rows_came_after(run):
    status = json.loads((run / "status.json").read_text())
    run_files.write_json(run / "status.json", status | {"state": "running", "best": 0.9})
    run_files.append(run / "metrics.jsonl", {"step": 15, "time": 0.0, "validation_loss": 0.125, "best": 0.125})
    run_files.append(run / "metrics.jsonl", {"step": 20, "seconds": 7.5, "loss": 0.5})
    assert (describe(run).best, describe(run).seconds) == (0.125, 7.5)
    run_files.write_json(run / "status.json", status | {"state": "running", "best": None})
    assert describe(run).best == 0.125


def test_a_run_under_way_says_its_best_after_each_evaluation_however_far_back_that_is(run, tmp_path):
    config = RunConfig.model_validate_json((run / "config.json").read_bytes())
    seen = {}

    def watch(row):
        if "loss" in row and row["step"] >= 10:
            seen[row["step"]] = run_files.read_json(folder / "status.json")["best"]

    folder = tmp_path / "runs" / "second"
    Trainer(folder, config.set({"steps": 25, "eval_every": 5}), device=torch.device("cpu")).run(watch=watch)
    bests = {row["step"]: row["best"] for row in run_files.read(folder / "metrics.jsonl") if "best" in row}
    assert seen == {10: bests[5], 20: bests[15], 25: bests[20]}


@each_row("damage", [
    "", "[]", "{", '{"model": 3, "train": []}', '{"model": {"x": 1, "n_heads": {"a": []}}}',
    '{"arguments": [3, "--set", "d_model"], "config": 7}', '{"time": "x", "ticket": "y"}', '{"processes": "x"}',
    f'{{"processes": 2.5, "world_size": [[]], "model": {{"d_model": {"[" * 500}{"]" * 500}}}}}'])
def test_a_damaged_run_is_listed_all_the_same(run, damage):
    for name in ("config.json", "launch.json", "status.json", "metrics.jsonl"):
        (run / name).write_text(damage)
    found = describe(run)
    assert (found.name, found.now.state, found.best, found.seconds) == ("first", "died", None, 0.0)
    assert found.processes == 1
    assert runs.differences([run]).empty and len(runs.compare([run])) == 1


def test_the_newest_run_comes_first_and_what_is_no_run_is_left_out(tmp_path, run):
    runs = run.parent
    assert find(tmp_path / "nowhere") == []
    (runs / "second").mkdir()
    (runs / "second" / "launch.json").write_text("{}")
    (runs / ".deleted").mkdir()
    (runs / "empty").mkdir()
    (runs / "file").write_text("")
    os.utime(runs / "second", (1, 1))
    assert [path.name for path in find(runs)] == ["first", "second"]
    assert (free_name(runs, "first"), free_name(runs, "FIRST"), free_name(runs, "new")) == ("first-2", "FIRST-2", "new")


def test_a_run_that_is_deleted_while_they_are_listed_keeps_no_other_from_being_listed(run, monkeypatch):
    shutil.copytree(run, run.with_name("going"))
    monkeypatch.setattr("transformer.training.runs.is_run",
                        lambda folder: folder.name == "first" or not shutil.rmtree(folder))
    assert run in find(run.parent)


def test_a_run_gets_another_name(run):
    new = rename(run, " better ")
    assert (new.name, run.exists(), describe(new).now.state) == ("better", False, "finished")
    (new.parent / "taken").mkdir()
    for name, why in (("taken", "there is a run taken already"), ("../up", "something else")):
        with pytest.raises(ValueError, match=why):
            rename(new, name)


def test_a_run_under_way_keeps_its_name_and_its_files_and_a_deleted_one_leaves_nothing(run):
    run_files.write_json(run / "launch.json", identify(os.getpid()))  # under way
    for change in (lambda: rename(run, "other"), lambda: delete(run)):
        with pytest.raises(ValueError, match="under way; stop it first"):
            change()
    (run / "launch.json").unlink()
    delete(run)
    assert [path.name for path in run.parent.iterdir() if path.is_dir()] == []
    with pytest.raises(ValueError, match="there is no run first any more"):
        delete(run)


def test_metrics_as_a_table_have_every_row_and_a_row_a_step(run):
    rows = run_files.read(run / "metrics.jsonl")
    table = list(csv.DictReader(io.StringIO(as_csv(run).removeprefix(MARK))))
    assert len(table) == len(rows)
    assert table[0].keys() == {name for row in rows for name in row}
    for written, row in zip(table, rows, strict=True):
        assert {name: float(text) for name, text in written.items() if text} == pytest.approx(row)
    table, rows = runs.metrics(str(run)), run_files.read(run / "metrics.jsonl")
    assert table.step.tolist() == sorted({row["step"] for row in rows}) == [*range(1, 11), 12]
    for row in rows:
        (at,) = table[table.step == row["step"]].to_dict("records")
        assert all(at[name] == value for name, value in row.items() if name != "time")
    assert not table.loss.isna().any() and math.isnan(table.validation_loss[0])  # held out is measured every five


def test_metrics_that_are_damaged_doubled_or_none_are_still_a_table(tmp_path):
    (tmp_path / "metrics.jsonl").write_bytes(
        b'{"step": 20, "loss": 1.5}\n{"step": 10, "loss": "much"}\n[]\n{"loss": 3}\n{"step": 20, "loss": 1.0}\n{"ste')
    table = runs.metrics(tmp_path)
    assert table.step.tolist() == [10, 20] and table.loss.tolist() == pytest.approx([math.nan, 1.0], nan_ok=True)
    (tmp_path / "metrics.jsonl").write_bytes(b"")
    assert list(runs.metrics(tmp_path).columns) == ["step"]
    with pytest.raises(ValueError, match="nowhere has no metrics.jsonl; name a run, or a checkpoint that kept its own"):
        runs.metrics(tmp_path / "nowhere")


def test_a_promoted_run_is_a_checkpoint_with_its_curve_attention_and_a_card_of_how_it_was_trained(run, tmp_path):
    out = promote(run, tmp_path / "checkpoints" / "mine", processor="a CPU")
    found, best = checkpoint.load(out), checkpoint.load(run / "best")
    assert found.description.step == best.description.step
    assert found.classes == best.classes
    for name, tensor in best.model.state_dict().items():
        torch.testing.assert_close(found.model.state_dict()[name], tensor, rtol=1e-3, atol=1e-3)
    assert (out / "metrics.jsonl").read_bytes() == (run / "metrics.jsonl").read_bytes()
    assert {path.name for path in (out / "attention").iterdir()} == {path.name for path in
                                                                     (run / "attention").iterdir()}
    card = (out / "README.md").read_text()
    assert f"{json.loads((run / 'status.json').read_text())['best']:.4f}" in card
    assert "comes with" not in card
    assert "It was made with Heads Up" in card
    assert "Measured while it trained, at step" in card
    assert "| loss on texts it learned from, nats per text |" in card  # two texts: nothing is held out
    assert "its corpus, sentences.csv, shows" in card
    assert "plays" not in card
    assert "From scratch, on a CPU" in card
    with pytest.raises(ValueError, match="there is a checkpoint mine already"):
        promote(run, out, processor="a CPU")
    train = best.description.train.replace(start_from="runs/a*b/best", ema=0.999, hold=0.7, distill=("one", "two"))
    changed = replace(best, description=replace(best.description, train=train))
    card = model_card("mine", changed, {}, [], processor="a CPU")
    assert "From the weights of a\\*b/best, on a CPU" in card
    assert "`hold` 0.7, `ema` 0.999, `distill` of 2 checkpoints." in card


def test_before_the_first_evaluation_what_was_saved_last_is_promoted_and_called_unmeasured(tmp_path):
    config = preset("sentiment").set({"steps": 40, "eval_every": 30, "save_every": 5})
    trainer = Trainer(tmp_path / "early", config, device=torch.device("cpu"))
    trainer.run(minutes=1e-9)  # its time is over at once, and it saves
    assert runs.describe(trainer.folder).now.state == "stopped"
    out = promote(trainer.folder, tmp_path / "checkpoints" / "early", processor="a CPU")
    assert checkpoint.describe(out).step == checkpoint.describe(trainer.folder / "last").step < 30
    assert "Not measured yet" in (out / "README.md").read_text()


def test_a_run_without_weights_cannot_be_promoted(run, tmp_path):
    for name in ("best", "last"):
        (run / name / "manifest.json").unlink()
    with pytest.raises(ValueError, match="has saved no weights yet"):
        promote(run, tmp_path / "out", processor="a CPU")
    assert runs.describe(run).now.state == "finished"


def test_guessing_at_random_is_known_of_a_run_and_of_no_damaged_one(run):
    assert runs.guessing_loss(run) == math.log(2)  # it learns two classes
    (run / "config.json").write_text('{"model": {"d_model": "wide"}}')
    assert runs.guessing_loss(run) is None
    (run / "config.json").unlink()
    assert runs.guessing_loss(run) is None
