"""Heavy work: a few at once, in the order in which they came, in turns; ended where nobody waits for it any more."""

import threading
from collections.abc import Sequence
from contextlib import contextmanager

import pytest
from streamlit.delta_generator import DeltaGenerator
from streamlit.testing.v1 import AppTest

import ui.state.work_queue
from tests.waiting import until
from ui.state.caches import Shelf
from ui.state.work_queue import SharedWorkQueue, Work, WorkQueue, heavy


class Left(BaseException):
    """Stands for Streamlit's own exception, which ends a script."""


class Visitor:
    """Somebody with a piece of heavy work, on a thread as a script is."""

    def __init__(self, queue: WorkQueue, log: list, name: str):
        self.queue, self.log, self.name, self.whose = queue, log, name, name[0]
        self.ahead, self.left, self.begun, self.done = None, False, threading.Event(), threading.Event()
        self.thread = threading.Thread(target=self._work, daemon=True)
        self.thread.start()

    def _work(self) -> None:
        try:
            self.queue.join(self, self._wait)
        except Left:
            self.log.append(f"{self.name} left")
            return
        self.log.append(self.name)
        self.begun.set()
        assert self.done.wait(300)
        self.queue.leave(self)

    def _wait(self, ahead: int) -> None:
        self.ahead = ahead
        if self.left:
            raise Left

    def end(self) -> None:
        self.done.set()
        self.thread.join(300)


def in_queue(queue: WorkQueue, log: list, names: Sequence[str]) -> list[Visitor]:
    """Visitors who come one after the other."""
    visitors = []
    for name in names:
        visitors.append(visitor := Visitor(queue, log, name))
        until(lambda: visitor.begun.is_set() or visitor.ahead is not None)
    return visitors


@pytest.mark.parametrize("at_once", [1, 2, 3])
def test_no_more_than_so_many_work_at_once_and_who_came_first_is_first(at_once):
    log = []
    queue = WorkQueue(at_once)
    visitors = in_queue(queue, log, "abcde")
    for ended, visitor in enumerate(visitors):
        visitor.begun.wait(300)
        until(lambda: len(log) == min(at_once + ended, 5))  # noqa: B023
        assert log == list("abcde")[:at_once + ended]
        visitor.end()
    assert not queue.anybody_waits()


def test_who_waits_is_told_how_many_are_ahead_and_may_leave():
    log = []
    queue = WorkQueue(1)
    first, second, third = in_queue(queue, log, "abc")
    assert (second.ahead, third.ahead) == (1, 2)
    second.left = True
    second.thread.join(300)
    until(lambda: third.ahead == 1)
    first.end()
    third.begun.wait(300)
    third.end()
    assert log == ["a", "b left", "c"]


def test_turns_go_round_by_visitor_however_many_pages_they_have_open():
    queue, log = SharedWorkQueue(1), []
    waiting = in_queue(queue, log, ["a1", "a2", "a3", "a4", "b1", "c1"])
    order = ["a1", "a2", "b1", "c1", "a3", "a4"]  # once a visitor has had a turn, all others go first
    for name in order:
        (one,) = [one for one in waiting if one.name == name]
        assert one.begun.wait(300)
        one.end()
    assert log == order and not queue.anybody_waits()


def test_of_a_visitor_two_pieces_run_at_once():
    queue, log = SharedWorkQueue(3), []
    a1, a2, a3, b1 = in_queue(queue, log, ["a1", "a2", "a3", "b1"])
    assert b1.begun.wait(300) and log == ["a1", "a2", "b1"] and not queue.anybody_waits()
    a1.end()
    assert a3.begun.wait(300)
    for one in (a2, a3, b1):
        one.end()


def test_long_work_lets_others_in_between_its_pieces(monkeypatch):
    monkeypatch.setattr(ui.state.work_queue, "TURN", 0.0)
    queue, log = WorkQueue(1), []
    with heavy("Long", queue) as work:
        work.watch()  # nobody waits: it goes on
        other = Visitor(queue, log, "short")
        until(queue.anybody_waits)
        other.done.set()
        work.watch(1, 2)
        assert log == ["short"]
    assert not queue.anybody_waits()


