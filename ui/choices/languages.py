"""What the two sides of a model that translates are called: its languages, where it says which they are."""

from collections.abc import Mapping
from typing import NamedTuple

import streamlit as st

from transformer.checkpoint import Checkpoint, Description
from transformer.text.corpus_catalogue import find_source

EXAMPLES = find_source("eng-fra").languages  # the examples that the pages come with are of this corpus


class Sides(NamedTuple):
    """Words for what is read and what is written."""

    source: str  # a heading over it
    target: str
    read: str  # how a sentence that says so begins
    written: str
    sentence: str  # what to type, as a label
    typed: str  # and in a sentence
    translation: str
    references: str


def sides_of(about: Description) -> Sides:
    """The words for one model; its languages where it names them."""
    if about.languages is None:
        return Sides("Source", "Target", "The source", "The target", "A sentence to translate",
                     "a sentence to translate", "Its translation", "Reference translations")
    source, target = about.languages
    return Sides(source, target, source, target, f"A sentence in {source}", f"a sentence in {source}",
                 f"Its translation into {target}", f"{target} reference translations")


def reads_examples(ckpt: Checkpoint) -> bool:
    """Whether the examples can be put before a model: not where it says that it reads or writes another language."""
    return ckpt.description.languages in (None, EXAMPLES)


def fit_pairs(page: str, ckpt: Checkpoint, examples: Mapping[str, str]) -> None:
    """Before their widgets: untouched examples, by key, leave boxes of another language empty, and come back."""
    state, left = st.session_state, f"{page}_examples_left"
    if not reads_examples(ckpt):
        if any(state[key] for key in examples) and all(state[key] == text for key, text in examples.items()):
            state.update(dict.fromkeys(examples, ""), **{left: True})
    elif state.pop(left, False) and not any(state[key] for key in examples):
        state.update(examples)
