"""Rooms on the disk: what is kept, what counts, and who is let in, from several threads and processes."""

import sqlite3
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

from transformer.basics.paths import ROOT
from transformer.rooms import clock
from transformer.rooms import room as rooms
from transformer.rooms.room import ANSWER, CLOSED, DRAFT, OPEN, Crowded, NoRoom, NotIn, RoomError, new_key
from transformer.rooms.store import Store

SPEC = {"about": "next token", "form": "choice", "ask": "Which?", "choices": ["a", "b", "c"]}
KEY = {"right": 1, "values": [0.1, 0.8, 0.1], "said": "It is b."}


@pytest.fixture
def store(tmp_path) -> Store:
    return Store(tmp_path / "home" / "rooms.sqlite")


@pytest.fixture
def room(store):
    return store.open_room(new_key())


@pytest.fixture
def pass_(monkeypatch):
    """Lets so many seconds pass."""
    def pass_(seconds):
        later = clock.now() + seconds
        monkeypatch.setattr(clock, "now", lambda: later)

    return pass_


def asked(store, room):
    question = store.ask(room.id, SPEC, KEY, {"page": "translate", "params": {}})
    store.set_phase(room.id, question.id, OPEN)
    return question.id


def votes(store, room, question, round=1):
    return {one["number"]: one["value"] for one in store.answers(room.id, store.question(room.id, question), round)}


def test_a_code_has_no_letter_that_is_taken_for_another_and_is_read_whatever_its_case(store):
    codes = {store.open_room(new_key()).code for _ in range(50)}
    assert len(codes) == 50
    assert all(len(code) == 6 and set(code) <= set(rooms.LETTERS) for code in codes)
    assert not set(rooms.LETTERS) & set("0O1IAEU")
    for typed, read in (("k7m4qx", "K7M4QX"), (" K7-M4 qx ", "K7M4QX"), ("K7M4Q", ""), ("K7M4QO", ""), ("", ""),
                        ("K7M4QX" * 20, ""), ("ǅ7M4QX", "")):
        assert rooms.read_code(typed) == read, typed


def test_nothing_that_is_kept_tells_the_lecturers_key_and_a_device_is_another_in_every_room(store):
    key = new_key()
    room = store.open_room(key)
    assert room.id == rooms.room_id(key)
    assert key not in store.path.read_bytes().decode("latin-1")
    assert store.path.stat().st_mode & 0o077 == 0
    assert rooms.device_id("one", "visitor") != rooms.device_id("two", "visitor")
    assert "visitor" not in rooms.device_id("one", "visitor")


def test_every_change_has_a_higher_revision_and_everybody_brought_back_follows(store, room):
    """Also what deletes something: counts and texts on the wall, and the lecturer's tiles, are asked for anew."""
    question = asked(store, room)
    for device in "ab":
        store.join(room.id, device)
        store.answer(room.id, question, 1, device, 1, None)
        store.hand_in(room.id, device, "heads", {}, "")
    seen = [store.rev(room.id)]
    for change in (lambda: store.set_mode(room.id, "free"), lambda: store.gather(room.id),
                   lambda: store.lock(room.id, True), lambda: store.set_task(room.id, "Look"),
                   lambda: store.lead(room.id, "tab"), lambda: store.go_to(room.id, {"page": "heads", "params": {}}),
                   lambda: store.press(room.id, "b"), lambda: store.publish(room.id, {"page": "write"}, b"x", "tab"),
                   lambda: asked(store, room), lambda: store.put_away(room.id), lambda: store.extend(room.id),
                   lambda: store.drop_view(room.id, store.views(room.id)[-1]["id"]),
                   lambda: store.forget_device(room.id, "a"), lambda: store.remove_new_devices(room.id)):
        change()
        seen.append(store.rev(room.id))
    assert seen == sorted(set(seen))
    assert (store.room(room.id).mode, store.room(room.id).gathered) == ("follow", 1)


def test_only_who_leads_is_seen(store, room):
    store.lead(room.id, "first")
    store.publish(room.id, {"page": "translate"}, b"picture", "first")
    store.publish(room.id, {"page": "write"}, b"other", "second")
    found = store.room(room.id)
    assert found.view == {"page": "translate"}
    assert store.picture(room.id) == b"picture"
    assert found.picture == found.rev


