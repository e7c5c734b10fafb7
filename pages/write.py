"""A text that goes on, one token at a time, with every head of a decoder."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import streamlit as st

from transformer.attention_view.decoding_parts import target_row
from transformer.attention_view.message_fields import Text
from transformer.checkpoints.checkpoint import Checkpoint, Description
from transformer.checkpoints.openings import OPENINGS, quick_texts
from ui.choices.text_box import as_learned, show_unlike
from ui.components.attention_details import offer_files, show_details
from ui.page.text_limits import PASSAGE, taken
from ui.views.stepper.address import arrive, leave, step_fields
from ui.views.stepper.below import Below, Shown, draw_alone, draw_with_step
from ui.views.stepper.controller import current_decoding, go_on, sampling_of, show_decoding, show_what_if
from ui.views.stepper.examples import fit_example
from ui.views.stepper.settings import show_settings

PAGE = "write"
OPENING = OPENINGS["text"]
EXAMPLES = [example.text for example in OPENING.examples]
# Of a language model of everything: a fact, a pattern to take up again, sums, and a question as it was taught to be
# asked.
MODERN = ["The capital of France is", "Mr Quill met Ms Bramble. Later Mr Quill met Ms",
          "3 + 4 = 7\n5 + 4 = 9\n2 + 6 ="]
FIELDS = step_fields(example=EXAMPLES[0], temperature=OPENING.temperature, **OPENING.selection)


def examples_of(about: Description | None) -> list[str]:
    """Beginnings for a checkpoint; Shakespeare's for those that were trained here."""
    if about is None or "imported_from" not in about.meta:
        return (about and quick_texts(about)) or EXAMPLES
    return [*MODERN, *filter(None, [about.meta.get("chat")])]


def opening_of(ckpt: Checkpoint) -> int | None:
    """How many tokens are there when a text opens; what a language model of everything writes is stepped."""
    return OPENING.ahead if examples_of(ckpt.description) == EXAMPLES else 0


def type_beginning(ckpt: Checkpoint) -> str:
    """The box for how the text begins -> what stands in it."""
    alone = arrival is not None and arrival["step"] is None  # a link that names a model, and no step of a text
    alone = alone or bool(quick_texts(ckpt.description))
    fit_example(PAGE, ckpt, examples_of(ckpt.description), others=EXAMPLES[:1] if alone else None)
    return taken(st.text_area("How the text begins", key=f"{PAGE}_text", persist_state="session", height=68,
                              label_visibility="collapsed",
                              placeholder="Type a beginning and press Ctrl+Enter, or start from nothing"),
                 PASSAGE, needed=True)


@st.fragment
def step_through(ckpt: Checkpoint, typed: str, arrival: Mapping[str, Any] | None, *, dark: bool) -> None:
    """All that changes with a step."""
    decoding = current_decoding(PAGE, ckpt, as_learned(ckpt, typed), arrival, opening=opening_of(ckpt))
    step = decoding.step
    show_what_if(PAGE, decoding)
    text_so_far: Text = {"label": "The text so far", "written": step.whole, "coming": "", "lines": True}
    selection, head = show_decoding(PAGE, decoding, text=text_so_far, dark=dark,
                                    rows=[target_row(decoding, label="Tokens", name="tokens")])
    draw_with_step(below, decoding, selection, head)
    leave(PAGE, FIELDS, ckpt, typed, decoding)
    go_on(PAGE)


def draw_below(shown: Shown, *, dark: bool) -> None:
    """All that stands below the picture."""
    offer_files(PAGE, shown.now, sampling_of(PAGE))
    show_details(PAGE, *shown.now(), shown.head, dark=dark)


dark = st.context.theme.type == "dark"
below = Below(PAGE, partial(draw_below, dark=dark))
arrival = arrive(PAGE, FIELDS)
ckpt, typed, line = show_settings(PAGE, "Write", type_beginning, lambda ckpt: examples_of(ckpt.description))
with line:
    show_unlike(ckpt, typed)
step_through(ckpt, typed, arrival, dark=dark)
draw_alone(below)
