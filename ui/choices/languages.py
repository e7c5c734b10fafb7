"""Words for the two sides of a translator: its languages, if they are known."""

from collections.abc import Mapping
from typing import NamedTuple

import streamlit as st

from transformer.checkpoint import Checkpoint, Description
from transformer.text.corpus_catalogue import find_source

EXAMPLES = find_source("eng-fra").languages  # the pages' examples are from this corpus


class Sides(NamedTuple):
    """Words for what is read and what is written."""

    source: str  # a heading over it
    target: str
    read: str  # the beginning of a sentence about it
    written: str
    sentence: str  # what to type, as a label
    typed: str  # what to type, within a sentence
    translation: str
    references: str


def sides_of(about: Description) -> Sides:
    """The words for a model."""
    if about.languages is None:
        return Sides("Source", "Target", "The source", "The target", "A sentence to translate",
                     "a sentence to translate", "Its translation", "Reference translations")
    source, target = about.languages
    return Sides(source, target, source, target, f"A sentence in {source}", f"a sentence in {source}",
                 f"Its translation into {target}", f"{target} reference translations")


def reads_examples(ckpt: Checkpoint) -> bool:
    """Whether a model can be given the examples: not if it is known to read or write another language."""
    return ckpt.description.languages in (None, EXAMPLES)


def fit_pairs(page: str, ckpt: Checkpoint, examples: Mapping[str, str]) -> None:
    """Removes untouched examples, by key, from boxes of another language, and puts them back; before their widgets."""
    state, left = st.session_state, f"{page}_examples_left"
    if not reads_examples(ckpt):
        if any(state[key] for key in examples) and all(state[key] == text for key, text in examples.items()):
            state.update(dict.fromkeys(examples, ""), **{left: True})
    elif state.pop(left, False) and not any(state[key] for key in examples):
        state.update(examples)
