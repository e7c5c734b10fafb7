"""Whether a lesson can be given: every link opens, and every question has an answer."""

from collections.abc import Callable
from dataclasses import dataclass

from transformer.lessons.answers import Answer, answer, look
from transformer.lessons.lesson import Lesson, Stop
from transformer.lessons.opened_link import Opened


@dataclass(frozen=True)
class Finding:
    """One stop, and what is wrong with it; nothing where it opens and its question has the answer."""

    stop: Stop
    problem: str | None
    answer: Answer | None = None


def check(lesson: Lesson, opens: Callable[[Stop], Opened], *,
          watch: Callable[[int, int], None] = lambda done, total: None) -> list[Finding]:
    """One finding for each stop. opens: what a link leads to; raises ValueError where it leads nowhere. watch: told how
    many stops are done, of how many."""
    found = []
    for at, stop in enumerate(lesson.stops):
        watch(at, len(lesson.stops))
        found.append(check_stop(stop, opens))
    return found


def check_stop(stop: Stop, opens: Callable[[Stop], Opened]) -> Finding:
    try:
        opened = opens(stop)
        look(opened)
        return Finding(stop, None, answer(stop.question, opened) if stop.question else None)
    except ValueError as error:
        return Finding(stop, str(error))
