"""Saved views arrive at a page as links do: each value by the page's own fields."""

import pytest
from streamlit.testing.v1 import AppTest

from ui.page.link import OPENING

from .page import ROOT


def opened(page, of=None, **params):
    """A page with a saved view: its own, or one of another page."""
    at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120)
    at.switch_page(f"pages/{page}.py")
    at.session_state[OPENING] = of or page, params
    return at.run()


def test_its_values_are_in_the_widgets_and_it_comes_once_and_on_its_page():
    at = opened("masks", source1="Go on. I stay.", causal="on")
    assert at.text_input(key="masks_source1").value == "Go on. I stay."
    at.text_input(key="masks_source1").set_value("Go.")
    assert at.run().text_input(key="masks_source1").value == "Go."
    at = opened("masks", of="write", source1="Go on. I stay.")
    assert at.text_input(key="masks_source1").value != "Go on. I stay." and OPENING not in at.session_state


@pytest.mark.parametrize(("page", "params"), [
    ("masks", {"typed": "x" * 900_000, "blocked": "9" * 900_000, "pair": "1e999", "layer": "-3", "__proto__": "x"}),
    ("positions", {"view": "nowhere", "count": "nan", "dims": "," * 900_000, "text": "x" * 900_000}),
    ("write", {"text": "x" * 900_000, "step": "9" * 400, "choices": "1:1," * 200_000, "checkpoint": "../../etc@0"})])
def test_hostile_values_fall_back_or_are_answered_with_a_sentence(page, params):
    opened(page, **params)  # and no run of a script ends with an exception
