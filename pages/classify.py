"""What an encoder makes of a text, the speaker of a passage of Shakespeare to begin with; and the smallest training run
there is."""

import streamlit as st

from transformer.checkpoint import Checkpoint, Description
from transformer.openings import Example
from ui.choices.checkpoint import choose_checkpoint, model_box, selected
from ui.choices.text_box import place_of_line, show_unlike
from ui.components.attention_view import selection_fields
from ui.figures import markdown_text
from ui.page.link import Field, arrive_at, choice, end_page, leave_at, opened, text
from ui.page.presentation import show_title
from ui.page.text_limits import PASSAGE, fill, taken
from ui.views.classify.classifier import show_reading
from ui.views.classify.passages import examples_of, whose
from ui.views.classify.toy import NEGATIVE, POSITIVE, show_toy

PAGE, TOY = "classify", "classify_toy"
VIEWS = {"speakers": "Who is speaking?", "toy": "Train one in three seconds"}


def one_of_its_classes() -> Field:
    """The class looked at; without one it is the likeliest."""
    return Field(None, str, lambda value: value or "")


FIELDS = {
    "show": choice("speakers", list(VIEWS)), "text": Field(None, str, lambda value: value or None, long=True),
    "second": text(""), "class": one_of_its_classes(), "model": opened(), **selection_fields(),
    "toy_run": Field("", lambda value: value[:40]),
    "toy_positive": text(POSITIVE), "toy_negative": text(NEGATIVE),
    "toy_text": text(POSITIVE), "toy_class": one_of_its_classes(),
    "toy_model": opened(), **selection_fields("toy_"),
}


def another_text() -> None:
    st.session_state[f"{PAGE}_class"] = None


def use_example(examples: list[Example]) -> None:
    state, picked = st.session_state, st.session_state[f"{PAGE}_example"]
    if picked is not None:
        state[f"{PAGE}_text"] = state[f"{PAGE}_text_example"] = examples[picked].text
        state[f"{PAGE}_example"] = None
        another_text()


def say_how_good(ckpt: Checkpoint) -> None:
    """What it got right of passages it had not seen, beside what needs no transformer."""
    measured = ckpt.meta.get("metrics")
    if isinstance(measured, dict) and all(isinstance(measured.get(name), float) for name in ("accuracy", "majority")):
        st.caption(f"Right on {measured['accuracy']:.0%} of {markdown_text(str(measured.get('n')))} "
                   f"{markdown_text(str(measured.get('split')))} passages. Always predicting the most frequent "
                   f"speaker: {measured['majority']:.0%}." + (
                       f" Logistic regression on word counts: {measured['baseline']:.0%}."
                       if isinstance(measured.get("baseline"), float) else ""))


def question_of(about: Description | None) -> str:
    """What a checkpoint answers about a text, by what it learned; of the one that comes with the app, of none."""
    if about is None or about.meta.get("corpus") == "speakers":
        return VIEWS["speakers"]
    if about.config.task == "classes":
        return "Which class?"
    return "What fits at each position?" if about.config.head == "masked" else "Where does it look?"


dark = st.context.theme.type == "dark"
arrive_at(PAGE, FIELDS)
about = selected(PAGE)


def choose_view() -> None:
    """Whether a trained model reads a text, or one is trained on the spot."""
    st.segmented_control("Show", list(VIEWS), key=f"{PAGE}_show", required=True, label_visibility="collapsed",
                         format_func=lambda name: {**VIEWS, "speakers": question_of(about)}[name])


show_title(PAGE, "Encoder" if about and about.config.task == "reads" else "Classify", choose_view)
view, chips = st.session_state[f"{PAGE}_show"], st.container(key=f"{PAGE}_chips_settings")
if view == "toy":
    show_toy(TOY, dark=dark)
    leave_at(PAGE, FIELDS, checkpoint=st.session_state.get(f"{PAGE}_checkpoint"), hidden="text")
    end_page()

messages = st.container()  # outside the box, which is closed
with st.container(horizontal=True, vertical_alignment="center", key=f"{PAGE}_asked_settings"):
    left = st.container()
    with model_box(PAGE, help="Which model reads the text"):
        ckpt = choose_checkpoint(PAGE, messages=messages)
        say_how_good(ckpt)
examples = examples_of(ckpt)
what = "passage" if ckpt.meta.get("corpus") == "speakers" else "text"
fill(f"{PAGE}_text", examples[0].text)
with left:
    passage = taken(st.text_area(f"A {what}", key=f"{PAGE}_text", height=68, on_change=another_text,
                                 label_visibility="collapsed",
                                 placeholder=f"Type or paste a {what} and press Ctrl+Enter"), PASSAGE)
    second = taken(st.text_input("A second text", key=f"{PAGE}_second", on_change=another_text,
                                 label_visibility="collapsed", placeholder="A second text, to be read with the first"),
                   PASSAGE) if ckpt.reads_pairs else ""
with place_of_line(PAGE):
    show_unlike(ckpt, passage)
with chips:
    st.pills("Examples", range(len(examples)), key=f"{PAGE}_example", on_change=use_example, args=[examples],
             format_func=lambda at: markdown_text(examples[at].label), label_visibility="collapsed", wrap=True)


@st.fragment
def read(ckpt: Checkpoint, passage: str, second: str, *, dark: bool) -> None:
    """All that a click on a head or a class changes."""
    show_reading(PAGE, ckpt, (passage, second) if second.strip() else passage, note=whose(ckpt, passage), dark=dark,
                 question=question_of(ckpt.description))
    leave_at(PAGE, FIELDS, checkpoint=ckpt.id, hidden="toy_")


if passage.strip():
    read(ckpt, passage, second, dark=dark)
else:
    st.info(f"Type or paste a {what} above and press Ctrl+Enter, or choose an example.")
    leave_at(PAGE, FIELDS, checkpoint=ckpt.id, hidden="toy_")
