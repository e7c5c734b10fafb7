"""The list of all runs: what each is called, when it began, and which losses share an axis."""

import json
import os

import pytest

from tests.messages import unpacked
from transformer.runs import describe

from .page import components, put, table_of

PAGE = "train"


@pytest.fixture
def place(home):
    """place(name, **train): a finished run from a shell, with a curve."""
    def place(name, **train):
        folder = home / "runs" / name
        folder.mkdir(parents=True)
        config = {"model": {"encoder_layers": 1, "d_model": 16, "n_heads": 2},
                  "train": {"task": "language-model", "corpus": "tiny-shakespeare", **train}}
        (folder / "config.json").write_text(json.dumps(config))
        (folder / "status.json").write_text(json.dumps({"state": "finished", "step": 2, "steps": 2}))
        rows = [{"step": step, "loss": 2.0 / step, "seconds": step} for step in (1, 2)]
        (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        return folder

    return place


def curves(at):
    headers = [unpacked(view.bytes)[0] for view in components(at, "run_curves")]
    return {header["unit"]: [one["name"] for one in header["runs"]] for header in headers}


def test_a_run_from_a_shell_says_when_it_began(place):
    folder = place("mine")
    os.utime(folder / "config.json", (1_750_000_000, 1_750_000_000))
    assert describe(folder).started == 1_750_000_000
    (folder / "launch.json").write_text(json.dumps({"time": 1_760_000_000}))
    assert describe(folder).started == 1_760_000_000


def test_an_uploaded_corpus_has_the_name_it_came_with(place, home, visit):
    place("mine", corpus=str(home / "uploads" / "corpora" / "48f61e90-mine.csv"), task="classification")
    at = visit(PAGE, view="runs")
    html = table_of(at, "Runs")
    assert "mine.csv" in html and "48f61e90" not in html


def test_losses_in_other_units_never_share_an_axis(place, visit):
    for name, task in (("one", "language-model"), ("two", "classification"), ("three", "language-model")):
        place(name, task=task)
    at = visit(PAGE, view="runs")
    put(at, "train_over", ["one", "two", "three"])
    assert curves(at) == {"nats per token": ["one", "three"], "nats per text": ["two"]}
