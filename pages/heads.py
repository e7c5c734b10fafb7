"""What heads do: over held-out text, when they are switched off, and in one prediction taken apart."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import streamlit as st

from ui.choices.checkpoint import choose_checkpoint
from ui.page.link import Field, address_fields, arrive_at, choice, leave_at
from ui.page.presentation import show_title
from ui.views.heads import attribution, contexts, direct, flow, lens, neurons, patching, prediction, spaces, why
from ui.views.heads.page_layout import style
from ui.views.heads.roles import show_roles
from ui.views.heads.sample import RoleState
from ui.views.heads.switch_state import Switch
from ui.views.heads.switched_heads import show_switch

PAGE = "heads"


@dataclass(frozen=True)
class View:
    """A view: its name, what draws it, and what its link says. explains: it is given a prediction, not a model; masked:
    one of a masked language model too."""

    title: str
    show: Callable[..., None]
    fields: Mapping[str, Field]
    explains: bool = True
    masked: bool = False

    def fits(self, task: str, head: str | None) -> bool:
        """Whether it can be of a model, by its task and its head."""
        return not self.explains or task != "reads" or (self.masked and head == "masked")


VIEWS = {
    "roles": View("Roles", show_roles, address_fields(RoleState), explains=False),
    "contexts": View("One head", contexts.show_contexts, address_fields(contexts.ContextsState), explains=False),
    "switch": View("Switch off", show_switch, address_fields(Switch), explains=False),
    "spaces": View("Spaces", spaces.show_spaces, spaces.FIELDS, explains=False),
    "why": View("Why", why.show_why, {}, masked=True),
    "lens": View("Lens", lens.show_lens, address_fields(lens.LensState), masked=True),
    "direct": View("Direct effect", direct.show_direct, address_fields(direct.DirectState)),
    "attribution": View("Attribution", attribution.show_attribution, address_fields(attribution.AttributionState)),
    "flow": View("Flow", flow.show_flow_view, flow.FIELDS, masked=True),
    "patching": View("Patching", patching.show_patching, patching.FIELDS, masked=True),
    "neurons": View("Neurons", neurons.show_neurons, address_fields(neurons.NeuronsState), masked=True),
}
TEXT: Field[str | None] = Field(None, str, lambda value: value or None, long=True)
FIELDS = {"view": choice("roles", list(VIEWS)), "text": TEXT,
          **prediction.FIELDS, **{name: field for one in VIEWS.values() for name, field in one.fields.items()}}

dark = st.context.theme.type == "dark"
arrive_at(PAGE, FIELDS)
state = st.session_state
style(PAGE)
with st.container(horizontal=True, vertical_alignment="center", key=f"{PAGE}_line"):
    show_title(PAGE, "Heads")
    views = st.container(width="content", key=f"{PAGE}_views")
ckpt = choose_checkpoint(PAGE)
offered = [name for name, one in VIEWS.items() if one.fits(ckpt.config.task, ckpt.config.head)]
if state[f"{PAGE}_view"] not in offered:
    state[f"{PAGE}_view"] = "roles"
view = views.selectbox("What to ask of the heads", offered, format_func=lambda name: VIEWS[name].title, width=180,
                       key=f"{PAGE}_view", filter_mode=None, label_visibility="collapsed")
if len(offered) < len(VIEWS):
    makes = "one at every position" if ckpt.config.head == "masked" else "none"
    st.caption(f"{', '.join(one.title for name, one in VIEWS.items() if name not in offered)}: these explain one "
               f"prediction, and this encoder makes {makes}. They need a classifier or a decoder.")
if not VIEWS[view].explains:
    VIEWS[view].show(PAGE, ckpt, dark=dark)
elif (asked := prediction.ask(PAGE, ckpt, patching.decided if view == "patching" else None)) is not None:
    VIEWS[view].show(PAGE, asked, dark=dark)
leave_at(PAGE, FIELDS, checkpoint=ckpt.id)
