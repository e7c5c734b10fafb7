"""A page with nothing but a sweep, which its address names."""

import streamlit as st

from ui.page.link import arrive_at, leave_at, text
from ui.views.train.run_bar import show_outcome
from ui.views.train.sweep import show_sweep

FIELDS = {"sweep": text("")}

st.set_page_config(layout="wide")
arrive_at("train", FIELDS)
show_outcome("train")
show_sweep("train", st.session_state["train_sweep"], dark=st.context.theme.type == "dark")
leave_at("train", FIELDS)
