"""The list of lessons, each with its check and a button that starts it, the results of the last one, and the tour's
offer."""

from functools import partial

import streamlit as st

from transformer.lessons.answers import Finding
from transformer.lessons.lesson import LARGEST, Lesson, LessonError
from ui import figures
from ui.access import owners
from ui.components.lesson_bar import mount_offer
from ui.lessons.catalogue import OWN, TOUR, all_lessons, find, folder, own, take_in
from ui.lessons.feedback import given_text, right_text
from ui.lessons.progress import RESULTS, LessonProgress, check_lesson, finding, lesson_progress, start
from ui.page.pages import PAGES
from ui.page.plain_text import say_error

MEGABYTES = 1  # the largest upload; a lesson is far smaller, which its parser checks
IN_A_ROW = 3  # cards
RIGHT = {True: "right", False: "wrong", None: ""}


def show_list(page: str) -> None:
    """A card for each lesson, in rows, which keep their order on a phone; the checks of a row below it."""
    lessons = [*all_lessons().items()]
    for row in (lessons[at:at + IN_A_ROW] for at in range(0, len(lessons), IN_A_ROW)):
        checks = []
        for column, (name, lesson) in zip(st.columns(IN_A_ROW, gap="xsmall"), row, strict=False):
            with column.container(border=True, gap="xsmall", height="stretch", key=f"{page}_{name.replace('/', '_')}"):
                if isinstance(lesson, LessonError):
                    say_error(lesson)
                else:
                    checks.append((lesson, _show_card(page, lesson)))
        for lesson, findings in checks:
            if findings:
                _show_report(lesson, findings)


def _show_card(page: str, lesson: Lesson) -> list[Finding]:
    """Draws a card, and returns what the check of its lesson has found."""
    questions = sum(stop.question is not None for stop in lesson.stops)
    st.header(figures.markdown_text(lesson.title), anchor=False)
    st.markdown(figures.markdown_text(lesson.sentence))
    count = f" · {questions} questions" if questions else ""
    st.caption(f"{lesson.minutes} minutes · {len(lesson.stops)} stops{count}")
    checked: dict[str, list[Finding]] = st.session_state.setdefault(f"{page}_checked", {})
    own_file = lesson.name.startswith(OWN)
    if own_file and lesson.name not in checked:
        checked[lesson.name] = check_lesson(lesson)
    findings = checked.get(lesson.name, [])
    broken = [one for one in findings if one.problem]
    under_way = (progress := lesson_progress()) is not None and progress.lesson.name == lesson.name
    st.space("stretch")
    with st.container(horizontal=True):
        st.button("Start again" if under_way else "Take the tour" if lesson.name == TOUR else "Start",
                  key=f"{page}_start_{lesson.name}", type="primary" if lesson.name == TOUR else "secondary",
                  disabled=bool(broken), on_click=partial(_start, lesson))
        st.button("Check", key=f"{page}_check_{lesson.name}", on_click=partial(_check, page, lesson),
                  help="Whether every link opens and every question has an answer.")
        if own_file:
            st.button("Remove", key=f"{page}_remove_{lesson.name}", on_click=partial(_remove, lesson.name))
    return findings


def _start(lesson: Lesson, at: int = 0) -> None:
    st.session_state.pop(RESULTS, None)
    start(lesson, at)


def _remove(name: str) -> None:
    own().pop(name, None)


def _check(page: str, lesson: Lesson) -> None:
    st.session_state[f"{page}_checked"][lesson.name] = check_lesson(lesson)


def _show_report(lesson: Lesson, findings: list[Finding]) -> None:
    title = figures.markdown_text(lesson.title)
    if broken := [one for one in findings if one.problem]:
        st.warning(f"*{title}*: {len(broken)} of {len(findings)} stops cannot be given. Mend them in the "
                   "file and open it again.")
    else:
        st.success(f"*{title}*: every link opens, and every question has an answer.")
    rows = [(f"{at}. {one.stop.title}", f"line {one.stop.line}",
             one.stop.question.kind if one.stop.question else "", one.problem or "✓", right_text(one.answer))
            for at, one in enumerate(findings, 1)]
    with st.expander("Stop by stop", expanded=bool(broken)):
        st.html(figures.plain_table(["stop", "in the file", "question", "check", "the model's answer"], rows,
                                    label=f"check of {lesson.title}", wrap=True))


