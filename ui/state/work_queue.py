"""A queue for heavy work: a few pieces run at once on the whole server, first come first served, in turns of a few
seconds that go round by visitor, however many pages they have open. Work ends when its visitor has left or wants
something else, and then gives its memory back.

Stepping through a text is not heavy work and never waits.
"""

import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from transformer.basics.formatting import duration, how_many
from transformer.basics.resource_errors import give_back
from transformer.checkpoints.checkpoint import Checkpoint
from ui.figures import markdown_text
from ui.state.worker_counters import counters

AT_ONCE = min(4, max(1, (os.cpu_count() or 1) // 2))  # half of the cores are left to those who step
TURN = 2.0    # seconds of work after which others get a turn
SOON = 0.6    # seconds; work that is done by then shows no progress
LARGE = 20_000_000   # weights
PACE = 200_000_000   # weights a second, while a model reads a text of 128 tokens
MOST_EACH = 2  # pieces of one visitor that run at once in a process
WHOSE = "whose work"  # in session state: by whom turns are taken
POLL = 0.2    # seconds between two checks that a waiting visitor is still there, and between two updates of a bar


def is_large(ckpt: Checkpoint) -> bool:
    """Whether work with a model begins only when somebody asks for it."""
    return _weights_of(ckpt) > LARGE


def _weights_of(ckpt: Checkpoint) -> int:
    return sum(weights.numel() for weights in ckpt.model.parameters())


def may_begin(ckpt: Checkpoint, key: str, work: tuple, label: str, *, reads: int, more: str = "") -> bool:
    """Whether heavy work may begin. Work with a large model waits for a button with this label, beside its duration.
    work: identifies the work, which needs one press. reads: the number of texts read; more: another sentence."""
    begun = f"{key}_begun"
    if not is_large(ckpt) or st.session_state.get(begun) == work:
        return True
    with st.container():
        st.button(label, key=key, icon=":material/play_arrow:", on_click=st.session_state.update, args=[{begun: work}])
        st.caption(f"It takes about {duration(reads * _weights_of(ckpt) / PACE)}. {more}".rstrip())
    return False


def end_if_left() -> None:
    """End this script, by Streamlit's own exception, if its visitor has left, gone to another page or changed
    something. Reading the session's state makes Streamlit check for that, and sends nothing."""
    st.session_state.get("left")


class WorkQueue:
    """Pieces of work in the order in which they came: the first `at_once` of them run, the others wait."""

    def __init__(self, at_once: int):
        self._at_once, self._queue, self._moved = at_once, [], threading.Condition()

    def join(self, work: object, waiting: Callable[[int], None]) -> None:
        """Returns when it is the turn of this work. Until then `waiting` is called every now and then with the number
        of those ahead; if it raises, the work leaves the queue."""
        with self._moved:
            self._queue.append(work)
        try:
            while ahead := self._ahead(work):
                waiting(ahead)
        except BaseException:
            self.leave(work)
            raise

    def _ahead(self, work: object) -> int:
        """How many are still ahead after a moment; 0 as soon as it is the work's turn."""
        with self._moved:
            place = self._queue.index(work)
            if place >= self._at_once:
                self._moved.wait(POLL)
                place = self._queue.index(work)
            return place if place >= self._at_once else 0

    def leave(self, work: object) -> None:
        with self._moved:
            self._queue = [other for other in self._queue if other is not work]
            self._moved.notify_all()

    def anybody_waits(self) -> bool:
        with self._moved:
            return len(self._queue) > self._at_once

    def own_waits(self, work: object) -> bool:
        """Whether the visitor of a piece that runs has another that waits; here nobody is told from others."""
        return False


class SharedWorkQueue(WorkQueue):
    """A queue shared by all worker processes: the first to come to any of them is first, and `at_once` run in all. Of a
    visitor who has several pieces in a process, as `work.whose` says, each waits for the others' turn anew when one of
    them has begun."""

    def __init__(self, at_once: int):
        super().__init__(at_once)
        self._came: dict[int, int] = {}    # when each that waits came, by a clock that all processes share
        self._working: set[int] = set()
        self._whose: dict[int, object] = {}

    def join(self, work: object, waiting: Callable[[int], None]) -> None:
        with self._moved:
            self._came[id(work)] = time.monotonic_ns()
            self._whose[id(work)] = getattr(work, "whose", None) or id(work)
            counters().set("waiting", len(self._came))
        super().join(work, waiting)

    def _ahead(self, work: object) -> int:
        with self._moved:
            if not self._begin(work):
                self._moved.wait(POLL)
                if not self._begin(work):
                    came = self._came[id(work)]
                    return max(1, sum(other < came for other in self._came.values()) + counters().total("working"))
            return 0

    def _begin(self, work: object) -> bool:
        """Starts the work if it is the first of all that wait and one more may run; returns whether it did."""
        came = self._came[id(work)]
        counters().look_alive()
        self._say_since()
        with counters().locked():
            if counters().total("working") >= self._at_once or came not in self._may_begin() or (
                    came != min(self._waiting_since())):
                return False
            self._working.add(id(work))
            counters().set("working", len(self._working))
            self._came.pop(id(work))
            theirs = [one for one in self._came if self._whose[one] == self._whose[id(work)]]
            for place, one in enumerate(sorted(theirs, key=self._came.__getitem__)):
                self._came[one] = time.monotonic_ns() + place  # after all others that wait
            self._say_waiting()
        return True

    def _may_begin(self) -> list[int]:
        """When those came that wait, without those whose visitor has enough that runs."""
        run = Counter(self._whose[one] for one in self._working)
        return [came for one, came in self._came.items() if run[self._whose[one]] < MOST_EACH]

    def _waiting_since(self) -> list[int]:
        """When the first that waits came, for each live worker that has one."""
        shared = counters()
        return [since for worker in range(shared.workers)
                if (since := shared.get("waiting_since", worker)) and shared.fresh(worker)]

    def _say_waiting(self) -> None:
        counters().set("waiting", len(self._came))
        self._say_since()

    def _say_since(self) -> None:
        counters().set("waiting_since", min(self._may_begin(), default=0))

    def leave(self, work: object) -> None:
        with self._moved:
            self._came.pop(id(work), None)
            self._whose.pop(id(work), None)
            self._working.discard(id(work))
            counters().set("working", len(self._working))
            self._say_waiting()
        super().leave(work)

    def anybody_waits(self) -> bool:
        return bool(self._waiting_since())

    def own_waits(self, work: object) -> bool:
        """Whether the visitor of a piece that runs has another that waits."""
        with self._moved:
            return any(self._whose[one] == self._whose.get(id(work)) for one in self._came)


QUEUE = SharedWorkQueue(AT_ONCE)


class Work:
    """A piece of heavy work and the progress that its visitor sees."""

    def __init__(self, text: str, queue: WorkQueue):
        self._text, self._queue, self._place, self._spinner = text, queue, st.empty(), ExitStack()
        self.whose = st.session_state.get(WHOSE)
        self._began = self._updated = self._turn = time.monotonic()

    def watch(self, done: int = 0, of: int = 0) -> None:
        """Called between pieces: ends work that nobody waits for, gives way when its turn is over, shows progress."""
        end_if_left()
        now = time.monotonic()
        if now - self._turn > TURN and (self._queue.anybody_waits() or self._queue.own_waits(self)):
            self.give_way()
        elif of and now - self._began > SOON and now - self._updated > POLL:
            self._updated = now
            self._bar().progress(min(1.0, done / of), f"{markdown_text(self._text)}: {done:,} of {of:,}…")

    def give_way(self) -> None:
        """Let all that wait go first."""
        end_if_left()
        self._queue.leave(self)
        self.begin()

    def say(self, text: str) -> None:
        """Show another text from now on."""
        self._text = text
        self._bar().progress(0.0, f"{markdown_text(text)}…")

    def _bar(self) -> DeltaGenerator:
        """The place of a progress bar, which replaces the spinner."""
        self._spinner.close()
        return self._place

    def begin(self) -> None:
        """Wait for a turn."""
        self._queue.join(self, self._wait)
        self._turn = time.monotonic()

    def _wait(self, ahead: int) -> None:
        end_if_left()
        self._bar().progress(0.0, f"Waiting for {how_many(ahead, 'other')}…")

    def end(self) -> None:
        self._queue.leave(self)
        give_back()

    @contextmanager
    def progress(self) -> Iterator[None]:
        """Shows a spinner during the work and removes it, or the bar in its place, at the end."""
        with self._spinner:
            with self._place:  # only for the spinner: what the work draws does not belong in there
                self._spinner.enter_context(st.spinner(f"{markdown_text(self._text)}…", show_time=False))
            yield
        self._place.empty()  # the spinner ends with the block, but not a bar that took its place


@contextmanager
def heavy(text: str, queue: WorkQueue | None = None) -> Iterator[Work]:
    """Surrounds heavy work that `text` describes: waits for its turn and yields the `Work`, whose `watch` is called
    between pieces. A piece cannot be ended, so it should take no more than a second.

    Heavy work inside heavy work would wait for itself.
    """
    work = Work(text, queue or QUEUE)
    work.begin()
    try:
        with work.progress():
            yield work
    finally:
        work.end()
