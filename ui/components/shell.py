"""What every page has round it: how the browser's menu, history and focus behave, and saved views that are dropped."""

from collections.abc import Mapping

import streamlit as st

from ui.components.scripts import HERE, component
from ui.saved_view import LARGEST, TOO_LARGE, open_view
from ui.say import say_error

STYLE = (HERE / "shell.css").read_text("utf-8")

_shell = component("shell", HERE / "shell.js", "<span hidden></span>")


def show_shell() -> None:
    """Before any page: nothing to see, and listeners that stay as pages change. Goes to the page of a saved view that
    has come."""
    st.html(f"<style>{STYLE}</style>")
    with st.container(key="shell"):
        sent = _shell(key="shell_script", data={"largest": LARGEST}, on_view_change=lambda: None).view
    if not isinstance(sent, Mapping):
        return
    try:
        if not isinstance(sent.get("text"), str):
            raise ValueError(TOO_LARGE)
        open_view(sent["text"])
    except ValueError as error:
        say_error(error)
