"""Answers checked, judged and counted, whatever a phone sends and in whatever order it came."""

import json
import random
from math import inf, log, nan

import orjson
import pytest
import torch

from tests.rows import each_row
from transformer.rooms.questions import kind_of
from transformer.rooms.questions.kind import SURE, check_sure, to_show


def method(name):
    return lambda spec, *values: getattr(kind_of(spec), name)(spec, *values)


check, judge, count, summary, compare_rounds = map(method, ("check", "judge", "count", "summary", "compare_rounds"))
CHOICE = {"about": "next token", "form": "choice", "choices": ["a", "b", "c", "d"]}
NUMBER = {"about": "number", "form": "number", "unit": "%", "least": 0.0, "most": 100.0}
DRAW = {"about": "row", "form": "draw", "labels": ["a", "b", "c"]}
TEXT = {"about": "text", "form": "text", "longest": 20}
OWN = {"about": "own sentence", "form": "choice", "each": [
    {"text": "one", "choices": ["x", "y"]}, {"text": "two", "choices": ["u", "v", "w"]}]}
RIGHT = {"right": 2, "tolerance": 0.0, "values": [0.1, 0.2, 0.6, 0.1]}
FIFTY = {"right": 50.0, "tolerance": 5.0, "values": []}
BARS = {"right": None, "tolerance": 0.0, "values": [0.7, 0.2, 0.1]}
EACH = {"right": None, "values": [], "each": [{"right": 1, "values": [0.2, 0.8], "margin": 1.4},
                                               {"right": 0, "values": [0.8, 0.1, 0.1], "margin": 2.1}]}

HOSTILE = [None, True, False, nan, inf, -inf, -1, 10 ** 400, -(10 ** 400), 1e308, "", "2", "x" * 1_000_000, [],
           {}, [[0.5]], [0.5] * 1_000, [True, False, True], [nan, 1, 1], [inf, 1, 1], [-1, 1, 1], [0, 0, 0],
           [10 ** 400, 1, 1], ["1", 1, 1], [None] * 3, {"0": 1}, [1, 1], [1, 1, 1, 1], b"a", object(), 4, 2.0, 1.5,
           "\x00", "\ud800"]


TAKEN = {"next token": [], "number": [4, 2.0, 1.5], "row": [], "text": ["2"], "own sentence": []}


@each_row("spec", [CHOICE, NUMBER, DRAW, TEXT, OWN])
@each_row("value", HOSTILE)
def test_what_is_no_answer_is_refused(spec, value):
    if any(value is one for one in TAKEN[spec["about"]]):
        assert check(spec, value, 1) == value
    else:
        with pytest.raises(ValueError, match=r"^.{1,200}$"):
            check(spec, value, 1)


def test_each_kind_takes_its_own_answers_and_how_sure_one_is():
    assert [check(CHOICE, at, 0) for at in range(4)] == [0, 1, 2, 3]
    assert [check(NUMBER, value, 0) for value in (0, 100, 12.5)] == [0.0, 100.0, 12.5]
    assert check(TEXT, "  a \n b\t", 0) == "a b" and check(TEXT, "👩‍🔬 \u202eok", 0) == "👩‍🔬 ok"
    for text in ("   ", "a" * 21, "\u200d", "a\x07b", "\ue000"):
        with pytest.raises(ValueError, match="shorten it|type something|type it again"):
            check(TEXT, text, 0)
    assert kind_of(CHOICE).choices(CHOICE, 3) == CHOICE["choices"]
    for number in range(4):  # of a phone, which chooses from what its own sentence has
        choices = OWN["each"][number % 2]["choices"]
        assert kind_of(OWN).choices(OWN, number) == choices
        assert [check(OWN, value, number) for value in range(len(choices))] == [*range(len(choices))]
    with pytest.raises(ValueError, match="the 2 choices"):
        check(OWN, 2, 0)
    assert [check_sure(sure) for sure in (None, 0, 1, 2)] == [None, 0, 1, 2] and len(SURE) == 3
    for sure in (True, 3, -1, 1.0, "1", nan, 10 ** 400):
        with pytest.raises(ValueError, match="how sure is one of 0 to 2"):
            check_sure(sure)


@pytest.mark.parametrize("bars", [[1, 2, 1], [1e9, 1e9, 1e9], [5e-324, 0, 0], [1e-300, 1e9, 0.0], [0, 0, 7]])
def test_what_is_drawn_sums_to_one(bars):
    drawn = check(DRAW, bars, 0)
    assert sum(drawn) == pytest.approx(1) and all(0 <= bar <= 1 for bar in drawn)
    assert drawn == pytest.approx([bar / sum(bars) for bar in bars])


