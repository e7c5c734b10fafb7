"""Heavy work on pages: a few at once on the whole server, first come first served, in turns of some seconds; it ends
where its visitor has left or asked for something else, and gives its memory back.

Stepping through a text is no heavy work, and never waits.
"""

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from transformer.checkpoint import Checkpoint
from transformer.formatting import duration, how_many
from transformer.resource_errors import give_back
from ui.figures import markdown_text
from ui.state.worker_counters import board

AT_ONCE = min(4, max(1, (os.cpu_count() or 1) // 2))  # half of the cores are left to those who step
TURN = 2.0    # seconds after which whoever works lets others in
SOON = 0.6    # seconds: of what is over by then no progress is shown
LARGE = 20_000_000   # weights
PACE = 200_000_000   # of them, in a second, while a model reads a text of 128 tokens
LOOK = 0.2    # seconds between two looks whether a visitor who waits is still there, and between two words to one


def is_large(ckpt: Checkpoint) -> bool:
    """Whether work with a model begins only when somebody asks for it."""
    return _weights_of(ckpt) > LARGE


def _weights_of(ckpt: Checkpoint) -> int:
    return sum(weights.numel() for weights in ckpt.model.parameters())


def asked_for(ckpt: Checkpoint, key: str, what: tuple, label: str, *, reads: int, more: str = "") -> bool:
    """Whether heavy work may begin: a large model's waits for a button with this label, which says how long it takes.
    what: the work, for which it is asked once. reads: how many texts are read; more: what else there is to know."""
    asked = f"{key}_asked"
    if not is_large(ckpt) or st.session_state.get(asked) == what:
        return True
    with st.container():
        st.button(label, key=key, icon=":material/play_arrow:", on_click=st.session_state.update, args=[{asked: what}])
        st.caption(f"It takes about {duration(reads * _weights_of(ckpt) / PACE)}. {more}".rstrip())
    return False


def end_if_left() -> None:
    """End this script, by Streamlit's own exception, where its visitor has left, gone to another page or changed
    something: to look into the session's state is a place where it does so, and sends nothing."""
    st.session_state.get("left")


class WorkQueue:
    """Those who work and those who wait, in the order in which they came: the first `at_once` of them work."""

    def __init__(self, at_once: int):
        self._at_once, self._line, self._moved = at_once, [], threading.Condition()

    def join(self, one: object, waiting: Callable[[int], None]) -> None:
        """Returns when it is one's turn. Until then waiting is called now and then with the number of those ahead; it
        may raise, and one is then no longer in the line."""
        with self._moved:
            self._line.append(one)
        try:
            while ahead := self._ahead(one):
                waiting(ahead)
        except BaseException:
            self.leave(one)
            raise

    def _ahead(self, one: object) -> int:
        """How many are still ahead after a moment; 0 as soon as it is one's turn."""
        with self._moved:
            place = self._line.index(one)
            if place >= self._at_once:
                self._moved.wait(LOOK)
                place = self._line.index(one)
            return place if place >= self._at_once else 0

    def leave(self, one: object) -> None:
        with self._moved:
            self._line = [other for other in self._line if other is not one]
            self._moved.notify_all()

    def anybody_waits(self) -> bool:
        with self._moved:
            return len(self._line) > self._at_once


class SharedWorkQueue(WorkQueue):
    """A line of which every worker of this server has a part: whoever came first to any of them is first, and
    `at_once` work in all. Where there is one worker alone, it is a Line."""

    def __init__(self, at_once: int):
        super().__init__(at_once)
        self._came: dict[int, int] = {}    # when each came who waits, by a clock that all processes share
        self._working: set[int] = set()

    def join(self, one: object, waiting: Callable[[int], None]) -> None:
        with self._moved:
            self._came[id(one)] = time.monotonic_ns()
            board().set("waiting", len(self._came))
        super().join(one, waiting)

    def _ahead(self, one: object) -> int:
        with self._moved:
            if not self._begin(one):
                self._moved.wait(LOOK)
                if not self._begin(one):
                    return max(1, self._line.index(one) + board().total("working") - len(self._working))
            return 0

    def _begin(self, one: object) -> bool:
        """Whether one works from now on, being first of all who wait where somebody more may work."""
        mine = self._came[id(one)]
        board().look_alive()
        board().set("waiting_since", min(self._came.values()))
        with board().locked():
            if board().total("working") >= self._at_once or mine != min(self._all_who_wait()):
                return False
            self._working.add(id(one))
            board().set("working", len(self._working))
            self._no_longer_waits(one)
        return True

    def _all_who_wait(self) -> list[int]:
        """When the first came who waits for each worker that is there."""
        found = board()
        return [since for worker in range(found.workers)
                if (since := found.get("waiting_since", worker)) and found.fresh(worker)]

    def _no_longer_waits(self, one: object) -> None:
        self._came.pop(id(one), None)
        board().set("waiting", len(self._came))
        board().set("waiting_since", min(self._came.values(), default=0))

    def leave(self, one: object) -> None:
        with self._moved:
            self._no_longer_waits(one)
            self._working.discard(id(one))
            board().set("working", len(self._working))
        super().leave(one)

    def anybody_waits(self) -> bool:
        return bool(self._all_who_wait())


LINE = SharedWorkQueue(AT_ONCE)


class Work:
    """A piece of heavy work under way, and what its visitor sees of it."""

    def __init__(self, text: str, line: WorkQueue):
        self._text, self._line, self._place, self._spinner = text, line, st.empty(), ExitStack()
        self._began = self._shown = self._turn = time.monotonic()

    def watch(self, done: int = 0, of: int = 0) -> None:
        """To be called between pieces: ends the work where nobody waits for it any more, lets others in when its turn
        is over, and says how far it is."""
        end_if_left()
        now = time.monotonic()
        if now - self._turn > TURN and self._line.anybody_waits():
            self.give_way()
        elif of and now - self._began > SOON and now - self._shown > LOOK:
            self._shown = now
            self._bar().progress(min(1.0, done / of), f"{markdown_text(self._text)}: {done:,} of {of:,}…")

    def give_way(self) -> None:
        """Let all others who wait work first."""
        end_if_left()
        self._line.leave(self)
        self.begin()

    def say(self, text: str) -> None:
        """What is done from now on."""
        self._text = text
        self._bar().progress(0.0, f"{markdown_text(text)}…")

    def _bar(self) -> DeltaGenerator:
        """Where a bar is drawn, which says more than a spinner."""
        self._spinner.close()
        return self._place

    def begin(self) -> None:
        """Wait for one's turn."""
        self._line.join(self, self._wait)
        self._turn = time.monotonic()

    def _wait(self, ahead: int) -> None:
        end_if_left()
        self._bar().progress(0.0, f"Waiting for {how_many(ahead, 'other')}…")

    def end(self) -> None:
        self._line.leave(self)
        give_back()

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Where what takes longer than a moment is seen; nothing is left of it."""
        with self._spinner:
            with self._place:  # only while it is made: what is drawn during the work is not drawn in there
                self._spinner.enter_context(st.spinner(f"{markdown_text(self._text)}…", show_time=False))
            yield
        self._place.empty()  # the spinner ends with the block, but not a bar that took its place


@contextmanager
def heavy(text: str, line: WorkQueue | None = None) -> Iterator[Work]:
    """Around heavy work, of which `text` says what it is: waits for its turn, and hands out what is to `watch` it. A
    piece between two calls of `watch` cannot be ended, so it is to be no more than a second.

    No heavy work begins inside another: it would wait for itself.
    """
    work = Work(text, line or LINE)
    work.begin()
    try:
        with work.shown():
            yield work
    finally:
        work.end()
