"""Checkpoints: open any, see what is in it, try it, compare two, bring your own."""

import streamlit as st

from ui.address import arrive_at, choice, leave_at

PAGE = "checkpoints"
VIEWS = {"card": "Card", "tokenizer": "Tokenizer", "weights": "Weights", "test": "Test set", "compare": "Compare",
         "add": "Add one"}
FIELDS = {"view": choice("card", list(VIEWS))}

dark = st.context.theme.type == "dark"
arrive_at(PAGE, FIELDS)
st.title("Checkpoints", anchor=False)
view = st.segmented_control("What to see", list(VIEWS), format_func=VIEWS.get, key=f"{PAGE}_view", required=True,
                            label_visibility="collapsed")
leave_at(PAGE, FIELDS)
