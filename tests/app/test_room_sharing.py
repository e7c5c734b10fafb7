"""What a room sees of the pages that its lecturer goes through."""

import pytest

from transformer.rooms.room import Room, new_key
from transformer.rooms.store import Store
from ui.access import visitors
from ui.page import room_sharing

from .page import move

TAB = "a" * 16
RED = "I like red wine."


@pytest.fixture
def rooms(home) -> Store:
    home.mkdir(exist_ok=True)
    return room_sharing.store()


@pytest.fixture
def room(rooms, cookies) -> Room:
    """Led by the tab of every visit that is told so."""
    cookies[visitors.LECTURER] = new_key()
    room = rooms.open_room(cookies[visitors.LECTURER])
    rooms.lead(room.id, TAB)
    return room


def test_the_steps_of_home_are_seen_as_the_page_that_has_an_address_of_them(visit, rooms, room):
    at = visit("home")
    at.session_state["room_tab"] = TAB
    move(at, "home", 2, number=1)
    view = rooms.room(room.id).view
    assert (view["page"], view["place"], view["params"]["text"]) == ("translate", "step 2", RED)
    assert rooms.picture(room.id)


def test_who_manages_a_room_takes_nobody_along_but_to_show_the_way_in(visit, rooms, room):
    at = visit("translate", text=RED, step="2")
    at.session_state["room_tab"] = TAB
    at.run()
    assert rooms.room(room.id).view["place"] == "step 2"
    at.switch_page("pages/room.py").run()
    assert rooms.room(room.id).view["place"] == "step 2"
    at.session_state["room_presenting"] = True
    at.run()
    assert rooms.room(room.id).view["page"] == "room"


def test_what_is_opened_before_the_page_knows_its_tab_is_gone_to_all_the_same(visit, rooms, room):
    rooms.go_to(room.id, {"page": "write", "params": {}})  # of an earlier visit
    at = visit("room")
    rooms.go_to(room.id, {"page": "translate", "params": {"text": RED, "step": "2"}})
    at.session_state["room_tab"] = TAB
    at.run()
    assert (at.title[0].value, at.query_params["step"]) == ("Translate", "2")


def test_a_second_room_of_one_session_goes_where_its_first_view_leads(visit, rooms, room, cookies):
    at = visit("room")
    at.session_state["room_tab"] = TAB
    for _ in range(3):
        rooms.go_to(room.id, {"page": "write", "params": {}})
    at.run()
    assert at.title[0].value == "Write"
    cookies[visitors.LECTURER] = new_key()
    second = rooms.open_room(cookies[visitors.LECTURER])
    rooms.lead(second.id, TAB)
    at.run()
    rooms.go_to(second.id, {"page": "translate", "params": {"text": RED, "step": "2"}})
    at.run()
    assert at.title[0].value == "Translate"
