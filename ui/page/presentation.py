"""Presenting: any page made for a projector, with large type, the keys that step, and nothing set up only once."""

from collections.abc import Callable
from functools import partial
from html import escape
from pathlib import Path

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from ui import figures

STYLE = (Path(__file__).parent / "presentation.css").read_text()
PART, SMALLEST, PHONE = 0.04, 13, 700  # type over the window's height; px, the least that a figure has; px of width
WINDOW = "window"  # in session state: width and height of the browser's, in px
TALLEST = 0.9  # of the window, a chart
PROJECTOR = 1280, 720  # px, until the browser has said how large its window is


def presenting(page: str) -> bool:
    """Whether this page is shown to a room."""
    return bool(st.session_state.get(f"{page}_presenting"))


def turn_hide(page: str) -> None:
    """Hide what comes next on a page, or show it again."""
    st.session_state[f"{page}_hide"] = not st.session_state.get(f"{page}_hide")


def present(page: str, on: bool) -> None:
    """Begin to present, or leave it."""
    st.session_state[f"{page}_presenting"] = on


def show_title(page: str, title: str, extra: Callable[[], None] | None = None) -> None:
    """The title, what else the page has there, and the switch to presenting, in a line; while presenting, the way back
    alone."""
    with st.container(horizontal=True, vertical_alignment="center", key=f"{page}_title"):
        if presenting(page):
            st.html(f"<style>{STYLE.replace('PAGE', page)}</style><h1>{escape(title)}</h1>")
            st.button("Leave", key=f"{page}_leave", shortcut="Esc", icon=":material/close:",
                      on_click=partial(present, page, False), help="Back to the whole page")
        else:
            st.title(title, anchor=False, width="content")
            if extra:
                extra()
            st.space("stretch")
            st.button("Present", key=f"{page}_present", icon=":material/present_to_all:", shortcut="F",
                      on_click=partial(present, page, True),
                      help="For a projector: large type and a presenter's keys. B blacks out the screen, H hides what "
                           "comes next, Escape leaves.")


def columns(page: str, spec: int | list[int], **options: object) -> list[DeltaGenerator]:
    """As `st.columns`; below each other while presenting, for nothing of what stands side by side could be read."""
    if not presenting(page):
        return st.columns(spec, **options)
    return [st.container() for _ in range(spec if isinstance(spec, int) else len(spec))]


def settings(page: str, name: str = "") -> DeltaGenerator:
    """Where controls stand that are away while presenting."""
    return st.container(key=f"{page}_{name}_settings" if name else f"{page}_settings")


def room(page: str, part: float = TALLEST) -> dict[str, int]:
    """What a chart is given besides, so that all of it is on one screen while presenting: `st.plotly_chart(...,
    **room(page))`. part: of the window's height, less where something stands above."""
    width, height = _window()
    return {"height": int(part * height)} if presenting(page) and width > PHONE else {}


def enlarged(page: str, figure: object) -> object:
    """A plotly figure or a finished altair chart, with type for a room while presenting."""
    width, height = _window()
    if not presenting(page) or width <= PHONE:
        return figure
    return figures.enlarged(figure, max(1, PART * min(width, height) / SMALLEST))


def _window() -> tuple[int, int]:
    return st.session_state.get(WINDOW, PROJECTOR)
