"""The attention view and the step view: what is selected, the message that their scripts draw, and what comes back.

The state of the step view, `<page>_screen`, has `move` (the step that presses add up to, and the candidates chosen on
the way), `selection`, `choose` (a class, or a branch), `what_if` (a change at a cell or a head) and `film`.
"""

from collections import UserDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from typing import Any, TypeGuard

import numpy as np
import streamlit as st

from transformer.analysis.carried import Carried
from transformer.analysis.neurons import Stack
from transformer.attention_view.heads import AttentionSource, Head, Pooled, shape
from transformer.attention_view.message import head_of, live, path_of, whole
from transformer.attention_view.message_fields import Selection, Steps, StepView
from transformer.attention_view.model_message import model_message
from transformer.attention_view.phone_message import small
from transformer.attention_view.script_bundle import JS
from transformer.attention_view.selected import at_end, in_range, in_words
from transformer.attention_view.shared import CHOICES
from transformer.attention_view.window import window
from transformer.inference.decoding import GREEDY, Sampling, Step
from transformer.inference.decoding_tree import FARTHEST
from ui.components.scripts import component
from ui.page.link import Field, Part
from ui.page.presentation import presenting
from ui.page.room_sharing import WALL, keep_picture, leading
from ui.state.page_state import Kept, PageState, kept

_NAMES = tuple(field.name for field in fields(Selection))
LONGEST = 400            # characters of a part of the selection in a link
WHOLE_PAGE = 3_000_000   # weights that an offline page holds in full
STEPPING = ("steps", "films", "plays", "changes")  # of a step view, for those who step
CELL_ASKED = "cell_asked"  # in session state: the page on which somebody waits for a cell to be clicked
CELL_CHOSEN = "cell_chosen"  # and whether one has just been clicked
MOST_CHOICES = 20  # of one message, the last: more than anybody presses while a page is behind
# what stands there until the script has come: the step view's own size, so that nothing moves when it does
BONES = ('<div class="step-view" style="min-height: max(430px, calc(100dvh - 190px)); border-radius: 8px; '
         'background: var(--tint)"></div>')

_step_view = component("step_view", JS / "step_view" / "step_view.js", BONES)
_attention_view = component("attention_view", JS / "view" / "view.js", '<div class="attention-view"></div>')


class Selected(PageState):
    """What is selected in the attention view of a page: one object, whose parts are parameters of its link. A part that
    came from outside is a text, or None, until `in_range` has read it."""

    selection: Kept[Selection] = kept(lambda: _selection_of({}))

    def select(self, **parts: object) -> None:
        """Select something else; parts that are not given stay, but for the pair of tokens."""
        self.selection = replace(self.selection, **{"pair": None, **parts})

    @staticmethod
    def fields(prefix: str = "", **first: Any) -> dict[str, Field]:
        """The selection as fields of a link; first: those that begin with other values than elsewhere."""
        return {f"{prefix}{name}": Part(
            first.get(name), lambda value: value[:LONGEST], partial(selection_param, name), name=name,
            whole=Selected.selection, at=f"_{prefix}".rstrip("_")) for name in _NAMES}


def _selection_of(parts: Mapping[str, Any]) -> Selection:
    found: dict[str, Any] = {name: parts.get(name) for name in _NAMES}
    return Selection(**found)


class EncoderOnly(UserDict[Stack, Carried]):
    """Keeps the encoder's part, which is the same at each step; the decoder's has a copy of all keys and values."""

    def __setitem__(self, stack: Stack, part: Carried) -> None:
        if stack == "encoder":
            super().__setitem__(stack, part)


class Drawn(Selected):
    """What is kept of the attention view and the step view."""

    selection_answered = Kept(0)  # the number of the last message with a selection
    pooled: Kept[dict[str, Pooled]] = kept(dict)
    carried = kept(EncoderOnly)  # of the whole model, from one step to the next
    film = Kept(False)  # it is asked for
    decodings, opened = Kept(0), Kept(0)  # how many texts have been opened, and at which step the last one
    answered = Kept(0)  # the number of the last move


