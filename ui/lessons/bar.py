"""The bar at the foot of every page during a lesson and, for the tour, the sign that points at parts of the page."""

from collections.abc import Mapping

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

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
from ui.page.link import when_arrived
from ui.page.plain_text import end_of
from ui.page.presentation import presenting

SERVED = "lesson_served"  # the number of the last request served


def show_lesson(page: str) -> None:
    """Continues the lesson of an address, serves the bar's request, opens the stop's page and has the bar drawn; called
    before each page, and does nothing without a lesson."""
    place = st.container(key="lesson")
    arrive(page)
    _say_unknown(page)
    if (progress := lesson_progress()) is not None:
        _serve(progress)
    if (progress := lesson_progress()) is None:
        return
    open_page(progress, page)
    take_cell(progress, page)
    when_arrived(lambda: _draw(place, progress, page))


def _draw(place: DeltaGenerator, progress: LessonProgress, page: str) -> None:
    with place:
        mount_lesson(_message(progress, page))


def _say_unknown(page: str) -> None:
    """Warns of an unknown lesson while its page is open."""
    at, name = st.session_state.get(UNKNOWN, (None, ""))
    if at == page:
        st.warning(f"There is no lesson “{markdown_text(end_of(name))}” here. *Lessons* lists them all; a file of "
                   "your own is kept for one visit only.")
    else:
        st.session_state.pop(UNKNOWN, None)


def _serve(progress: LessonProgress) -> None:
    sent, state = sent_by_lesson(), st.session_state
    if sent is None or sent["number"] == state.get(SERVED, 0) or sent["lesson"] != progress.lesson.name:
        return
    state[SERVED] = sent["number"]
    take_answers(progress, sent["answers"])
    if sent["leave"]:
        leave()
    elif sent["to"] != progress.at:
        go(sent["to"])


def _message(progress: LessonProgress, page: str) -> dict[str, object]:
    """The message that the bar draws."""
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
    result = finding(progress)
    answer = result.answer
    data: dict[str, object] = {"kind": question.kind, "ask": question.ask}
    if answer is None:
        return data | {"problem": f"This question has no answer here: {result.problem}."}
    if isinstance(answer, NextToken):
        data["choices"] = [plain_label(candidate.piece) for candidate in answer.choices]
    if isinstance(answer, Cell):
        data["row"] = plain_label(answer.queries[answer.query])
    if progress.at in progress.answers:
        reply = progress.answers[progress.at]
        data |= {"given": reply, "right": answer.judge(reply), "verdict": verdict(answer, reply)}
    return data
