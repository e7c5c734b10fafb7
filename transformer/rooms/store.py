"""Where rooms are kept: one SQLite file in HEADSUP_HOME, shared by all processes of a server."""

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import orjson

from transformer.rooms import clock
from transformer.rooms.database import Database
from transformer.rooms.room import (
    CLOSED,
    DRAFT,
    FOLLOW,
    HERE_SECONDS,
    HOURS,
    MODES,
    MOST_CHANGES,
    MOST_DEVICE_VIEWS,
    MOST_DEVICES,
    MOST_DEVICES_EVER,
    MOST_HOURS,
    MOST_JOINING,
    MOST_QUESTIONS,
    MOST_ROOMS,
    MOST_VIEWS,
    NEW_SECONDS,
    OPEN,
    PHASES,
    Crowded,
    NoRoom,
    NotIn,
    Question,
    Room,
    RoomError,
    new_code,
    room_id,
)

CLOSED_TO_NEW = "this room is closed to new phones now; ask the lecturer"
NOT_ASKED = "this room has not asked that question"
_QUESTION = "select id, number, spec, key, phase, round, since, view from question"
_LATEST = """select answer.seq, answer.value, answer.sure, answer.shown, device.number from answer
    join device on device.room = ? and device.device = answer.device and device.out = 0
    where answer.seq in (select max(seq) from answer where question = ? and round = ? and seq > ? group by device)
    order by answer.seq"""


