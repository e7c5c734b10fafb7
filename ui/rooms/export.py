"""What a lecturer takes home: every answer as a table, and the questions as a lesson."""

import csv
import io
import re
from datetime import UTC, datetime
from urllib.parse import urlencode

import orjson

from transformer.lessons.lesson import LINK, NUMBERS, SENTENCES, STOPS
from transformer.rooms.room import Question, Room, RoomError
from transformer.rooms.scoring import SURE, judge
from transformer.rooms.store import Store
from ui.page.pages import HOME
from ui.rooms.actions import EVERYWHERE

COLUMNS = ("question", "asked", "about", "round", "device", "answer", "chosen", "sure", "counts", "right", "score",
           "seconds", "model", "checkpoint")
# How a cell begins that a spreadsheet would compute, whatever it takes to part cells.
FORMULA = re.compile(r"(^|[;|,\t\r\n])([\s\u200b-\u200f\u2060\ufeff\"']*)([=+\-@＝＋－＠])")
ANY = ("- question: free text",)


def answers(store: Store, room: Room) -> str:
    """CSV with a row for each answer, those that were changed later among them; a device is a number, and times are
    seconds since the room was opened."""
    questions = {one.id: one for one in store.questions(room.id)}
    counting = {row["seq"] for one in questions.values() for round in (1, 2)
                for row in store.answers(room.id, one, round)}
    written = io.StringIO()
    rows = csv.writer(written)
    rows.writerow(COLUMNS)
    for one in store.log(room.id):
        question = questions[one["question"]]
        judged = judge(question.spec, question.key, one["value"], one["number"])
        rows.writerow(map(_cell, (
            question.number, question.spec["ask"], question.spec["about"], one["round"], one["number"] + 1,
            _plain(one["value"]), _chosen(question, one["value"], one["number"]),
            "" if one["sure"] is None else SURE[one["sure"]], "yes" if one["seq"] in counting else "no",
            {True: "yes", False: "no", None: ""}[judged["right"]], _rounded(judged["score"]),
            _seconds(one["at"] - room.made), question.key.get("said", ""),
            question.key.get("proof", {}).get("checkpoint") or "")))
    return "\ufeff" + written.getvalue()


def _seconds(seconds: float) -> str:
    return f"{max(0.0, seconds):.1f}"


def _cell(value: object) -> str:
    """A cell that no spreadsheet takes for a formula; a number is none."""
    if isinstance(value, int | float):
        return str(value)
    return FORMULA.sub(r"\1\2'\3", str(value).replace("\0", ""))


def _plain(value: object) -> object:
    return value if isinstance(value, str | int | float) else orjson.dumps(value).decode()


def _rounded(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"


def _chosen(question: Question, value: object, number: int) -> str:
    """The words of the choice that an answer is."""
    each = question.spec.get("each")
    choices = (each[number % len(each)] if each else question.spec).get("choices", ())
    return choices[value] if isinstance(value, int) and value < len(choices) else ""


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
        params = urlencode({name: value for name, value in view["params"].items() if name not in EVERYWHERE})
        link, asks = f"/{view['page']}" + f"?{params}" * bool(params), _asks(one)
        if len(link) > LINK:  # the words alone are left then
            link, asks = f"/{view['page']}", ANY
        note = _line(f"In the room: {one.key.get('said', '')}")  # for the teacher: it has the answer in it
        about = "Asked in a room. Answer before you look."
        parts.append("\n".join([f"## Question {one.number}", f"- link: {link}", *asks,
                                f"- ask: {_line(one.spec['ask'])}", f"- note: {note[:SENTENCES]}", "", about, ""]))
    return "\n".join(parts)


def _asks(question: Question) -> tuple[str, ...]:
    """The lines by which a stop asks the same; `ANY` of what only a room can be asked."""
    spec, proof = question.spec, question.key.get("proof", {})
    match spec["about"]:
        case "next token" if proof.get("step") is not None:  # and no class of a text
            return ("- question: next token",)
        case "cell":
            return "- question: cell", f"- query: {spec['row']['query']}"
        case "number" if proof.get("made", {}).get("of") in NUMBERS and not spec["unit"]:  # of By hand
            return "- question: number", f"- value: {proof['made']['of']}", f"- tolerance: {question.key['tolerance']}"
    return ANY


def _line(text: str) -> str:
    return " ".join(text.split())
