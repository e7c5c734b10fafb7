"""What holds for the addresses of all pages, and for saved views."""

import pytest
import streamlit as st
from streamlit.runtime.scriptrunner import StopException
from streamlit.testing.v1 import AppTest

from ui.page.link import OPENING
from ui.page.pages import PAGES

from .page import ROOT, go, move, put


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
        at = at.run()
    assert (at.query_params["step"], at.query_params["head"]) == ("3", "1")


def test_the_model_chosen_last_goes_along_to_pages_that_can_show_it_and_an_address_is_followed(visit, shipped):
    write, translate = shipped("write").id, shipped("translate").id
    at = visit("positions", view="Trained")
    put(at, "positions_checkpoint", write)
    assert go(at, "heads").session_state["heads_checkpoint"] == write
    assert go(at, "translate").session_state["translate_checkpoint"] == translate  # which cannot show it
    assert go(at, "heads").session_state["heads_checkpoint"] == write  # what a page shows unasked is no choice
    put(at, "heads_checkpoint", translate)
    for page in ("positions", "translate"):  # seen before or not
        at = go(at, page)
        assert not at.error
        assert at.session_state[f"{page}_checkpoint"] == at.query_params["checkpoint"] == translate
    at = visit("heads", checkpoint=write)
    assert go(at, "positions", view="Trained").session_state["positions_checkpoint"] == translate
    assert go(at, "by_hand").session_state["by_hand_checkpoint"] == write


def test_every_page_opens_with_a_model_chosen_elsewhere(visit, shipped):
    at = visit("heads", checkpoint=shipped("classify").id)
    for page in ("home", *PAGES):
        at = go(at, page)
        assert not at.error, page


@pytest.mark.parametrize(("page", "params"), [
    ("write", {}), ("translate", {}), ("classify", {}), ("masks", {}), ("positions", {"view": "Trained"}),
    ("by_hand", {"part": "trained"})])
def test_a_link_to_a_model_that_is_not_here_says_so_where_it_is_seen(visit, page, params):
    at = visit(page, checkpoint="nobody", **params)
    assert "`nobody` is not on this server" in at.error[0].value
    assert not [error for box in at.get("popover") for error in box.get("error")]


@pytest.mark.parametrize(("page", "name"), [("write", "translate"), ("classify", "translate"), ("masks", "write")])
def test_a_link_to_a_model_that_does_not_fit_says_so(visit, shipped, page, name):
    at = visit(page, checkpoint=shipped(name).id)
    assert "does not fit here" in at.error[0].value
    if page == "masks":
        assert "only the causal mask" in at.error[0].value
        next(button for button in at.button if button.label.startswith("Use ")).click().run()
        assert not at.error and at.query_params["checkpoint"] == shipped("translate").id


@pytest.mark.parametrize(("page", "params", "address"), [
    ("translate", {"text": "Go on.", "kind": "<b>", "layer": "99", "head": "-4", "step": "1e300", "temperature": "99",
                   "top_k": "1000000", "seed": "9999999999", "choices": "1:99999999," + "7:x," * 5_000},
     {"kind": "cross", "layer": "1", "head": "0", "top_k": "50", "seed": "999999", "temperature": "2"}),
    ("write", {"text": "KING ", "kind": "cross", "layer": "nan", "head": "999", "step": "-3", "top_k": "77",
               "seed": "x", "temperature": "9"},
     {"kind": "decoder", "layer": "0", "head": "7", "step": "0", "top_k": "50", "seed": None, "temperature": "2"}),
    ("masks", {"pair": "-3", "kind": "sideways", "layer": "nan", "head": "1e9", "causal": "maybe", "scale": "0",
               "query": "1e400", "blocked": "2,x,-1,99,,", "scores": "guessed", "all": "1", "train": "yes"},
     {"pair": "1", "kind": "decoder", "layer": "0", "head": "3", "causal": "off", "scale": "1", "scores": "typed",
      "all": "off", "train": "off"}),
    ("positions", {"view": "Up", "count": "-5", "d_model": "1e9", "base": "3", "layout": "x", "place": "nan",
                   "dims": "7,7,-2,99999,abc", "measure": "?", "width": "inf", "seed": "-1", "checkpoint": "nobody@0"},
     {"view": "Sinusoidal", "count": "2", "d_model": "512", "base": "10000", "layout": "interleaved", "place": "1",
      "measure": "product"}),
    ("positions", {"dims": ",".join(map(str, range(100))), "d_model": "64"}, {"dims": ",".join(map(str, range(12)))}),
    ("by_hand", {"seed": "-1", "d": "nan", "d_k": "1e99", "d_v": "inf", "heads": "x", "scale": "<b>", "mask": "1",
                 "query": "99", "key": "-7", "part": "../..", "positions": "maybe"},
     {"seed": "0", "d": "4", "d_k": "512", "d_v": "512", "heads": "1", "scale": "sqrt(d_k)", "mask": "none",
      "query": "6", "key": "0", "part": "steps", "positions": None}),
], ids=lambda value: value if isinstance(value, str) else "")
def test_values_out_of_range_are_brought_into_range(visit, page, params, address):
    at = visit(page, **params)
    assert not at.error
    assert {name: at.query_params.get(name) for name in address} == address


@pytest.mark.parametrize(("page", "params"), [
    ("translate", {"text": "Go on.", "step": "0"}),
    ("masks", {"source1": "Who is it?", "target1": "Qui est-ce ?", "pair": "2", "scale": "100", "layer": "1",
               "all": "on"}),
    ("by_hand", {"d_k": "5", "mask": "causal", "query": "2", "key": "1"})])
def test_coming_back_from_another_page_finds_the_work_as_it_was(visit, page, params):
    at = visit(page, **params)
    if page == "translate":
        move(at, page, 1, number=1)
    address = dict(at.query_params)
    assert params.items() - {("step", "0")} <= address.items()
    assert go(at, "write", text="KING ").query_params["text"] == "KING "
    assert dict(go(at, page).query_params) == address


def test_the_bars_of_a_page_that_ends_before_it_has_read_its_address_are_drawn():
    def script():
        import streamlit as st

        from ui.page.link import arriving, end_page, when_arrived

        with arriving():
            place = st.container()
            when_arrived(lambda: place.text("the way back"))
            st.text("what is wrong")
            end_page()

    assert [one.value for one in AppTest.from_function(script).run().text] == ["the way back", "what is wrong"]


# saved views, whose values arrive as those of addresses do


def opened(page, of=None, **params):
    """A page with a saved view: its own, or one of another page."""
    at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120)
    at.switch_page(f"pages/{page}.py")
    at.session_state[OPENING] = of or page, params
    return at.run()


def test_the_values_of_a_saved_view_are_in_the_widgets_and_come_once_and_on_its_page():
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
def test_hostile_values_of_a_saved_view_fall_back_or_are_answered_with_a_sentence(page, params):
    opened(page, **params)  # and no run of a script ends with an exception