def test_answers_are_judged():
    assert judge(CHOICE, RIGHT, 2, 9) == {"right": True, "score": 1.0, "kl": None, "overlap": None}
    assert judge(CHOICE, RIGHT, 0, 9)["score"] == 0
    assert [judge(OWN, EACH, 1, number)["right"] for number in (0, 1, 2)] == [True, False, True]
    judged = [judge(NUMBER, FIFTY, value, 0) for value in (50, 55, 55.1, 75, 100)]
    assert [one["right"] for one in judged] == [True, True, False, False, False]
    assert [one["score"] for one in judged] == pytest.approx([1, 0.9, 0.898, 0.5, 0])
    assert judge(TEXT, {}, "a", 0) == {"right": None, "score": None, "kl": None, "overlap": None}


def test_what_is_drawn_is_judged_by_its_distance():
    same, even, other = (judge(DRAW, BARS, bars, 0) for bars in ([0.7, 0.2, 0.1], [1 / 3] * 3, [0.0, 0.0, 1.0]))
    assert same["kl"] == pytest.approx(0, abs=0.003) and same["overlap"] == pytest.approx(1)
    assert even["overlap"] == pytest.approx(1 / 3 + 0.2 + 0.1)
    assert even["kl"] == pytest.approx(sum(p * log(3 * p) for p in (0.7, 0.2, 0.1)))
    smoothed = [0.01 / 3, 0.01 / 3, 0.99 + 0.01 / 3]
    assert other["kl"] == pytest.approx(sum(p * log(p / q) for p, q in zip((0.7, 0.2, 0.1), smoothed, strict=True)))
    assert same["score"] > even["score"] > other["score"] and same["right"] is None


def several(spec: dict, count: int = 60) -> list:
    chance = random.Random(5)
    out = []
    for number in range(count):
        choices = OWN["each"][number % 2]["choices"] if "each" in spec else CHOICE["choices"]
        bars = [chance.random() + 0.01 for _ in range(3)]
        value = {"choice": chance.randrange(len(choices)), "number": chance.choice([3, 47.5, 50, 52, 99.9]),
                 "text": "a", "draw": check(DRAW, bars, 0)}[spec["form"]]
        out.append((number, value, chance.choice([None, 0, 1, 2])))
    return out


@pytest.mark.parametrize("spec", [CHOICE, NUMBER, DRAW, TEXT, OWN], ids=lambda spec: spec["about"])
def test_counts_do_not_depend_on_the_order(spec):
    answers = several(spec)
    counted = count(spec, answers)
    for seed in range(5):
        again = answers[:]
        random.Random(seed).shuffle(again)
        assert count(spec, again) == counted
    assert counted["count"] == 60 == sum(counted["sure"])
    assert count(spec, orjson.loads(orjson.dumps(answers))) == counted == orjson.loads(orjson.dumps(counted))
    empty = count(spec, [])
    assert empty["count"] == 0 and json.dumps(empty, allow_nan=False)


def test_choices_and_numbers_are_counted():
    counted = count(CHOICE, [(0, 2, 2), (1, 2, 0), (2, 1, 0), (3, 0, None)])
    assert counted["counts"] == [1, 1, 2, 0] and counted["sure"] == [2, 0, 1, 1]
    assert counted["by_sure"][0] == [0, 1, 1, 0] and counted["by_sure"][3] == [1, 0, 0, 0]
    counted = count(NUMBER, [(at, value, None) for at, value in enumerate([0, 9.9, 10, 100, 55])])
    assert [(bar["from"], bar["to"]) for bar in counted["bins"]] == [(10 * at, 10 * at + 10) for at in range(10)]
    assert [bar["count"] for bar in counted["bins"]] == [2, 1, 0, 0, 0, 1, 0, 0, 0, 1]
    assert counted["median"] == 10 and counted["mean"] == pytest.approx(34.98)


