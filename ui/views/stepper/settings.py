"""What is set up before a decoding: the model, and how tokens are sampled. They wait behind a button, one step away."""

from collections.abc import Callable

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from transformer.attention_view.shared import SHARED
from transformer.checkpoints.checkpoint import Checkpoint
from transformer.inference.sampling_settings import SETTINGS, idle
from ui.choices.about_model import show_about
from ui.choices.checkpoint import choose_checkpoint
from ui.choices.text_box import place_of_line
from ui.page.presentation import offer_present, presenting, show_title
from ui.state.page_state import Kept
from ui.views.stepper.examples import example_pills

MOST_NOTCHES = 100  # of a slider; with more, a number is typed


def show_settings(page: str, title: str, type_text: Callable[[Checkpoint], str],
                  examples_of: Callable[[Checkpoint], list[str]]) -> tuple[Checkpoint, str, DeltaGenerator]:
    """The box for the text, the settings and *Present* in a line -> the model, what is typed, and the place for a line
    on it. Examples are offered under the box while somebody is in it."""
    if presenting(page):
        show_title(page, title)

    def beside(ckpt: Checkpoint) -> None:
        show_about(page, ckpt)
        _show_sampling(page)

    messages = st.container()
    ckpt = choose_checkpoint(page, help="Which model, and how it chooses its tokens", beside=beside)
    with st.container(horizontal=True, vertical_alignment="center", key=f"{page}_asked_settings"):
        if not presenting(page):
            st.title(title, anchor=False)  # for screen readers
        with st.container(key=f"{page}_typed"):
            text = type_text(ckpt)
            example_pills(page, examples_of(ckpt))
        if not presenting(page):
            offer_present(page)
    if waiting := idle({setting.name: Kept(None, name=setting.name).of(page) for setting in SETTINGS}):
        messages.caption(SHARED["sampling"]["idle"].format(names=", ".join(setting.label for setting in waiting)))
    return ckpt, text, place_of_line(page)


def _show_sampling(page: str) -> None:
    """A widget for each setting of sampling; those that only matter for sampled tokens wait for a temperature."""
    st.caption(SHARED["sampling"]["reach"])
    for setting in SETTINGS:
        if setting.sampled and not Kept(None, name="temperature").of(page):
            continue
        least, most, step = setting.offered
        widget = st.slider if (most - least) / step <= MOST_NOTCHES else st.number_input
        widget(setting.label, least, most, step=step, key=f"{page}_{setting.name}", persist_state="session",
               help=setting.help)
