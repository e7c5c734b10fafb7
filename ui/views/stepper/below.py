"""What stands below the picture of a step. Closed, it is the same at every step and is not drawn again with it, which
is a third of the messages of a step; while something in it is open, it is drawn with every step."""

from collections.abc import Callable
from dataclasses import dataclass

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from transformer.attention_view.heads import Head
from transformer.attention_view.message_fields import Selection
from transformer.inference.decoding import Step
from transformer.inference.decoding_tree import DecodingTree
from ui.components.attention_details import MOST_SAVED
from ui.components.attention_view import cells_of
from ui.state.page_state import Kept, PageState


@dataclass
class Shown:
    """What the picture shows now, also for what was drawn below it at an earlier step."""

    decoding: DecodingTree[Step]
    selection: Selection
    head: Head

    def now(self) -> tuple[Step, Selection]:
        """The step and what is selected in it."""
        return self.decoding.step, self.selection


Draw = Callable[[Shown], None]


class BelowState(PageState):
    """The parts that can be open, and how they were drawn last."""

    beam, compare, details = Kept(False), Kept(False), Kept[str | None](None)
    shown: Kept[Shown | None] = Kept(None)
    with_steps = Kept(False)


def with_steps(page: str, decoding: DecodingTree[Step]) -> bool:
    """Whether what is below is drawn with every step: something is open, or there are too many numbers for a file."""
    state = BelowState(page)
    return bool(state.beam or state.compare or state.details) or cells_of(decoding.branch.tip) > MOST_SAVED


def draw_with_step(page: str, decoding: DecodingTree[Step], selection: Selection, head: Head, draw: Draw) -> None:
    """Draws it if it changes with the steps; called under the picture, in the fragment of the steps."""
    state = BelowState(page)
    if (shown := state.shown) is None:
        shown = state.shown = Shown(decoding, selection, head)
    shown.decoding, shown.selection, shown.head = decoding, selection, head
    before, state.with_steps = state.with_steps, with_steps(page, decoding)
    context = get_script_run_ctx()
    if before != state.with_steps and context is not None and context.fragment_ids_this_run:
        st.rerun()  # the whole page, where it stands elsewhere from now on
    if state.with_steps:
        draw(shown)


def draw_alone(page: str, draw: Draw) -> None:
    """Draws it if it is the same at all steps; called where the fragment of the steps has ended."""
    if (shown := BelowState(page).shown) is not None and not BelowState(page).with_steps:
        _draw_alone(page, shown, draw)


@st.fragment
def _draw_alone(page: str, shown: Shown, draw: Draw) -> None:
    if with_steps(page, shown.decoding):  # something has just been opened
        st.rerun()
    draw(shown)