@each_row("values", [[7.0], [-3, 812.5, 40], [0.001, 0.0011, 0.3], [-1000, 1000], [5, 5, 5]])
@each_row(("least", "most"), [(0, 1), (0, 100), (-1000, 1000)])
def test_every_number_is_in_a_bin_whose_bounds_hold_it(values, least, most):
    values = [min(most, max(least, value)) for value in values]
    found = count({**NUMBER, "least": least, "most": most}, [(at, value, None) for at, value in enumerate(values)])
    assert sum(bar["count"] for bar in found["bins"]) == len(values) and 1 <= len(found["bins"]) <= 14
    for bar in found["bins"]:
        assert bar["count"] == sum(bar["from"] <= value < bar["to"] or (bar is found["bins"][-1] and value == bar["to"])
                                   for value in values)


def test_the_reveal_tells_how_the_room_did():
    told = summary(CHOICE, RIGHT, count(CHOICE, [(0, 2, 2), (1, 2, 1), (2, 1, 0), (3, 0, None)]))
    assert (told["right"], told["share"], told["sure_right"], told["sure_wrong"]) == (2, 0.5, 0.75, 0.0)
    told = summary(NUMBER, FIFTY, count(NUMBER, [(0, 54, 2), (1, 45, None), (2, 44, 1)]))
    assert (told["right"], told["sure_right"], told["sure_wrong"]) == (2, 1.0, 0.5)
    told = summary(DRAW, BARS, count(DRAW, [(0, [1.0, 0.0, 0.0], None), (1, [0.4, 0.4, 0.2], None)]))
    assert told["mean"] == pytest.approx([0.7, 0.2, 0.1]) and told["overlap"] == pytest.approx(1)
    assert summary(CHOICE, RIGHT, count(CHOICE, []))["share"] is None
    assert summary(DRAW, BARS, count(DRAW, []))["kl"] is None


def test_exceptions_are_sentences_that_most_got_wrong():
    answers = [(0, 1, 2), (2, 1, None), (1, 2, 1), (3, 2, 1), (5, 0, 0)]
    counted = count(OWN, answers)
    told = summary(OWN, EACH, counted)
    assert (told["right"], told["count"], told["sentences"], told["agreed"]) == (3, 5, 2, 1)
    assert told["exceptions"] == [{"number": 1, "text": "two", "right": "u", "said": "w", "counts": [1, 0, 2],
                                   "margin": 2.1}]
    assert "each" not in to_show(counted) and "values" not in to_show(count(NUMBER, []))


def test_a_second_round_is_told_beside_the_first():
    first = [(0, 0, None), (1, 0, None), (2, 2, None), (3, 2, None)]
    second = [(0, 2, None), (1, 0, None), (2, 2, None), (3, 1, None), (4, 2, None)]
    told = compare_rounds(CHOICE, first, second, RIGHT)
    assert told == {"count": [4, 5], "both": 4, "changed": 2, "became_right": 1, "became_wrong": 1, "share": [0.5, 0.6]}
    assert compare_rounds(CHOICE, first, second) == {"count": [4, 5], "both": 4, "changed": 2}
    assert compare_rounds(CHOICE, [(0, 0, None)], [(0, 0, None), (1, 2, None)])["changed"] == 0
    bars = [[(0, one, None)] for one in ([1.0, 0.0, 0.0], [0.7, 0.2, 0.1])]
    told = compare_rounds(DRAW, *bars, BARS)
    assert told["changed"] is None and told["overlap"] == pytest.approx([0.7, 1])
    for spec, key in ((CHOICE, RIGHT), (NUMBER, FIFTY), (DRAW, BARS), (TEXT, {}), (OWN, EACH)):
        told = compare_rounds(spec, [], several(spec), key)
        assert told["both"] == 0 and not told["changed"]


def test_numbers_of_both_rounds_lie_in_the_same_bins():
    wide = {**NUMBER, "least": -1000.0, "most": 1000.0}
    first, second = ([(at, value, None) for at, value in enumerate(values)] for values in ([-3, 0.5], [812, 40, 41]))
    rounds = count(wide, first, second)["bins"], count(wide, second, first)["bins"]
    assert len({tuple((bar["from"], bar["to"]) for bar in bars) for bars in rounds}) == 1
    assert [sum(bar["count"] for bar in bars) for bars in rounds] == [2, 3]


def test_judging_and_counting_need_no_model(monkeypatch):
    monkeypatch.setattr(torch.nn.Module, "__call__", None)
    for spec, key in ((CHOICE, RIGHT), (NUMBER, FIFTY), (DRAW, BARS), (TEXT, {}), (OWN, EACH)):
        answers = several(spec)
        assert {judge(spec, key, value, number)["score"] for number, value, _ in answers}
        assert summary(spec, key, count(spec, answers))["count"] == len(answers)
