"""What a stop of a lesson asks is the same question for one visitor and for a room."""

import csv
import io
from collections.abc import Callable
from math import exp, sqrt

import pytest

from tests.rows import each_row
from transformer.basics.spreadsheet import MARK
from transformer.lessons.answers import Cell, FreeText, NextToken, Number, answer
from transformer.lessons.grading import bounds, is_number
from transformer.lessons.lesson import NUMBERS, Question, Stop
from transformer.lessons.parsing import parse
from transformer.rooms.questions import kind_of, make, of_stop
from transformer.rooms.questions.wording import apart
from transformer.rooms.room import ANSWER, new_key
from transformer.rooms.store import Store
from ui.lessons.catalogue import shipped
from ui.lessons.stop_links import open_stop
from ui.rooms import actions, export, visible_state

STOPS = {f"{name}/{at}": stop for name, lesson in shipped().items() for at, stop in enumerate(lesson.stops)
         if stop.question}
NUMBER_STOPS = {name: stop for name, stop in STOPS.items() if stop.question.kind == "number"}
ELSEWHERE = {"page": "write", "params": {"text": "KING"}, "title": "Write"}  # where the lecturer has gone since


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> Store:
    return Store(tmp_path_factory.mktemp("rooms") / "rooms.sqlite")


def asked(store: Store, name: str, stop: Stop):
    """The room and the question that its lecturer asks of a stop."""
    room = store.open_room(new_key())
    store.lead(room.id, "tab")
    store.publish(room.id, ELSEWHERE | {"asked": of_stop(stop) | {"stop": name}}, None, "tab")
    sent = actions.ask(store, store.room(room.id), {"about": actions.STOP, "open": True})
    return room, store.question(room.id, sent["question"])


def is_right(question, value: object, number: int = 0) -> bool | None:
    return kind_of(question.spec).judge(question.spec, question.key, value, number)["right"]


def given_by(alone: object, spec: dict) -> list[tuple[object, object]]:
    """What may be answered: as a room takes it, and as the lesson does."""
    match alone:
        case NextToken(choices):
            pieces = [one.piece for one in choices]
            return [(at, pieces.index(piece)) for at, piece in enumerate(spec["choices"])]
        case Cell():
            names = apart(alone.keys)
            return [(at, names.index(choice)) for at, choice in enumerate(spec["choices"])]
        case Number(right, tolerance):
            least, most = bounds(right, tolerance)
            around = [right, least, most, least - tolerance / 50, most + tolerance / 50]
            return [(value, value) for value in (*around, 0.0, -right - 3, -0.46, 7.0, 1e6)]
        case FreeText():
            return [("anything", "anything")]
    raise AssertionError(alone)


@pytest.mark.parametrize("name", STOPS)
def test_a_room_is_asked_at_every_stop_what_is_asked_alone(store, name):
    stop = STOPS[name]
    alone, (room, question) = answer(stop.question, open_stop(stop)), asked(store, name, stop)
    assert question.spec["ask"] == stop.question.ask
    pairs, rights = given_by(alone, question.spec), []
    for number, (in_room, by_one) in enumerate(pairs):
        taken = actions.take_answer(store, room, f"d{number}", {"question": question.id, "round": 1, "value": in_room})
        rights.append(is_right(question, taken, number))
        assert rights[-1] == alone.judge(by_one), in_room
    assert isinstance(alone, FreeText) or {True, False} == {*rights}
    answers = [(number, value, None) for number, (value, _) in enumerate(pairs)]
    kind = kind_of(question.spec)
    votes = kind.count(question.spec, answers)
    assert kind.summary(question.spec, question.key, votes).get("right", 0) == rights.count(True)
    if "bins" in votes:
        assert sum(one["count"] for one in votes["bins"]) == len(pairs)
    store.set_phase(room.id, question.id, ANSWER)
    key = visible_state.of_room(store, store.room(room.id))["question"]["key"]
    match alone:
        case Number(right):
            assert f"{right:.4g}" in key["said"]
            assert [is_number(value, *key["bounds"]) for value, _ in pairs] == rights
        case FreeText(output):
            assert key["output"] == output and (output or "") in key["said"]


