"""Every view that works long does it in the one queue of heavy work, and leaves it."""

import pytest

import ui.state.caches
import ui.state.work_queue
from ui.state.work_queue import WorkQueue

from .page import move

pytestmark = pytest.mark.usefixtures("lasting")
VIEWS = [  # the page, its address and its model; and what is said of the work that it begins
    ("heads", {"view": "lens"}, "translator", {"Reading every layer"}),
    ("heads", {"view": "direct"}, "translator", {"Decomposing the logit"}),
    ("heads", {"view": "attribution", "steps": "8", "all": "open"}, "translator", {"Integrating steps", "Integrating"}),
    ("heads", {"view": "why"}, "translator", {"Asking five analyses"}),
    ("heads", {"view": "switch", "heads": "decoder:0:0"}, "translator", {"Decoding both ways"}),
    ("heads", {"view": "flow"}, "translator", {"Following the information"}),
    ("heads", {"view": "patching", "other": "a dog is tall."}, "translator", {"Reading both texts", "Patching"}),
    ("heads", {"view": "roles", "role_on": "own", "role_texts": "a dog | o dog"}, "translator", {"Reading the text"}),
    ("heads", {"view": "contexts", "role_on": "own", "role_texts": "a dog | o dog"}, "translator", {
        "Reading the texts", "Reading its contexts"}),
    ("translate", {"beam": "2"}, "translator", {"Searching"}),
    ("translate", {"compare": "sentence", "compare_text": "a dog"}, "translator", {"Reading the second sentence"}),
    ("checkpoints", {"view": "weights"}, "translator", {"Measuring every tensor", "Taking the heads apart"}),
    ("checkpoints", {"view": "compare"}, "translator", {"Comparing every tensor", "Reading the text with both"}),
    ("train", {"view": "watch", "run": "checkpoints/translate"}, "", {"Reading what was recorded"}),
    ("classify", {"text": "a dog " * 150}, "classifier", {"Reading"}),
]


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


@pytest.mark.parametrize(("page", "address", "model", "texts"), VIEWS, ids=lambda value: "+".join(sorted(value)) if (
    isinstance(value, set)) else "")
def test_heavy_views_wait_for_their_turn_and_leave_the_line(page, address, model, texts, queue, visit, made):
    chosen = {"checkpoint": made(model, max_len=1_000).id} if model else {}
    visit(page, **{"text": "a dog is cold."} | address | chosen)
    assert texts <= {*queue.texts}
    assert queue.there == 0


def test_a_step_waits_for_nobody(queue, visit, made):
    at = visit("translate", text="a dog", step="0", checkpoint=made("translator").id)
    move(at, "translate", 1, number=1)
    assert queue.texts == []
