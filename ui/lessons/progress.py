"""The progress of a visitor in a lesson: the stop, also in the address of every page, and the answers, for the
visit."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import streamlit as st

from transformer.lessons.answers import Cell, Finding, NextToken, Number, check, check_stop
from transformer.lessons.grading import is_number
from transformer.lessons.lesson import Lesson, Stop
from transformer.rooms.questions import of_stop
from transformer.rooms.room import ANSWER
from ui.components.attention_view import CELL_ASKED, Selected
from ui.lessons.catalogue import find
from ui.lessons.stop_links import open_stop
from ui.page.link import PRESENT, add_to_addresses, came_through_history, current_address, go_to
from ui.page.presentation import LESSON as STATE
from ui.page.presentation import present, presenting
from ui.page.room_sharing import QUESTION, STOP, leading, store
from ui.state.page_state import PageState
from ui.state.work_queue import heavy

RESULTS, VISITED = "lesson_results", "lesson_visited"
UNKNOWN = "lesson_unknown"  # a page whose address names an unknown lesson, and that name
MOST_VISITED = 1_000  # stops that are remembered
LONGEST_ANSWER = 400  # characters


@dataclass
class LessonProgress:
    """A lesson under way. at: the stop; answers, findings: by stop, the visitor's answer and the model's; hidden: the
    page whose candidates are covered for a question; moved: the stop has just changed and its page has to be opened;
    unjudged: the cell that was clicked while a room was being asked."""

    lesson: Lesson
    at: int = 0
    answers: dict[int, object] = field(default_factory=dict)
    findings: dict[int, Finding] = field(default_factory=dict)
    hidden: str | None = None
    moved: bool = True
    unjudged: object = None

    @property
    def stop(self) -> Stop:
        return self.lesson.stops[self.at]

    @property
    def address(self) -> dict[str, str]:
        return {"lesson": self.lesson.name, "stop": str(self.at + 1)}


def lesson_progress() -> LessonProgress | None:
    return st.session_state.get(STATE)


def start(lesson: Lesson, at: int = 0) -> LessonProgress:
    """Starts a lesson at a stop, and ends the one under way."""
    leave()
    progress = st.session_state[STATE] = LessonProgress(lesson)
    go(at)
    return progress


def go(at: int) -> None:
    """Goes to a stop; after the last one the lesson ends and its results are shown."""
    progress = lesson_progress()
    if progress is None:
        return
    if at >= len(progress.lesson.stops):
        st.session_state[RESULTS] = progress
        leave()
        go_to("lessons")
    progress.at, progress.moved = max(0, at), True
    cover(progress)
    _remember(progress)


def leave() -> None:
    """Ends the lesson at its current stop."""
    uncover()
    for key in (STATE, CELL_ASKED, QUESTION, STOP):
        st.session_state.pop(key, None)
    add_to_addresses(STATE, {})


def arrive(page: str) -> None:
    """Continues the lesson that the address of an arrival names."""
    address = current_address()
    name, stop = address.get("lesson"), address.get("stop", "1")[:6]
    progress, visited = lesson_progress(), st.session_state.setdefault(VISITED, set())
    if not name:
        return
    if (name, stop) in visited and not came_through_history():
        return
    if len(visited) > MOST_VISITED:
        visited.clear()
    visited.add((name, stop))
    at = int(stop) - 1 if stop.isascii() and stop.isdigit() else 0
    if progress is None or progress.lesson.name != name:
        lesson = find(name)
        if lesson is None:
            st.session_state[UNKNOWN] = page, name
            return
        progress = start(lesson)
    progress.at = max(0, min(at, len(progress.lesson.stops) - 1))
    progress.moved = not (address.keys() - {"lesson", "stop", "present"})
    if progress.moved:  # the page will not read this address
        present(page, PRESENT.items() <= address.items())
    _remember(progress)
    cover(progress)


def open_page(progress: LessonProgress, page: str) -> None:
    """Opens the page of a stop after a move, which ends this run."""
    if not progress.moved:
        return
    progress.moved, progress.unjudged = False, None
    stop = progress.stop
    Selected(stop.page).select()  # an earlier click on a cell is no answer
    presents = presenting(page) or PRESENT.items() <= current_address().items()
    go_to(stop.page, {**stop.params, **(PRESENT if presents else {}), **progress.address})


def _remember(progress: LessonProgress) -> None:
    """Records the current stop, so that an address that names it is not taken for an arrival."""
    st.session_state.setdefault(VISITED, set()).add((progress.lesson.name, str(progress.at + 1)))
    add_to_addresses(STATE, progress.address)


def finding(progress: LessonProgress, at: int | None = None) -> Finding:
    """The model's answer to the question of a stop, or the problem, which is checked again each time."""
    at = progress.at if at is None else at
    if at not in progress.findings or progress.findings[at].problem:
        progress.findings[at] = check_stop(progress.lesson.stops[at], open_stop)
    return progress.findings[at]


