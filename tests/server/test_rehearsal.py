"""A class of phones that plays against a server before the lesson."""

import asyncio

from tests.server.test_rooms import VIEW, Class
from ui.server import rehearsal


def test_a_class_plays_and_leaves_the_room_as_it_was(server, monkeypatch):
    monkeypatch.setattr(rehearsal, "EVERY_S", 0.3)
    here = Class(server)
    here.store.publish(here.room.id, VIEW, None, "tab")
    here.store.set_task(here.room.id, "Find a head")
    found = asyncio.run(rehearsal.play(server.url, here.key, people=3, seconds=1.2))
    assert (found["errors"], found["counted"]) == (0, 3), found["first_error"]
    assert found["missed"] < 9  # of three changes, of which a busy computer may tell two at a time
    now = here.store.room(here.room.id)
    assert (now.task, now.question, here.store.log(now.id)) == ("Find a head", None, [])


def test_of_few_phones_the_slowest_bounds_what_is_said():
    assert rehearsal.spread([1.0, 2.0])["p95"] <= 2.0
    assert rehearsal.spread([]) == {"median": 0.0, "p95": 0}
