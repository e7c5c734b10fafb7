"""Small tasks that a model learns while one watches: a card each, with a picture of what will be seen."""

from functools import partial

import streamlit as st

from transformer.settings.quick_tasks import QUICK, Quick
from transformer.training.runs import free_name
from ui.access import owners
from ui.choices.quick_picture import quick_picture
from ui.figures import markdown_text
from ui.page.plain_text import say_error
from ui.state.caches import home
from ui.views.train.form import devices, start
from ui.views.train.train_state import TrainState


def show_quick_tasks(page: str, *, dark: bool) -> None:
    """The cards of all quick tasks, one of which starts when it is pressed."""
    if refused := owners.refusal(owners.me(), "start"):
        st.warning(markdown_text(refused))
    if refused := TrainState.start_refused.pop(page):
        say_error(" ".join(refused))
    st.markdown("Each is a small model that starts from random weights and learns on this computer while you watch.")
    for column, (name, about) in zip(st.columns(len(QUICK), gap="small"), QUICK.items(), strict=True):
        with column.container(border=True, key=f"{page}_quick_card_{name}", height="stretch"):
            _card(page, name, about, dark=dark)


def _card(page: str, name: str, about: Quick, *, dark: bool) -> None:
    st.markdown(f"**{about.title}**")
    st.html(quick_picture(name, dark=dark))
    st.caption(f"{about.watch} {_time(about.seconds)}")
    barred = owners.refusal(owners.me(), "start") is not None
    st.button("Train it", key=f"{page}_quick_{name}", type="primary", width="stretch", disabled=barred,
              on_click=partial(start_quick, page, name))
    if about.beside:
        st.button(f"Also {about.beside_words}", key=f"{page}_quick_{name}_beside", width="stretch", disabled=barred,
                  help="Trains both, one after the other, and draws their curves over each other.",
                  on_click=partial(start_quick, page, name, beside=True))


def _time(seconds: int) -> str:
    return f"About {seconds} seconds." if seconds < 90 else f"About {round(seconds / 60)} minutes."


def start_quick(page: str, name: str, *, beside: bool = False) -> None:
    """Start a quick task and show it, and after it the one that it is compared with where that is asked for."""
    state, runs, device, about = TrainState(page), home() / "runs", next(iter(devices())), QUICK[name]
    if not start(page, name, {}, device, run=(run := free_name(runs, name))):
        return
    if beside:
        other = free_name(runs, f"{name}-{about.beside_words.replace(' ', '-')}")
        if start(page, name, dict(about.beside), device, run=other):
            state.over = [run, other]
        state.run = run
