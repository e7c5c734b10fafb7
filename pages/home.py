"""What this is, three examples to click, and what each page shows."""

import streamlit as st

st.session_state["visited"] = "home"
st.title("Heads Up", anchor=False)
st.write("hello")
