"""How a model knows the order of its tokens: sinusoidal, learned, rotary and ALiBi positions, and none."""

import streamlit as st

from transformer.settings.config import KINDS
from ui.choices.checkpoint import choose_checkpoint
from ui.page.link import arrive_at, choice, leave_at, quiet, switch, text, whole, wholes
from ui.page.presentation import settings, show_title
from ui.page.terms import with_terms
from ui.views.positions.formulas import BASES, LAYOUTS, show_rotary, show_sinusoids
from ui.views.positions.table import CURVES, MOST, PAGE, VIEWS, WIDEST
from ui.views.positions.trained import show_checkpoint, show_left_out

FIELDS = {
    "view": choice(VIEWS[0], VIEWS), "count": whole(100, 2, MOST), "d_model": whole(128, 2, WIDEST),
    "base": choice(10_000, BASES), "layout": choice("interleaved", LAYOUTS),
    "dims": wholes([4, 5, 20, 21, 60], WIDEST - 1, count=CURVES),
    "pairs": quiet(wholes([0, 2, 4, 8], WIDEST - 1, count=CURVES)), "measure": choice("product", ["product", "cosine"]),
    "place": whole(50, 0, MOST - 1), "width": whole(32, 2, 256), "seed": whole(0, 0, 999_999), "same": switch(False),
    "side": choice("src", ["src", "tgt"]), "text": text("The woman sees the man."),
    "kind": choice("encoder", KINDS), "layer": whole(1, 0, 1_000), "head": whole(0, 0, 1_000)}

dark = st.context.theme.type == "dark"
arrive_at(PAGE, FIELDS)
with st.container(key=f"{PAGE}_line", horizontal=True, gap="small", vertical_alignment="center"):
    show_title(PAGE, "Positions")
    sets = st.container(key=f"{PAGE}_settings", horizontal=True, gap="small", width="content")
view = sets.segmented_control("Show", VIEWS, key=f"{PAGE}_view", required=True, label_visibility="collapsed")
ckpt = choose_checkpoint(PAGE, lambda about: view == VIEWS[2] or about.reads_text) if view in VIEWS[2:] else None
with st.container(key=f"{PAGE}_picture"):
    if view == "Sinusoidal":
        show_sinusoids(sets, dark=dark)
    elif view == "Rotary":
        show_rotary(sets, dark=dark)
    elif ckpt is not None and view == "Trained":
        show_checkpoint(ckpt, sets, dark=dark)
    elif ckpt is not None:
        show_left_out(ckpt, dark=dark)
with settings(PAGE, "why"):
    st.markdown(with_terms("Attention by itself ignores the order of tokens: shuffle the keys, and every query gets "
                           "the same output. So models are given positions.", "token", "key", "query"),
                unsafe_allow_html=True)
leave_at(PAGE, FIELDS, checkpoint=ckpt.id if ckpt else st.session_state.get(f"{PAGE}_checkpoint"))
