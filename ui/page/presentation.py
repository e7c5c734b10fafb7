"""Presentation: any page on a projector, with large type, a presenter's keys, and without settings."""

from collections.abc import Callable
from functools import partial
from html import escape
from pathlib import Path
from typing import Any, overload

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from ui import figures
from ui.figures.frame import Finished
from ui.state.page_state import PageState

STYLE = (Path(__file__).parent / "presentation.css").read_text("utf-8")
PART, SMALLEST, PHONE = 1 / 30, 13, 700  # size of type by height of the window; px of the smallest type; px of width
WINDOW = "window"  # in session state: width and height of the browser's window, in px
TALLEST = 0.9  # of the window's height, for a chart
LESSON, ABOVE_BAR = "lesson", 0.5  # in session state while one is under way; the part of the window above its bar
PROJECTOR = 1280, 720  # px, until the browser has sent the size of its window


def presenting(page: str) -> bool:
    """Whether this page is being presented."""
    return bool(PageState(page).presenting)


def turn_hide(page: str) -> None:
    """Hides the candidates of a page, or shows them again."""
    PageState(page).hide = not PageState(page).hide


def present(page: str, on: bool) -> None:
    """Starts or ends the presentation of a page."""
    PageState(page).presenting = on


def show_title(page: str, title: str, extra: Callable[[], None] | None = None) -> None:
    """The title, `extra` controls and the button *Present*, in a line; only *Leave* is visible during a presentation.
    What was chosen in the extra controls is still chosen after it, since they stay on the page."""
    with st.container(horizontal=True, vertical_alignment="center", key=f"{page}_title"):
        if presenting(page):
            st.html(f"<style>{STYLE.replace('PAGE', page)}</style><h1>{escape(title)}</h1>")
            st.button("Leave", key=f"{page}_leave", shortcut="Esc", icon=":material/close:",
                      on_click=partial(present, page, False), help="Back to the whole page")
            if extra:
                with settings(page, "title"):
                    extra()
        else:
            st.title(title, anchor=False, width="content")
            if extra:
                extra()
            st.space("stretch")
            offer_present(page)


def offer_present(page: str) -> None:
    """The button that starts the presentation."""
    st.button("Present", key=f"{page}_present", icon=":material/present_to_all:", shortcut="F",
              on_click=partial(present, page, True),
              help="For a projector: large type and a presenter's keys. B blacks out the screen, H hides what comes "
                   "next, Escape leaves.")


def columns(page: str, spec: int | list[int], **options: Any) -> list[DeltaGenerator]:
    """Columns as of `st.columns`; below each other during a presentation, where side by side would be too small."""
    if not presenting(page):
        return st.columns(spec, **options)
    return [st.container() for _ in range(spec if isinstance(spec, int) else len(spec))]


def settings(page: str, name: str = "") -> DeltaGenerator:
    """A container for controls that are hidden during a presentation."""
    return st.container(key=f"{page}_{name}_settings" if name else f"{page}_settings")


def chart_size(page: str, part: float = TALLEST) -> dict[str, Any]:
    """The height of a chart that fits the window during a presentation: `st.plotly_chart(..., **chart_size(page))`.
    part: of the window's height, smaller where something is above it."""
    width, height = _window()
    return {"height": int(part * height)} if presenting(page) and width > PHONE else {}


@overload
def enlarged(page: str, figure: Finished, part: float = TALLEST) -> Finished: ...
@overload
def enlarged(page: str, figure: dict[str, Any], part: float = TALLEST) -> dict[str, Any]: ...
def enlarged(page: str, figure: Finished | dict[str, Any], part: float = TALLEST) -> Finished | dict[str, Any]:
    """A plotly figure or a finished altair chart, with large type during a presentation, and no taller than there is
    room above the bar of a lesson. part: as for `chart_size`."""
    width, height = _window()
    if width <= PHONE:
        return figure
    if not presenting(page):
        above_bar = st.session_state.get(LESSON) and WINDOW in st.session_state  # which a bar at the foot has sent
        return figures.shortened(figure, int(ABOVE_BAR * height)) if above_bar else figure
    return figures.enlarged(figure, max(1, PART * min(width, height) / SMALLEST), int(part * height))


def _window() -> tuple[int, int]:
    return st.session_state.get(WINDOW, PROJECTOR)
