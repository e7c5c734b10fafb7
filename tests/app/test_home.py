"""The front page."""

from urllib.parse import parse_qsl

import pytest
from streamlit.testing.v1 import AppTest

from ui.figures.labels import markdown_text
from ui.pages import PAGES

EXAMPLES = 3


@pytest.fixture
def at(visit) -> AppTest:
    return visit("home")


def links(at: AppTest) -> list[tuple[str, dict[str, str]]]:
    return [(link.proto.page, dict(parse_qsl(link.proto.query_string, strict_parsing=True, keep_blank_values=True)))
            for link in at.get("page_link") if link.proto.query_string]


def test_it_says_what_the_app_is(at):
    assert at.title[0].value == "See what every attention head does"
    assert any("**Heads Up** runs a transformer one token at a time" in text.value for text in at.markdown)


def test_every_page_is_there_with_its_description(at):
    named = [link.proto for link in at.get("page_link") if not link.proto.query_string]
    assert [(link.page, link.label) for link in named] == [(page.name, f"**{page.title}**") for page in PAGES.values()]
    assert {markdown_text(page.sentence) for page in PAGES.values()} < {text.value for text in at.markdown}


def test_there_are_three_examples(at):
    assert len(links(at)) == EXAMPLES


@pytest.mark.parametrize("which", range(EXAMPLES))
def test_an_example_opens_the_picture_it_promises(at, visit, which):
    page, params = links(at)[which]
    opened = visit(page, **params)
    there = {name: value for name, value in params.items() if name != "step"}  # the text may end before
    assert there.items() <= opened.query_params.items()
    assert 0 < int(opened.query_params["step"]) <= int(params["step"])
    assert not opened.error


def test_coming_back_from_the_front_page_finds_the_work_as_it_was(visit, move):
    at = visit("translate", text="Go on.")
    move(at, "translate", 1, number=1)
    address = dict(at.query_params)
    at.switch_page("pages/home.py").run()
    assert at.title[0].value.startswith("See what")
    at.query_params.clear()
    at.switch_page("pages/translate.py").run()
    assert dict(at.query_params) == address
