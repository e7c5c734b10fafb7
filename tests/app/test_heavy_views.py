"""Every view that works long does it in the one queue of heavy work, and leaves it."""

import pytest

import ui.state.caches
import ui.state.work_queue
from ui.state.work_queue import WorkQueue

from .page import move

VIEWS = {  # what is said of the work -> the page and the address that begin it
    "Reading every layer": ("heads", {"view": "lens", "text": "one two"}),
    "Decomposing the logit": ("heads", {"view": "direct", "text": "one two"}),
    "Integrating steps": ("heads", {"view": "attribution", "text": "one two", "steps": "8"}),
    "Integrating": ("heads", {"view": "attribution", "text": "one two", "steps": "8", "all": "open"}),
    "Asking five analyses": ("heads", {"view": "why", "text": "one two"}),
    "Decoding both ways": ("heads", {"view": "switch", "text": "one two", "heads": "decoder:0:0"}),
    "Searching": ("translate", {"text": "Go.", "beam": "2"}),
    "Reading the second sentence": ("translate", {"text": "Go.", "compare": "sentence", "compare_text": "Run."}),
    "Measuring every tensor": ("checkpoints", {"view": "weights"}),
    "Taking the heads apart": ("checkpoints", {"view": "weights"}),
    "Comparing every tensor": ("checkpoints", {"view": "compare"}),
    "Reading the text": ("heads", {"view": "roles", "role_on": "own", "role_texts": "Go.\tVa !"}),
    "Reading the texts": ("heads", {"view": "contexts", "role_on": "own", "role_texts": "Go on.\tVa !"}),
    "Reading its contexts": ("heads", {"view": "contexts", "role_on": "own", "role_texts": "Go on.\tVa !"}),
    "Reading what was recorded": ("train", {"view": "watch", "run": "checkpoints/translate"}),
    "Reading": ("classify", {"text": "love and death " * 150}),
    "Reading the text with both": ("checkpoints", {"view": "compare"}),
}


class QuestionRecord(WorkQueue):
    """A queue that remembers what was worked on."""

    def __init__(self):
        super().__init__(1)
        self.texts, self.there = [], 0

    def join(self, one, waiting):
        super().join(one, waiting)
        self.texts.append(one._text)
        self.there += 1

    def leave(self, one):
        super().leave(one)
        self.there -= 1


@pytest.fixture
def queue(monkeypatch) -> QuestionRecord:
    monkeypatch.setattr(ui.state.caches, "_shelves", {})  # what others have made is not made again
    monkeypatch.setattr(ui.state.work_queue, "QUEUE", QuestionRecord())
    return ui.state.work_queue.QUEUE


@pytest.mark.parametrize("text", VIEWS)
def test_heavy_views_wait_for_their_turn_and_leave_the_line(text, queue, visit, home):
    page, address = VIEWS[text]
    visit(page, **address)
    assert text in queue.texts
    assert queue.there == 0


def test_a_step_waits_for_nobody(queue, visit):
    at = visit("translate", text="Go.", step="0")
    move(at, "translate", 1, number=1)
    assert queue.texts == []
