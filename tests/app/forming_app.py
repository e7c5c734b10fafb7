"""A page with nothing but attention as it forms, of the folder that its address names."""

from pathlib import Path

import streamlit as st

from ui.page.link import arrive_at, arriving, leave_at, text
from ui.views.train.forming import forming_fields, show_forming

FIELDS = {"folder": text(""), **forming_fields()}

st.set_page_config(layout="wide")
with arriving():
    arrive_at("forming", FIELDS)
    show_forming("forming", Path(st.session_state["forming_folder"]), dark=False, every=0.5)
    leave_at("forming", FIELDS)
