"""What holds for the addresses of all pages."""

import pytest
import streamlit as st
from streamlit.runtime.scriptrunner import StopException

from ui.page.pages import PAGES

from .conftest import run


def go(at, page: str, **params: str):
    at.switch_page(f"pages/{page}.py")
    at.query_params.clear()
    at.query_params.update(params)
    return run(at)


@pytest.mark.parametrize("page", ["translate", "positions"])
def test_an_address_of_the_page_just_left_that_comes_late_changes_nothing(visit, page):
    at = visit(page, layer="1")
    own = dict(at.query_params)
    late = dict(go(at, "write", text="KING", step="2").query_params)
    assert late["checkpoint"].startswith("write@")
    go(at, page, **late)
    assert not at.error
    assert dict(at.query_params) == own


def test_on_a_page_not_seen_before_it_changes_nothing_either(visit):
    at = visit("write", text="KING", step="2")
    go(at, "translate", **at.query_params)
    assert not at.error
    assert at.query_params["checkpoint"].startswith("translate@")


def test_a_link_of_the_same_words_from_two_pages_is_followed_on_each(visit, shipped):
    id = shipped("write").id
    at = visit("heads", checkpoint=id)
    for page in ("write", "positions", "heads"):
        assert go(at, page, checkpoint=id).session_state[f"{page}_checkpoint"] == id


@pytest.mark.parametrize("end", [st.rerun, "stopped"])
def test_a_run_that_is_cut_short_leaves_the_arrival_to_the_next(visit, monkeypatch, end):
    """As when a browser sends something while a page that it has just come to is still being made: Streamlit stops that
    run wherever it is."""
    from ui.views.stepper import settings

    show, cut = settings.show_settings, []

    def show_settings(*arguments: object) -> object:
        if not cut:
            cut.append(True)
            if end == "stopped":
                raise StopException
            end()
        return show(*arguments)

    monkeypatch.setattr(settings, "show_settings", show_settings)
    at = visit("translate", text="I like red wine.", step="3", head="1")
    assert cut
    if end == "stopped":
        at = run(at)
    assert (at.query_params["step"], at.query_params["head"]) == ("3", "1")


def test_the_model_chosen_last_goes_along_to_pages_that_can_show_it(visit, shipped):
    write, translate = shipped("write").id, shipped("translate").id
    at = visit("positions", view="Trained")
    at.selectbox("positions_checkpoint").set_value(write)
    run(at)
    assert go(at, "heads").session_state["heads_checkpoint"] == write
    assert go(at, "translate").session_state["translate_checkpoint"] == translate  # which cannot show it
    assert go(at, "heads").session_state["heads_checkpoint"] == write  # what a page shows unasked is no choice
    at.selectbox("heads_checkpoint").set_value(translate)
    run(at)
    for page in ("positions", "translate"):  # seen before or not
        at = go(at, page)
        assert not at.error
        assert at.session_state[f"{page}_checkpoint"] == at.query_params["checkpoint"] == translate


def test_every_page_opens_with_a_model_chosen_elsewhere(visit, shipped):
    at = visit("heads", checkpoint=shipped("classify").id)
    for page in ("home", *PAGES):
        at = go(at, page)
        assert not at.error, page


def test_an_address_is_followed_as_it_is_and_its_model_goes_along(visit, shipped):
    write = shipped("write").id
    at = visit("heads", checkpoint=write)
    assert go(at, "positions", view="Trained").session_state["positions_checkpoint"] == shipped("translate").id
    assert go(at, "by_hand").session_state["by_hand_checkpoint"] == write


@pytest.mark.parametrize("page", ["write", "translate", "classify"])
def test_a_link_to_a_model_that_is_not_here_says_so_where_it_is_seen(visit, page):
    at = visit(page, checkpoint="nobody")
    assert "`nobody` is not on this server" in at.error[0].value
    assert not [error for box in at.get("popover") for error in box.get("error")]


def test_the_button_of_the_model_says_which(visit, shipped):
    for page in ("write", "translate", "classify"):
        at = visit(page)
        labels = [box.proto.popover.label for box in at.get("popover")]
        assert f"Model: {shipped(page).description.name}" in labels
