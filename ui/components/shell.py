"""What every page has round it: how the browser's menu, history and focus behave, a presenter's keys, and saved views
that are dropped."""

import re
from collections.abc import Mapping

import streamlit as st

from transformer.design import property_style
from ui.components.scripts import HERE, component
from ui.page.link import go_to, open_view
from ui.page.pages import EVERY_PAGE, GROUPS, HOME, PAGES
from ui.page.plain_text import say_error
from ui.page.presentation import WINDOW, turn_hide
from ui.page.saved_view import LARGEST, TOO_LARGE, read_view
from ui.page.terms import TERMS

STYLE = (HERE / "shell.css").read_text("utf-8")
SCRIPT = "shell_script"
MENU_LINK = '[data-testid="stTopNavLink"]'
# Widths in the menu on top, in px, as measured: a letter at most, on average; round a title; an icon; beside all links.
LETTER, PADDING, ICON, BESIDE = 7.3, 21.25, 25.5, 264

_shell = component("shell", HERE / "shell.js", "<span hidden></span>")


def show_shell(page: str) -> None:
    """Before any page: nothing to see, and listeners that are made anew as pages change. Goes to the page of a saved
    view that has come."""
    st.html(f"<style>{property_style()}{STYLE}{_menu_style()}</style>")
    with st.container(key="shell"):
        sent = _shell(key=SCRIPT, data={"page": page, "pages": [*EVERY_PAGE], "main": HOME.name, "largest": LARGEST,
                                            "terms": TERMS}, on_view_change=lambda: None,
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


def _menu_style() -> str:
    """The names of the groups of pages, each over its first one in the menu, and what keeps all pages in one line.
    Sections of st.navigation would be three closed boxes on top: every page behind a click, and the one that is open
    not in sight."""
    rules = []
    for group in GROUPS:
        first = next(name for name, page in PAGES.items() if page.group == group)
        rules.append(f':is({MENU_LINK}, [data-testid="stSidebarNavLink"])[href$="/{first}"]::before '
                     f'{{ content: "{group}" / ""; }}')
        rules.append(f'li:has([data-testid="stSidebarNavLink"][href$="/{first}"]) {{ margin-top: 1.6rem; }}')
    with_icons, narrow = menu_widths([page.title for page in EVERY_PAGE.values()])
    rules.append(f'@media (max-width: {with_icons}px) {{ {MENU_LINK} > span:has([data-testid="stIconMaterial"]) '
                 "{ display: none; } }")
    rules.append(f"@media (max-width: {narrow}px) {{ {MENU_LINK} {{ padding-inline: 0.25rem; }} }}")
    return "\n".join(rules)


def menu_widths(titles: list[str]) -> tuple[int, int]:
    """Up to which width of the window, in px, the menu leaves out its icons, and up to which links stand closer
    together, so that Streamlit moves none of them into a box."""
    narrow = BESIDE + sum(LETTER * len(title) + PADDING for title in titles)
    return round(narrow + ICON * len(titles)), round(narrow)


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