def check_lesson(lesson: Lesson) -> list[Finding]:
    """Checks every stop, as heavy work."""
    with heavy("Checking the lesson") as work:
        return check(lesson, open_stop, watch=work.watch)


def take_answers(progress: LessonProgress, sent: Mapping[str, object]) -> None:
    """Takes the answers that the bar has sent; the first one to each stop counts."""
    if room_is_asked():
        return
    for key, reply in list(sent.items())[:len(progress.lesson.stops)]:
        at = int(key) if isinstance(key, str) and key.isascii() and key.isdigit() and len(key) < 4 else -1
        if 0 <= at < len(progress.lesson.stops) and at not in progress.answers and _fits(progress, at, reply):
            progress.answers[at] = reply
    cover(progress)


def room_is_asked() -> bool:
    """Whether the room that this session leads has a question whose answer it does not know yet. Then nothing is judged
    here, because the room might see it."""
    room = leading()
    if room is None or room.question is None:
        return False
    return store().question(room.id, room.question).phase != ANSWER


def _fits(progress: LessonProgress, at: int, reply: object) -> bool:
    question = progress.lesson.stops[at].question
    if question is None or isinstance(reply, bool):
        return False
    if question.kind == "free text":
        return isinstance(reply, str) and 0 < len(reply.strip()) <= LONGEST_ANSWER
    answer = finding(progress, at).answer
    match answer:
        case NextToken():
            return isinstance(reply, int) and 0 <= reply < len(answer.choices)
        case Number():
            return is_number(reply)
    return False


def take_cell(progress: LessonProgress, page: str) -> None:
    """Takes a click on a cell, in the row of the question, as the answer."""
    stop = progress.stop
    if not (stop.question and stop.question.kind == "cell") or page != stop.page or progress.at in progress.answers:
        return
    wanted = Selected(page).selection
    pair = wanted.pair
    if room_is_asked():
        progress.unjudged = pair
    if pair is None or pair == progress.unjudged:
        return
    answer = finding(progress).answer
    if not isinstance(answer, Cell) or not isinstance(pair, list | tuple) or len(pair) != 2 or progress.moved:
        return
    visible = wanted.kind, wanted.layer, wanted.head
    is_asked = visible == (answer.kind, answer.layer, answer.head) and pair[0] == answer.query
    if is_asked and 0 <= pair[1] < len(answer.keys):
        progress.answers[progress.at] = int(pair[1])


def cover(progress: LessonProgress) -> None:
    """Hides the candidates that a question asks for, on the page of its stop, until it is answered."""
    question = None if progress.at in progress.answers else progress.stop.question
    asked = None if question is None else of_stop(progress.stop)
    stop = f"{progress.lesson.name}/{progress.at}"
    st.session_state[QUESTION] = None if asked is None else {**asked, "stop": stop}
    st.session_state[STOP] = progress.stop.title
    covers = question is not None and (question.kind == "next token" or question.compare == "output")
    st.session_state[CELL_ASKED] = progress.stop.page if question and question.kind == "cell" else None
    if progress.hidden and not (covers and progress.hidden == progress.stop.page):
        uncover()
    if covers and progress.hidden is None and finding(progress).answer is not None:
        progress.hidden = progress.stop.page
        PageState(progress.hidden).hide = True


def uncover() -> None:
    progress = lesson_progress()
    if progress is not None and progress.hidden:
        PageState(progress.hidden).hide = False
        progress.hidden = None
