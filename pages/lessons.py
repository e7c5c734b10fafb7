"""Lessons over these pages: a list, the way into each, and files of the visitor's own."""

import streamlit as st

from ui.lessons.listed import show_list, show_own, show_results
from ui.link import arrive_at, leave_at

PAGE = "lessons"
FIELDS = {}

arrive_at(PAGE, FIELDS)
st.title("Lessons", anchor=False)
st.markdown("Each lesson leads over the pages stop by stop, with a few words and a question at the foot of the window. "
            "Page Down goes on, so a presenter's remote does too.")
show_results()
show_list(PAGE)
show_own(PAGE)
leave_at(PAGE, FIELDS)
