"""What an encoder makes of a text: who is speaking, how a sentence ends; and the smallest training run there is."""

import streamlit as st

from transformer.checkpoints.checkpoint import Checkpoint, Description
from transformer.checkpoints.openings import Example
from transformer.text.corpus_catalogue import CLASSES, sources_of
from ui.choices.checkpoint import choose_checkpoint, selected
from ui.choices.text_box import as_learned, place_of_line, show_unlike
from ui.components.attention_view import Selected
from ui.figures import markdown_text
from ui.page.link import Field, arrive_at, choice, end_page, leave_at, text
from ui.page.presentation import show_title
from ui.page.text_limits import PASSAGE, fill, taken
from ui.state.caches import entries
from ui.views.classify.classifier import show_reading
from ui.views.classify.passages import answer_of, examples_of
from ui.views.classify.toy import NEGATIVE, POSITIVE, show_toy
from ui.views.stepper import what_if

PAGE, TOY = "classify", "classify_toy"
LEARNED = {source.name: source for source in sources_of(CLASSES) if source.question}
VIEWS = {**{name: source.question for name, source in LEARNED.items()}, "toy": "Train one in three seconds"}


def one_of_its_classes() -> Field:
    """The class looked at; without one it is the likeliest."""
    return Field(None, str, lambda value: value or "")


FIELDS = {
    "show": choice("speakers", list(VIEWS)), "text": Field(None, str, lambda value: value or None, long=True),
    "second": text(""), "class": one_of_its_classes(), **Selected.fields(), **what_if.FIELDS,
    "toy_run": Field("", lambda value: value[:40]),
    "toy_positive": text(POSITIVE), "toy_negative": text(NEGATIVE),
    "toy_text": text(POSITIVE), "toy_class": one_of_its_classes(),
    **Selected.fields("toy_"),
}


def another_text() -> None:
    st.session_state[f"{PAGE}_class"] = None
    what_if.forget_places(PAGE)


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
                   f"{markdown_text(str(measured.get('split')))} texts. Always predicting the class most frequent in "
                   f"training: {measured['majority']:.0%}." + (
                       f" Logistic regression on word counts: {measured['baseline']:.0%}."
                       if isinstance(measured.get("baseline"), float) else ""))


def question_of(about: Description) -> str:
    """What a checkpoint answers about a text, by what it learned."""
    if about.meta.get("corpus") in LEARNED:
        return LEARNED[about.meta["corpus"]].question
    if about.config.task == "classes":
        return "Which class?"
    return "What fits at each position?" if about.config.head == "masked" else "Where does it look?"


def learned_by(about: Description | None) -> str:
    """The view of a checkpoint: that of its corpus, the first for all others."""
    name = about.meta.get("corpus") if about else None
    return name if name in LEARNED else next(iter(LEARNED))


def open_learned() -> None:
    """Have the first checkpoint that answers the question chosen read its example, or a model be trained."""
    state, asked = st.session_state, st.session_state[f"{PAGE}_show"]
    answers = [entry.about for entry in entries() if entry.about and entry.about.meta.get("corpus") == asked]
    if answers and learned_by(selected(PAGE)) != asked:
        state[f"{PAGE}_checkpoint"] = answers[0].id
        state[f"{PAGE}_text"] = None
        another_text()


dark = st.context.theme.type == "dark"
if (arrival := arrive_at(PAGE, FIELDS)) is not None:
    what_if.WhatIf(PAGE).change = arrival["change"]
about = selected(PAGE)
if about and st.session_state[f"{PAGE}_show"] != "toy":
    st.session_state[f"{PAGE}_show"] = learned_by(about)


def choose_view() -> None:
    """Which question a trained model answers, or whether one is trained on the spot."""
    here = {**VIEWS, learned_by(about): question_of(about)} if about else VIEWS
    st.segmented_control("Show", list(VIEWS), key=f"{PAGE}_show", required=True, label_visibility="collapsed",
                         format_func=lambda name: here[name], on_change=open_learned)


show_title(PAGE, "Encoder" if about and about.config.task == "reads" else "Classify", choose_view)
view = st.session_state[f"{PAGE}_show"]
if view == "toy":
    show_toy(TOY, dark=dark)
    leave_at(PAGE, FIELDS, checkpoint=st.session_state.get(f"{PAGE}_checkpoint"), hidden="text")
    end_page()

ckpt = choose_checkpoint(PAGE, beside=say_how_good)
examples = examples_of(ckpt)
what = LEARNED[ckpt.meta["corpus"]].unit if ckpt.meta.get("corpus") in LEARNED else "text"
fill(f"{PAGE}_text", examples[0].text)
with st.container(key=f"{PAGE}_asked_settings"), st.container(key=f"{PAGE}_typed"):
    passage = taken(st.text_area(f"A {what}", key=f"{PAGE}_text", height=68, on_change=another_text,
                                 label_visibility="collapsed",
                                 placeholder=f"Type or paste a {what} and press Ctrl+Enter"), PASSAGE)
    second = taken(st.text_input("A second text", key=f"{PAGE}_second", on_change=another_text,
                                 label_visibility="collapsed", placeholder="A second text, to be read with the first"),
                   PASSAGE) if ckpt.reads_pairs else ""
    st.pills("Examples", range(len(examples)), key=f"{PAGE}_example", on_change=use_example, args=[examples],
             format_func=lambda at: markdown_text(examples[at].label), label_visibility="collapsed", wrap=True)
with place_of_line(PAGE):
    show_unlike(ckpt, passage)


@st.fragment
def read(ckpt: Checkpoint, passage: str, second: str, *, dark: bool) -> None:
    """All that a click on a head or a class changes."""
    text = as_learned(ckpt, passage)
    show_reading(PAGE, ckpt, (text, as_learned(ckpt, second)) if second.strip() else text,
                 note=answer_of(ckpt, passage), dark=dark, question=question_of(ckpt.description), changeable=True)
    leave_at(PAGE, FIELDS, checkpoint=ckpt.id, hidden="toy_", change=what_if.changes_of(PAGE))


if passage.strip():
    read(ckpt, passage, second, dark=dark)
else:
    st.info(f"Type or paste a {what} above and press Ctrl+Enter, or choose an example.")
    leave_at(PAGE, FIELDS, checkpoint=ckpt.id, hidden="toy_")