def show_results() -> None:
    """The results of the lesson that has just ended."""
    progress: LessonProgress | None = st.session_state.get(RESULTS)
    if progress is None:
        return
    with st.container(border=True, key="lessons_results"):
        with_question = {at: stop.question for at, stop in enumerate(progress.lesson.stops) if stop.question}
        if recap := [stop for stop in progress.lesson.stops if stop.recap]:
            st.markdown(f"**{figures.markdown_text(progress.lesson.title)}**: done.\n\n" + "\n".join(
                f"1. **{figures.markdown_text(stop.title)}.** {figures.markdown_text(stop.recap)}" for stop in recap))
            other = PAGES[recap[0].page]
            st.page_link(other.script, label="Now your own sentence", icon=":material/edit:", query_params={"text": ""})
        if not with_question:
            st.markdown("The lessons below continue from here.")
            return
        judged = {at: answer.judge(progress.answers[at]) for at in with_question
                  if at in progress.answers and (answer := finding(progress, at).answer) is not None}
        counted = [right for right in judged.values() if right is not None]
        right = f"{sum(counted)} of {len(counted)} right, " if counted else ""
        st.markdown(f"**{figures.markdown_text(progress.lesson.title)}**: {right}{len(judged)} of {len(with_question)} "
                    "questions answered.")
        rows = [(f"{at + 1}. {progress.lesson.stops[at].title}", question.ask,
                 given_text(finding(progress, at).answer, progress.answers[at]) if at in judged else "",
                 right_text(finding(progress, at).answer), RIGHT[judged.get(at)])
                for at, question in with_question.items()]
        st.html(figures.plain_table(["stop", "question", "your answer", "the model", ""], rows, label="results",
                                    wrap=True))


def offer_tour() -> None:
    """Offers the tour on the front page; the browser knows whether it was taken or refused, and where it was left."""
    lesson = find(TOUR)
    if lesson is not None and lesson_progress() is None:
        mount_offer({"count": len(lesson.stops), "minutes": lesson.minutes},
                    lambda at: _start(lesson, min(at, len(lesson.stops) - 1)))


def show_own(page: str) -> None:
    """The uploader for a lesson of the visitor's own, and how to write one."""
    st.header("A lesson of your own", anchor=False)
    st.markdown("A lesson is a text file of stops, each with a link to one of these pages and, if you like, a "
                "question. The model answers the questions, so you need not write down any answers.")
    key = f"{page}_file_{st.session_state.get(f'{page}_files', 0)}"
    st.file_uploader("Open a file", type=["md"], max_upload_size=MEGABYTES, key=key,
                     on_change=partial(_open, page, key),
                     help=f"At most {LARGEST:,} bytes. It is kept for this visit only.")
    if error := st.session_state.pop(f"{page}_error", None):
        say_error(error)
    if owners.allowed("oversee"):
        st.caption(f"To keep a lesson, put its file into {figures.markdown_text(owners.without_home(str(folder())))}.")
    with st.expander("How to write one"):
        st.code(EXAMPLE, language="markdown")
        st.markdown("Copy a link from any page and remove everything before `/translate`. Questions are `next token`, "
                    "`cell`, `number` (on By hand) and `free text`. `docs/lessons.md` explains everything.")


def _open(page: str, key: str) -> None:
    file, state = st.session_state.get(key), st.session_state
    if file is None or not hasattr(file, "getvalue"):  # no file, or an incomplete one
        return
    state[f"{page}_files"] = state.get(f"{page}_files", 0) + 1  # a new, empty uploader, which frees the bytes
    try:
        state.get(f"{page}_checked", {}).pop(take_in(file.name, file.getvalue()), None)
    except LessonError as error:
        state[f"{page}_error"] = str(error)


EXAMPLE = """---
title: One head
minutes: 5
description: Where one head looks while a sentence is translated.
---

## What comes next?
- link: /translate?text=I like red wine.&step=4&kind=cross&layer=1&head=0
- question: next token
- note: Let the class vote before you answer.

The model has written “J'aime le”. English would go on with the colour.

## Where does it look?
- link: /translate?text=I like red wine.&step=5&kind=cross&layer=1&head=0
- question: cell
- ask: Click the English token where this head looks most, in the row of “vin”.

Each row is a token that looks; each column is one that it can look at.
"""
