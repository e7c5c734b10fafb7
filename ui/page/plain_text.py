"""Plain text on pages: what somebody typed, uploaded or named is never interpreted as Markdown."""

import streamlit as st

from ui.figures import markdown_text


def say_error(error: Exception | str) -> None:
    """Shows an error as plain text."""
    st.error(markdown_text(str(error)))


def code_text(text: str) -> str:
    """A name as code, for Markdown."""
    return f"`{text.replace('`', 'ʼ').replace(chr(10), ' ')}`"


def without_images(text: str) -> str:
    """Markdown without images: all of them begin with the same two characters."""
    return text.replace("![", "!\\[")


def end_of(text: str, longest: int = 60) -> str:
    """The end of a text on one line, as a label that is not read as Markdown."""
    text = text if len(text) <= longest else "…" + text[-longest:]
    return text.replace("\n", "↵") or "(nothing yet)"