def test_rooms_know_nothing_of_each_other(store):
    one, two = store.open_room(new_key()), store.open_room(new_key())
    question = asked(store, one)
    store.join(one.id, "d")
    store.answer(one.id, question, 1, "d", 1, None)
    with pytest.raises(RoomError):
        store.question(two.id, question)
    for change in (lambda: store.set_phase(two.id, question, ANSWER), lambda: store.ask_again(two.id, question),
                   lambda: store.answer(two.id, question, 1, "d", 1, None)):
        with pytest.raises(RoomError):
            change()
    store.reset(two.id, question)
    store.remove_device(two.id, 0)
    assert votes(store, one, question) == {0: 1}
    assert store.log(two.id) == []
    assert store.own_answers(two.id, "d") == {}


def test_the_last_answer_of_a_device_counts_and_all_stay_in_the_log(store, room):
    question = asked(store, room)
    for device, value in (("a", 0), ("b", 2), ("a", 1), ("a", 1)):
        store.join(room.id, device)
        store.answer(room.id, question, 1, device, value, 2)
    assert votes(store, room, question) == {0: 1, 1: 2}
    assert [one["value"] for one in store.log(room.id)] == [0, 2, 1]  # the same again is no change
    assert store.own_answers(room.id, "a") == {f"{question}/1": [1, 2]}


def test_nothing_is_answered_but_while_it_is_open_and_a_second_round_stands_beside_the_first(store, room):
    question = asked(store, room)
    store.join(room.id, "a")
    store.answer(room.id, question, 1, "a", 0, None)
    for phase in (DRAFT, CLOSED, "split", ANSWER):
        store.set_phase(room.id, question, phase)
        with pytest.raises(RoomError, match="not open"):
            store.answer(room.id, question, 1, "a", 1, None)
    store.ask_again(room.id, question)
    with pytest.raises(RoomError):
        store.answer(room.id, question, 1, "a", 1, None)  # which was on its way
    store.answer(room.id, question, 2, "a", 1, None)
    assert (votes(store, room, question, 1), votes(store, room, question, 2)) == ({0: 0}, {0: 1})


def test_a_question_that_is_reset_starts_from_nothing_and_others_stay(store, room):
    first, second = asked(store, room), None
    store.join(room.id, "a")
    store.answer(room.id, first, 1, "a", 0, None)
    second = asked(store, room)
    store.answer(room.id, second, 1, "a", 2, None)
    store.reset(room.id, second)
    assert (votes(store, room, first), votes(store, room, second)) == ({0: 0}, {})
    assert store.question(room.id, second).phase == OPEN
    store.answer(room.id, second, 1, "a", 1, None)
    assert votes(store, room, second) == {0: 1}


def test_one_question_at_a_time_is_open_and_what_is_added_to_a_key_brings_none_back(store, room):
    first, second = asked(store, room), asked(store, room)
    assert store.question(room.id, first).phase == CLOSED
    store.set_phase(room.id, first, CLOSED)  # brought back while the second is open
    assert store.question(room.id, second).phase == CLOSED
    store.set_phase(room.id, first, OPEN)
    store.ask_again(room.id, second)
    assert store.question(room.id, first).phase == CLOSED
    store.put_away(room.id)
    store.set_key(room.id, first, {**KEY, "more": 1})
    assert store.room(room.id).question is None
    assert store.question(room.id, first).key["more"] == 1


def test_a_device_that_is_taken_out_counts_no_more_and_answers_no_more(store, room):
    question = asked(store, room)
    number = store.join(room.id, "a")
    store.answer(room.id, question, 1, "a", 0, None)
    store.hand_in(room.id, "a", "heads", {}, "look")
    store.remove_device(room.id, number)
    assert (votes(store, room, question), store.views(room.id), store.count_here(room.id)) == ({}, [], 0)
    with pytest.raises(NotIn):
        store.join(room.id, "a")
    for device in ("a", "stranger"):  # who has never joined
        with pytest.raises(NotIn):
            store.answer(room.id, question, 1, device, 1, None)
    store.remove_device(room.id, number, out=False)
    assert votes(store, room, question) == {number: 0}


def test_a_locked_room_lets_nobody_new_in(store, room):
    store.join(room.id, "a")
    store.lock(room.id, True)
    assert store.join(room.id, "a") == 0
    with pytest.raises(NotIn, match="closed to new"):
        store.join(room.id, "b")


