"""One head of a model that comes with the app, through its training."""

from transformer.attention_view.message import pack
from transformer.attention_view.script_bundle import JS
from transformer.basics.paths import ROOT
from transformer.checkpoints.openings import OPENINGS
from transformer.training.forming import Forming
from transformer.training.recorded import SIDES
from ui.components.scripts import component
from ui.state import caches

FOLDER = ROOT / "checkpoints" / "translate"
OPENING, SENTENCE = OPENINGS["translation"], 1

_growing = component("growing_head", JS / "pictures" / "growing.js",
                     '<div class="growing" style="min-height: 300px"></div>')


def show_growing(*, dark: bool) -> None:
    """A head that translates word by word, from its first to its last training step."""
    forming = caches.forming(FOLDER)
    if forming is not None:
        _growing(key="home_growing", data=growing_message(forming, dark=dark))


def growing_message(forming: Forming, *, dark: bool) -> bytes:
    """Every snapshot of one head on one sentence."""
    assert OPENING.kind is not None
    labels = forming.sentences[SENTENCE].labels()
    queries, keys = (labels[side] or [] for side in SIDES[OPENING.kind])
    cells = forming.cells[SENTENCE, OPENING.kind][:, OPENING.layer, OPENING.head]  # (steps, Tq, Tk)
    losses = [held_out if held_out is not None else training for training, held_out in forming.losses]
    title = f"layer {OPENING.layer}, head {OPENING.head} of the {OPENING.kind}-attention"
    return pack({"title": title, "dark": dark, "steps": forming.steps, "losses": losses,
                 "queries": queries, "keys": keys, "makes": [*queries[1:], "</s>"]}, {"cells": cells})


def sentence_shown() -> str:
    """The sentence whose attention is shown."""
    forming = caches.forming(FOLDER)
    source = forming.sentences[SENTENCE].source if forming else None
    return "".join((source or ())[:-1]).replace("▁", " ").strip()
