"""How a model knows the order of its tokens: sinusoidal, learned, rotary and ALiBi positions, and none."""

import streamlit as st

from ui.choices.checkpoint import choose_checkpoint
from ui.page.link import arrive_at, leave_at
from ui.page.presentation import settings, show_title
from ui.page.terms import with_terms
from ui.views.positions.address import FIELDS, PAGE, VIEWS
from ui.views.positions.formulas import show_rotary, show_sinusoids
from ui.views.positions.trained import show_checkpoint, show_left_out

dark = st.context.theme.type == "dark"
arrive_at(PAGE, FIELDS)
show_title(PAGE, "Positions")
ckpt = None
with settings(PAGE):
    st.markdown(with_terms("Attention by itself ignores the order of tokens: shuffle the keys, and every query gets "
                           "the same output. So models are given positions.", "token", "key", "query"),
                unsafe_allow_html=True)
    left, right = st.columns([3, 1], vertical_alignment="bottom")
    view = left.segmented_control("Show", VIEWS, key=f"{PAGE}_view", required=True, label_visibility="collapsed")
    if view in VIEWS[2:]:
        with right:
            ckpt = choose_checkpoint(PAGE, lambda about: view == VIEWS[2] or about.reads_text)
if view == "Sinusoidal":
    show_sinusoids(dark=dark)
elif view == "Rotary":
    show_rotary(dark=dark)
elif view == "Trained":
    show_checkpoint(ckpt, dark=dark)
else:
    show_left_out(ckpt, dark=dark)
leave_at(PAGE, FIELDS, checkpoint=ckpt.id if ckpt else st.session_state.get(f"{PAGE}_checkpoint"))
