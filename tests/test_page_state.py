"""What a session keeps for a page, as fields with types (`ui/state/page_state.py`)."""

from typing import Any

import pytest
import streamlit as st

from ui.page.link import Field, Part, address_fields, quiet
from ui.state.page_state import Kept, PageState, kept


class State(PageState):
    text = Field("Go.")
    layer: Kept[int | None] = Kept(None)
    head: Kept[int | None] = Kept(None)
    seen: Kept[list[str]] = kept(list)


@pytest.fixture(autouse=True)
def session(monkeypatch) -> dict[str, Any]:
    """The state of one session."""
    session: dict[str, Any] = {}
    monkeypatch.setattr(st, "session_state", session)
    return session


def test_a_field_stands_under_its_page_and_name_and_has_its_default_until_then(session):
    state = State("write")
    assert (state.layer, State.layer.known("write")) == (None, False)
    state.layer = 2
    State.text.put("write", "Stay.")
    assert session == {"write_layer": 2, "write_text": "Stay."}
    assert (state.layer, state.text, State("heads").layer) == (2, "Stay.", None)
    assert State.layer.pop("write") == 2 and state.layer is None
    del state.text
    assert session == {}


def test_a_first_value_is_made_for_each_page_and_kept():
    State("write").seen.append("a")
    assert (State("write").seen, State("heads").seen) == (["a"], [])


def test_fields_with_one_default_are_two_fields():
    assert State.layer != State.head and len({State.layer: 1, State.head: 2}) == 2


def test_the_fields_of_an_address_are_those_of_a_state_and_of_what_it_is_made_of():
    class More(State):
        what = quiet(Field("off"))

    assert list(address_fields(More)) == ["text", "what"]
    assert More.what.key("write") == "write_what"


def test_a_part_is_read_and_written_in_its_whole(session):

    class Whole(PageState):
        field = kept(lambda: Field("a", long=True))

    part = Part("a", name="default", whole=Whole.field, at="_toy")
    assert not part.known("write")
    part.put("write", "b")
    assert list(session) == ["write_toy_field"] and session["write_toy_field"].long
    assert (part.of("write"), part.known("write")) == ("b", True)
