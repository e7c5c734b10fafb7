"""What every page has round it: how the browser's menu, history and focus behave."""

import streamlit as st

from ui.components.scripts import HERE, component

STYLE = (HERE / "shell.css").read_text("utf-8")

_shell = component("shell", HERE / "shell.js", "<span hidden></span>")


def show_shell() -> None:
    """Before any page: nothing to see, and listeners that stay as pages change."""
    st.html(f"<style>{STYLE}</style>")
    with st.container(key="shell"):
        _shell(key="shell_script")
