"""The chooser of the numbers that a wide matrix shows, one for all matrices of a page."""

import streamlit as st

from transformer.by_hand.window import WHOLE, WINDOW, window
from ui.views.by_hand.settings import PAGE


def choose_window(longest: int) -> int:
    """Draws the chooser, if a matrix has more numbers in a row or column (at most `longest`) than are shown together;
    returns the first of those shown."""
    if longest <= WHOLE:
        return 0
    key = f"{PAGE}_first"
    shown = window(longest, int(st.session_state[key]))
    st.session_state[key] = shown[0]
    with st.container(key=f"{PAGE}_window_line", horizontal=True, gap="xsmall", vertical_alignment="center",
                      width="content"):
        st.markdown("Numbers", width="content", help=f"A matrix with more than {WHOLE} columns or rows shows {WINDOW} "
                    "of them at a time, counted from 0. Each matrix says how many it has; one that ends earlier shows "
                    "its last ones. Products, sums and norms are computed over all.")
        st.number_input("Numbers shown, from", 0, window(longest, longest)[0], step=WINDOW, key=key, width=140,
                        persist_state="session", label_visibility="collapsed")
        st.markdown(f"to {shown[-1]:,} of {longest:,} in the longest row or column. Sums go over all of them.",
                    width="content")
    return shown[0]
