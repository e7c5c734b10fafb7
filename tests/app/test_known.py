"""Known results: the list, the one that is looked at, what is computed when it is asked for, and where links lead."""

import time
from collections.abc import Callable

import pytest

from transformer.studies.known_results import BY_NAME, COLOURS, KNOWN, Outcome, record
from ui.state.caches import shelf

from .page import press, values, words

PAGE, VERDICTS = "known", list(COLOURS)


@pytest.fixture(autouse=True)
def computes(monkeypatch, tmp_path):
    """computes("sink", function): that result is computed so. Nobody has computed anything before, nor do other tests
    find what was made up here."""
    monkeypatch.setattr("transformer.studies.known_results.RECORDED", tmp_path / "none.json")
    before = [(one, one.compute, one.agrees_if) for one in KNOWN]
    shelf(PAGE)._results.clear()
    yield lambda name, compute: object.__setattr__(BY_NAME[name], "compute", compute)
    shelf(PAGE)._results.clear()
    for one, compute, agrees_if in before:
        object.__setattr__(one, "compute", compute)
        object.__setattr__(one, "agrees_if", agrees_if)


@pytest.fixture
def made_up(computes) -> list[str]:
    """Results that come out at once, and the names of those that did."""
    computed: list[str] = []

    def coming_out(name: str, verdict: str) -> Callable[..., Outcome]:
        return lambda models, watch: computed.append(name) or Outcome(
            here=f"{name} came out.", verdict=verdict, link=("heads", {"view": "roles"}))

    for at, name in enumerate(BY_NAME):
        computes(name, coming_out(name, VERDICTS[at % 4]))
    return computed


def test_a_long_one_waits_until_it_is_asked_for(open_page, made_up):
    at = open_page(result="left_out")
    assert made_up == [] and "left_out came out" not in words(at)
    at = press(at, "known_compute")
    assert made_up == ["left_out"] and "left_out came out" in words(at)
    again = open_page(result="left_out")
    assert made_up == ["left_out"] and "left_out came out" in words(again)


def test_it_opens_with_what_was_recorded_and_computes_it_again_when_asked(open_page, made_up, monkeypatch, tmp_path):
    monkeypatch.setattr("transformer.studies.known_results.RECORDED", tmp_path / "recorded.json")
    record({name: Outcome(here=f"{name} came out before.", verdict="agrees") for name in BY_NAME})
    at = open_page(result="left_out")
    assert made_up == [] and "left_out came out before." in words(at) and f"{len(BY_NAME)} agree" in words(at)
    assert f"Computed on {time.localtime().tm_mday} {time.strftime('%B %Y')} (" in words(at)
    at = press(at, "known_compute")
    assert made_up == ["left_out"] and "left_out came out." in words(at) and "Computed on" not in words(at)
    at = press(at, "known_all")
    assert sorted(made_up) == sorted(BY_NAME)
    object.__setattr__(BY_NAME["sink"], "agrees_if", "it is another rule")
    assert BY_NAME["sink"].recorded() is None and BY_NAME["ioi"].recorded() is not None


def test_where_others_may_start_nothing_they_have_nothing_computed_that_takes_long(open_page, made_up, monkeypatch):
    monkeypatch.setenv("HEADSUP_SHARED", "1")
    at = open_page(result="left_out")
    assert at.button(key="known_compute").disabled and at.button(key="known_all").disabled
    at.session_state["known_asked"] = "left_out"  # as by a forged press
    assert "only the teacher can" in values(at.run(), "error")[0] and made_up == []
    at.session_state["known_asked"] = "all"
    at.session_state["known_failed"] = {}
    at.run()
    quick = [name for name, one in BY_NAME.items() if one.seconds <= 5 or None in one.model_ids()]
    assert quick and sorted(made_up) == sorted(quick)


def test_another_is_chosen_and_in_the_link_and_all_are_computed_one_after_the_other(open_page, made_up):
    at = press(open_page(), "known_uniform")
    assert at.query_params["result"] == "uniform" and "uniform came out" in words(at)
    at = press(at, "known_all")
    assert sorted(made_up) == sorted(BY_NAME)
    for said in ("check_circle:] 3 agree", "cancel:] 3 do not", "balance:] 3 undecided",
                 "radio_button_unchecked: 3 not computed"):
        assert said in words(at)
    table = "".join(values(at, "html"))
    assert all(f"{name} came out." in table for name in BY_NAME)


def test_one_that_fails_keeps_none_of_the_others_and_is_said(open_page, made_up, computes):
    def fails(models, watch):
        made_up.append("uniform")
        raise ValueError("the checkpoint is damaged; copy it again")

    computes("uniform", fails)
    at = press(open_page(), "known_all")
    assert sorted(made_up) == sorted(BY_NAME) and "checkpoint is damaged" in words(at)  # once each
    press(at, "known_all")
    assert made_up.count("uniform") == 2  # asked for again


def test_an_outcome_is_of_the_models_that_are_there_now(open_page, made_up, shipped, monkeypatch):
    assert "ioi came out" in words(press(open_page(result="ioi"), "known_ioi"))
    once = made_up.count("ioi")
    open_page(result="ioi")
    assert made_up.count("ioi") == once
    folder = shipped("write").description.folder
    monkeypatch.setattr("transformer.studies.known_results.Models.find", lambda _: folder)  # it is brought in
    open_page(result="ioi")
    assert made_up.count("ioi") == once + 1


def test_a_model_that_is_not_here_is_said_with_what_brings_it(open_page):
    at = open_page(result="ioi")
    assert "headsup import openai-community/gpt2" in words(at) and "not computed" in words(at).lower()


@pytest.mark.parametrize("result", ["", "nothing", "sink,ioi", "<b>"])
def test_a_result_that_is_not_there_is_the_first_shown(open_page, made_up, result):
    assert "alignment came out" in words(open_page(result=result))


def test_what_fails_is_said(open_page, computes):
    def fails(models, watch):
        raise ValueError("the small model was not trained; try again")

    computes("alignment", fails)
    assert "the small model was not trained" in words(open_page()).lower()


def test_presented_it_is_one_result(open_page, made_up):
    at = open_page(present="1")
    assert "alignment came out" in words(at)
    assert not [button for button in at.button if button.key == "known_ioi"]
