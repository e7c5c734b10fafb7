"""The router: what every page shares, and the list of pages."""

import streamlit as st

from ui.components.shell import show_shell
from ui.forged import drop_forged_values

# Drawn inline: Streamlit fetches icons named ":material/...:" from the network when they stand in the browser's tab.
ICON = """<svg viewBox="0 0 32 32"><rect width="32" height="32" rx="6" fill="#0B5CAD"/><g fill="#fff">
<rect x="6" y="6" width="6" height="6"/><rect x="6" y="13" width="6" height="6" opacity=".45"/>
<rect x="13" y="13" width="6" height="6"/><rect x="6" y="20" width="6" height="6"/>
<rect x="13" y="20" width="6" height="6" opacity=".45"/><rect x="20" y="20" width="6" height="6"/></g></svg>"""
ABOUT = "**Heads Up** shows what every attention head of a transformer is doing while it works."

drop_forged_values()
st.set_page_config(page_icon=ICON, layout="wide", menu_items={"About": ABOUT})
page = st.navigation(
    [
        st.Page("pages/home.py", title="Home", icon=":material/home:", default=True),
        st.Page(
            "pages/translate.py",
            title="Translate",
            icon=":material/translate:",
            help="English to French, one token at a time, with every head of an encoder-decoder.",
        ),
        st.Page(
            "pages/write.py",
            title="Write",
            icon=":material/edit:",
            help="Shakespeare, one character at a time, with every head of a decoder.",
        ),
        st.Page(
            "pages/classify.py",
            title="Classify",
            icon=":material/label:",
            help="Who is speaking? An encoder with pooling, and which token won each feature.",
        ),
        st.Page(
            "pages/by_hand.py",
            title="By hand",
            icon=":material/calculate:",
            help="Attention on one sentence, number by number, from the ids to a whole block.",
        ),
        st.Page(
            "pages/masks.py",
            title="Masks",
            icon=":material/grid_on:",
            help="Every mask on your own sentences, as numbers in the softmax, and what leaks without it.",
        ),
        st.Page(
            "pages/positions.py",
            title="Positions",
            icon=":material/waves:",
            help="Sinusoidal, learned and rotary positions, and a head without them.",
        ),
        st.Page(
            "pages/train.py",
            title="Train",
            icon=":material/model_training:",
            help="Train a model and watch its loss fall and its heads form.",
        ),
        st.Page(
            "pages/heads.py",
            title="Heads",
            icon=":material/troubleshoot:",
            help="What every head does over many sentences, and what is lost without it.",
        ),
        st.Page(
            "pages/checkpoints.py",
            title="Checkpoints",
            icon=":material/inventory_2:",
            help="Open, inspect, try, compare and import checkpoints.",
        ),
    ],
    position="top",
)
st.set_page_config(page_title=f"{page.title} · Heads Up")
show_shell()
page.run()