def test_a_crowd_that_was_made_up_keeps_nobody_out_once_it_has_gone(store, room, monkeypatch, pass_):
    monkeypatch.setattr("transformer.rooms.store.MOST_DEVICES", 20)
    for at in range(20):
        store.join(room.id, f"made up {at}")
    with pytest.raises(NotIn):
        store.join(room.id, "honest")
    store.remove_device(room.id, 3)
    assert store.join(room.id, "honest") == 20
    pass_(rooms.HERE_SECONDS + 1)
    assert store.join(room.id, "late") == 21


def test_so_many_come_in_within_a_second_and_the_others_after_them(store, room, monkeypatch, pass_):
    monkeypatch.setattr("transformer.rooms.store.MOST_JOINING", 3)
    for at in range(3):
        store.join(room.id, f"made up {at}")
    with pytest.raises(Crowded):
        store.join(room.id, "honest")
    assert store.join(room.id, "made up 0") == 0
    assert store.join(store.open_room(new_key()).id, "elsewhere") == 0
    pass_(1.1)
    assert store.join(room.id, "honest") == 3


def test_all_who_are_new_are_taken_out_at_once_and_come_in_again_when_they_may(store, room, pass_):
    question = asked(store, room)
    store.join(room.id, "early")
    pass_(rooms.NEW_SECONDS + 1)
    for device in ("made up", "late"):
        store.join(room.id, device)
    for device in ("early", "made up", "late"):
        store.answer(room.id, question, 1, device, 1, None)
        store.hand_in(room.id, device, "heads", {}, "")
    store.remove_new_devices(room.id)
    assert (votes(store, room, question), len(store.views(room.id))) == ({0: 1}, 1)
    assert [one["number"] for one in store.devices(room.id)] == [0]
    with pytest.raises(NotIn, match="closed to new"):
        store.join(room.id, "made up")
    store.lock(room.id, False)
    assert store.join(room.id, "late") == 1


def test_those_who_come_and_go_do_not_use_a_room_up(store, room, monkeypatch, pass_):
    monkeypatch.setattr("transformer.rooms.store.MOST_DEVICES_EVER", 20)
    question = asked(store, room)
    store.join(room.id, "answers")
    store.answer(room.id, question, 1, "answers", 1, None)
    store.remove_device(room.id, store.join(room.id, "out"))
    for round in range(3):
        for at in range(18):
            store.join(room.id, f"made up {round} {at}")
        pass_(rooms.HERE_SECONDS + 1)
    assert store.join(room.id, "honest") > 1
    assert votes(store, room, question) == {0: 1}
    with pytest.raises(NotIn, match="this device"):
        store.join(room.id, "out")


def test_views_of_devices_that_are_out_keep_nobody_from_handing_in(store, room, monkeypatch):
    monkeypatch.setattr("transformer.rooms.store.MOST_VIEWS", 3)
    made_up = [store.join(room.id, str(at)) for at in range(3)]
    for at in made_up:
        store.hand_in(room.id, str(at), "heads", {}, "")
    store.join(room.id, "honest")
    with pytest.raises(RoomError, match="the lecturer"):
        store.hand_in(room.id, "honest", "heads", {}, "")
    for at in made_up:
        store.remove_device(room.id, at)
    store.hand_in(room.id, "honest", "heads", {}, "")
    assert len(store.views(room.id)) == 1


def test_whoever_hands_in_the_most_makes_way_for_others(store, room, monkeypatch):
    monkeypatch.setattr("transformer.rooms.store.MOST_VIEWS", 6)
    for name, views in (("greedy", 4), ("a", 1), ("b", 1), ("c", 1), ("d", 1)):
        store.join(room.id, name)
        for at in range(views):
            store.hand_in(room.id, name, "heads", {"text": str(at)}, "")
    assert [(one["number"], one["params"]["text"]) for one in store.views(room.id)] == [
        (4, "0"), (3, "0"), (2, "0"), (1, "0"), (0, "1"), (0, "0")]


def test_what_is_forgotten_is_gone_from_the_file(store, room):
    question = asked(store, room)
    for device in ("a", "b"):
        store.join(room.id, device)
    store.answer(room.id, question, 1, "a", "my secret words", None)
    store.hand_in(room.id, "a", "heads", {}, "another secret")
    store.answer(room.id, question, 1, "b", "what b says", None)
    store.forget_device(room.id, "a")
    assert list(votes(store, room, question).values()) == ["what b says"]
    assert store.views(room.id) == []
    store.end(room.id)
    kept = b"".join(path.read_bytes() for path in store.path.parent.glob("rooms.sqlite*"))
    assert b"secret" not in kept
    assert b"what b says" not in kept