def _selection_in_range(page: str, source: AttentionSource, *, newest: bool) -> tuple[Selection, AttentionSource]:
    """The selection, brought into the range of what there is and kept so, and the part of the source that is drawn."""
    state = Selected(page)
    selection, drawn = in_range(wanted := state.selection, source, newest=newest)
    if selection != wanted:
        state.selection = selection
    return selection, drawn


def selection_param(name: str, value: Any) -> str | None:
    """One part of the selection as a link writes it; None where it has its default."""
    if value is None or (name in CHOICES and value == CHOICES[name][0]):
        return None
    if name in ("pair", "start", "lit") and not isinstance(value, str):
        return ("," if name == "lit" else ":").join(map(str, value))
    return str(value)


def show_attention(page: str, source: AttentionSource, *, dark: bool, newest: bool = True) -> tuple[Selection, Head]:
    """Draw the attention view alone; returns what is selected, and the numbers of that head. newest: outline the last
    query, and of a long text show the end."""
    selection, drawn = _selection_in_range(page, source, newest=newest)
    head, key = head_of(drawn, selection), f"{page}_attention"
    _attention_view(key=key, on_selection_change=partial(_take_selection, page, key),
                    data=_message(page, source, selection, head, dark=dark, newest=newest))
    return selection, head


def show_step_view(page: str, source: AttentionSource, step_view: StepView, *, dark: bool, newest: bool = True,
                   describe: Callable[[Selection, Head], str] | None = None,
                   coming: Sequence[tuple[str, str]] = (), tip: Step | None = None, sampling: Sampling = GREEDY,
                   on_class: Callable[[int], None] | None = None, on_branch: Callable[[int], None] | None = None,
                   on_change: Callable[[Mapping[str, object]], None] | None = None) -> tuple[Selection, Head]:
    """Draw the step view; returns what is selected, and the numbers of that head.

    newest: as for `show_attention`. describe: makes the sentence for screen readers. coming: tokens that will be read,
    and what is predicted from each. tip: the last step known, with which a film ends; sampling: how its steps were
    chosen. on_class and on_branch are called with the number of what was clicked, on_change with what is asked of the
    cell or the head that was pressed.
    """
    state = st.session_state
    if state.pop(CELL_CHOSEN, False):
        st.rerun()  # the whole page, which waits for it, and not the fragment alone
    selection, drawn = _selection_in_range(page, source, newest=newest)
    head = head_of(drawn, selection)
    if describe:
        step_view = replace(step_view, said=describe(selection, head))
    filmed = tip if tip is not None and cells_of(tip) <= WHOLE_PAGE else None
    wants_film = Drawn.film.pop(page)
    film = whole(filmed, selection, path=path_of(filmed, sampling)) if filmed is not None and wants_film else None
    step_view = replace(step_view, hide=bool(Drawn(page).hide), films=filmed is not None,
                        changes=on_change is not None)
    if state.get(WALL):  # on which nobody steps
        step_view = replace(step_view, steps=None, plays=0, films=False, changes=False)
    key = _key(page)
    _step_view(key=key, on_move_change=lambda: None, on_selection_change=partial(_take_selection, page, key),
               on_film_change=partial(Drawn.film.put, page, True),
               on_choose_change=partial(_take_choice, key, {"nth": on_class, "branch": on_branch}),
               on_what_if_change=partial(_take_change, key, on_change),
               data=_message(page, source, selection, head, dark=dark, newest=newest, coming=coming,
                             more=None if film is None else {"film": np.frombuffer(film, np.uint8)},
                             step_view=step_view.sent()))
    return selection, head


def _key(page: str) -> str:
    """The key of the step view; `<page>_stage` is which stage of the softmax is selected."""
    return f"{page}_screen"


