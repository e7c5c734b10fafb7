"""The progress, offered on the front page until somebody has taken it or does not want it."""

import streamlit as st

from ui.components.lesson_bar import mount_offer
from ui.lessons.catalogue import TOUR, find
from ui.lessons.progress import lesson_progress, start


def offer_tour() -> None:
    """A line with a button; the browser knows whether it was taken or refused, and where it was left."""
    lesson = find(TOUR)
    if lesson is None or lesson_progress() is not None:
        return
    mount_offer({"count": len(lesson.stops), "minutes": lesson.minutes}, _start)


def _start(at: int) -> None:
    if (lesson := find(TOUR)) is not None:
        start(lesson, min(at, len(lesson.stops) - 1))
        st.session_state.pop("lesson_results", None)
