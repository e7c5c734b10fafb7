"""What every page has round it: how the browser's menu, history and focus behave, a presenter's keys, and saved views
that are dropped."""

import re
from collections.abc import Mapping

import streamlit as st

from transformer.basics.design import property_style
from ui.components.scripts import HERE, component
from ui.page.link import go_to, open_view
from ui.page.pages import EVERY_PAGE, HOME, menu
from ui.page.plain_text import say_error
from ui.page.presentation import WINDOW, turn_hide
from ui.page.saved_view import LARGEST, TOO_LARGE, read_view
from ui.page.terms import TERMS
from ui.page.what_if_words import CELL, HEAD, MORE

STYLE = (HERE / "shell" / "shell.css").read_text("utf-8")
SCRIPT = "shell_script"

_shell = component("shell", HERE / "shell" / "shell.js", "<span hidden></span>")


def show_shell(page: str) -> None:
    """Before any page: nothing to see, and listeners that are made anew as pages change. Goes to the page of a saved
    view that has come."""
    st.html(f"<style>{property_style()}{STYLE.replace('PAGE', page)}{_here(page)}</style>")
    with st.container(key="shell"):
        changes = {"cell": CELL, "head": HEAD, "more": MORE}
        sent = _shell(key=SCRIPT, data={"page": page, "pages": [*EVERY_PAGE], "main": HOME.name, "largest": LARGEST,
                                        "terms": TERMS, "changes": changes}, on_view_change=lambda: None,
                      on_hide_change=_hide, on_window_change=_measure, on_theme_change=lambda: None).view
    if not isinstance(sent, Mapping):
        return
    try:
        if not isinstance(sent.get("text"), str):
            raise ValueError(TOO_LARGE)
        view = read_view(sent["text"])
    except ValueError as error:
        say_error(error)
    else:
        open_view(*view)
        go_to(view[0])


def _here(page: str) -> str:
    """What marks the entry of the menu that has the page which is open: Streamlit marks no section."""
    (_, *alone), *sections = menu().values()  # but for the first page, to which the mark leads
    entries = [*([there] for there in alone), *sections]
    at = next((at for at, pages in enumerate(entries, 1) if any(one.name == page for one in pages)), 0)
    here = f'[data-testid="stTopNav"] > :nth-child({at})'
    return f"{here} {{ --here: var(--accent); }} .stApp {here} p {{ color: var(--accent); }}"


def _hide() -> None:
    """H, while presenting: what comes is hidden, or seen again."""
    page = st.session_state[SCRIPT].hide
    if isinstance(page, str) and re.fullmatch(r"[a-z_]{1,20}", page):
        turn_hide(page)


def _measure() -> None:
    """How large the window of a projector is."""
    size = st.session_state[SCRIPT].window
    if isinstance(size, list) and len(size) == 2 and all(isinstance(one, int) and 0 < one < 20_000 for one in size):
        st.session_state[WINDOW] = tuple(size)
