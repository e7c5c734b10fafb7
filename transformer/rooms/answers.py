"""What a room answers and hands in. Answers are a log that only grows: what counts is the last one of each device in
each round, derived whenever it is asked for, so no vote is lost to another that comes at the same time, and none
counts twice."""

import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from transformer.rooms import clock
from transformer.rooms.database import File
from transformer.rooms.room import MOST_CHANGES, MOST_FOUND, MOST_HANDED_IN, OPEN, NotIn, Question, RoomError

_LATEST = """select answer.seq, answer.value, answer.sure, answer.shown, device.number from answer
    join device on device.room = ? and device.device = answer.device and device.out = 0
    where answer.seq in (select max(seq) from answer where question = ? and round = ? and seq > ? group by device)
    order by answer.seq"""


class Answers(File):
    """The part of the store that devices write to."""

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
        """What counts in a round: [{seq, number, value, sure, shown}], one for each device, as they came."""
        return [dict(row) | {"value": orjson.loads(row["value"]), "shown": bool(row["shown"])} for row in
                self._db.execute(_LATEST, [id, question.id, round, question.since]).fetchall()]

    def answered(self, id: str, question: Question, round: int) -> int:
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

    def own(self, id: str, device: str) -> dict[str, Any]:
        """What a device has answered, the last to each question and round: {"<question>/<round>": [value, sure]}."""
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

    # What was found

    def hand_in(self, id: str, device: str, page: str, params: Mapping[str, str], note: str) -> None:
        """A view that a device shows the lecturer. Where there is no room for another, the last of the device that has
        shown the most makes way. Raises RoomError where this device has shown enough."""
        with self._writing() as db:
            self._check_in(db, id, device)
            count = db.execute("select count(*) from found where room = ? and device = ?", [id, device]).fetchone()[0]
            if count >= MOST_FOUND:
                raise RoomError(f"you have handed in {MOST_FOUND} views, the limit for one device")
            each = db.execute("select count(*) as many, max(found.id) as last from found join device on device.room = "
                              "found.room and device.device = found.device and device.out = 0 where found.room = ? "
                              "group by found.device order by many desc, last desc", [id]).fetchall()
            if sum(one["many"] for one in each) >= MOST_HANDED_IN:
                if each[0]["many"] <= count + 1:
                    raise RoomError("the lecturer cannot take more views now; wait until some are gone")
                db.execute("delete from found where id = ?", [each[0]["last"]])
            db.execute("insert into found (room, device, page, params, note, at) values (?, ?, ?, ?, ?, ?)",
                       [id, device, page, orjson.dumps(params), note, clock.now()])

    def found(self, id: str) -> list[dict[str, Any]]:
        """[{id, number, page, params, note, shown}], the newest first, of devices that are in the room."""
        rows = self._db.execute(
            "select found.id, found.page, found.params, found.note, found.shown, device.number from found join device "
            "on device.room = found.room and device.device = found.device and device.out = 0 where found.room = ? "
            "order by found.id desc", [id])
        return [dict(row) | {"params": orjson.loads(row["params"]), "shown": bool(row["shown"])}
                for row in rows.fetchall()]

    def drop_found(self, id: str, found: int) -> None:
        with self._writing() as db:
            db.execute("delete from found where id = ? and room = ?", [found, id])
            db.execute("update room set rev = rev + 1 where id = ?", [id])
