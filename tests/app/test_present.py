"""Presenting on every page that has it, without a browser."""

import pytest

from .page import plot, press

PAGES = {"positions": {"view": "Rotary"}, "train": {"view": "new"}, "checkpoints": {"view": "card"}, "library": {},
         "heads": {"view": "switch"}, "by_hand": {}, "masks": {}}


@pytest.mark.parametrize("page", PAGES)
def test_any_link_presents_and_the_page_remembers_it_until_it_is_left(visit, page):
    at = visit(page, **PAGES[page], present="1")
    assert at.query_params["present"] == "1"
    assert not at.title
    press(at, f"{page}_leave")
    assert at.title[0].value
    assert "present" not in at.query_params
    press(at, f"{page}_present")
    assert at.query_params["present"] == "1"


@pytest.mark.parametrize("value", ["", "0", "true", "<b>"])
def test_nothing_but_1_presents(visit, value):
    assert visit("positions", present=value).title


def test_charts_have_the_projectors_type_and_height(visit):
    plain = plot(visit("positions", view="Left out"), "positions_attention_trained")["layout"]
    large = plot(visit("positions", view="Left out", present="1"), "positions_attention_trained")["layout"]
    assert large["font"]["size"] >= 0.04 * 720 > plain["font"]["size"]
    assert large["xaxis"]["tickfont"]["size"] >= 0.04 * 720
    assert "subtitle" not in large["title"]