COMPUTED: dict[str, Callable[[list[list[float]], int], float]] = {  # the rows that are given, and the key's place
    "product": lambda rows, key: sum(q * k for q, k in zip(*rows, strict=True)),
    "scaled": lambda rows, key: rows[0][0] / rows[1][0],
    "divisor": lambda rows, key: sqrt(rows[0][0]),
    "weight": lambda rows, key: exp(rows[0][key]) / sum(map(exp, rows[0]))}


def computed(of: str, spec: dict, key: int) -> float:
    rows = [[float(value.replace("−", "-").replace("∞", "inf")) for value in values]
            for _, values in spec["given"]["rows"]]
    return COMPUTED[of](rows, key)


@pytest.mark.parametrize("name", NUMBER_STOPS)
def test_what_stands_beside_a_question_is_enough_to_compute_it(store, name):
    stop = NUMBER_STOPS[name]
    _, question = asked(store, name, stop)
    worked_out = computed(stop.question.value, question.spec, int(stop.params.get("key", 0)))
    assert is_right(question, worked_out)


@each_row("of", NUMBERS)
@each_row("mask", ["none", "causal"])
def test_whoever_computes_with_the_numbers_that_a_lecturer_shows_is_right(of, mask):
    for seed in range(5):
        params = {"text": "Life is too short for bad coffee", "seed": str(seed), "d_k": "9", "query": "5", "key": "2",
                  "mask": mask}
        made = make("number", open_stop(Stop(title="", page="by_hand", params=params, line=0)), of=of)
        worked_out = computed(of, made.spec, 2)
        assert is_right(made, worked_out)
        assert not is_right(made, worked_out + 0.2)


@pytest.mark.slow
def test_a_lesson_made_of_what_a_room_was_asked_at_stops_asks_the_same(store):
    room = store.open_room(new_key())
    store.lead(room.id, "tab")
    stops = [stop for stop in STOPS.values() if stop.question.kind != "free text"]
    for at, stop in enumerate(stops):
        store.publish(room.id, ELSEWHERE | {"asked": of_stop(stop) | {"stop": f"x/{at}"}}, None, "tab")
        actions.ask(store, store.room(room.id), {"about": actions.STOP})
    found = parse(export.lesson(store, room).encode(), "room")
    for stop, again in zip(stops, found.stops, strict=True):
        assert answer(again.question, open_stop(again)) == answer(stop.question, open_stop(stop))
        assert again.question.ask == stop.question.ask


def test_what_a_class_says_before_and_after_a_lesson_is_saved_side_by_side_and_without_names(store):
    first, *_, last = [stop for name, stop in STOPS.items() if name.startswith("why-it-works/")]
    assert first.question == last.question and first.question.kind == "free text" and first.params == last.params
    room = store.open_room(new_key())
    store.lead(room.id, "tab")
    keys = [new_key() for _ in range(3)]  # what tells the phones apart
    said = {"before": ["It knows no baseball.", "A virus", "Too small"], "after": ["Bats are animals.", "Data"]}
    for at, stop, texts in ((0, first, said["before"]), (11, last, said["after"])):
        store.publish(room.id, ELSEWHERE | {"asked": of_stop(stop) | {"stop": f"why-it-works/{at}"}}, None, "tab")
        question = actions.ask(store, store.room(room.id), {"about": actions.STOP, "open": True})["question"]
        for key, text in reversed([*zip(keys, texts, strict=False)]):
            actions.take_answer(store, room, key, {"question": question, "round": 1, "value": text})
    table = export.answers(store, room)
    rows = list(csv.DictReader(io.StringIO(table.removeprefix(MARK))))
    assert {row["asked"] for row in rows} == {first.question.ask}
    by_phone: dict[str, dict[str, str]] = {}
    for row in rows:
        by_phone.setdefault(row["device"], {})[row["question"]] = row["answer"]
    pairs = {(answers["1"], answers.get("2")) for answers in by_phone.values()}
    assert pairs == set(zip(said["before"], [*said["after"], None], strict=True))
    assert {*by_phone} == {"1", "2", "3"}
    assert not any(key in table for key in keys)


def test_a_question_without_a_range_takes_every_number():
    assert Question(kind="number", ask="").tolerance > 0
    assert is_number(-3) and is_number(1e9) and not is_number(True) and not is_number("1") and not is_number(10 ** 400)
    assert not is_number(float("nan")) and is_number(2, 0, 3) and not is_number(-1, 0, 3)
