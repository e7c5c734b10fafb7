"""Rooms over http, as phones and lecturers speak to them, with everything that may be forged."""

import asyncio
import csv
import io
import json
import re
import sqlite3
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import orjson
import pytest
from starlette.requests import Request

from tests.rows import each_row
from tests.server.client import ANSWER_S, Answer, Server
from tests.waiting import until
from transformer.lessons.answers import answer
from transformer.lessons.parsing import parse
from transformer.rooms import clock
from transformer.rooms.room import MOST_HOURS, MOST_JOINING, new_key
from transformer.rooms.store import Store
from ui.access import visitors as keys
from ui.lessons.stop_links import open_stop
from ui.page.pages import EVERY_PAGE, HOME
from ui.rooms import actions, export
from ui.server import room_routes
from ui.server.room_routes import LARGEST

VIEW = {"page": "translate", "params": {"text": "I like red wine.", "step": "4", "kind": "cross", "layer": "1",
                                        "head": "3"}, "title": "Translate", "said": "Step 4", "place": "step 4"}


class Class:
    """A room on a server, its lecturer, and as many phones as are wanted."""

    def __init__(self, server: Server) -> None:
        self.server, self.key = server, new_key()
        self.store = Store(server.home / "rooms.sqlite")
        self.room = self.store.open_room(self.key)
        self.store.lead(self.room.id, "tab")

    def get(self, name: str, phone: str = "", **headers: str) -> Answer:
        return self.server.ask("GET", f"/r/{self.room.code}/{name}", Cookie=self.cookie(phone), **headers)

    def post(self, name: str, phone: str = "", body: bytes | None = None, **content: object) -> Answer:
        return self.server.ask("POST", f"/r/{self.room.code}/{name}", Cookie=self.cookie(phone),
                               body=orjson.dumps(content) if body is None else body)

    def cookie(self, phone: str) -> str:
        return self.server.phone(phone) if phone else ""

    def lead(self, name: str = "do", method: str = "POST", **content: object) -> Answer:
        return self.server.ask(method, f"/r/{self.room.code}/{name}", Cookie=f"headsup_room={self.key}",
                               body=orjson.dumps(content) if method == "POST" else b"")

    def state(self, phone: str = "p", **query: object) -> dict:
        """What a phone is told now."""
        asked = "&".join(f"{name}={value}" for name, value in {"rev": 0, "tally": "", **query}.items())
        return json.loads(self.get(f"state?{asked}", phone).text)

    def told(self) -> dict:
        """What the lecturer is told now."""
        return json.loads(self.lead("lead?rev=0", "GET").text)

    def mine(self, phone: str) -> dict:
        """What a phone alone is told."""
        return json.loads(self.get("mine", phone).text)

    def ask(self, about: str = "next token", **more: object) -> dict:
        """A question that is open."""
        answer = self.lead(do="ask", about=about, open=True, **more)
        assert answer.status == 200, answer.text
        return self.state()["question"]

    def answer(self, phone: str, question: dict, value: object, **more: object) -> Answer:
        return self.post("answer", phone, **{"question": question["id"], "round": 1, "value": value, **more})

    def table(self) -> list[dict[str, str]]:
        """The answers that the lecturer takes home."""
        return list(csv.DictReader(io.StringIO(self.lead("answers.csv", "GET").body.decode("utf-8-sig"))))


@pytest.fixture
def room(server) -> Class:
    found = Class(server)
    found.store.publish(found.room.id, VIEW, b"a picture of it", "tab")
    return found


def error(answer: Answer) -> str:
    return json.loads(answer.text)["error"]


def test_the_way_in_is_a_page_with_one_script_whose_cookie_admits_to_the_room(room, server):
    for path in ("/r", "/r/K7M4QX", "/lead"):
        page = server.ask("GET", path)
        assert page.status == 200
        assert page.text.count("<script") == 1
        given = f"headsup_visitor={page.cookies['headsup_visitor']}"
        for cookie, status in (("", 403), ("headsup_visitor=made-up", 403), (given[:-1], 403), (given, 200)):
            answer = server.ask("GET", f"/r/{room.room.code}/state?rev=0&tally=", Cookie=cookie)
            assert answer.status == status
            assert status == 200 or "cookies" in error(answer)


