"""A class of phones that plays against a server before the lesson."""

import asyncio

import pytest

from tests.server.test_rooms import VIEW
from transformer.rooms.room import new_key
from transformer.rooms.store import Store
from ui.server import rehearsal


@pytest.fixture
def room(server, monkeypatch):
    monkeypatch.setattr(rehearsal, "EVERY_S", 0.3)
    store, key = Store(server.home / "rooms.sqlite"), new_key()
    found = store.open_room(key)
    store.lead(found.id, "tab")
    store.publish(found.id, VIEW, None, "tab")
    return store, found.id, key


def test_a_class_plays_and_leaves_the_room_as_it_was(server, room):
    store, id, key = room
    store.set_task(id, "Find a head")
    found = asyncio.run(rehearsal.play(f"http://{server.host}", key, people=3, seconds=1.2))
    assert (found["errors"], found["counted"]) == (0, 3), found["first_error"]
    assert found["missed"] < 9  # of three changes, of which a busy computer may tell two at a time
    assert store.room(id).task == "Find a head"
    assert store.room(id).question is None
    assert store.log(id) == []


def test_of_few_phones_the_slowest_bounds_what_is_said():
    assert rehearsal.spread([1.0, 2.0])["p95"] <= 2.0
    assert rehearsal.spread([]) == {"median": 0.0, "p95": 0}