def test_two_who_ask_for_the_same_get_what_was_made_once():
    shelf, made, found, go_on, begun = Shelf(4), [], [], threading.Event(), threading.Event()

    def make(work: Work) -> str:
        made.append(work)
        begun.set()
        assert go_on.wait(300)
        return "found"

    threads = [threading.Thread(target=lambda: found.append(shelf.make(("a",), "Making", make))) for _ in range(2)]
    for thread in threads:
        thread.start()
    assert begun.wait(300)
    go_on.set()
    for thread in threads:
        thread.join(300)
    assert found == ["found", "found"] and len(made) == 1


def test_who_asks_for_what_is_being_made_lets_its_maker_finish(monkeypatch):
    """The one who makes it has let others in: the one who wants the same has its turn, and gives it back."""
    monkeypatch.setattr(ui.state.work_queue, "TURN", 0.0)
    queue, found = WorkQueue(1), []
    monkeypatch.setattr(ui.state.work_queue, "QUEUE", queue)
    shelf = Shelf(4)

    def make(work: Work) -> str:
        other.start()
        until(queue.anybody_waits)
        work.watch(1, 2)
        return "made once"

    other = threading.Thread(target=lambda: found.append(shelf.make(("a",), "Making", lambda work: "again")))
    assert shelf.make(("a",), "Making", make) == "made once"
    other.join(300)
    assert found == ["made once"]


def test_a_shelf_keeps_no_more_than_so_many_and_nothing_that_failed():
    shelf = Shelf(1)

    def fail(work: Work) -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        shelf.make(("a",), "Making", fail)
    assert shelf.make(("a",), "Making", lambda work: 1) == 1
    assert shelf.make(("b",), "Making", lambda work: 2) == 2
    assert shelf.find(("a",)) is None


def test_memory_is_given_back_and_the_queue_left_however_work_ends(monkeypatch):
    given, queue = [], WorkQueue(1)
    monkeypatch.setattr(ui.state.work_queue, "give_back", lambda: given.append(1))
    with heavy("Working", queue):
        pass
    with pytest.raises(Left), heavy("Working", queue):
        raise Left
    assert given == [1, 1]
    with heavy("Working", queue):  # nobody is left in the queue
        pass


def working() -> None:
    """A page whose visitor leaves while it works: Streamlit is asked to end the script."""
    import streamlit as st
    from streamlit.runtime.scriptrunner import get_script_run_ctx

    from ui.state.work_queue import heavy
    with heavy("Counting") as work:
        for done in range(5):
            st.session_state["done"] = done
            if done == st.session_state.get("leave_at"):
                get_script_run_ctx().script_requests.request_stop()
            work.watch(done, 5)
    st.markdown("The end")


def test_work_ends_with_its_visitor_and_the_next_one_works():
    at = AppTest.from_function(working)
    at.session_state["leave_at"] = 2
    at.run()
    assert at.session_state["done"] == 2 and not at.markdown
    at = AppTest.from_function(working).run()
    assert at.session_state["done"] == 4 and at.markdown[0].value == "The end"


def counting() -> None:
    from ui.state.work_queue import heavy

    with heavy("Counting") as work:
        for at in range(3):
            work.watch(at, 3)


def test_a_bar_stands_in_place_of_the_spinner_and_nothing_is_left_of_it(monkeypatch):
    for name in ("SOON", "POLL"):
        monkeypatch.setattr(f"ui.state.work_queue.{name}", -1.0)
    at = AppTest.from_function(counting).run()
    assert not at.exception
    assert not at.get("progress")
    said = []

    @contextmanager
    def spinner(text, **_):
        said.append(text)
        yield
        said.append("its end")

    monkeypatch.setattr("ui.state.work_queue.st.spinner", spinner)
    monkeypatch.setattr(DeltaGenerator, "progress", lambda place, share, text: said.append(text))
    assert not AppTest.from_function(counting).run().exception
    assert said[:3] == ["Counting…", "its end", "Counting: 0 of 3…"] and said.count("its end") == 1
