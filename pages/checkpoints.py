"""Checkpoints: open any, see what is in it, try it, compare two, bring your own."""

import streamlit as st

from ui.choices.checkpoint import choose_entry, open_entry
from ui.page.link import Field, arrive_at, choice, leave_at, quiet, whole
from ui.page.presentation import settings, show_title
from ui.state.caches import is_best
from ui.views.checkpoints.add import show_add
from ui.views.checkpoints.card import show_card, show_list
from ui.views.checkpoints.tokenizer import show_tokenizer, tokenizer_fields
from ui.views.checkpoints.trial import show_trial, trial_fields
from ui.views.checkpoints.two_checkpoints import compare_fields, show_compare
from ui.views.checkpoints.weights import show_weights, weights_fields

PAGE = "checkpoints"
VIEWS = {"card": "Card", "tokenizer": "Tokenizer", "weights": "Weights", "test": "Try it", "compare": "Compare",
         "add": "Add one"}
HEAD = {"kind": quiet(Field(None)), "layer": quiet(whole(0, 0, 1_000)), "head": quiet(whole(0, 0, 1_000))}
FIELDS = {"view": choice("card", list(VIEWS)), **tokenizer_fields(), **weights_fields(), **trial_fields(),
          **compare_fields(), **HEAD}

dark = st.context.theme.type == "dark"
arrive_at(PAGE, FIELDS)
show_title(PAGE, "Checkpoints")
with settings(PAGE):
    view = st.segmented_control("What to see", list(VIEWS), format_func=VIEWS.__getitem__, key=f"{PAGE}_view",
                                required=True, label_visibility="collapsed")
    entry = choose_entry(PAGE, more=is_best) if view != "add" else None
if entry is None:
    show_add(PAGE)
elif view == "card":
    with settings(PAGE, "list"):
        show_list(entry.about.id)
    show_card(PAGE, entry, dark=dark)
elif view == "tokenizer":
    show_tokenizer(PAGE, open_entry(entry))
elif view == "weights":
    show_weights(PAGE, open_entry(entry), dark=dark)
elif view == "test":
    show_trial(PAGE, open_entry(entry))
elif view == "compare":
    show_compare(PAGE, entry, dark=dark)
leave_at(PAGE, FIELDS, checkpoint=st.session_state.get(f"{PAGE}_checkpoint"))
