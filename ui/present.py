"""Presenting: a page made for a projector, with large type, the keys that step, and nothing set up only once."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import streamlit as st

STYLE = (Path(__file__).parent / "present.css").read_text()


def presenting(page: str) -> bool:
    """Whether this page is shown to a room."""
    return bool(st.session_state.get(f"{page}_presenting"))


def show_title(page: str, title: str, examples: Callable[[], None]) -> None:
    """The title, the examples and the switch to presenting, in a line; while presenting, the way back alone."""
    with st.container(horizontal=True, vertical_alignment="center", key=f"{page}_title"):
        if presenting(page):
            st.html(f"<style>{STYLE.replace('PAGE', page)}</style>")
            st.button("Leave", key=f"{page}_leave", shortcut="Esc", on_click=partial(present, page, False),
                      help="Back to the whole page")
        else:
            st.title(title, anchor=False, width="content")
            examples()
            st.space("stretch")
            st.button("Present", key=f"{page}_present", icon=":material/present_to_all:", shortcut="F",
                      on_click=partial(present, page, True),
                      help="For a projector: large type, the arrow keys and play at the speed chosen. Escape leaves.")


def present(page: str, on: bool) -> None:
    """Begin to present, or leave it."""
    st.session_state[f"{page}_presenting"] = on