def test_a_wrong_code_says_so(room, server):
    for code in ("ZZZZZZ", "nonsense", "%C3%A9"):
        answer = server.ask("GET", f"/r/{code}/state?rev=0", Cookie=server.phone("p"))
        assert answer.status == 404
        assert "ask the lecturer for the code" in error(answer)


class Served:
    """The routes of rooms by themselves, in a process whose clocks stand, and what they wait for."""

    def __init__(self, folder, monkeypatch) -> None:
        monkeypatch.setenv("HEADSUP_HOME", str(folder))
        monkeypatch.setattr(room_routes, "SEEN_S", 0)
        monkeypatch.setattr(clock, "now", lambda: 1e9)
        monkeypatch.setattr(time, "monotonic", lambda: 1e3)
        monkeypatch.setattr(asyncio, "sleep", self.wait)
        self.store, self.waited = Store(folder / "rooms.sqlite"), []
        self.room = self.store.open_room(new_key())
        self.routes = {route.path: route.endpoint for route in room_routes.RoomRoutes(self.store).routes()}

    async def wait(self, seconds: float) -> None:
        if seconds:
            self.waited.append(round(seconds, 2))

    def ask(self, phone: str, *, name: str = "mine", code: str = "", address: str = "10.0.0.1") -> tuple[int, float]:
        """The status of an answer, and how long it is waited for."""
        (path, _, query), before = name.partition("?"), sum(self.waited)
        request = requested(phone, code=code or self.room.code, address=address, query=query)
        answer = asyncio.run(self.routes[f"/r/{{code}}/{path}"](request))
        return answer.status_code, round(sum(self.waited) - before, 2)


@pytest.fixture
def served(tmp_path, monkeypatch) -> Served:
    return Served(tmp_path, monkeypatch)


def test_who_is_one_of_many_that_come_at_once_is_asked_to_try_again(served, monkeypatch):
    for at in range(MOST_JOINING):
        served.store.join(served.room.id, f"phone {at}")
    assert served.ask("late") == (503, 0)
    monkeypatch.setattr(clock, "now", lambda: 1e9 + 2)
    assert served.ask("late") == (200, 0)
    served.store.lock(served.room.id, True)
    assert served.ask("another", address="10.0.0.2") == (403, 0)
    for at in range(MOST_JOINING + 1):  # trying again would help none of them
        assert served.ask(f"later-{at}") == (403, 0)


def test_the_lecturer_takes_out_all_who_are_new(room):
    assert room.state("made-up")
    assert room.lead(do="out new").status == 200
    assert room.told()["devices"] == []
    assert room.get("mine", "made-up").status == 403


