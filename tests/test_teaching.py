"""Every link of docs/teaching.md opens what it names, and its tables leave nothing out."""

import ast
import re
from functools import cache
from urllib.parse import parse_qsl, urlsplit

import pytest

from tests.rows import each_row
from transformer.basics.paths import ROOT
from transformer.lessons.answers import step_or_reading
from transformer.lessons.lesson import Lesson, Stop
from transformer.lessons.parsing import read_file
from transformer.rooms.room import HOURS, MOST_HOURS
from transformer.text.corpus_catalogue import SOURCES
from ui.lessons.stop_links import open_stop
from ui.page.pages import EVERY_PAGE
from ui.views.by_hand.settings import PARTS
from ui.views.checkpoints import card
from ui.views.masks.five_masks import MASKS
from ui.views.positions.table import VIEWS
from ui.views.train import train_state

DOC = (ROOT / "docs" / "teaching.md").read_text("utf-8")
LINKS = re.findall(r"\[([^]]+)\]\((http://localhost:8501[^)]*)\)", DOC)
LESSONS = {  # the heading of its table -> its file
    "## The 45-minute lesson": "query-and-key",
    "### For school pupils, without mathematics: 20 minutes": "no-mathematics",
    "### A head in a minute: 25 minutes": "a-head-in-a-minute",
    "### For programmers: 25 minutes": "attention-as-code",
    "### For a research seminar: 25 minutes": "not-an-explanation"}
WITHOUT_MINUTES = {"### Why it works: ten minutes": "why-it-works"}
FIRST = ("the first stop", "its first stop", "tour of eight stops")  # how a link to a whole lesson is named


@cache
def lesson(name: str) -> Lesson:
    return read_file(ROOT / "lessons" / f"{name}.md", name)


@cache
def opens(link: str) -> tuple[str, dict[str, str]]:
    """The page of a link, and its parameters, with which it opens."""
    parts = urlsplit(link)
    page, params = parts.path.strip("/"), dict(parse_qsl(parts.query, strict_parsing=bool(parts.query)))
    if page == "lessons" and params:
        assert 1 <= int(params["stop"]) <= len(lesson(params["lesson"]).stops)
    elif page:
        step_or_reading(open_stop(Stop(title="", page=page, params=params, line=0)))
    return page, params


def table(heading: str) -> list[list[str]]:
    """The rows of the first table below a heading, each as its cells."""
    below = DOC.split(f"\n{heading}\n", 1)[1].split("\n#", 1)[0]
    lines = [line for line in below.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]


@each_row(("name", "link"), LINKS)
def test_every_link_opens_what_it_names(name, link):
    page, params = opens(link)
    stops = {stop.title for one in (LESSONS | WITHOUT_MINUTES).values() for stop in lesson(one).stops
             if (stop.page, stop.params) == (page, params)}
    named = {EVERY_PAGE[page].title} if page else set()
    if page == "lessons" and params:
        named = {*FIRST, lesson(params["lesson"]).title}
    assert name in stops or name.partition(",")[0] in {one.partition(",")[0] for one in named}


@pytest.mark.parametrize(("heading", "name"), LESSONS.items())
def test_a_table_has_the_stops_of_its_lesson_with_their_minutes(heading, name):
    rows, stops = table(heading), lesson(name).stops
    assert [re.match(r"\[(.*?)\]", row[1])[1] for row in rows] == [stop.title for stop in stops]
    for row, stop in zip(rows, stops, strict=True):
        assert re.findall(r"\d+", row[0]) == re.findall(r"\d+", stop.note.partition(" minutes")[0])
    minutes = [[*map(int, row[0].split("–"))] for row in rows]
    assert [one[1] for one in minutes[:-1]] == [one[0] for one in minutes[1:]]
    assert (minutes[0][0], minutes[-1][1]) == (0, lesson(name).minutes)


@pytest.mark.parametrize(("heading", "name"), WITHOUT_MINUTES.items())
def test_a_table_without_minutes_has_the_stops_of_its_lesson(heading, name):
    assert [re.match(r"\[(.*?)\]", row[0])[1] for row in table(heading)] == [stop.title for stop in lesson(name).stops]


def test_every_view_of_every_page_stands_in_the_table():
    named = "\n".join(row[0] for row in table("## What each view shows, and what it does not"))
    views = [*PARTS.values(), *MASKS.values(), *VIEWS, *train_state.VIEWS.values(), *card.VIEWS.values()]
    for page in ("heads", "classify"):
        tree = ast.parse((ROOT / EVERY_PAGE[page].script).read_text("utf-8"))
        values = next(node.value.values for node in tree.body if isinstance(node, ast.Assign)
                      and getattr(node.targets[0], "id", "") == "VIEWS")
        views += [node.value for node in values if isinstance(node, ast.Constant)]  # others stand with the corpora
    views += [source.question for source in SOURCES if source.question]
    assert [view for view in views if view not in named] == []


def test_it_says_for_how_long_a_room_is_kept():
    hours = {4.0: "four", 12.0: "twelve"}
    assert f"after {hours[HOURS]} hours, or after {hours[MOST_HOURS]}" in " ".join(DOC.replace(">", "").split())
