"""Presenting on every page that has it, without a browser."""

import pytest

from .page import picture, plot, press, step_view_of

PAGES = {"positions": {"view": "Rotary"}, "train": {"view": "new"}, "checkpoints": {"view": "card"}, "library": {},
         "heads": {"view": "switch"}, "by_hand": {}, "masks": {}}
TEXTS = {"translate": "I like red wine.", "write": "ROMEO:\nO, she doth teach"}


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


def test_charts_have_the_projectors_type_and_height_and_nothing_but_1_presents(visit):
    plain = plot(visit("positions", view="Left out"), "positions_attention_trained")["layout"]
    large = plot(visit("positions", view="Left out", present="1"), "positions_attention_trained")["layout"]
    assert large["font"]["size"] >= 24 > plain["font"]["size"]
    assert large["xaxis"]["tickfont"]["size"] >= 24
    assert "subtitle" not in large["title"]
    assert all(visit("positions", present=value).title for value in ("", "0", "true", "<b>"))


@pytest.mark.parametrize("page", TEXTS)
def test_presenting_leaves_what_is_needed_and_leaving_brings_the_rest_back(visit, page):
    at = visit(page, text=TEXTS[page], temperature="0.7", step="2", head="1", present="1")
    assert at.query_params["present"] == "1"
    assert not at.title
    assert not at.tabs
    assert not at.get("download_button")
    assert not [pills for pills in at.get("button_group") if pills.key == f"{page}_example"]
    assert picture(at)[0]["large"] is True
    press(at, f"{page}_leave")
    assert at.title[0].value == page.title()
    assert len(step_view_of(at)["bars"]["rows"]) == 10
    assert picture(at)[0]["large"] is False
    assert {"temperature": "0.7", "step": "2", "head": "1"}.items() <= at.query_params.items()
    assert "present" not in at.query_params
    assert at.slider(key=f"{page}_temperature").value == 0.7
    press(at, f"{page}_present")
    at.run()
    assert {"temperature": "0.7", "present": "1"}.items() <= at.query_params.items()


def test_an_empty_text_and_one_too_long_can_be_left(visit):
    for text in ("", "dog " * 2_500):
        assert visit("translate", text=text, present="1").button(key="translate_leave").label == "Leave"


@pytest.mark.parametrize("page", [*TEXTS, "classify"])
def test_an_old_link_with_the_diagram_open_opens_the_page_as_it_is(visit, page):
    at = visit(page, model="open")
    assert not at.error
    assert picture(at)[0]["selection"]["view"] == "matrix"
    assert "model" not in at.query_params
