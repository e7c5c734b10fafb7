"""A page with nothing but attention as it forms, of the folder that its address names."""

from pathlib import Path

import streamlit as st

from ui.components.training_screen import FormingState
from ui.page.link import address_fields, arrive_at, arriving, leave_at, text
from ui.views.train.forming import show_forming

FIELDS = {"folder": text(""), **address_fields(FormingState)}

st.set_page_config(layout="wide")
with arriving():
    arrive_at("forming", FIELDS)
    show_forming("forming", Path(st.session_state["forming_folder"]), dark=False, every=0.5)
    leave_at("forming", FIELDS)
