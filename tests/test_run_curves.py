"""What is sent of the curves of runs, and a mark that comes back from one."""

from types import SimpleNamespace

import orjson
import pytest
import streamlit as st

from transformer.jobs import run_files
from transformer.training.event_file import Event, write_events
from ui.components import run_curves
from ui.components.run_curves import curves_message

EVENT = Event(step=20, until=None, words="looks at the token before", kind="decoder", layer=1, head=3,
              measure="previous", alert=None, value=0.9, untrained=0.1, even=0.2, threshold=0.5)


@pytest.fixture
def state(monkeypatch):
    state = {}
    monkeypatch.setattr(st, "session_state", state)
    return state


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir()
    run_files.write_json(folder / "config.json", {"model": {}, "train": {"steps": 700}})
    (folder / "metrics.jsonl").write_bytes(b"".join(
        orjson.dumps({"step": step, "time": 1.7e9 + step, "loss": 1 / step, "tokens": 64 * step}) + b"\n"
        for step in (10, 20, 30)))
    write_events(folder, [EVENT])
    return folder


def test_what_a_run_does_not_measure_is_not_sent_and_what_was_sent_is_not_sent_again(state, folder):
    header, arrays, sent = curves_message("x", [folder])
    (run,) = header["runs"]
    assert run["groups"]["train"] == {"start": 0, "count": 3, "columns": ["step", "tokens", "time", "loss"]}
    assert arrays["0/train/time"].tolist() == [0, 10, 20]
    assert run["steps"] == 700 and [mark["step"] for mark in run["marks"]] == [20]
    state["x_curves_sent"] = sent
    run_files.append(folder / "metrics.jsonl", {"step": 40, "loss": 0.5, "accuracy": 0.25})
    header, arrays, _ = curves_message("x", [folder])
    assert header["runs"][0]["groups"]["train"]["start"] == 3
    assert {name: array.tolist() for name, array in arrays.items()} == {
        "0/train/step": [40], "0/train/tokens": [64 * 30], "0/train/time": [20], "0/train/loss": [0.5],
        "0/train/accuracy": [0.25]}


def test_a_mark_that_is_clicked_is_one_of_ours(state, folder):
    (mark,) = run_curves.marks_of(folder)
    taken = []
    for sent in ({"run": "mine", **mark, "number": 1}, {"run": "mine", "step": "20", "words": mark["words"]}, None, 3,
                 {"run": "../mine", **mark}):
        state["x_curves"] = SimpleNamespace(mark=sent)
        run_curves._take_mark("x", [folder], lambda *given: taken.append(given))
    assert taken == [(folder, mark)]
