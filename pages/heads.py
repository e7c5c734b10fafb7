"""What heads do: roles over held-out text, heads switched off, and what a prediction is made of."""

import streamlit as st

from ui.choices.checkpoint import choose_checkpoint
from ui.page.link import Field, arrive_at, choice, leave_at
from ui.page.presentation import show_title
from ui.views.heads import attribution, direct, flow, lens, neurons, patching, prediction
from ui.views.heads import attribution, direct, lens, neurons, patching, prediction, spaces
from ui.views.heads import attribution, contexts, direct, lens, neurons, patching, prediction
from ui.views.heads import attribution, direct, lens, neurons, patching, prediction, why
from ui.views.heads.page_layout import style
from ui.views.heads.roles import roles_fields, show_roles
from ui.views.heads.switched_heads import show_switch, switch_fields

PAGE = "heads"
VIEWS = {"roles": "Roles", "switch": "Switch off", "why": "Why", "lens": "Logit lens", "direct": "Direct effect",
         "attribution": "Attribution", "patching": "Patching",
         "neurons": "Neurons", "flow": "Flow"}
         "neurons": "Neurons",
         "spaces": "Spaces"}
FIELDS = {
    "view": choice("roles", list(VIEWS)),
    "text": Field(None, str, lambda value: value or None, long=True),
    **roles_fields(), **switch_fields(), **prediction.FIELDS, **lens.FIELDS, **direct.FIELDS, **attribution.FIELDS,
    **patching.FIELDS, **neurons.FIELDS, **flow.FIELDS}
    **patching.FIELDS, **neurons.FIELDS, **spaces.FIELDS}
VIEWS = {"roles": "Roles", "contexts": "One head", "switch": "Switch off", "lens": "Logit lens",
         "direct": "Direct effect", "attribution": "Attribution", "patching": "Patching",
         "neurons": "Neurons"}
FIELDS = {
    "view": choice("roles", list(VIEWS)),
    "text": Field(None, str, lambda value: value or None, long=True),
    **roles_fields(), **contexts.FIELDS, **switch_fields(), **prediction.FIELDS, **lens.FIELDS, **direct.FIELDS,
    **attribution.FIELDS, **patching.FIELDS, **neurons.FIELDS}
PREDICTION_VIEWS = {"lens": lens.show_lens, "direct": direct.show_direct,
    **patching.FIELDS, **neurons.FIELDS}
PREDICTION_VIEWS = {"why": why.show_why, "lens": lens.show_lens, "direct": direct.show_direct,
                    "attribution": attribution.show_attribution,
                    "patching": patching.show_patching, "neurons": neurons.show_neurons,
                    "flow": flow.show_flow_view}

dark = st.context.theme.type == "dark"
arrive_at(PAGE, FIELDS)
state = st.session_state
style(PAGE)
with st.container(horizontal=True, vertical_alignment="center", key=f"{PAGE}_line"):
    show_title(PAGE, "Heads")
    views = st.container(width="content", key=f"{PAGE}_views")
    with st.container(key=f"{PAGE}_picker_settings", width=320):
        ckpt = choose_checkpoint(PAGE)
decides = ckpt.config.task != "reads"
masked = ckpt.config.head == "masked"
offered = list(VIEWS) if decides else ["roles", "switch", *["lens", "patching", "neurons", "flow"] * masked]
offered = list(VIEWS) if decides else ["roles", "switch", *["lens", "patching", "neurons"] * masked, "spaces"]
offered = list(VIEWS) if decides else ["roles", "contexts", "switch", *["lens", "patching", "neurons"] * masked]
offered = list(VIEWS) if decides else ["roles", "switch", *["why", "lens", "patching", "neurons"] * masked]
if state[f"{PAGE}_view"] not in offered:
    state[f"{PAGE}_view"] = "roles"
view = views.segmented_control("What to ask of the heads", offered, format_func=VIEWS.get, key=f"{PAGE}_view",
                               required=True, label_visibility="collapsed")
if not decides:
    st.caption(f"{', '.join(name for key, name in VIEWS.items() if key not in offered)}: these explain one prediction, "
               f"and this encoder makes {'one at every position' if masked else 'none'}. They need a classifier or a "
               "decoder.")
if view == "roles":
    show_roles(PAGE, ckpt, dark=dark)
elif view == "contexts":
    contexts.show_contexts(PAGE, ckpt)
elif view == "switch":
    show_switch(PAGE, ckpt, dark=dark)
elif view == "spaces":
    spaces.show_spaces(PAGE, ckpt, dark=dark)
elif (asked := prediction.ask(PAGE, ckpt, patching.decided if view == "patching" else None)) is not None:
    PREDICTION_VIEWS[view](PAGE, asked, dark=dark)
leave_at(PAGE, FIELDS, checkpoint=ckpt.id)
