"""Checkpoints: open any, see what is in it, try it, compare two, bring your own."""

import streamlit as st

from ui.choices.checkpoint import choose_entry, open_entry
from ui.page.link import address_fields, arrive_at, leave_at
from ui.page.presentation import settings, show_title
from ui.state.caches import is_best
from ui.views.checkpoints.add import show_add
from ui.views.checkpoints.card import VIEWS, CheckpointsState, show_card, show_list
from ui.views.checkpoints.tokenizer import TokenizerState, show_tokenizer
from ui.views.checkpoints.trial import TrialState, show_trial
from ui.views.checkpoints.two_checkpoints import CompareState, show_compare
from ui.views.checkpoints.weights import WeightsState, show_weights

PAGE = "checkpoints"
STATES = (CheckpointsState, TokenizerState, WeightsState, TrialState, CompareState)
FIELDS = {name: field for state in STATES for name, field in address_fields(state).items()}

dark = st.context.theme.type == "dark"
arrive_at(PAGE, FIELDS)
show_title(PAGE, "Checkpoints")
with settings(PAGE):
    view = st.segmented_control("What to see", list(VIEWS), format_func=VIEWS.__getitem__,
                                key=CheckpointsState.view.key(PAGE), required=True, label_visibility="collapsed")
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
leave_at(PAGE, FIELDS, checkpoint=CheckpointsState(PAGE).checkpoint)
