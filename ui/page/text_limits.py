"""The limits of typed texts, checked before any work is done with them.

No widget has max_chars, which would cut a text without a message.
"""

import streamlit as st

from ui.page.link import end_page
from ui.page.plain_text import say_error

PASSAGE = 20_000  # characters of a text that a model reads, or of lines of texts
ANSWER = 2_000    # of a text that a decoder is forced to write
SENTENCE = 300    # of a text of which all numbers are drawn
TOY = 120         # of a text that the smallest model learns
SEARCH = 200
SCORES = 200
PATH = 1_000
MANY_SOURCES = 4_000
SETTINGS = 4_000
PINNED = 2_000    # of sentences to watch attention on
LONGEST_TRANSLATION = 200  # tokens of a model's own translation on which heads are measured


def within(text: str, longest: int, what: str = "text") -> str:
    """The text itself. Raises ValueError if it is too long."""
    if len(text) > longest:
        raise ValueError(f"this {what} has {len(text):,} characters; at most {longest:,} are read. Please shorten it")
    return text


def taken(text: str | None, longest: int, *, needed: bool = False) -> str:
    """The text of a field; empty, with a message on the page, if it is too long. needed: in that case the page ends,
    where an empty text is a text too."""
    try:
        return within(text or "", longest)
    except ValueError as error:
        say_error(error)
        if needed:
            end_page()
        return ""


def untouched(key: str) -> bool:
    """Whether nobody has typed into a box: it is empty or has the example that was put there last."""
    return st.session_state.get(key) in (None, st.session_state.get(f"{key}_example"))


def fill(key: str, example: str) -> None:
    """Puts an example into a box, before its widget, also in place of an untouched one."""
    if untouched(key):
        st.session_state[key] = example
    st.session_state[f"{key}_example"] = example
