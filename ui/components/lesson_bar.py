"""The bar of a lesson and the offer of the tour, mounted as components, and what they send."""

from collections.abc import Callable, Mapping
from typing import TypeGuard

import streamlit as st

from ui.components.scripts import HERE, component

KEY, OFFER = "lesson_bar", "tour_offer"
MOST_SENT = 100

_bar = component("lesson_bar", HERE / "lesson_bar" / "lesson_bar.js", '<div class="lesson-bar"></div>')
_offer = component("tour_offer", HERE / "lesson_bar" / "tour_offer.js", '<div class="tour-offer"></div>')


def mount_lesson(message: dict[str, object]) -> None:
    """The bar; what it sends is read by `sent_by_lesson` in the run that follows."""
    _bar(key=KEY, data=message, on_act_change=lambda: None)


def sent_by_lesson() -> dict | None:
    """What the bar has sent: {number, lesson, to, leave, answers}; None where it is not what it sends."""
    sent = st.session_state.get(KEY)
    act = sent.get("act") if isinstance(sent, Mapping) else None
    if not isinstance(act, Mapping) or not _whole(act.get("number")) or not _whole(act.get("to")):
        return None
    answers = act.get("answers")
    return {"number": int(act["number"]), "to": int(act["to"]), "lesson": act.get("lesson"),
            "leave": act.get("leave") is True,
            "answers": dict(list(answers.items())[:MOST_SENT]) if isinstance(answers, Mapping) else {}}


def mount_offer(message: dict[str, object], on_start: Callable[[int], None]) -> None:
    """The offer; on_start gets the stop to begin at."""
    def started() -> None:
        at = getattr(st.session_state.get(OFFER), "start", None)
        if _whole(at):
            on_start(int(at))

    _offer(key=OFFER, data=message, on_start_change=started)


def _whole(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and value == value and 0 <= value < 10 ** 9
