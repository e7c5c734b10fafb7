"""What is set up before a walk: the model, and how tokens are sampled. They wait behind a button, one step away."""

from collections.abc import Callable

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from transformer.checkpoint import Checkpoint
from ui.choices.about_model import show_about
from ui.choices.checkpoint import choose_checkpoint, model_box
from ui.choices.unfamiliar_text import place_of_line
from ui.views.stepper.address import HOTTEST, LAST_SEED, WIDEST


def show_settings(page: str, type_text: Callable[[Checkpoint], str]) -> tuple[Checkpoint, str, DeltaGenerator]:
    """The box for the text and the settings in a line -> the model, the text typed, and the place for a line on it."""
    said = st.container()  # outside the box, which is closed
    with st.container(horizontal=True, vertical_alignment="center", key=f"{page}_asked_settings"):
        left = st.container()
        with model_box(page, help="Which model, and how it chooses its tokens"):
            ckpt = choose_checkpoint(page, said=said)
            show_about(page, ckpt)
            _show_sampling(page)
        with left:
            text = type_text(ckpt)
    return ckpt, text, place_of_line(page)


def _show_sampling(page: str) -> None:
    st.slider("Temperature", 0.0, HOTTEST, step=0.1, key=f"{page}_temperature", persist_state="session",
              help="0 always chooses the likeliest token. Above 0, tokens are sampled; higher is more random. "
                   "Tokens up to the step shown stay.")
    st.slider("Top-k", 0, WIDEST, key=f"{page}_top_k", persist_state="session",
              help="Sample among the k likeliest tokens only; 0 means all.")
    if st.session_state.get(f"{page}_temperature"):
        st.number_input("Seed", 0, LAST_SEED, step=1, key=f"{page}_seed", persist_state="session",
                        help="The same seed samples the same tokens.")
