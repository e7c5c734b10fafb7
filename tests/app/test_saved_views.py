"""Saved views arrive at a page as links do: each value by the page's own fields."""

import pytest
from streamlit.testing.v1 import AppTest

from ui.page.link import OPENING

from .page import ROOT


def opened(page, **params):
    at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120)
    at.switch_page(f"pages/{page}.py")
    at.session_state[OPENING] = page, params
    return at.run()


def test_its_values_are_in_the_widgets_and_it_comes_once():
    at = opened("masks", source1="Go on. I stay.", causal="on")
    assert at.text_input(key="masks_source1").value == "Go on. I stay."
    at.text_input(key="masks_source1").set_value("Go.")
    assert at.run().text_input(key="masks_source1").value == "Go."


@pytest.mark.parametrize(("page", "params"), [
    ("masks", {"typed": "x" * 900_000, "blocked": "9" * 900_000, "pair": "1e999", "layer": "-3", "__proto__": "x"}),
    ("positions", {"view": "nowhere", "count": "nan", "dims": "," * 900_000, "text": "x" * 900_000}),
    ("write", {"text": "x" * 900_000, "step": "9" * 400, "choices": "1:1," * 200_000, "checkpoint": "../../etc@0"})])
def test_hostile_values_fall_back_or_are_answered_with_a_sentence(page, params):
    assert not opened(page, **params).exception


def test_a_view_of_another_page_changes_nothing_here():
    at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120)
    at.switch_page("pages/masks.py")
    at.session_state[OPENING] = "write", {"text": "ROMEO:"}
    assert not at.run().exception
    assert OPENING not in at.session_state
