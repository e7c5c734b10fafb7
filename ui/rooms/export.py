"""Files that a lecturer takes home: every answer as a table, and the questions as a lesson."""

from datetime import UTC, datetime
from urllib.parse import urlencode

import orjson

from transformer.basics.spreadsheet import table
from transformer.lessons.lesson import LINK, SENTENCES, STOPS
from transformer.rooms.questions import KINDS, kind_of
from transformer.rooms.questions.kind import SURE
from transformer.rooms.room import Room, RoomError
from transformer.rooms.store import Store
from ui.page.link import GLOBAL_PARAMS
from ui.page.pages import HOME

COLUMNS = ("question", "asked", "about", "round", "device", "answer", "chosen", "sure", "counts", "right", "score",
           "seconds", "model", "checkpoint")


def answers(store: Store, room: Room) -> str:
    """A CSV with a row for each answer, also those that were changed later. A device is a number, and times are seconds
    since the room was opened."""
    questions = {one.id: one for one in store.questions(room.id)}
    counting = {row["seq"] for one in questions.values() for round in (1, 2)
                for row in store.answers(room.id, one, round)}
    rows: list[tuple[object, ...]] = [COLUMNS]
    for one in store.log(room.id):
        question = questions[one["question"]]
        value, kind = one["value"], kind_of(question.spec)
        judged = kind.judge(question.spec, question.key, value, one["number"])
        choices = kind.choices(question.spec, one["number"])
        rows.append((
            question.number, question.spec["ask"], question.spec["about"], one["round"], one["number"] + 1,
            _plain(value), choices[value] if choices else "",
            "" if one["sure"] is None else SURE[one["sure"]], "yes" if one["seq"] in counting else "no",
            {True: "yes", False: "no", None: ""}[judged["right"]], _rounded(judged["score"]),
            _seconds(one["at"] - room.made), question.key.get("said", ""),
            question.key.get("proof", {}).get("checkpoint") or ""))
    return table(rows)


def _seconds(seconds: float) -> str:
    return f"{max(0.0, seconds):.1f}"


def _plain(value: object) -> object:
    return value if isinstance(value, str | int | float) else orjson.dumps(value).decode()


def _rounded(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"


def lesson(store: Store, room: Room) -> str:
    """The questions of a room as a lesson file, each with the link of what was shown. Raises RoomError where nothing
    has been asked."""
    questions = store.questions(room.id)[:STOPS]
    if not questions:
        raise RoomError("nothing has been asked yet, so there is no lesson; ask a question first")
    day = datetime.fromtimestamp(room.made, UTC).date()
    parts = [f"---\ntitle: What we asked on {day}\nminutes: {max(5, 3 * len(questions))}\n"
             f"description: {len(questions)} questions from a room.\n---\n"]
    for one in questions:
        view = one.view or {"page": HOME.name, "params": {}}
        params = urlencode({name: value for name, value in view["params"].items() if name not in GLOBAL_PARAMS})
        link, asks = f"/{view['page']}" + f"?{params}" * bool(params), kind_of(one.spec).stop_lines(one.spec, one.key)
        if len(link) > LINK:  # the words alone are left then
            link, asks = f"/{view['page']}", KINDS["text"].stop_lines(one.spec, one.key)
        note = _line(f"In the room: {one.key.get('said', '')}")  # for the teacher: it has the answer in it
        about = "Asked in a room. Answer before you look."
        parts.append("\n".join([f"## Question {one.number}", f"- link: {link}", *asks,
                                f"- ask: {_line(one.spec['ask'])}", f"- note: {note[:SENTENCES]}", "", about, ""]))
    return "\n".join(parts)


def _line(text: str) -> str:
    return " ".join(text.split())