def _message(page: str, source: AttentionSource, selection: Selection, head: Head, *, dark: bool, newest: bool,
             coming: Sequence[tuple[str, str]] = (), more: Mapping[str, np.ndarray] | None = None,
             **header: Any) -> bytes:
    """What the script draws. coming and more: as `live` takes them; header: more fields of the header."""
    state = Drawn(page)
    coming = coming if selection.tokens != "words" and selection.special == "shown" else ()
    merged, selection = in_words(source, selection)
    drawn = window(merged, selection.start, last=newest)
    head = head if merged is source else head_of(drawn, selection)
    before = state.pooled
    pooled = before[selection.kind] = Pooled.of(merged, selection.kind, before.get(selection.kind))
    ends = newest and at_end(drawn, selection.kind)  # the newest query is among those drawn
    if leading():
        keep_picture(page, small(drawn, selection, pooled, head, newest=ends, coming=coming, **_for_room(header)),
                     header.get("step_view", {}).get("said", ""))
    of_model, arrays = model_message(drawn, selection, pooled=before, before=state.carried)
    return live(drawn, selection, pooled, head=head, dark=dark, newest=ends, large=presenting(page), coming=coming,
                answered=state.selection_answered, more={**(more or {}), **arrays}, **of_model,
                **header)


def _for_room(header: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a step view that those see who do not step."""
    if "step_view" not in header:
        return {}
    step_view = {name: value for name, value in header["step_view"].items() if name not in STEPPING}
    if step_view["hide"]:  # what comes next is not even sent
        rows = [row | {"tokens": row["tokens"][:row.get("predicted")]} for row in step_view["rows"]]
        step_view |= {"bars": None, "rows": rows}
    return {"step_view": step_view}


def cells_of(source: AttentionSource) -> int:
    """How many weights all heads of all kinds have."""
    sizes = [shape(source, kind) + tuple(map(len, source.axes(kind))) for kind in source.kinds]
    return sum(int(np.prod(size)) for size in sizes)


def steps_of(page: str, *, index: int, last: int | None, going: bool = False) -> Steps:
    """What the step controls are sent. opened: the step at which the text opened; going: the decoding is still on its
    way to where a press led."""
    state = Drawn(page)
    return {"page": page, "index": index, "last": last, "decoding": state.decodings, "opened": state.opened,
            "answered": state.answered, "farthest": FARTHEST, "going": going}


def move_of(page: str) -> dict | None:
    """What the step controls sent: {index, number, decoding, from, choices}; None where that is malformed."""
    sent = st.session_state.get(_key(page))
    move = sent.get("move") if isinstance(sent, Mapping) else None
    if not _are_counts(move, "index", "number"):
        return None
    choices = move.get("choices", ())
    return dict(move, decoding=move.get("decoding") if _are_counts(move, "decoding") else None,
                **{"from": move["from"] if _are_counts(move, "from") else 0},
                choices=[one for one in choices[-MOST_CHOICES:] if _are_counts(one, "number", "at", "nth")]
                if isinstance(choices, list) else [])


def _take_choice(key: str, handlers: Mapping[str, Callable[[int], None] | None]) -> None:
    """Call the handler of the class or branch that was clicked."""
    sent = st.session_state[key].get("choose")
    for name, handle in handlers.items():
        if handle and _are_counts(sent, name):
            handle(sent[name])


def _take_change(key: str, handle: Callable[[Mapping[str, object]], None] | None) -> None:
    """Hand on what was asked of a cell or a head."""
    asked = st.session_state[key].what_if
    if handle and _are_counts(asked, "layer", "head", "query", "key"):
        handle(asked)


def _take_selection(page: str, key: str) -> None:
    """Take over what was selected in the component of that key."""
    state = st.session_state
    selection = state[key].selection
    if not _are_counts(selection, "number"):
        return
    drawn = Drawn(page)
    drawn.selection, drawn.selection_answered = _selection_of(selection), selection["number"]
    state[CELL_CHOSEN] = selection.get("pair") is not None and state.get(CELL_ASKED) == page


def _are_counts(sent: object, *names: str) -> TypeGuard[Mapping[str, Any]]:
    """Whether these fields of a message are whole numbers that a browser counts to."""
    return isinstance(sent, Mapping) and all(
        isinstance(sent.get(name), int) and 0 <= sent[name] < 10 ** 9 for name in names)
