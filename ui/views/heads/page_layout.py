"""What every view of the Heads page shares: its first screen, and what lies one step behind."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import streamlit as st

STYLE = (Path(__file__).parent / "page_layout.css").read_text("utf-8")


def style(page: str) -> None:
    """The sizes of the page, so that a view's first screen is a screen."""
    st.html(f"<style>{STYLE.replace('PAGE', page)}</style>")


@contextmanager
def behind(page: str, name: str, label: str) -> Iterator[bool]:
    """A box that is closed until somebody opens it, and whether it is open: what is in it is made only then."""
    with st.expander(label, key=f"{page}_{name}", on_change="rerun") as box:
        yield bool(box.open)
