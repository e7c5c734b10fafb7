"""Lessons over these pages: a list, the way into each, and files of the visitor's own."""

import streamlit as st

from ui.lessons.lesson_list import show_list, show_own, show_results
from ui.page.link import arrive_at, leave_at
from ui.page.presentation import show_title

PAGE = "lessons"
FIELDS = {}

arrive_at(PAGE, FIELDS)
show_title(PAGE, "Lessons")
st.markdown("A lesson takes you through the pages, with a short text and sometimes a question at the foot of the "
            "window. Page Down goes on to the next stop, and so does a presenter's remote.")
show_results()
show_list(PAGE)
show_own(PAGE)
leave_at(PAGE, FIELDS)