def test_a_clock_that_is_set_ends_no_room(store, room, monkeypatch):
    now = time.time()
    for hours in (5, 24 * 365, -5):
        monkeypatch.setattr(time, "time", lambda: now + 3_600 * hours)  # noqa: B023
        store.forget_ended()
        assert store.room(room.id).code == room.code


HOURS_AHEAD = """import sys, time
now = time.time
time.time = lambda: now() + 3_600 * float(sys.argv[2])
from pathlib import Path
from transformer.rooms.room import new_key
from transformer.rooms.store import Store
store = Store(Path(sys.argv[1]))
store.forget_ended()
print(store.count())
"""


@pytest.mark.parametrize("hours", [-5, 5, 24 * 365])
def test_a_process_that_begins_while_the_clock_is_wrong_ends_no_room_either(store, room, hours):
    found = subprocess.run([sys.executable, "-c", HOURS_AHEAD, store.path, str(hours)], cwd=ROOT, text=True, check=True,
                           capture_output=True).stdout
    assert found.strip() == "1"
    assert store.room(room.id).code == room.code
    store.end(room.id)
    subprocess.run([sys.executable, "-c", HOURS_AHEAD, store.path, str(hours)], cwd=ROOT, check=True)
    (began,) = store._db.execute("select began from clock").fetchone()
    assert began - clock._boot_time == pytest.approx(3_600 * hours, abs=60)  # no room is left that would go by another


def test_what_cannot_be_written_is_given_up_for_its_own_reason(store, room):
    store._db.execute(f"pragma max_page_count = {store._db.execute('pragma page_count').fetchone()[0] + 5}")
    store.lead(room.id, "tab")
    with pytest.raises(sqlite3.OperationalError, match="full"):
        store.publish(room.id, {"page": "translate"}, bytes(300_000), "tab")
    store.set_mode(room.id, "free")  # and is no transaction any more

    def write() -> None:
        with store._writing() as db:
            db.execute("pragma defer_foreign_keys = on")  # then it is the commit that fails
            db.execute("insert into device (room, device, number, came, seen) values ('none', 'a', 0, 0, 0)")

    with pytest.raises(sqlite3.IntegrityError, match="FOREIGN KEY"):
        write()
    store.set_mode(room.id, "follow")


def test_a_file_that_is_put_aside_just_after_it_was_opened_is_written_into_by_nobody(store, monkeypatch):
    connect = store._connect

    def put_aside_at_once(before):
        connection = connect(before)
        monkeypatch.undo()
        store._put_aside()
        Store(store.path).count()  # which begins another
        return connection

    monkeypatch.setattr(store, "_connect", put_aside_at_once)
    store.count()
    room = store.open_room(new_key())
    assert Store(store.path).room(room.id) == room


def test_a_room_ends_by_itself_and_later_when_it_is_asked_to_but_not_never(store, monkeypatch, pass_):
    room, longer = store.open_room(new_key()), store.open_room(new_key())
    for _ in range(9):
        store.extend(longer.id)
    assert store.room(longer.id).ends == pytest.approx(longer.made + rooms.MOST_HOURS * 3_600)
    pass_(rooms.HOURS * 3_600 + 1)
    with pytest.raises(NoRoom):
        store.with_code(room.code)
    assert (store.count(), store.rev(room.id)) == (1, None)
    store.forget_ended()
    monkeypatch.undo()
    with pytest.raises(NoRoom):
        store.room(room.id)


def test_an_answer_is_not_changed_without_end(store, room):
    question = asked(store, room)
    store.join(room.id, "a")
    for at in range(rooms.MOST_CHANGES + 1):
        store.answer(room.id, question, 1, "a", at % 3, None)
    store.answer(room.id, question, 1, "a", rooms.MOST_CHANGES % 3, None)  # sent again, as its answer was lost
    with pytest.raises(RoomError, match="can be changed"):
        store.answer(room.id, question, 1, "a", 1, None)


def test_two_hundred_who_answer_at_once_all_count(store, room, monkeypatch):
    monkeypatch.setattr("transformer.rooms.store.MOST_JOINING", 200)
    question = asked(store, room)

    def vote(number: int) -> None:
        store.join(room.id, f"device {number}")
        for value in (number % 2, number % 3, number % 3):  # a change, and a double tap
            store.answer(room.id, question, 1, f"device {number}", value, None)

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(vote, range(200)))
    counted = votes(store, room, question)
    assert sorted(counted) == list(range(200))  # every number once
    assert sorted(counted.values()) == sorted(number % 3 for number in range(200))


