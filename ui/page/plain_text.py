"""Text that is always text: what somebody typed, uploaded or named never acts as markdown on a page."""

import streamlit as st

from ui.figures import markdown_text


def say_error(error: Exception | str) -> None:
    """What is wrong, as the sentence that it is."""
    st.error(markdown_text(str(error)))


def code_text(text: str) -> str:
    """A name in a markdown text, in the letters of code."""
    return f"`{text.replace('`', 'ʼ').replace(chr(10), ' ')}`"


def without_images(text: str) -> str:
    """Markdown none of whose images is fetched: every kind of them begins with the same two signs."""
    return text.replace("![", "!\\[")


def end_of(text: str, longest: int = 60) -> str:
    """The end of a text on one line, as a label where nothing is read as markdown."""
    text = text if len(text) <= longest else "…" + text[-longest:]
    return text.replace("\n", "↵") or "(nothing yet)"
