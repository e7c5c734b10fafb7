"""Attention on one sentence, number by number: every matrix from the ids to the output of a whole block."""

import streamlit as st

from transformer.by_hand.exercises import exercises
from transformer.by_hand.stages import ByHand
from ui import figures
from ui.page.link import arrive_at, end_page
from ui.page.plain_text import say_error
from ui.page.presentation import presenting, show_title
from ui.views.by_hand.exercise import show_exercise, worksheet
from ui.views.by_hand.experiments import show_folding, show_mistakes, show_scale, show_trained
from ui.views.by_hand.matrices import NAMES, Places
from ui.views.by_hand.settings import (
    ALL,
    FIELDS,
    FILLS,
    OF_A_MODEL,
    PAGE,
    PARTS,
    STYLE,
    choose_settings,
    leave,
    place,
    settings,
    show_lines,
    type_sentence,
)
from ui.views.by_hand.steps import choose_step, choose_word, longest_side, show_steps
from ui.views.by_hand.vectors import show_vectors
from ui.views.by_hand.window import choose_window

ABOUT = {"trained": "Every number of a trained head, on your sentence.",
         "vectors": "One row of a trained head, on your sentence. Drag an arrow.",
         "random": "Attention on one sentence, with every number shown. Blue is positive, red negative."}

dark = st.context.theme.type == "dark"
arrived = arrive_at(PAGE, FIELDS) is not None

st.html(f"<style>{STYLE}</style>{figures.matrix_style(dark=dark)}")
with st.container(key=f"{PAGE}_line", horizontal=True, gap="small", vertical_alignment="center"):
    show_title(PAGE, "By hand")
    top = st.container(key=f"{PAGE}_parts", horizontal=True, gap="small", vertical_alignment="center")
bar = st.container(key=f"{PAGE}_bar", horizontal=True, gap="small", vertical_alignment="center")
if presenting(PAGE):  # one line has them all; the other stays, empty, so that what is below it is not drawn anew
    bar = top
with top:
    part = st.selectbox("Part", list(PARTS), key=f"{PAGE}_part", format_func=PARTS.__getitem__, width=210,
                        filter_mode=None, persist_state="session", label_visibility="collapsed")
    stepping = st.container(key=f"{PAGE}_stepping", horizontal=True, gap="xsmall", vertical_alignment="center",
                        width="content")
with bar, st.container(key=f"{PAGE}_settings", horizontal=True, gap="small", vertical_alignment="center",
                       width="content"):
    text = type_sentence()
    sets = st.container(horizontal=True, gap="small", width="content")
if not text.strip():
    st.info("Type a sentence above and press Enter.")
    end_page()
if part not in OF_A_MODEL:  # which bring their own numbers
    with sets:
        choose_settings(part)
try:
    hand = ByHand(settings())
except ValueError as error:
    say_error(error)
    end_page()
with sets:
    if part not in OF_A_MODEL:
        show_lines(hand.settings)

words = hand.settings.words
query, key = place("query", len(words)), place("key", len(words))
names = [figures.plain_label(word) for word in words]
tasks, step = exercises(hand) if part == "exercise" else {}, ALL
if part in ("steps", "exercise", "slips"):
    with bar:
        choose_word("query", "Query", "the word that looks", names)
        if part == "steps":
            choose_word("key", "Key", "the word looked at", names)
            step = choose_step(stepping, list(NAMES), all_of_them=not presenting(PAGE))
        elif part == "exercise":
            st.segmented_control("Fill in", list(FILLS), key=f"{PAGE}_fill", required=True, persist_state="session",
                                 format_func=FILLS.__getitem__, label_visibility="collapsed")
            step = choose_step(stepping, list(tasks), all_of_them=False)

first = 0
if part in ("steps", "exercise"):
    longest = longest_side(hand.settings, step) if part == "steps" else tasks[int(step)].longest
    with bar if step == ALL else top:  # while all steps scroll, the chooser stays in sight
        first = choose_window(longest)

if part == "steps":
    show_steps(hand, Places(query, key, first), step=step)
elif part == "exercise":
    whole, tasks = st.session_state[f"{PAGE}_fill"] == "matrix", exercises(hand, first)
    with st.container(key=f"{PAGE}_work"):
        show_exercise(hand, tasks[int(step)], query=query, whole=whole)
    with st.container(key=f"{PAGE}_sheet_settings"), st.popover("A worksheet to print", icon=":material/print:"):
        state = st.session_state
        state[f"{PAGE}_sheet"] = [one for one in state[f"{PAGE}_sheet"] if one in tasks]
        chosen = st.multiselect("Steps on the sheet", list(tasks), key=f"{PAGE}_sheet", persist_state="session",
                                format_func=lambda one: f"{one} · {NAMES[one]}")
        st.download_button("Download the worksheet", icon=":material/download:", file_name="attention-by-hand.html",
                           mime="text/html", disabled=not chosen, on_click="ignore", key=f"{PAGE}_download",
                           data=worksheet(hand, [tasks[one] for one in sorted(chosen)], query=None if whole else query))
        st.caption("One HTML file. Print it from the browser: the answers are on a separate sheet.")
elif part == "scale":
    show_scale(hand, dark=dark)
elif part == "batch":
    show_folding(hand)
elif part == "slips":
    show_mistakes(hand, query=query)
elif part == "trained":
    show_trained(hand.settings.sentence)
else:
    show_vectors(hand.settings.sentence, arrived=arrived, choosers=sets, bar=stepping)
st.caption(ABOUT.get(part, ABOUT["random"]))
leave()
