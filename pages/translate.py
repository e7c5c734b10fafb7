"""A sentence translated one token at a time, with every head of the encoder, the decoder and the attention between."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import streamlit as st

from transformer.attention_view.decoding_parts import source_row, target_row
from transformer.checkpoints.checkpoint import Checkpoint
from transformer.checkpoints.openings import OPENINGS, quick_texts, reads_examples
from transformer.text.sides import sides_of
from ui import figures
from ui.choices.text_box import as_learned, show_unlike
from ui.components.attention_details import DetailsState, offer_files, show_details
from ui.page.link import end_page
from ui.page.text_limits import PASSAGE, taken
from ui.views.stepper.address import arrive, leave, step_fields
from ui.views.stepper.below import Below, Shown, draw_alone, draw_with_step
from ui.views.stepper.controller import (
    current_decoding,
    go_on,
    sampling_of,
    show_decoding,
    show_what_if,
    untouched,
)
from ui.views.stepper.examples import fit_example
from ui.views.stepper.settings import show_settings
from ui.views.translate import beam, two_steps
from ui.views.translate.translations import written_text

PAGE = "translate"
OPENING = OPENINGS["translation"]
EXAMPLES = [example.text for example in OPENING.examples]
FIELDS = {**step_fields(example=EXAMPLES[0], temperature=OPENING.temperature, **OPENING.selection), **beam.FIELDS,
          **two_steps.FIELDS}


def examples_of(ckpt: Checkpoint) -> list[str]:
    """Sentences to try, of what this model reads."""
    return quick_texts(ckpt.description) or (EXAMPLES if reads_examples(ckpt.description) else [])


def type_sentence(ckpt: Checkpoint) -> str:
    """The box for the sentence -> what stands in it."""
    tries = quick_texts(ckpt.description)
    fit_example(PAGE, ckpt, tries or EXAMPLES, others=EXAMPLES if tries else None)
    return taken(st.text_input(figures.markdown_text(sides_of(ckpt.description.languages).sentence), key=f"{PAGE}_text",
                               persist_state="session", label_visibility="collapsed",
                               placeholder="Type a sentence and press Enter"), PASSAGE)


@st.fragment
def step_through(ckpt: Checkpoint, typed: str, arrival: Mapping[str, Any] | None, *, dark: bool) -> None:
    """All that changes with a step."""
    decoding = current_decoding(PAGE, ckpt, as_learned(ckpt, typed), arrival, opening=None)
    decoding = two_steps.open_compared(PAGE, decoding, arrival)
    sides = sides_of(ckpt.description.languages)
    show_what_if(PAGE, decoding)
    selection, head = show_decoding(
        PAGE, decoding, text=written_text(decoding, sides), dark=dark,
        rows=[source_row(decoding, label=sides.source), target_row(decoding, label=sides.target)])
    draw_with_step(below, decoding, selection, head)
    leave(PAGE, FIELDS, ckpt, typed, decoding, **beam.values(PAGE), **two_steps.values(PAGE))
    go_on(PAGE)


def draw_below(shown: Shown, *, dark: bool) -> None:
    """All that stands below the picture."""
    step, selection = shown.now()
    offer_files(PAGE, shown.now, sampling_of(PAGE))
    beam.show_beam(PAGE, shown.decoding, selection, shown.head, dark=dark)
    two_steps.show_compare(PAGE, selection, dark=dark)
    show_details(PAGE, step, selection, shown.head, dark=dark)


dark = st.context.theme.type == "dark"
below = Below(PAGE, partial(draw_below, dark=dark),
              (beam.Beam.beam, two_steps.Compared.compare, DetailsState.details))
arrival = arrive(PAGE, FIELDS)
beam.arrive(PAGE, arrival)
ckpt, typed, line = show_settings(PAGE, "Translate", type_sentence, examples_of)
if not typed.strip():
    st.info(f"Type {figures.markdown_text(sides_of(ckpt.description.languages).typed)} above and press Enter"
            + (", or choose an example." if examples_of(ckpt) else "."))
    end_page()
step_through(ckpt, typed, arrival, dark=dark)
draw_alone(below)
with line:
    show_unlike(ckpt, typed, last=untouched(PAGE))