def test_wrong_codes_wait_the_longer_the_more_of_them_come_and_from_one_address(monkeypatch):
    now = [1_000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    guesses = room_routes.WrongCodes()
    waits = [guesses.count("one") for _ in range(1_000)]
    assert waits == sorted(waits) and waits[0] == 0 and waits[-1] == guesses.MOST_S == guesses.wait("one")
    assert guesses.wait("another") == 0
    now[0] += guesses.FORGET_S + 1
    assert guesses.wait("one") == 0
    for at in range(2 * guesses.MOST):
        guesses.count(str(at))
    assert len(guesses._counts) == guesses.MOST


def test_a_right_code_is_told_no_sooner_than_a_wrong_one(served):
    """To whoever has been here no more than to whoever has not: nobody learns by hanging up."""
    assert served.ask("known") == (200, 0)
    each = room_routes.WrongCodes.MORE_S
    assert [served.ask("guesses", code="ZZZZZZ") for _ in range(30)] == [(404, round(at * each, 2)) for at in range(30)]
    assert served.ask("new") == (200, 30 * each)
    assert served.ask("new") == (200, 0)  # who is in is not kept waiting again
    assert served.ask("known") == (200, 0)
    assert served.ask("another", address="10.0.0.2") == (200, 0)


def test_no_address_takes_all_places_of_those_who_come(monkeypatch):
    now = [1_000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    turns = room_routes.Turns()
    assert all(turns.may_come("a room", "one") for _ in range(100))  # a whole class behind one address
    now[0] += 1
    assert turns.may_come("a room", "another")
    assert sum(turns.may_come("a room", "one") for _ in range(100)) == MOST_JOINING // 2
    assert all(turns.may_come("another room", "one") for _ in range(100))
    for second in range(10):
        now[0] += 1
        assert all(turns.may_come("a room", f"phone {second} {at}") for at in range(10))
        assert sum(turns.may_come("a room", "one") for _ in range(100)) < MOST_JOINING / 10
    now[0] += turns.WANTED_S
    assert turns.may_come("a room", "one") and [*turns._addresses] == ["a room"]


def test_an_answer_waits_for_a_change_and_comes_with_it(room):
    """On this server, it would wait for an hour."""
    before = room.state()["rev"]
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(room.get, f"state?rev={before}&picture=0", "p")
        time.sleep(0.2)
        assert not waiting.done()
        room.store.set_mode(room.room.id, "free")
        assert waiting.result(ANSWER_S).status == 200


def test_where_nothing_has_changed_in_time_the_answer_says_so(served, monkeypatch):
    monkeypatch.setattr(room_routes, "WAIT_S", 0)
    assert served.ask("p", name=f"state?rev={served.store.rev(served.room.id)}&picture=0") == (204, 0)
    assert served.ask("p", name="state?rev=99&picture=0") == (200, 0)


def test_whoever_comes_late_is_told_all_there_is_and_sent_the_picture_once(room):
    assert b"a picture of it" in room.get("state?rev=0&picture=0", "late").body
    assert b"a picture of it" not in room.get(f"state?rev=0&picture={room.state()['picture']}", "late").body
    room.ask()
    found = room.state("later")
    assert (found["view"]["place"], found["question"]["phase"]) == ("step 4", "open")


def test_what_is_asked_is_not_in_what_phones_are_told(room):
    question = room.ask()
    right = question["spec"]["choices"]
    for phase in ("open", "closed", "split"):
        assert room.lead(do="phase", phase=phase).status == 200
        for text in (room.get("state?rev=0&picture=0", "p").text, room.get("state?rev=0&tally=", "p").text,
                     room.get("mine", "p").text):
            assert "a picture of it" not in text
            assert '"key"' not in text
            assert '"summary"' not in text
            assert "Step 4" not in text
            assert '"step":"4"' not in text  # the address of the page, which has the answer on it
    room.lead(do="phase", phase="answer")
    found = room.state()["question"]
    assert found["key"]["right"] == right.index(found["spec"]["choices"][found["key"]["right"]])
    assert found["key"]["proof"]["checkpoint"].startswith("translate@")


def test_a_stop_that_asks_is_covered_until_it_is_asked_or_shown_without(room):
    asked = {"about": "cell", "ask": "Where does it look?", "options": {"query": "newest"}, "stop": "lesson/2",
             "view": {name: VIEW[name] for name in ("page", "params")}}
    room.store.publish(room.room.id, VIEW | {"asked": asked}, b"a picture of it", "tab")
    assert room.state()["coming"] == "Where does it look?"
    assert b"a picture of it" not in room.get("state?rev=0&picture=0", "p").body
    assert "Step 4" not in room.get("state?rev=0&picture=0", "p").text
    question = room.ask("stop")
    assert (question["spec"]["about"], question["spec"]["ask"]) == ("cell", "Where does it look?")
    room.lead(do="phase", phase="answer")
    room.lead(do="put away")
    assert room.state()["coming"] is None
    assert b"a picture of it" in room.get("state?rev=0&picture=0", "p").body
    room.store.publish(room.room.id, VIEW | {"asked": asked | {"stop": "lesson/3"}}, b"a picture of it", "tab")
    assert room.state()["coming"]
    room.lead(do="uncover")
    assert room.state()["coming"] is None
    for at, (compare, covers) in enumerate({"": False, "page": True}.items(), 4):  # a text of one's own
        asked |= {"about": "text", "options": {"compare": compare}, "stop": f"lesson/{at}"}
        room.store.publish(room.room.id, VIEW | {"asked": asked}, b"a picture of it", "tab")
        assert bool(room.state()["coming"]) is covers
        room.ask("stop")
        assert (b"a picture of it" not in room.get("state?rev=0&picture=0", "p").body) is covers
        room.lead(do="phase", phase="answer")
        assert b"a picture of it" in room.get("state?rev=0&picture=0", "p").body
        room.lead(do="put away")


def test_heads_that_were_switched_off_go_with_the_votes(room):
    """Who “most of you” are is said of the votes that count, in whatever round."""
    room.store.publish(room.room.id, {**VIEW, "params": {**VIEW["params"], "layer": "0"}}, None, "tab")
    question = room.ask("head")
    room.answer("a", question, 0)
    room.lead(do="phase", phase="answer")
    assert room.lead(do="switch off").status == 200
    assert room.state()["question"]["key"]["switched"][0]["votes"] == 1
    for deed in ("again", "reset"):
        room.lead(do=deed)
        room.lead(do="phase", phase="answer")
        assert "switched" not in room.state()["question"]["key"]
    room.lead(do="put away")
    assert room.lead(do="switch off").status == 409


def test_votes_stay_hidden_until_they_are_shown(room):
    """But for a lecturer who looks at them before the room."""
    question = room.ask()
    for phone in "abc":
        assert room.answer(phone, question, 1, sure=2).status == 200
    for phase in ("open", "closed"):
        room.lead(do="phase", phase=phase)
        assert json.loads(room.lead(do="peek").text)["votes"]["counts"] == [0, 3, 0, 0]
        assert "split" not in room.state()["question"] and "split" not in room.told()["question"]
        assert room.state()["answered"] == 3
    room.lead(do="phase", phase="split")
    assert room.state()["question"]["votes"]["counts"] == [0, 3, 0, 0]


def test_an_answer_sent_again_counts_once_and_may_change_and_a_second_round_stands_beside_the_first(room):
    question = room.ask()
    for value in (0, 0, 2, 1, 1):
        room.answer("a", question, value)
    assert room.mine("a")["answers"] == {f"{question['id']}/1": [1, None]}
    room.lead(do="again")
    room.answer("a", question, 3, round=2)
    room.lead(do="phase", phase="answer")
    found = room.state()["question"]
    assert (found["first"]["counts"], found["votes"]["counts"]) == ([0, 1, 0, 0], [0, 0, 0, 1])
    assert found["rounds"]["count"] == [1, 1]


@each_row("content", [
    {"value": 99}, {"value": None}, {"value": 1e400}, {}, {"value": 1, "sure": 7}, {"value": 1, "sure": True},
    {"value": 1, "round": 2}, {"value": 1, "round": "1"}, {"value": 1, "question": 2 ** 62},
    {"value": 1, "question": "x"}, {"value": 1, "question": None}])
def test_what_is_no_answer_is_refused_with_a_sentence(room, content):
    sent = room.post("answer", "a", **{"question": room.ask()["id"], "round": 1, **content})
    assert sent.status == 409
    assert error(sent)
    assert room.state()["answered"] == 0


@each_row("body", [b"", b"[]", b"{", b"\xff\xfe", b"null", b'{"a":' * 3_000, b"x" * (LARGEST + 1)])
def test_what_is_no_message_is_refused(room, body):
    for name in ("answer", "found", "do"):
        assert room.post(name, "a", body=body).status in (403, 409)


def test_a_student_does_nothing_that_is_a_lecturers(room, server):
    """Without a key, with one that is made up, with that of another room, and with the room's id or code as one."""
    room.ask()
    before = room.state()
    other = Class(server)
    content = {"mode": "paused", "phase": "answer", "key": "h", "on": True, "task": "x", "number": 0, "id": 1, "seq": 1,
               "about": "text", "question": 1, "page": "heads", "params": {}, "seqs": [1]}
    for key in ("", "x", other.key, room.room.id, room.room.code):
        cookie = "; ".join([server.phone("p"), *([f"headsup_room={key}"] if key else [])])
        for name in actions.ACTIONS:
            answer = server.ask("POST", f"/r/{room.room.code}/do", body=orjson.dumps({"do": name, **content}),
                                Cookie=cookie)
            assert answer.status == 403, (name, key)
            assert room.state()["rev"] == before["rev"], (name, key)
        for name in ("lead?rev=0", "answers.csv", "lesson.md"):
            assert server.ask("GET", f"/r/{room.room.code}/{name}", Cookie=cookie).status == 403, (name, key)


def test_where_the_lecturer_scrolls_is_told_to_who_is_told_counts_and_wakes_no_phone(room):
    before, at = room.state(), {"part": "st-key-by_hand_late_mask", "into": 0.5}
    assert room.lead(do="scroll", page="by_hand", at=at).status == 200
    after = room.state()
    assert after["rev"] == before["rev"]
    assert after["tally"] != before["tally"]
    assert (after["scrolled"]["page"], after["scrolled"]["at"]) == ("by_hand", at)
    assert room.lead(do="scroll", page="by_hand", at=None).status == 200
    assert room.state()["scrolled"]["at"] is None
    for wrong in ({"page": "no", "at": None}, {"page": "masks", "at": {"part": "x", "into": 2}}, {"at": "x"}):
        assert room.lead(do="scroll", **wrong).status == 409


@each_row("content", [
    {}, {"do": 1}, {"do": "no such"}, {"do": "mode", "mode": "x"}, {"do": "phase", "phase": None},
    {"do": "press", "key": "F5"}, {"do": "ask", "about": "x"}, {"do": "ask", "about": ["a"]}, {"do": "task", "task": 7},
    {"do": "task", "task": "x" * 1_000}, {"do": "tile", "id": "1"}, {"do": "out", "number": -1},
    {"do": "show", "page": "no", "params": {}}, {"do": "show", "page": "heads", "params": {"a": 1}},
    {"do": "show", "page": ["heads"], "params": {}}, {"do": "phase", "phase": ["open"]}, {"do": {"a": 1}}])
def test_what_a_lecturer_cannot_do_is_said(room, content):
    room.store.put_away(room.room.id)
    answer = room.lead(**content)
    assert answer.status == 409
    assert error(answer)


def test_the_lecturers_key_comes_by_its_link_no_script_reads_it_and_a_computer_forgets_it(room, server):
    answer = server.ask("POST", "/lead", body=orjson.dumps({"key": room.key}))
    assert json.loads(answer.text) == {"code": room.room.code}
    assert "HttpOnly" in answer.headers["Set-Cookie"]
    again = server.ask("POST", "/lead", body=b"{}", Cookie=f"headsup_room={room.key}")  # a remote that is loaded again
    assert json.loads(again.text) == {"code": room.room.code}
    for key in ("wrong", 7, None, ["x"], ""):
        assert server.ask("POST", "/lead", body=orjson.dumps({"key": key})).status == 404
    gone = server.ask("POST", "/lead", body=b'{"leave": true}', Cookie=f"headsup_room={room.key}")
    assert gone.status == 200
    assert re.match("headsup_room=.*Max-Age=0", gone.headers["Set-Cookie"])


def test_one_device_is_taken_out(room):
    question = room.ask()
    for phone in "ab":
        room.answer(phone, question, 0)
    number = room.mine("a")["number"]
    assert room.lead(do="out", number=number, on=True).status == 200
    assert room.get("state?rev=0&tally=", "a").status == 403
    assert "this device" in error(room.get("mine", "a"))
    assert room.answer("a", question, 1).status == 403
    assert room.state("b")["answered"] == 1
    room.lead(do="out", number=number, on=False)
    assert room.get("state?rev=0&tally=", "a").status == 200


def test_two_rooms_at_once_know_nothing_of_each_other(room, server):
    other = Class(server)
    other.store.publish(other.room.id, VIEW | {"said": "of the other"}, None, "tab")
    question = room.ask()
    assert other.answer("a", question, 0).status == 409
    assert other.state("a")["question"] is None
    assert other.lead(do="phase", phase="answer").status == 409
    assert room.state()["question"]["phase"] == "open"


def test_nobody_answers_for_another(room):
    question = room.ask()
    room.get("mine", "b")
    room.answer("a", question, 0, device="b", number=0)
    assert room.mine("b")["answers"] == {}
    assert room.mine("a")["answers"]


def test_what_a_device_said_goes_when_it_asks_and_all_of_it_with_the_room(room):
    question = room.ask("text")
    room.answer("a", question, "delete me")
    room.lead(do="task", task="Look")
    room.post("found", "a", page="heads", params={"view": "lens"}, note="and me")
    assert room.post("forget", "a").status == 200
    assert room.table() == []
    assert room.told()["tiles"] == []
    assert room.lead(do="end").status == 200
    assert room.get("state?rev=0&tally=", "a").status == 404
    assert room.lead("answers.csv", "GET").status == 404


def test_texts_are_shown_only_once_they_are_let_through(room):
    question = room.ask("text")
    room.answer("a", question, "<b>rude</b>")
    room.lead(do="phase", phase="split")
    assert room.state()["question"]["texts"] == []
    (one,) = room.told()["moderate"]
    room.lead(do="text", seq=one["seq"], on=True)
    assert room.state()["question"]["texts"] == ["<b>rude</b>"]
    room.lead(do="text", seq=one["seq"], on=False)
    assert room.state()["question"]["texts"] == []
    room.answer("b", question, "came meanwhile")
    room.lead(do="texts", seqs=[one["seq"]])
    assert room.state()["question"]["texts"] == ["<b>rude</b>"]
    assert room.lead(do="texts", seqs=["x"]).status == 409
    room.lead(do="phase", phase="open")
    room.answer("a", question, "something else")  # which nobody has read
    room.lead(do="phase", phase="split")
    assert room.state()["question"]["texts"] == []


def test_nothing_is_handed_in_where_nothing_is_looked_for_or_by_who_is_not_in(room):
    room.get("mine", "in")
    assert room.post("found", "in", page="home", params={}).status == 409
    room.lead(do="task", task="Look")
    room.lead(do="lock", on=True)
    for at in range(3):
        assert room.post("found?watch", f"new-{at}", page="home", params={}).status == 403
    room.lead(do="out", number=room.mine("in")["number"], on=True)
    assert room.post("found?watch=1", "in", page="home", params={}).status == 403
    assert room.told()["tiles"] == []


def test_who_begins_to_wait_while_others_wait_elsewhere_is_told(tmp_path, monkeypatch):
    """A look at the rooms may fall between what somebody read and their waiting for more."""
    monkeypatch.setattr(room_routes, "COUNT_S", 1e9)  # or they would be told with the next counts
    written, read = (Store(tmp_path / "rooms.sqlite") for _ in range(2))
    here, there = (written.open_room(new_key()) for _ in range(2))

    async def play() -> None:
        watch, rev = room_routes.Watch(read), read.rev(there.id)
        elsewhere = asyncio.create_task(watch.wait(here.id, 3_600, read.rev(here.id), None))
        await asyncio.sleep(2 * room_routes.LOOK_S)
        written.gather(there.id)
        await asyncio.sleep(2 * room_routes.LOOK_S)  # it is seen, and concerns nobody who waits
        await asyncio.wait_for(watch.wait(there.id, 3_600, rev, None), ANSWER_S)
        waiting = asyncio.create_task(watch.wait(there.id, 3_600, read.rev(there.id), None))
        await asyncio.sleep(2 * room_routes.LOOK_S)
        assert not waiting.done()
        assert not elsewhere.done()
        for room, task in ((there, waiting), (here, elsewhere)):
            written.gather(room.id)
            await asyncio.wait_for(task, ANSWER_S)

    asyncio.run(play())


def requested(phone: str, *, code: str = "", address: str = "10.0.0.1", query: str = "") -> Request:
    return Request({"type": "http", "method": "GET", "query_string": query.encode(), "path_params": {"code": code},
                    "headers": [(b"cookie", f"headsup_visitor={keys.signed(phone)}".encode())],
                    "client": (address, 0)})


def test_who_comes_while_others_are_noted_is_noted_too(tmp_path, monkeypatch):
    monkeypatch.setenv("HEADSUP_HOME", str(tmp_path))
    monkeypatch.setattr(room_routes, "SEEN_S", 0)
    store = Store(tmp_path / "rooms.sqlite")
    room, noted = store.open_room(new_key()), []

    async def play() -> None:
        served, loop = room_routes.RoomRoutes(store), asyncio.get_running_loop()

        def seen(devices: set) -> None:
            noted.append(devices)
            if len(noted) == 1:  # the same phone comes again while it is being written down
                asyncio.run_coroutine_threadsafe(served._enter_room(requested("p"), room), loop).result(10)

        monkeypatch.setattr(store, "mark_seen", seen)
        for _ in range(2):
            await served._enter_room(requested("p"), room)
            await served._note_task

    asyncio.run(play())
    assert len(noted) == 2


def test_the_loop_that_looks_for_changes_writes_nothing_though_a_phone_is_removed_as_it_asks(tmp_path, monkeypatch):
    monkeypatch.setenv("HEADSUP_HOME", str(tmp_path))
    store, writers = Store(tmp_path / "rooms.sqlite"), []
    room, writing = store.open_room(new_key()), store._writing
    monkeypatch.setattr(store, "_writing", lambda: writers.append(threading.current_thread()) or writing())
    monkeypatch.setattr(store, "is_in", lambda *_: True)  # and is not any more when its number is looked up
    mine = asyncio.run(room_routes.RoomRoutes(store)._mine(requested("p"), room))
    assert json.loads(mine.body)["number"] == 0
    assert writers and threading.current_thread() not in writers


def test_a_room_whose_time_is_over_is_deleted_though_nobody_asks(tmp_path, monkeypatch):
    store = Store(tmp_path / "rooms.sqlite")
    store.open_room(new_key())
    deleted = threading.Event()
    monkeypatch.setattr(store, "forget_ended", lambda: (Store.forget_ended(store), deleted.set()))
    later = clock.now() + 3_600 * MOST_HOURS
    monkeypatch.setattr(clock, "now", lambda: later)

    async def serve() -> None:
        async with room_routes.RoomRoutes(store).forgetting():
            assert await asyncio.to_thread(deleted.wait, 10)

    asyncio.run(serve())
    with closing(sqlite3.connect(store.path)) as file:
        assert file.execute("select count(*) from room").fetchone() == (0,)


def test_a_view_that_is_handed_in_opens_on_the_wall_and_makes_nothing_else_of_the_lecturers_tab(room):
    room.lead(do="task", task="Look")
    params = {"text": "ROMEO:", "step": "2"}
    hostile = params | dict.fromkeys(("wall", "room", "present", "lesson", "stop"), room.room.code)
    assert room.post("found", "a", page="write", params=hostile, note="look\x00 here").status == 200
    (tile,) = room.told()["tiles"]
    assert (tile["title"], tile["note"]) == ("Write", "look here")
    for sent in ({"do": "tile", "id": tile["id"]}, {"do": "show", "page": "write", "params": hostile}):
        room.lead(do="show", page="home", params={})
        room.lead(**sent)
        goto = room.told()["goto"]
        assert (goto["page"], goto["params"]) == ("write", params)


@each_row("content", [
    {"page": "../teacher", "params": {}}, {"page": "heads", "params": {"no_such": "x"}},
    {"page": "translate", "params": {"checkpoint": "/etc/passwd"}}, {"page": "heads", "params": {"a": "x" * 9_000}},
    {"page": "translate", "params": {"text": "a"}, "note": "x" * 500},
    {"page": "train", "params": {"javascript:": "1"}}])
def test_what_is_no_view_is_not_handed_in(room, content):
    room.lead(do="task", task="Look")
    sent = room.post("found", "a", **content)
    assert sent.status == 409
    assert room.told()["tiles"] == []


def test_hostile_answers_are_plain_text_in_the_table_and_a_number_stays_one(room):
    question = room.ask("text")
    hostile = ['=HYPERLINK("http://evil.example")', "+1+1", "-2", "@SUM(A1)", 'a","b', "line one", "x;=1+1;y", "a|@b",
               "＝1+1", "\u200d=1+1", " =1"]
    for at, text in enumerate(hostile):
        assert room.answer(f"p{at}", question, text).status == 200
    room.store.publish(room.room.id, HAND, None, "tab")
    assert room.answer("a", room.ask("number", of="product"), -3.5).status == 200
    *rows, number = room.table()
    assert len(rows) == len(hostile)
    for row in rows:
        for part in re.split(r"[;|,]", row["answer"]):
            assert not part.strip(" \u200d\"").startswith(("=", "+", "-", "@", "＝")), row["answer"]
    assert number["answer"] == "-3.5"
    mine = json.loads(room.get("mine", "a").text)["number"]
    assert number["device"] == str(mine + 1)  # as that telephone says it
    assert all(row.keys() == {*export.COLUMNS} for row in rows)


HAND = {"page": "by_hand", "params": {"text": "I like red wine"}, "title": "By hand"}
CLASS = {"page": "classify", "params": {"text": "To be, or not to be, that is the question", "layer": "1"},
         "title": "Classify"}


def test_a_lesson_of_what_was_asked_opens_and_has_the_rooms_answers(room):
    """What a lesson can ask is asked there, with the same answer; the rest is asked in words."""
    assert "nothing has been asked" in error(room.lead("lesson.md", "GET"))
    long = {**VIEW, "params": {**VIEW["params"], "compare_text": "x " * 1_000}}
    keys = []
    for view, about, more in (
            (VIEW, "next token", {}), (VIEW, "cell", {}), (VIEW, "distribution", {}), (VIEW, "text", {}),
            (HAND, "number", {"of": "scaled"}), (VIEW, "number", {"of": "weight"}), (CLASS, "next token", {}),
            (long, "next token", {})):
        room.store.publish(room.room.id, view, None, "tab")
        keys.append(room.store.question(room.room.id, room.ask(about, **more)["id"]))
    found = parse(room.lead("lesson.md", "GET").body, "room")
    assert [stop.question.kind for stop in found.stops] == [
        "next token", "cell", "free text", "free text", "number", "free text", "free text", "free text"]
    token, cell, *_, number = (answer(stop.question, open_stop(stop)) for stop in found.stops[:5])
    asked = keys[0]
    assert token.choices[token.right].piece == asked.spec["choices"][asked.key["right"]]
    assert cell.weights[cell.right] == pytest.approx(keys[1].key["values"][keys[1].key["right"]])
    assert number.right == pytest.approx(keys[4].key["right"])


def test_one_browser_does_not_hold_every_connection(room):
    rev = room.state("greedy")["rev"]
    with ThreadPoolExecutor(30) as pool:
        waiting = [pool.submit(room.get, f"state?rev={rev}&picture=0", "greedy") for _ in range(30)]
        until(lambda: any(one.done() for one in waiting))
        assert {one.result().status for one in waiting if one.done()} == {409}
        assert room.state("other")["rev"] == rev  # while the others wait
        room.store.gather(room.room.id)


def test_nothing_tells_who_anybody_is(room, server):
    question = room.ask()
    room.answer("the-visitors-key", question, 1)
    told = room.lead("lead?rev=0", "GET").text + room.lead("answers.csv", "GET").text
    kept = b"".join(path.read_bytes() for path in room.store.path.parent.glob("rooms.sqlite*"))
    for text in (told.encode(), kept):
        assert b"the-visitors-key" not in text
        assert b"127.0.0." not in text


@pytest.fixture(scope="module")
def other(start) -> Server:
    """One whose file of rooms is spoilt."""
    return start()


@pytest.fixture
def unopenable(other) -> Iterator[Server]:
    """The same, with a folder where that file was."""
    path = other.home / "rooms.sqlite"
    for one in path.parent.glob("rooms.sqlite*"):
        one.unlink()
    path.mkdir()
    yield other
    path.rmdir()


def test_a_damaged_file_is_said_once_and_the_next_room_works(other):
    here = Class(other)
    assert here.get("mine", "p").status == 200
    here.store._tidy()
    with here.store.path.open("r+b") as file:
        file.write(b"garbage " * (here.store.path.stat().st_size // 8))
    assert {here.get("mine", f"p{number}").status for number in range(3)} <= {200, 503, 404}
    after = Class(here.server)
    assert [after.get("mine", "p").status, after.lead(do="lock", on=True).status] == [200, 200]
    assert here.get("mine", "p").status == 404


def test_a_file_that_cannot_be_opened_costs_the_rooms_and_no_page(unopenable):
    with unopenable.visit(Cookie="headsup_room=anything") as session:
        for page in EVERY_PAGE:
            assert "Rooms do not work" in session.open("" if page == HOME.name else page).text, page
            assert not session.sizes["exception"], page
    for name, cookie in (("state?rev=0", unopenable.phone("p")), ("lead?rev=0", "headsup_room=x")):
        assert unopenable.ask("GET", f"/r/K7M4QX/{name}", Cookie=cookie).status == 503
    assert unopenable.ask("POST", "/lead", body=b'{"key": "x"}').status == 503
