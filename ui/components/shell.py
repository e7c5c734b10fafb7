"""What every page has round it: how the browser's menu, history and focus behave."""

from pathlib import Path

import streamlit as st

HERE = Path(__file__).parent
STYLE = (HERE / "shell.css").read_text()

_shell = st.components.v2.component("shell", html="<span hidden></span>", js=(HERE / "shell.js").read_text())


def show_shell() -> None:
    """Before any page: nothing to see, and listeners that stay as pages change."""
    st.html(f"<style>{STYLE}</style>")
    with st.container(key="shell"):
        _shell(key="shell_script")
