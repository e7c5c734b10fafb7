"""What a phone in a room fetches, in bytes on the wire: 60 kB for a first visit, 10 kB for a step."""

import re

import pytest

import transformer
from tests.rooms.shown import picture_of
from tests.server.client import Server
from tests.server.test_rooms import Class

FIRST, STEP = 60_000, 10_000
SPEECH = """ROMEO:
But soft, what light through yonder window breaks?
It is the east, and Juliet is the sun.
Arise, fair sun, and kill the envious moon,
Who is already sick and pale with grief."""
TEXTS = {"translate": "I have never seen such a beautiful sunset in my whole life.", "write": SPEECH}


@pytest.mark.parametrize(("name", "kind", "view"), [
    ("translate", "cross", "matrix"), ("translate", "encoder", "matrix"), ("translate", "cross", "lines"),
    ("write", "decoder", "matrix"), ("write", "decoder", "lines")])
def test_a_visit_and_a_step_are_small(server: Server, name, kind, view):
    here = Class(server)
    store, room = here.store, here.room

    def size(path: str) -> int:
        answer = server.ask("GET", path, Cookie=server.phone("p"), Accept_Encoding="gzip")
        assert answer.status == 200
        return len(answer.body) + len(str(answer.headers))

    ckpt = transformer.load(f"checkpoints/{name}")
    steps = list(transformer.steps(ckpt, TEXTS[name], max_steps=12))
    view_of = {"page": name, "params": {"text": TEXTS[name]}, "title": name.title(), "said": "", "place": "step 11"}
    store.publish(room.id, view_of, picture_of(steps[-2], kind, view=view), "tab")
    page = server.ask("GET", f"/r/{room.code}")
    script = re.search(r"scripts/(phone-\w+\.js)", page.text)[1]
    visit = {path: size(path) for path in (f"/r/{room.code}", f"/scripts/{script}", "/favicon.png",
                                           f"/r/{room.code}/mine", f"/r/{room.code}/state?rev=&picture=")}
    assert sum(visit.values()) <= FIRST, visit
    now = store.room(room.id)
    store.publish(room.id, view_of, picture_of(steps[-1], kind, view=view), "tab")
    assert size(f"/r/{room.code}/state?rev={now.rev}&picture={now.picture}") <= STEP
