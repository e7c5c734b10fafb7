"""The two trips of docs/architecture.md: that they are short, and that Python goes them in this order."""

import re
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOC = (ROOT / "docs" / "architecture.md").read_text("utf-8")
MOST_STOPS, MOST_FILES, MOST_RETURNS = 12, 10, 2
Stops = list[tuple[str, list[str]]]


def trip(heading: str) -> Stops:
    """The stops of a trip: a file, and those of the functions named beside it that are its own."""
    part = DOC.split(f"## {heading}\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| \d+ \| `([^`]+)` \| (.*) \|$", part, re.MULTILINE)
    texts = {file: (ROOT / file).read_text("utf-8") for file, _ in rows}

    def has(file: str, name: str) -> bool:
        return bool(re.search(rf"\b(?:def|class|function) {name}\b|^{name} =", texts[file], re.MULTILINE))

    return [(file, [name for name in re.findall(r"`(\w+)`", work) if has(file, name)]) for file, work in rows]


PRESS, TEXT = trip("From a key press to a picture"), trip("From a typed text to a picture")


@pytest.mark.parametrize("stops", [PRESS, TEXT])
def test_a_trip_is_short_and_names_functions_of_its_files(stops):
    files = [file for file, _ in stops]
    assert all(names for _, names in stops)
    assert len(stops) <= MOST_STOPS and len(set(files)) <= MOST_FILES and len(files) - len(set(files)) <= MOST_RETURNS


def functions(stops: Stops) -> list[tuple[str, str]]:
    """Those of Python: (file, name)."""
    return [(str(ROOT / file), name) for file, names in stops if file.endswith(".py")
            for name in names if not name[0].isupper()]


def entered(stops: Stops, run: Callable[[], object]) -> list[tuple[str, str]]:
    """The functions of a trip in the order in which a run enters each for the first time."""
    wanted, order = set(functions(stops)), {}

    def watch(frame: FrameType, event: str, _: object) -> None:
        key = frame.f_code.co_filename, frame.f_code.co_name
        if event == "call" and key in wanted:
            order.setdefault(key)

    threading.setprofile(watch)  # of the thread that will run the page
    try:
        run()
    finally:
        threading.setprofile(None)
    return list(order)


def test_python_goes_the_ways_that_are_written_down(visit):
    at = visit("translate", step="0")
    at.session_state["translate_screen"] = {"move": {  # the key 2, which chooses the second candidate
        "index": 1, "number": 1, "decoding": 1, "from": 0, "choices": [{"number": 1, "at": 0, "nth": 1}]}}
    assert entered(PRESS, at.run) == functions(PRESS)
    assert entered(TEXT, lambda: at.text_input(key="translate_text").set_value("I am cold.").run()) == functions(TEXT)
    assert not at.exception
