"""The drawing benchmark gives both sides the same weights, and its rows say what was measured."""

import re

import numpy as np
import orjson
import pytest
import torch

pytest.importorskip("playwright", reason="the benchmark's browser: pip install playwright")

from benchmarks import draw
from ui.components import shell

TOKENS = ["a", "b", "c", "d"]


@pytest.fixture(scope="module")
def weights():
    return draw.made_up(4, layers=2, heads=3)


def test_made_up_weights_are_causal_attention(weights):
    assert [tuple(layer.shape) for layer in weights] == [(1, 3, 4, 4)] * 2
    for layer in weights:
        torch.testing.assert_close(layer.sum(dim=-1), torch.ones(1, 3, 4))
        assert not layer.triu(1).any()
    assert not torch.equal(weights[0], weights[1])


def test_bertviz_is_given_the_same_weights_and_asks_no_network(weights):
    pytest.importorskip("bertviz", reason="the benchmark's peer: pip install bertviz")
    text = draw.bertviz(weights, TOKENS)
    assert "cdnjs" not in text
    numbers = re.search(r'"attn": (\[\[\[\[.*?\]\]\]\])', text)[1]
    np.testing.assert_allclose(np.array(orjson.loads(numbers)), torch.cat(weights).numpy(), rtol=1e-6)


def test_a_page_of_the_benchmark_stands_in_the_app_and_marks_no_entry_of_its_menu():
    assert 'st.Page("empty.py")]} | {section' in draw.router({"empty": draw.EMPTY})
    assert "nth-child(0)" in shell._here("empty")


def test_the_median_leaves_out_the_warm_up():
    clock = iter([900.0, 800.0, 3.0, 1.0, 2.0])
    assert draw.measure({"change": lambda: next(clock)}, 3) == {"change": 2.0}


def test_live_rows_are_times_the_empty_rerun(monkeypatch):
    monkeypatch.setattr(draw, "live", lambda *_: {"empty rerun": 50.0, "next step": 210.0, "another head": 150.0})
    step, head = draw.live_rows(None, 128, 9)
    assert (step["ours"], step["peer"], step["ratio"], step["met"]) == (210.0, 50.0, 4.2, False)
    assert head["met"] and head["goal"] == 3.0


def test_page_rows_are_bertviz_over_ours(monkeypatch):
    sides = {"BertViz": {"build": 1_000.0, "paint": 8_000.0, "bytes": 30e6},
             "pooled": {"build": 100.0, "paint": 200.0, "bytes": 0.6e6},
             "exact": {"build": 200.0, "paint": 250.0, "bytes": 3e6}}
    monkeypatch.setattr(draw, "pages", lambda *_: {name: dict(side) for name, side in sides.items()})
    rows = list(draw.page_rows(None, 128, 3, None))
    assert [(row["ratio"], row["met"]) for row in rows] == [(30.0, True), (50.0, True), (20.0, True), (10.0, False)]
    assert all(row["met"] is None for row in draw.page_rows(None, 64, 3, None))