class Store(Database):
    """The rooms of one server. Every method is one transaction or a read, and may be called from any thread."""

    # Rooms

    def open_room(self, key: str) -> Room:
        """A new room. Raises RoomError where there are too many."""
        self.forget_ended()
        now = clock.now()
        with self._writing() as db:
            if db.execute("select count(*) from room").fetchone()[0] >= MOST_ROOMS:
                raise RoomError(f"there are {MOST_ROOMS} rooms on this server, the most at one time; end one first")
            while True:
                code = new_code()
                if not db.execute("select 1 from room where code = ?", [code]).fetchone():
                    break
            db.execute("insert into room (id, code, rev, made, ends, mode) values (?, ?, 1, ?, ?, ?)",
                       [room_id(key), code, now, now + HOURS * 3_600, FOLLOW])
        return self.room(room_id(key))

    def room(self, id: str) -> Room:
        """The room as it is now. Raises NoRoom."""
        return self._room("id", id)

    def with_code(self, code: str) -> Room:
        """The room that has a code. Raises NoRoom."""
        return self._room("code", code)

    def _room(self, by: str, value: str) -> Room:
        row = self._db.execute(
            "select id, code, rev, made, ends, mode, gathered, locked, task, uncovered, leader, picture, view, goto, "
            f"press, question from room where {by} = ? and ends >= ?", [value, clock.now()]).fetchone()
        if row is None:
            raise NoRoom("there is no such room, or it has ended; ask the lecturer for the code")
        read = {name: orjson.loads(row[name]) if row[name] else None for name in ("view", "goto", "press")}
        return Room(**{**dict(row), **read, "locked": bool(row["locked"])})

    def rev(self, id: str) -> int | None:
        """The revision of a room; None where it has ended."""
        row = self._db.execute("select rev from room where id = ? and ends >= ?", [id, clock.now()]).fetchone()
        return row and row[0]

    def count(self) -> int:
        return self._db.execute("select count(*) from room where ends >= ?", [clock.now()]).fetchone()[0]

    def picture(self, id: str) -> bytes | None:
        """The picture of the view, as the attention view reads it."""
        row = self._db.execute("select drawn from room where id = ?", [id]).fetchone()
        return row and row[0]

    def publish(self, id: str, view: Mapping[str, Any], drawn: bytes | None, leader: str) -> None:
        """Keep what the lecturer shows now. Does nothing where another of the room's lecturers leads."""
        with self._writing() as db:
            db.execute("update room set view = ?, drawn = ?, rev = rev + 1, picture = rev + 1 "
                       "where id = ? and leader = ?", [orjson.dumps(view), drawn, id, leader])

    def lead(self, id: str, leader: str) -> None:
        """Make a lecturer's session the one that the room sees."""
        self._change(id, leader=leader)

    def set_mode(self, id: str, mode: str) -> None:
        _check_known(mode, MODES)
        self._change(id, mode=mode)

    def gather(self, id: str) -> None:
        """Bring everybody back to the lecture, which is then followed."""
        with self._writing() as db:
            db.execute("update room set gathered = gathered + 1, mode = ?, rev = rev + 1 where id = ?", [FOLLOW, id])

    def lock(self, id: str, locked: bool) -> None:
        """Let nobody new in, or let everybody in again."""
        self._change(id, locked=int(locked))

    def set_task(self, id: str, task: str) -> None:
        """Set what everybody is to look for and hand in; empty: nothing."""
        self._change(id, task=task)

    def uncover(self, id: str, stop: str) -> None:
        """Show what a stop of a lesson asks, without having asked it."""
        self._change(id, uncovered=stop)

    def go_to(self, id: str, view: Mapping[str, Any]) -> None:
        """Have the lecturer's browser open a view, which the room then sees."""
        self._number(id, "goto", view)

    def press(self, id: str, key: str) -> None:
        """Have the lecturer's browser act as if that key were pressed."""
        self._number(id, "press", {"key": key})

    def scroll(self, id: str, place: Mapping[str, Any]) -> None:
        """Keep where on the page the lecturer is. Only walls are told, with the counts: phones show no page."""
        with self._writing() as db:
            db.execute("update room set scrolled = json_set(?, '$.number', "
                       "coalesce(json_extract(scrolled, '$.number'), 0) + 1) where id = ?",
                       [orjson.dumps(place).decode(), id])

    def scrolled(self, id: str) -> Mapping[str, Any] | None:
        row = self._db.execute("select scrolled from room where id = ?", [id]).fetchone()
        return orjson.loads(row[0]) if row and row[0] else None

    def _number(self, id: str, column: str, what: Mapping[str, Any]) -> None:
        with self._writing() as db:
            rev = db.execute("update room set rev = rev + 1 where id = ? returning rev", [id]).fetchone()
            if rev:
                db.execute(f"update room set {column} = ? where id = ?", [orjson.dumps({**what, "number": rev[0]}), id])

    def _change(self, id: str, **values: object) -> None:
        names = ", ".join(f"{name} = ?" for name in values)
        with self._writing() as db:
            db.execute(f"update room set {names}, rev = rev + 1 where id = ?", [*values.values(), id])

    def extend(self, id: str) -> None:
        """Let a room last a few hours more, up to what it may last in all."""
        with self._writing() as db:
            db.execute("update room set ends = min(made + ?, ends + ?), rev = rev + 1 where id = ?",
                       [MOST_HOURS * 3_600, HOURS * 3_600, id])

    def end(self, id: str) -> None:
        """Delete the room and all that was answered and handed in."""
        with self._writing() as db:
            db.execute("delete from room where id = ?", [id])
        self._tidy()

    def forget_ended(self) -> None:
        """Delete the rooms whose time is over."""
        with self._writing() as db:
            ended = db.execute("delete from room where ends < ?", [clock.now()]).rowcount
        if ended:
            self._tidy()

    def _tidy(self) -> None:
        """Empty the log beside the file, which may still hold what was deleted."""
        self._db.execute("pragma wal_checkpoint(truncate)")

    # Devices

    def join(self, id: str, device: str) -> int:
        """The number of a device in the room, from 0. Raises NotIn where it is not let in, and Crowded where too many
        have come within a second."""
        row = self._db.execute("select number, out from device where room = ? and device = ?", [id, device]).fetchone()
        if row is None:
            if self._db.execute("select 1 from room where id = ? and locked", [id]).fetchone():  # writes nothing then
                raise NotIn(CLOSED_TO_NEW)
            with self._writing() as db:
                now = clock.now()
                room = db.execute("select locked from room where id = ?", [id]).fetchone()
                count, here, coming, number = db.execute(
                    "select count(*), coalesce(sum(out = 0 and seen > ?), 0), coalesce(sum(came between ? and ?), 0), "
                    "coalesce(max(number) + 1, 0) from device where room = ?",
                    [now - HERE_SECONDS, now - 1, now, id]).fetchone()
                if count >= MOST_DEVICES_EVER:
                    count -= self._forget_silent(db, id)
                if room is None or room["locked"] or here >= MOST_DEVICES or count >= MOST_DEVICES_EVER:
                    raise NotIn(CLOSED_TO_NEW)
                if coming >= MOST_JOINING:
                    raise Crowded("many are joining at this moment; trying again")
                db.execute("insert or ignore into device (room, device, number, came, seen) values (?, ?, ?, ?, ?)",
                           [id, device, number, now, now])
            row = self._db.execute("select number, out from device where room = ? and device = ?",
                                   [id, device]).fetchone()
        if row["out"]:
            raise NotIn("the lecturer has removed this device from the room")
        return row["number"]

    def is_in(self, id: str, device: str) -> bool:
        """Whether a device has been let in, and not been removed."""
        return self._db.execute("select 1 from device where room = ? and device = ? and out = 0",
                                [id, device]).fetchone() is not None

    def mark_seen(self, devices: Iterable[tuple[str, str]]) -> None:
        """Note that devices are there. devices: (room, device) of all that have just asked."""
        with self._writing() as db:
            now = clock.now()
            db.executemany("update device set seen = ? where room = ? and device = ?",
                           [(now, room, device) for room, device in devices])

    def count_here(self, id: str) -> int:
        """The number of devices that are there now."""
        return self._db.execute("select count(*) from device where room = ? and out = 0 and seen > ?",
                                [id, clock.now() - HERE_SECONDS]).fetchone()[0]

    def devices(self, id: str) -> list[dict[str, Any]]:
        """[{number, here, out}], by number."""
        since = clock.now() - HERE_SECONDS
        rows = self._db.execute("select number, seen, out from device where room = ? order by number", [id]).fetchall()
        return [{"number": row["number"], "here": row["seen"] > since and not row["out"], "out": bool(row["out"])}
                for row in rows]

    def remove_device(self, id: str, number: int, out: bool = True) -> None:
        """Remove a device from the room, or let it in again: what it answered counts no more, or again."""
        with self._writing() as db:
            db.execute("update device set out = ? where room = ? and number = ?", [int(out), id, number])
            db.execute("update room set rev = rev + 1 where id = ?", [id])

    def remove_new_devices(self, id: str) -> None:
        """Remove all who came within the last minute, as if they had never come, and let nobody new in: one laptop may
        be hundreds of them."""
        of = {"id": id, "since": clock.now() - NEW_SECONDS}
        new = "device in (select device from device where room = :id and out = 0 and came > :since)"
        with self._writing() as db:
            db.execute(f"delete from answer where question in (select id from question where room = :id) and {new}", of)
            db.execute(f"delete from found where room = :id and {new}", of)
            db.execute(f"delete from device where room = :id and {new}", of)
            db.execute("update room set locked = 1, rev = rev + 1 where id = :id", of)
        self._tidy()

    @staticmethod
    def _forget_silent(db: sqlite3.Connection, id: str) -> int:
        """Forget devices that have gone and left nothing -> how many they were."""
        return db.execute(
            "delete from device where room = :id and out = 0 and seen < :since and device not in (select device from "
            "found where room = :id) and device not in (select answer.device from answer join question on question.id "
            "= answer.question where question.room = :id)", {"id": id, "since": clock.now() - HERE_SECONDS}).rowcount

    def forget_device(self, id: str, device: str) -> None:
        """Delete all that a device has answered and handed in; its number stays taken."""
        with self._writing() as db:
            gone = db.execute("delete from answer where device = ? and question in (select id from question where "
                              "room = ?)", [device, id]).rowcount
            gone += db.execute("delete from found where room = ? and device = ?", [id, device]).rowcount
            if gone:  # counts and texts that are shown change with it
                db.execute("update room set rev = rev + 1 where id = ?", [id])
        self._tidy()

    # Questions

    def ask(self, id: str, spec: Mapping[str, Any], key: Mapping[str, Any], view: Mapping[str, Any],
            phase: str = DRAFT) -> Question:
        """Ask a new question; nobody sees a draft. Raises RoomError where there are too many."""
        with self._writing() as db:
            number = 1 + db.execute("select count(*) from question where room = ?", [id]).fetchone()[0]
            if number > MOST_QUESTIONS:
                raise RoomError(f"this room has asked {MOST_QUESTIONS} questions; open another room")
            _close(db, id)
            cursor = db.execute(
                "insert into question (room, number, spec, key, phase, round, view, made) "
                "values (?, ?, ?, ?, ?, 1, ?, ?)",
                [id, number, orjson.dumps(spec), orjson.dumps(key), phase, orjson.dumps(view), clock.now()])
            db.execute("update room set question = ?, rev = rev + 1 where id = ?", [cursor.lastrowid, id])
        assert cursor.lastrowid is not None
        return self.question(id, cursor.lastrowid)

    def question(self, id: str, question: int) -> Question:
        """One question. Raises RoomError for one that this room has not asked."""
        row = self._db.execute(f"{_QUESTION} where room = ? and id = ?", [id, question]).fetchone()
        if row is None:
            raise RoomError(NOT_ASKED)
        return _question(row)

    def questions(self, id: str) -> list[Question]:
        """All questions, in the order in which they were asked."""
        return [_question(row) for row in self._db.execute(f"{_QUESTION} where room = ? order by id", [id]).fetchall()]

    def set_phase(self, id: str, question: int, phase: str) -> None:
        """Bring a question into a phase. Raises RoomError for what is none."""
        _check_known(phase, PHASES)
        self._change_question(id, question, "phase = ?", phase)

    def set_key(self, id: str, question: int, key: Mapping[str, Any]) -> None:
        """Replace the key by one that has more to tell; another question that is asked meanwhile stays."""
        with self._writing() as db:
            db.execute("update question set key = ? where id = ? and room = ?", [orjson.dumps(key), question, id])
            db.execute("update room set rev = rev + 1 where id = ?", [id])

    def ask_again(self, id: str, question: int) -> None:
        """Open a second round beside the first."""
        self._change_question(id, question, "round = 2, phase = ?", OPEN)

    def reset(self, id: str, question: int) -> None:
        """Open the question for the first round again; what was answered until now counts no more, in either round."""
        with self._writing() as db:
            last = db.execute("select coalesce(max(seq), 0) from answer").fetchone()[0]
            db.execute("update question set since = ?, round = 1, phase = ? where id = ? and room = ?",
                       [last, OPEN, question, id])
            db.execute("update room set rev = rev + 1 where id = ?", [id])

    def put_away(self, id: str) -> None:
        """End the asking of a question; what was answered stays."""
        with self._writing() as db:
            _close(db, id)
            db.execute("update room set question = null, rev = rev + 1 where id = ?", [id])

    def _change_question(self, id: str, question: int, change: str, *values: object) -> None:
        with self._writing() as db:
            _close(db, id)
            if not db.execute(f"update question set {change} where id = ? and room = ?",
                              [*values, question, id]).rowcount:
                raise RoomError(NOT_ASKED)
            db.execute("update room set question = ?, rev = rev + 1 where id = ?", [question, id])

    # Answers

    def answer(self, id: str, question: int, round: int, device: str, value: object, sure: int | None) -> None:
        """Write down what a device answers; the one before stays in the log and counts no more. Raises RoomError where
        the question is not open in that round, and NotIn for a device that is not in the room."""
        data = orjson.dumps(value).decode()
        with self._writing() as db:
            asked = db.execute("select phase, round, since from question where id = ? and room = ?",
                               [question, id]).fetchone()
            if asked is None or asked["phase"] != OPEN or asked["round"] != round:
                raise RoomError("this question is not open any more")
            self._check_in(db, id, device)
            last = db.execute("select count(*) as count, max(seq) as seq from answer where question = ? and round = ? "
                              "and device = ? and seq > ?", [question, round, device, asked["since"]]).fetchone()
            same = last["seq"] and db.execute("select value, sure from answer where seq = ?", [last["seq"]]).fetchone()
            if same and (same["value"], same["sure"]) == (data, sure):
                return  # sent again, as nothing was heard of it
            if last["count"] > MOST_CHANGES:
                raise RoomError(f"an answer can be changed {MOST_CHANGES} times")
            db.execute("insert into answer (question, device, round, value, sure, at) values (?, ?, ?, ?, ?, ?)",
                       [question, device, round, data, sure, clock.now()])

    def _check_in(self, db: sqlite3.Connection, id: str, device: str) -> None:
        row = db.execute("select 1 from device where room = ? and device = ? and out = 0", [id, device]).fetchone()
        if row is None:
            raise NotIn("this device is not in the room; load the page again")

    def answers(self, id: str, question: Question, round: int) -> list[dict[str, Any]]:
        """The answers that count in a round, one for each device, as they came: [{seq, number, value, sure, shown}]."""
        return [dict(row) | {"value": orjson.loads(row["value"]), "shown": bool(row["shown"])} for row in
                self._db.execute(_LATEST, [id, question.id, round, question.since]).fetchall()]

    def count_answers(self, id: str, question: Question, round: int) -> int:
        """How many devices have answered in a round."""
        return self._db.execute(f"select count(*) from ({_LATEST})",
                                [id, question.id, round, question.since]).fetchone()[0]

    def log(self, id: str) -> list[dict[str, Any]]:
        """Every answer that was ever given in the room, those that count no more among them, in the order they came."""
        rows = self._db.execute(
            "select answer.seq, answer.question, answer.round, answer.value, answer.sure, answer.at, device.number, "
            "device.out from answer join question on question.id = answer.question join device on device.room = "
            "question.room and device.device = answer.device where question.room = ? order by answer.seq", [id])
        return [dict(row) | {"value": orjson.loads(row["value"])} for row in rows.fetchall()]

    def own_answers(self, id: str, device: str) -> dict[str, Any]:
        """The last answers of a device to each question and round: {"<question>/<round>": [value, sure]}."""
        rows = self._db.execute(
            "select answer.question, answer.round, answer.value, answer.sure from answer join question on "
            "question.id = answer.question where question.room = ? and answer.device = ? and answer.seq > since "
            "order by answer.seq", [id, device])
        return {f"{row['question']}/{row['round']}": [orjson.loads(row["value"]), row["sure"]] for row in rows}

    def show_texts(self, id: str, seqs: Sequence[int], shown: bool) -> None:
        """Let the room see texts that were answered, or not any more: one change, however many they are."""
        with self._writing() as db:
            db.executemany("update answer set shown = ? where seq = ? and question in (select id from question where "
                           "room = ?)", [(int(shown), seq, id) for seq in seqs])
            db.execute("update room set rev = rev + 1 where id = ?", [id])

    # Views that devices hand in

    def hand_in(self, id: str, device: str, page: str, params: Mapping[str, str], note: str) -> None:
        """Keep a view that a device shows the lecturer. Where there is no place for another, the last one of the device
        that has handed in the most makes way. Raises RoomError where this device has handed in enough."""
        with self._writing() as db:
            self._check_in(db, id, device)
            count = db.execute("select count(*) from found where room = ? and device = ?", [id, device]).fetchone()[0]
            if count >= MOST_DEVICE_VIEWS:
                raise RoomError(f"you have handed in {MOST_DEVICE_VIEWS} views, the limit for one device")
            each = db.execute("select count(*) as many, max(found.id) as last from found join device on device.room = "
                              "found.room and device.device = found.device and device.out = 0 where found.room = ? "
                              "group by found.device order by many desc, last desc", [id]).fetchall()
            if sum(one["many"] for one in each) >= MOST_VIEWS:
                if each[0]["many"] <= count + 1:
                    raise RoomError("the lecturer cannot take more views now; wait until some are gone")
                db.execute("delete from found where id = ?", [each[0]["last"]])
            db.execute("insert into found (room, device, page, params, note, at) values (?, ?, ?, ?, ?, ?)",
                       [id, device, page, orjson.dumps(params), note, clock.now()])

    def views(self, id: str) -> list[dict[str, Any]]:
        """The views of devices that are in the room, the newest first: [{id, number, page, params, note, shown}]."""
        rows = self._db.execute(
            "select found.id, found.page, found.params, found.note, found.shown, device.number from found join device "
            "on device.room = found.room and device.device = found.device and device.out = 0 where found.room = ? "
            "order by found.id desc", [id])
        return [dict(row) | {"params": orjson.loads(row["params"]), "shown": bool(row["shown"])}
                for row in rows.fetchall()]

    def drop_view(self, id: str, view: int) -> None:
        with self._writing() as db:
            db.execute("delete from found where id = ? and room = ?", [view, id])
            db.execute("update room set rev = rev + 1 where id = ?", [id])

    def show_view(self, id: str, view: int) -> None:
        """Have the lecturer's browser open what was handed in."""
        for one in self.views(id):
            if one["id"] == view:
                with self._writing() as db:
                    db.execute("update found set shown = 1 where id = ?", [view])
                self.go_to(id, {"page": one["page"], "params": one["params"]})

    def tally(self, id: str) -> str:
        """A text that changes with every answer, arrival and view handed in, and as the lecturer scrolls: with all that
        the counts depend on."""
        row = self._db.execute(
            "select (select coalesce(max(answer.seq), 0) from answer join question on question.id = answer.question "
            "where question.room = :id) as answers, (select count(*) from device where room = :id and out = 0 and seen "
            "> :since) as here, (select coalesce(max(id), 0) from found where room = :id) as found, (select "
            "coalesce(json_extract(scrolled, '$.number'), 0) from room where id = :id) as scrolled",
            {"id": id, "since": clock.now() - HERE_SECONDS}).fetchone()
        return ".".join(map(str, row))


def _close(db: sqlite3.Connection, id: str) -> None:
    """Close the question that is open: there is one at a time."""
    db.execute("update question set phase = ? where room = ? and phase = ?", [CLOSED, id, OPEN])


def _question(row: sqlite3.Row) -> Question:
    return Question(**{**dict(row), **{name: orjson.loads(row[name]) for name in ("spec", "key", "view")}})


def _check_known(value: object, known: tuple[str, ...]) -> None:
    if value not in known:
        raise RoomError(f"{value!r:.40} is none of {', '.join(known)}")


