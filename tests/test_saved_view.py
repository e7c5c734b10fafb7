"""Saved views: what is written is read again, and what anybody else may have written is refused in a sentence."""

import json

import pytest

from tests.rows import each_row
from ui.page.saved_view import LARGEST, MOST_PARAMS, read_view, view_file

PARAMS = {"checkpoint": "tiny@01234567", "text": "Où ? «a&b=c» \n😀", "step": "3"}


def view(**changed):
    return json.dumps({"headsup_view": 1, "page": "write", "params": PARAMS} | changed)


def test_a_view_round_trips_whatever_the_text():
    assert read_view(view_file("translate", PARAMS)) == ("translate", PARAMS)
    assert read_view(view_file("translate", PARAMS).decode()) == ("translate", PARAMS)
    assert view_file("write", {"text": "x" * LARGEST}) is None
    assert read_view(view_file("write", {"text": "x" * (LARGEST - 200)}))[0] == "write"


@each_row(("data", "why"), [
    *((data, "not a saved view") for data in (
        "", "{", "null", "3", "[]", "[" * 100_000, '"\\ud800"', b"\xff\xfe", b"PK\x03\x04", "{}", '{"headsup_view": 1}',
        view(headsup_view=True), view(headsup_view="1"), view(page=None), view(page=["write"]))),
    (view(headsup_view=2), "another version"), (view(page="home"), "does not exist here"),
    (view(page="../app"), "does not exist here"),
    (view(page="x" * 9_000), "does not exist here"), (view(params=[]), "damaged"), (view(params=None), "damaged"),
    (view(params={"text": 3}), "damaged"), (view(params={"text": ["a"]}), "damaged"),
    (view(params={str(n): "" for n in range(MOST_PARAMS + 1)}), "damaged"),
    (" " * (LARGEST + 1), "at most 1,000,000 bytes"), (b" " * (LARGEST + 1), "at most 1,000,000 bytes"),
    ("é" * LARGEST, "at most 1,000,000 bytes"), ("\ud800" * (LARGEST + 1), "at most 1,000,000 bytes")])
def test_what_is_no_view_or_a_damaged_one_is_refused_with_what_is_wrong(data, why):
    with pytest.raises(ValueError, match=why) as error:
        read_view(data)
    assert len(str(error.value)) < 200
