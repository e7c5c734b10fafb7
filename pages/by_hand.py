"""Attention on one sentence, number by number: every matrix from the ids to the output of a whole block."""

from functools import partial

import streamlit as st

from transformer.by_hand.stages import BOUNDS, LETTERS, SCALES, WORDS, ByHand
from ui import figures
from ui.by_hand.address import FIELDS, MASKS, PAGE, PARTS, leave, move_word, place, settings
from ui.by_hand.lessons import show_folding, show_scale, show_slips
from ui.by_hand.steps import show_steps
from ui.by_hand.trained import show_trained
from ui.link import arrive_at
from ui.present import show_title
from ui.say import say_error
from ui.texts import taken

LABELS = {"seed": "Seed", "d": "d", "d_k": "d_q = d_k", "d_v": "d_v", "heads": "Heads"}
HELP = {
    "seed": "All embeddings and weights are drawn from it: same seed, same numbers.",
    "d": "The width of a word's vector, d_model in the paper.",
    "d_k": "The width of queries and keys, which must be equal for q · k.",
    "d_v": "The width of values, and so of a head's output.",
    "heads": "Heads side by side. The first one does not change.",
}
# what a part does not look at
IDLE = {"scale": ("d_v", "heads", "scale", "mask"), "batch": ("scale", "mask"), "slips": ("d_v", "heads")}
SCALE = {"sqrt(d_k)": "√d_k", "1": "nothing", "sqrt(d_model)": "√d_model", "d_k": "d_k"}

dark = st.context.theme.type == "dark"
arrive_at(PAGE, FIELDS)

show_title(PAGE, "By hand")
about = st.empty()
part = st.segmented_control("Part", PARTS, key=f"{PAGE}_part", required=True, format_func=PARTS.get,
                            persist_state="session", label_visibility="collapsed")
about.markdown("Attention on one sentence with every number in sight. " + (
    "Here the numbers come from a trained model." if part == "trained" else
    "The weights are random, drawn from the seed: what matters is how the numbers come about. Change anything, and "
    "everything after it is recomputed."))
text = taken(st.text_input("A sentence", key=f"{PAGE}_text", persist_state="session",
                           placeholder=f"Type up to {WORDS} words and press Enter"), LETTERS)
if not text.strip():
    st.info("Type a sentence above and press Enter.")
    st.stop()
unused = IDLE.get(part, ())
if part != "trained":  # which brings its own numbers
    with st.container(horizontal=True, gap="small"):
        for name, (least, most) in BOUNDS.items():
            st.number_input(LABELS[name], least, most, step=1, key=f"{PAGE}_{name}", persist_state="session",
                            help=HELP[name], width=112 if name != "seed" else 150, disabled=name in unused)
        st.selectbox("Divide q · k by", SCALES, key=f"{PAGE}_scale", persist_state="session", format_func=SCALE.get,
                     width=160, help="√d_k is the paper's choice. Try the others.", disabled="scale" in unused)
        st.segmented_control("Mask", MASKS, key=f"{PAGE}_mask", required=True, persist_state="session",
                             format_func=str.capitalize, help="Causal: no word may attend to later words.",
                             disabled="mask" in unused)
        st.segmented_control("Positions", (False, True), key=f"{PAGE}_positions", required=True,
                             persist_state="session", format_func={False: "None", True: "Added"}.get,
                             help="Added: the paper's sines and cosines (section 3.5) are added to the embeddings.")
try:
    hand = ByHand(settings())
except ValueError as error:
    say_error(error)
    st.stop()

words = hand.settings.words
query, key = place("query", len(words)), place("key", len(words))
names = [figures.markdown_text(figures.plain_label(word)) for word in words]
if part in ("steps", "slips"):
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        st.segmented_control("Query: the word that looks", range(len(words)), key=f"{PAGE}_query", required=True,
                             format_func=names.__getitem__, persist_state="session")
        st.button("Move it left", icon=":material/arrow_back:", key=f"{PAGE}_left", disabled=query == 0,
                  on_click=partial(move_word, -1))
        st.button("Move it right", icon=":material/arrow_forward:", key=f"{PAGE}_right",
                  disabled=query == len(words) - 1, on_click=partial(move_word, 1))
        if part == "steps":
            st.segmented_control("Key: the word looked at", range(len(words)), key=f"{PAGE}_key", required=True,
                                 format_func=names.__getitem__, persist_state="session")

st.html(figures.matrix_style(dark=dark))
if part == "steps":
    show_steps(hand, query=query, key=key)
elif part == "scale":
    show_scale(hand, dark=dark)
elif part == "batch":
    show_folding(hand)
elif part == "slips":
    show_slips(hand, query=query)
else:
    show_trained(hand.settings.sentence)
leave()
