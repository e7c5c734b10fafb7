"""Where rooms are kept: one SQLite file in HEADSUP_HOME, shared by all processes of a server."""

import sqlite3
from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from transformer.rooms import clock
from transformer.rooms.answers import Answers
from transformer.rooms.room import (
    CLOSED,
    DRAFT,
    FOLLOW,
    HERE_SECONDS,
    HOURS,
    MODES,
    MOST_COMING,
    MOST_DEVICES,
    MOST_EVER,
    MOST_HOURS,
    MOST_QUESTIONS,
    MOST_ROOMS,
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

NOT_ASKED = "this room has not asked that question"
_QUESTION = "select id, number, spec, key, phase, round, since, view from question"


class Store(Answers):
    """The rooms of one server. Every method is one transaction or a read, and may be called from any thread."""

    # Rooms

    def open_room(self, key: str) -> Room:
        """Raises RoomError where there are too many."""
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
        """Raises NoRoom."""
        return self._room("id", id)

    def with_code(self, code: str) -> Room:
        """Raises NoRoom."""
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
        """None where the room has ended."""
        row = self._db.execute("select rev from room where id = ? and ends >= ?", [id, clock.now()]).fetchone()
        return row and row[0]

    def count(self) -> int:
        return self._db.execute("select count(*) from room where ends >= ?", [clock.now()]).fetchone()[0]

    def drawn(self, id: str) -> bytes | None:
        """The picture of the view, as the attention view reads it."""
        row = self._db.execute("select drawn from room where id = ?", [id]).fetchone()
        return row and row[0]

    def publish(self, id: str, view: Mapping[str, Any], drawn: bytes | None, leader: str) -> None:
        """What the lecturer shows now; nothing, where another of the room's lecturers leads."""
        with self._writing() as db:
            db.execute("update room set view = ?, drawn = ?, rev = rev + 1, picture = rev + 1 "
                       "where id = ? and leader = ?", [orjson.dumps(view), drawn, id, leader])

    def lead(self, id: str, leader: str) -> None:
        """From now on that session of a lecturer's is what the room sees."""
        self._change(id, leader=leader)

    def set_mode(self, id: str, mode: str) -> None:
        _known(mode, MODES)
        self._change(id, mode=mode)

    def gather(self, id: str) -> None:
        """Bring everybody back to the lecture, which is then followed."""
        with self._writing() as db:
            db.execute("update room set gathered = gathered + 1, mode = ?, rev = rev + 1 where id = ?", [FOLLOW, id])

    def lock(self, id: str, locked: bool) -> None:
        """Whether nobody new is let in."""
        self._change(id, locked=int(locked))

    def set_task(self, id: str, task: str) -> None:
        """What everybody is to look for and hand in; empty: nothing."""
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
        """Where on its page the lecturer is now. Nobody is told but who is told counts: phones show no page."""
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
        """A few hours more, up to what a room may last in all."""
        with self._writing() as db:
            db.execute("update room set ends = min(made + ?, ends + ?), rev = rev + 1 where id = ?",
                       [MOST_HOURS * 3_600, HOURS * 3_600, id])

    def end(self, id: str) -> None:
        """The room and all that was answered and handed in are deleted."""
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
        """Leave nothing of what was deleted in the log beside the file."""
        self._db.execute("pragma wal_checkpoint(truncate)")

    # Devices

    def join(self, id: str, device: str) -> int:
        """The number of a device in the room, from 0. Raises NotIn where it is not let in, and Crowded where too many
        have come within a second."""
        row = self._db.execute("select number, out from device where room = ? and device = ?", [id, device]).fetchone()
        if row is None:
            with self._writing() as db:
                now = clock.now()
                room = db.execute("select locked from room where id = ?", [id]).fetchone()
                count, here, coming, number = db.execute(
                    "select count(*), coalesce(sum(out = 0 and seen > ?), 0), coalesce(sum(came between ? and ?), 0), "
                    "coalesce(max(number) + 1, 0) from device where room = ?",
                    [now - HERE_SECONDS, now - 1, now, id]).fetchone()
                if count >= MOST_EVER:
                    count -= self._forget_silent(db, id)
                if room is None or room["locked"] or here >= MOST_DEVICES or count >= MOST_EVER:
                    raise NotIn("this room is closed to new phones now; ask the lecturer")
                if coming >= MOST_COMING:
                    raise Crowded("many are joining at this moment; trying again")
                db.execute("insert or ignore into device (room, device, number, came, seen) values (?, ?, ?, ?, ?)",
                           [id, device, number, now, now])
            row = self._db.execute("select number, out from device where room = ? and device = ?",
                                   [id, device]).fetchone()
        if row["out"]:
            raise NotIn("the lecturer has removed this device from the room")
        return row["number"]

    def is_in(self, id: str, device: str) -> bool:
        """Whether a device has been let in, and not been taken out."""
        return self._db.execute("select 1 from device where room = ? and device = ? and out = 0",
                                [id, device]).fetchone() is not None

    def seen(self, devices: Iterable[tuple[str, str]]) -> None:
        """(room, device) of all that have just asked."""
        with self._writing() as db:
            now = clock.now()
            db.executemany("update device set seen = ? where room = ? and device = ?",
                           [(now, room, device) for room, device in devices])

    def here(self, id: str) -> int:
        """How many devices are there."""
        return self._db.execute("select count(*) from device where room = ? and out = 0 and seen > ?",
                                [id, clock.now() - HERE_SECONDS]).fetchone()[0]

    def devices(self, id: str) -> list[dict[str, Any]]:
        """[{number, here, out}], by number."""
        since = clock.now() - HERE_SECONDS
        rows = self._db.execute("select number, seen, out from device where room = ? order by number", [id]).fetchall()
        return [{"number": row["number"], "here": row["seen"] > since and not row["out"], "out": bool(row["out"])}
                for row in rows]

    def put_out(self, id: str, number: int, out: bool = True) -> None:
        """Take a device out of the room, or let it in again: what it answered counts no more, or again."""
        with self._writing() as db:
            db.execute("update device set out = ? where room = ? and number = ?", [int(out), id, number])
            db.execute("update room set rev = rev + 1 where id = ?", [id])

    def put_out_new(self, id: str) -> None:
        """Take out all who came within the last minute, as if they had never come, and let nobody new in: one laptop
        may be hundreds of them."""
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
        """Forget who has gone and left nothing; how many they were."""
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
        """A new question; nobody sees a draft. Raises RoomError where there are too many."""
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
        return self.question(id, cursor.lastrowid)

    def question(self, id: str, question: int) -> Question:
        """Raises RoomError for one that this room has not asked."""
        row = self._db.execute(f"{_QUESTION} where room = ? and id = ?", [id, question]).fetchone()
        if row is None:
            raise RoomError(NOT_ASKED)
        return _question(row)

    def questions(self, id: str) -> list[Question]:
        """All of them, in the order in which they were asked."""
        return [_question(row) for row in self._db.execute(f"{_QUESTION} where room = ? order by id", [id]).fetchall()]

    def set_phase(self, id: str, question: int, phase: str) -> None:
        """Go to a phase of the question. Raises RoomError for what is none."""
        _known(phase, PHASES)
        self._change_question(id, question, "phase = ?", phase)

    def set_key(self, id: str, question: int, key: Mapping[str, Any]) -> None:
        """More of what is told with the answer; what is asked meanwhile stays."""
        with self._writing() as db:
            db.execute("update question set key = ? where id = ? and room = ?", [orjson.dumps(key), question, id])
            db.execute("update room set rev = rev + 1 where id = ?", [id])

    def ask_again(self, id: str, question: int) -> None:
        """A second round beside the first, open to answers."""
        self._change_question(id, question, "round = 2, phase = ?", OPEN)

    def reset(self, id: str, question: int) -> None:
        """What was answered until now counts no more, in either round; the question is open for the first."""
        with self._writing() as db:
            last = db.execute("select coalesce(max(seq), 0) from answer").fetchone()[0]
            db.execute("update question set since = ?, round = 1, phase = ? where id = ? and room = ?",
                       [last, OPEN, question, id])
            db.execute("update room set rev = rev + 1 where id = ?", [id])

    def put_away(self, id: str) -> None:
        """No question is asked any more; what was answered stays."""
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

    def show_found(self, id: str, found: int) -> None:
        """Have the lecturer's browser open what was handed in."""
        for one in self.found(id):
            if one["id"] == found:
                with self._writing() as db:
                    db.execute("update found set shown = 1 where id = ?", [found])
                self.go_to(id, {"page": one["page"], "params": one["params"]})

    def tally(self, id: str) -> str:
        """Changes with every answer, arrival and view handed in, and as the lecturer scrolls: what counts stand on."""
        row = self._db.execute(
            "select (select coalesce(max(answer.seq), 0) from answer join question on question.id = answer.question "
            "where question.room = :id) as answers, (select count(*) from device where room = :id and out = 0 and seen "
            "> :since) as here, (select coalesce(max(id), 0) from found where room = :id) as found, (select "
            "coalesce(json_extract(scrolled, '$.number'), 0) from room where id = :id) as scrolled",
            {"id": id, "since": clock.now() - HERE_SECONDS}).fetchone()
        return ".".join(map(str, row))


def _close(db: sqlite3.Connection, id: str) -> None:
    """One question at a time is open."""
    db.execute("update question set phase = ? where room = ? and phase = ?", [CLOSED, id, OPEN])


def _question(row: sqlite3.Row) -> Question:
    return Question(**{**dict(row), **{name: orjson.loads(row[name]) for name in ("spec", "key", "view")}})


def _known(value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise RoomError(f"{value!r:.40} is none of {', '.join(known)}")


