"""Addresses: what a text in one becomes, and what is left out of one that is too long. No page, no browser."""

from contextlib import suppress
from urllib.parse import urlencode

import pytest

from tests.rows import each_row
from transformer.inference.decoding import Sampling
from transformer.inference.decoding_tree import begin
from transformer.inference.sampling_settings import SETTINGS
from ui.lessons.stop_links import fields_of
from ui.page.link import LONGEST, fits, number, read, wholes, without_texts, write
from ui.page.pages import EVERY_PAGE
from ui.views.stepper.address import LAST_STEP, address_of_step, step_fields
from ui.views.translate import beam, two_steps

TEXT = "I am cold."
FIELDS = {**step_fields(example=TEXT, temperature=0.8), **beam.FIELDS, **two_steps.FIELDS}
DEFAULTS = {name: field.default for name, field in FIELDS.items()}
FULL = {"text": "Où ? «a&b=c» #1 + 100% \n😀", "choices": {0: 3, 17: 250}, "temperature": 0.3, "top_k": 5, "top_p": 0.9,
        "min_p": 0.05, "seed": 99, "step": 4, "kind": "cross", "layer": "1", "head": "3", "pair": "2:1",
        "level": "cell", "beam": 4, "penalty": 1.5, "compare": "branch", "compare_choices": {2: 7}}
NUMBERS = (*(setting.name for setting in SETTINGS), "step")


def test_an_address_round_trips_and_leaves_out_what_is_as_it_is_to_begin_with():
    params = write(FIELDS, "tiny@01234567", **FULL)
    assert all(isinstance(value, str) for value in params.values())
    assert params["checkpoint"] == "tiny@01234567"
    assert read(FIELDS, params) == DEFAULTS | FULL
    assert read(FIELDS, {}) == DEFAULTS
    assert write(FIELDS, None, **DEFAULTS) == {"text": TEXT, "temperature": "0.8", "compare_text": ""}
    assert address_of_step("tiny@01234567", TEXT) == (
        {"checkpoint": "tiny@01234567", "text": TEXT, "step": "0"}, True)


@each_row(("value", "end"), [
    ("inf", 1), ("-inf", 0), ("-3", 0), ("1e999", 1), ("9" * 400, 1), ("-0", 0)])
def test_hostile_numbers_are_brought_into_range(value, end):
    values = read(FIELDS, dict.fromkeys(NUMBERS, value))
    assert {setting.name: values[setting.name] for setting in SETTINGS} == {
        setting.name: setting.offered[end] for setting in SETTINGS}
    assert values["step"] == (LAST_STEP if end else 0)
    Sampling.of(values)  # raises nothing


@each_row("value", ["", "abc", "1;2", "0x10", "1,5", "None", "<b>", "nan"])
def test_text_in_place_of_a_number_falls_back_to_the_default(value):
    assert read(FIELDS, dict.fromkeys((*NUMBERS, "beam", "penalty"), value)) == DEFAULTS


@each_row("value", [None, [1], {"a": 1}, "nan", float("nan"), 10**400, "²"])
def test_what_is_no_number_raises_a_value_error(value):
    with pytest.raises(ValueError, match="number|convert"):
        number(value, 0, 9)


@each_row(("value", "numbers"), [
    ("3,1,3", [3, 1]), ("", []), (",,2,", [2]), ("-4,99", [0, 9]), ("1,x", [5]), (",".join("0123456789"), [0, 1, 2])])
def test_lists_of_numbers(value, numbers):
    assert read({"at": wholes([5], 9, count=3)}, {"at": value}) == {"at": numbers}


@each_row(("value", "choices"), [
    ("3:7,5:9", {3: 7, 5: 9}), ("", {}), (",,,", {}), ("3", {}), (":", {}), ("3:", {}), (":7", {}), ("-1:7,3:-7", {}),
    ("a:b,3:7", {3: 7}), ("3:7:9", {}), ("1.5:2", {}), (" 3:7", {}), ("३:७,³:7", {}), ("1:" + "9" * 40, {}),
    ("3:7,3:8", {3: 8})])
def test_choices_are_pairs_of_whole_numbers_and_the_rest_is_skipped(value, choices):
    assert read(FIELDS, {"choices": value})["choices"] == choices


def test_five_thousand_choices_are_read_up_to_a_limit_and_followed(translator):
    choices = read(FIELDS, {"choices": ",".join(f"{at}:6" for at in range(5_000))})["choices"]
    assert len(choices) == 2_000
    decoding = begin(translator, TEXT, choices=choices, index=10**6)
    assert decoding.step.full
    assert {step.id for step in decoding.steps} == {6}


def test_a_link_too_long_leaves_out_the_text_and_what_hangs_on_it_and_what_only_a_page_knows():
    values = {"temperature": 0.0, "step": 3, "selection": {"layer": "1"}}
    short, _ = address_of_step("tiny@01234567", "", **values)
    room = LONGEST - sum(len(name) + len(value) + 2 for name, value in short.items())
    params, whole = address_of_step("tiny@01234567", "a" * (room // 2), **values)
    assert whole
    assert len(urlencode(params)) <= LONGEST
    for text in ("a" * (room + 40), "é" * (room // 6 + 10)):  # é takes six characters in an address
        params, whole = address_of_step("tiny@01234567", text, choices={1: 2}, **values)
        assert not whole
        assert params == {"checkpoint": "tiny@01234567", "temperature": "0", "layer": "1"}
    params, whole = address_of_step("tiny@01234567", TEXT, choices=dict.fromkeys(range(200), 1_000))
    assert not whole
    assert "choices" not in params
    params = write(FIELDS, None, text="Go.", beam=4)
    assert fits(params) and params["beam"] == "4"
    params = write(FIELDS, None, text="Go.", beam=4, compare="sentence", compare_text="x" * LONGEST)
    assert not fits(params)
    assert without_texts(FIELDS, params) == {}


HOSTILE = ["nan", "1e300", "-7", "0x1", "inf", "", "\u202e\x00\u2028", ":::,-1:9,x:y," * 4, "../../etc/passwd",
           "x" * 60, "1,2,2,99999", "q:7.5:1.25,2:-3:4", "decoder:0:1,x:9:9", "cross-1-2", "[[3]]", "on", "<b>*a*</b>"]


def test_what_any_field_of_any_page_writes_it_reads_again_and_each_of_its_few_values():
    """Whatever an address said, and whichever of its values a page has come to: the link leads to the same."""
    wrong = []
    for page in EVERY_PAGE:
        for name, field in fields_of(page).items():
            values = [field.default] if field.default is not None else []
            for text in (*HOSTILE, *map(str, field.options)):
                with suppress(ValueError, KeyError, OverflowError):
                    values.append(field.read(text))
            for value in values:
                written = field.write(value)
                if written is not None and field.write(field.read(written)) != written:
                    wrong.append((page, name, value, written))
    assert not wrong
    few = [(page, name, field) for page in EVERY_PAGE for name, field in fields_of(page).items() if field.options]
    assert len(few) > 30
    for page, name, field in few:
        texts = [field.write(option) for option in field.options]
        assert len({*texts}) == len(field.options), (page, name)
        assert [text is None or field.read(text) for text in texts] == [
            text is None or option for text, option in zip(texts, field.options, strict=True)], (page, name)
