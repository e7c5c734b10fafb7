"""How long what is typed may be, and the one place that looks, before any work is done with it.

No widget has max_chars, which would cut a text without a word.
"""

import streamlit as st

from ui.page.link import end_page
from ui.page.plain_text import say_error

PASSAGE = 20_000  # characters that a model reads, or lines of texts
ANSWER = 2_000    # of what a decoder is made to write
SENTENCE = 300    # where every number of it is drawn
TOY = 120         # of what the smallest model learns
SEARCH = 200
SCORES = 200
PATH = 1_000
MANY_SOURCES = 4_000
SETTINGS = 4_000
PINNED = 2_000    # sentences to watch attention on
LONGEST_TRANSLATION = 200  # tokens: where a model's own translation is cut off before heads are measured on it


def within(text: str, longest: int, what: str = "text") -> str:
    """The text. Raises ValueError where it is longer than it may be."""
    if len(text) > longest:
        raise ValueError(f"this {what} has {len(text):,} characters; at most {longest:,} are read. Please shorten it")
    return text


def taken(text: str | None, longest: int, *, needed: bool = False) -> str:
    """What was typed into a field; nothing, with a sentence on the page, where it is longer than it may be. needed:
    nothing else is drawn then, because nothing typed is a text too."""
    try:
        return within(text or "", longest)
    except ValueError as error:
        say_error(error)
        if needed:
            end_page()
        return ""


def untouched(key: str) -> bool:
    """Whether nobody has typed into a text's box yet: it holds nothing, or the example last put there."""
    return st.session_state.get(key) in (None, st.session_state.get(f"{key}_example"))


def fill(key: str, example: str) -> None:
    """Before its widget: put an example into a text's box, also in place of another that nobody touched."""
    if untouched(key):
        st.session_state[key] = example
    st.session_state[f"{key}_example"] = example