def test_other_processes_see_and_count_the_same(store, room):
    question = asked(store, room)
    stamp = store.stamp()
    code = ("import sys; from pathlib import Path; from transformer.rooms import store\n"
            "store.MOST_JOINING = 120\nStore = store.Store\n"
            "store, id, question, who = Store(Path(sys.argv[1])), sys.argv[2], int(sys.argv[3]), sys.argv[4]\n"
            "for at in range(40):\n    store.join(id, f'{who} {at}')\n"
            "    store.answer(id, question, 1, f'{who} {at}', at % 3, None)")
    others = [subprocess.Popen([sys.executable, "-c", code, store.path, room.id, str(question), who], cwd=ROOT)
              for who in ("one", "two", "three")]
    assert [other.wait(60) for other in others] == [0, 0, 0]
    assert sorted(votes(store, room, question)) == list(range(120))
    assert store.stamp() != stamp


OPENS = """
import sys, time
from pathlib import Path
from transformer.rooms.store import Store
print(flush=True)
for name in sys.stdin:
    Store(Path(name.strip())).forget_ended()
    print(flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("before", [None, b"no database at all"], ids=["new", "damaged"])
def test_processes_that_open_the_file_at_once_all_get_it(tmp_path, before):
    workers = [subprocess.Popen([sys.executable, "-c", OPENS], cwd=ROOT, text=True, stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE) for _ in range(3)]
    try:
        for worker in workers:
            worker.stdout.readline()
        for number in range(60):
            path = tmp_path / f"{number}.sqlite"
            if before:
                path.write_bytes(before)
            for worker in workers:
                worker.stdin.write(f"{path}\n")
                worker.stdin.flush()
            for worker in workers:
                assert worker.stdout.readline() == "\n"
    finally:
        for worker in workers:
            worker.communicate()


@pytest.mark.parametrize("kind", ["damaged", "of another version"])
def test_a_file_that_is_damaged_or_of_another_version_is_put_aside(tmp_path, kind):
    path = tmp_path / "rooms.sqlite"
    if kind == "damaged":
        path.write_bytes(b"no database" * 100)
    else:
        with sqlite3.connect(path) as db:
            db.execute("create table room (id text)")
    before = path.read_bytes()
    store = Store(path)
    store.open_room(new_key())
    assert store.count() == Store(path).count() == 1
    assert (tmp_path / "rooms.sqlite.damaged").read_bytes() == before


@pytest.mark.slow
def test_threads_that_open_the_first_rooms_at_once_keep_all_of_them(tmp_path):
    for turn in range(10):
        path = tmp_path / str(turn) / "rooms.sqlite"
        together = threading.Barrier(8)

        def open_one(path=path, together=together):
            store = Store(path)
            together.wait()
            store.open_room(new_key())

        with ThreadPoolExecutor(8) as pool:
            for done in [pool.submit(open_one) for _ in range(8)]:
                done.result()
        assert Store(path).count() == 8
        assert not path.with_name("rooms.sqlite.damaged").exists()


def test_a_file_that_is_deleted_while_it_is_in_use_is_begun_anew_by_all(store, room):
    for path in store.path.parent.glob("rooms.sqlite*"):
        path.unlink()
    other = Store(store.path).open_room(new_key())
    assert store.room(other.id).code == other.code
    with pytest.raises(NoRoom):
        store.room(room.id)


@pytest.mark.parametrize("at", [0, 4096])
def test_a_file_that_is_damaged_while_it_is_in_use_is_put_aside(store, room, at):
    store.publish(room.id, {"page": "translate", "params": {}}, b"\0" * 50_000, "")
    store._tidy()
    length = store.path.stat().st_size
    with store.path.open("r+b") as file:
        file.seek(at)
        file.write(b"garbage " * ((length - at) // 8))
    other = Store(store.path)  # a thread that comes anew, and so reads the file
    for one in (other, store):
        for _ in range(2):  # who finds out is told so, and has the new one after that
            with suppress(sqlite3.DatabaseError, NoRoom):
                one.room(room.id)
    found = other.open_room(new_key())
    assert store.room(found.id).code == found.code
    assert store.path.with_name("rooms.sqlite.damaged").stat().st_size == length
