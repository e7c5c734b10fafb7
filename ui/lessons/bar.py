"""The bar at the foot of every page while a lesson is under way; for a progress, the sign that points at things."""

from collections.abc import Mapping

import streamlit as st

from transformer.lessons.answers import Cell, NextToken
from transformer.lessons.lesson import DEEDS
from ui.access import owners
from ui.components.lesson_bar import mount_lesson, sent_by_lesson
from ui.figures import markdown_text
from ui.figures.labels import plain_label
from ui.lessons.feedback import verdict
from ui.lessons.progress import (
    UNKNOWN,
    LessonProgress,
    arrive,
    finding,
    go,
    leave,
    lesson_progress,
    open_page,
    take_answers,
    take_cell,
)
from ui.page.plain_text import end_of
from ui.page.presentation import presenting

SERVED = "lesson_served"  # the number of the last request that has been served


def show_lesson(page: str) -> None:
    """Before a page: take up the lesson of an address, do what the bar has asked, open the stop's page, and draw the
    bar. Nothing, where no lesson is under way."""
    place = st.container(key="lesson")
    arrive(page)
    _say_unknown(page)
    if lesson_progress() is not None:
        _obey()
    if (progress := lesson_progress()) is None:
        return
    open_page(page)
    take_cell(page)
    with place:
        mount_lesson(_message(progress, page))


def _say_unknown(page: str) -> None:
    """As long as its page is looked at."""
    at, name = st.session_state.get(UNKNOWN, (None, ""))
    if at == page:
        st.warning(f"There is no lesson “{markdown_text(end_of(name))}” here. *Lessons* lists them all; a file of "
                   "your own is kept for one visit only.")
    else:
        st.session_state.pop(UNKNOWN, None)


def _obey() -> None:
    sent, state = sent_by_lesson(), st.session_state
    if sent is None or sent["number"] == state.get(SERVED, 0) or sent["lesson"] != lesson_progress().lesson.name:
        return
    state[SERVED] = sent["number"]
    take_answers(sent["answers"])
    if sent["leave"]:
        leave()
    elif sent["to"] != lesson_progress().at:
        go(sent["to"])


def _message(progress: LessonProgress, page: str) -> dict[str, object]:
    """All that the bar draws."""
    stop, lesson = progress.stop, progress.lesson
    return {
        "lesson": lesson.name, "name": lesson.title, "at": progress.at, "count": len(lesson.stops), "title": stop.title,
        "text": stop.text, "question": _question(progress), "served": st.session_state.get(SERVED, 0),
        "note": stop.note if owners.allowed("oversee") else "", "here": page == stop.page,
        "large": presenting(page),
        "guided": lesson.guided, "point": stop.point, "see": stop.see, "done": stop.deed,
        "watch": {name: stop.params.get(name) for name in DEEDS[stop.deed]} if stop.deed else None}


def _question(progress: LessonProgress) -> Mapping[str, object] | None:
    question = progress.stop.question
    if question is None:
        return None
    found = finding(progress)
    asked = {"kind": question.kind, "ask": question.ask}
    if found.answer is None:
        return asked | {"problem": f"This question has no answer here: {found.problem}."}
    if isinstance(found.answer, NextToken):
        asked["choices"] = [plain_label(one.piece) for one in found.answer.choices]
    if isinstance(found.answer, Cell):
        asked["row"] = plain_label(found.answer.queries[found.answer.query])
    if progress.at in progress.answers:
        given = progress.answers[progress.at]
        asked |= {"given": given, "right": found.answer.judge(given), "said": verdict(found.answer, given)}
    return asked
