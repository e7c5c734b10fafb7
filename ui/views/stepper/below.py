"""What stands below the picture of a step. Closed, it is the same at every step and is not drawn again with it, which
is a third of the messages of a step; while something in it is open, it is drawn with every step."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from transformer.attention_view.heads import Head
from transformer.attention_view.message_fields import Selection
from transformer.inference.decoding import Step
from transformer.inference.decoding_tree import DecodingTree
from ui.components.attention_details import MOST_SAVED, DetailsState
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


@dataclass(frozen=True)
class Below:
    """All that a page has there. boxes: the fields that are set while a part is open."""

    page: str
    draw: Callable[[Shown], None]
    boxes: Sequence[Kept[Any]] = (DetailsState.details,)

    def goes_with_steps(self, decoding: DecodingTree[Step]) -> bool:
        """Whether it is drawn with every step: something is open, or there are too many numbers for a file."""
        return any(box.of(self.page) for box in self.boxes) or cells_of(decoding.branch.tip) > MOST_SAVED


class BelowState(PageState):
    """How it was drawn last."""

    shown: Kept[Shown | None] = Kept(None)
    with_steps = Kept(False)


def draw_with_step(below: Below, decoding: DecodingTree[Step], selection: Selection, head: Head) -> None:
    """Draws it if it changes with the steps; called under the picture, in the fragment of the steps."""
    state = BelowState(below.page)
    if (shown := state.shown) is None:
        shown = state.shown = Shown(decoding, selection, head)
    shown.decoding, shown.selection, shown.head = decoding, selection, head
    before, state.with_steps = state.with_steps, below.goes_with_steps(decoding)
    context = get_script_run_ctx()
    if before != state.with_steps and context is not None and context.fragment_ids_this_run:
        st.rerun()  # the whole page, where it stands elsewhere from now on
    if state.with_steps:
        below.draw(shown)


def draw_alone(below: Below) -> None:
    """Draws it if it is the same at all steps; called where the fragment of the steps has ended."""
    state = BelowState(below.page)
    if state.shown is not None and not state.with_steps:
        _draw_alone(below, state.shown)


@st.fragment
def _draw_alone(below: Below, shown: Shown) -> None:
    if below.goes_with_steps(shown.decoding):  # something has just been opened
        st.rerun()
    below.draw(shown)
