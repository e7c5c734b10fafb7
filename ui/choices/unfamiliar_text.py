"""The line under a box that says how what was typed is unlike the texts that the model was trained on."""

from html import escape

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from transformer.checkpoint import Checkpoint
from transformer.inference.decoding import Step
from transformer.unfamiliar_text import describe_unfamiliar
from ui.state.caches import usual


def place_of_line(page: str) -> DeltaGenerator:
    """Where the line stands, under the box just drawn: in the gap there (shell.css), so nothing moves when it comes."""
    return st.container(key=f"{page}_unlike")


def show_unlike(ckpt: Checkpoint, text: str, *, last: Step | None = None) -> None:
    """The line, empty where there is nothing to say. last: as for `describe_unfamiliar`."""
    known = usual(ckpt)
    line = escape(describe_unfamiliar(known, text, last=last)) if known else ""
    st.html(f'<p title="{line}">{line}</p>')
