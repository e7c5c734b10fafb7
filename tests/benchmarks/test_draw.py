"""The drawing benchmark's pages stand in the app, and its rows say what was measured."""

import pytest

pytest.importorskip("playwright", reason="the benchmark's browser: pip install playwright")

from benchmarks import draw
from ui.components import shell


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
