"""The front page."""

from urllib.parse import parse_qsl

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import transformer
from tests.labels import labels_of
from tests.messages import unpacked
from transformer.analysis.carried import carried
from transformer.checkpoints.openings import OPENINGS
from transformer.settings.quick_tasks import QUICK
from transformer.training.forming import read_forming
from ui.figures.labels import markdown_text
from ui.page.pages import GROUPS, PAGES
from ui.views.home.head_in_training import FOLDER, growing_message

from .page import chips, components, move, picture, press, step_view_of

ALIGNS = OPENINGS["translation"]
RED = "I like red wine."


@pytest.fixture
def at(visit) -> AppTest:
    return visit("home")


def led_to(at: AppTest, visit, sign: str, page: str) -> AppTest:
    """The page that the link with that sign in its address opens."""
    link = next(link.proto for link in at.get("page_link") if sign in link.proto.query_string)
    return visit(page, **dict(parse_qsl(link.query_string, strict_parsing=True)))


def test_every_page_is_there_in_its_group_with_its_description(at):
    named = [link.proto for link in at.get("page_link") if link.proto.label.startswith("**")]
    assert [(link.page, link.label) for link in named] == [(page.name, f"**{page.title}**") for page in PAGES.values()]
    assert [heading.value for heading in at.header] == list(GROUPS)
    assert {markdown_text(page.sentence) for page in PAGES.values()} <= {text.value for text in at.caption}


def test_a_sentence_stands_at_its_first_step_with_all_that_comes_and_plays_from_there_alone(at, shipped):
    *_, last = transformer.steps(shipped("translate"), RED)
    step_view = step_view_of(at)
    assert (step_view["steps"]["index"], step_view["steps"]["last"]) == (0, last.index)
    assert step_view["brief"]
    assert step_view["plays"] == 3
    assert len(chips(at, "target tokens")) == len(last.tokens) + 1
    assert not at.get("plotly_chart")
    move(at, "home", 5, number=1)
    assert step_view_of(at)["plays"] == 0


def test_the_step_shown_opens_on_translate(at, visit):
    opened = led_to(at, visit, "text=", "translate")
    assert {"text": RED, "step": "0", "kind": "cross", "layer": str(ALIGNS.layer),
            "head": str(ALIGNS.head)}.items() <= opened.query_params.items()
    assert not opened.error


@pytest.mark.parametrize("step", [0, 5])
def test_the_whole_model_is_the_picture_and_its_step_opens_on_translate(at, visit, shipped, step):
    if step:
        move(at, "home", step, number=1)
    header, arrays = picture(at)
    assert (header["selection"]["view"], header["selection"]["level"]) == ("model", "whole")
    *_, expected = transformer.steps(shipped("translate"), RED, max_steps=step + 1)
    np.testing.assert_allclose(arrays["norms/decoder"], carried(expected)["decoder"].norms, rtol=1e-4)
    opened = led_to(at, visit, "text=", "translate")
    assert {"text": RED, "step": str(step)}.items() <= opened.query_params.items()
    assert "view" not in opened.query_params


def test_a_presented_front_page_has_its_step_view_alone(visit):
    at = visit("home", present="1")
    assert picture(at)[0]["large"] and not [link for link in at.get("page_link") if "**" in link.proto.label]


def test_the_last_picture_leads_to_the_cards_of_quick_tasks(at, visit):
    opened = led_to(at, visit, "view=now", "train")
    assert {f"train_quick_{name}" for name in QUICK} <= {button.key for button in opened.button}


def test_a_head_is_shown_through_its_training(at):
    (growing,) = components(at, "growing_head")
    forming = read_forming(FOLDER)
    assert growing.bytes[4:] == growing_message(forming, dark=False)[4:] or b'"dark":true' in growing.bytes
    header, arrays = unpacked(growing.bytes)
    assert tuple(header["steps"]) == forming.steps
    assert header["losses"][-1] < header["losses"][10]
    assert header["makes"] == [*header["queries"][1:], "</s>"]  # what each row writes
    assert np.array_equal(arrays["cells"], forming.cells[1, "cross"][:, ALIGNS.layer, ALIGNS.head])


def test_a_press_loads_the_sentence_whose_first_word_is_to_be_changed(at, shipped):
    press(at, "home_now")
    *_, last = transformer.steps(shipped("translate"), "We have to go home now.")
    assert len(chips(at, "source tokens")) == len(last.source) + 1
    assert [*chips(at, "target tokens")][1:] == labels_of(last)[1:]
