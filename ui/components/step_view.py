"""The step view: the step controls, the tokens, one head large, all heads, and what may come next, on one screen.

What it asks for comes back as the state of the component `<page>_screen`: `move` (the place that presses add up to, and
the candidates chosen on the way), `look` (what of the attention is looked at) and `choose` (a class, or a branch).
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
import streamlit as st

from transformer.attention_view.heads import AttentionSource, Head
from transformer.attention_view.message import Selection, whole
from transformer.attention_view.script_bundle import JS
from transformer.attention_view.step_view import StepView, path_of
from transformer.inference.decoding import GREEDY, Sampling, Step
from ui.components.attention_view import TELL, WHOLE_PAGE, cells_of, message_of, take_selection
from ui.components.scripts import component
from ui.page.publish import WALL

MOST_CHOICES = 20  # of one message, the last: more than anybody presses while a page is behind
FARTHEST = 200  # steps that "last" goes at most
# what stands there until the script has come: the step view's own size, so that nothing moves when it does
BONES = ('<div class="step-view" style="min-height: max(430px, calc(100dvh - 190px)); border-radius: 8px; '
         'background: rgba(128, 128, 128, .08)"></div>')

_step_view = component("step_view", JS / "step_view.js", BONES)


def show_step_view(page: str, shown: AttentionSource, selection: Selection, head: Head, step_view: StepView, *,
               dark: bool, coming: Sequence[tuple[str, str]] = (), newest: bool = True,
               on_choose: Callable[[int], None] | None = None, on_branch: Callable[[int], None] | None = None,
               tip: Step | None = None, sampling: Sampling = GREEDY) -> None:
    """Draw it. coming: tokens that will be read, and what is predicted from each; newest: outline the last query;
    on_choose and on_branch: told which class was clicked, and which other branch; tip: the last step known, to which a
    film goes, and sampling: how its steps were chosen."""
    if st.session_state.pop(TELL, False):
        st.rerun()  # all of the page, and not what a step changes alone
    films = tip is not None and cells_of(tip) <= WHOLE_PAGE
    asked = st.session_state.pop(f"{page}_film", False)
    film = whole(tip, selection, path=path_of(tip, sampling)) if films and asked else None
    more = None if film is None else {"film": np.frombuffer(film, np.uint8)}
    sent = step_view.sent() | {"hide": bool(st.session_state.get(f"{page}_hide")), "films": films}
    if st.session_state.get(WALL):  # on which nobody steps
        sent |= {"steps": None, "plays": 0, "films": False}
    _step_view(key=_key(page), on_move_change=lambda: None,
           on_selection_change=partial(take_selection, page, _key(page)),
           on_film_change=partial(st.session_state.update, {f"{page}_film": True}),
           on_choose_change=partial(_chose, page, {"nth": on_choose, "branch": on_branch}),
           data=message_of(page, shown, selection, head, dark=dark, newest=newest, coming=coming, more=more,
                           step_view=sent))


def _key(page: str) -> str:
    """The component's; `<page>_stage` is which stage of the softmax is looked at."""
    return f"{page}_screen"


def steps_of(page: str, *, index: int, last: int | None, going: bool = False) -> dict[str, object]:
    """What the controls are told of a decoding; going: it is still on its way."""
    state = st.session_state
    return {"page": page, "index": index, "last": last, "decoding": state[f"{page}_decodings"],
            "answered": state.get(f"{page}_answered", 0), "farthest": FARTHEST, "going": going}


def move_of(page: str) -> dict | None:
    """What the controls have sent: {index, number, decoding, from, choices}; None where it is not what they send."""
    sent = st.session_state.get(_key(page))
    move = sent.get("move") if isinstance(sent, Mapping) else None
    if not isinstance(move, Mapping) or not _whole(move, "index", "number"):
        return None
    choices = move.get("choices", ())
    return dict(move, decoding=move.get("decoding") if _whole(move, "decoding") else None,
                **{"from": move["from"] if _whole(move, "from") else 0},
                choices=[one for one in choices[-MOST_CHOICES:] if _whole(one, "number", "at", "nth")]
                if isinstance(choices, list) else [])


def _chose(page: str, told: Mapping[str, Callable[[int], None] | None]) -> None:
    sent = st.session_state[_key(page)].get("choose")
    for name, tell in told.items():
        if tell and _whole(sent, name):
            tell(sent[name])


def _whole(sent: object, *names: str) -> bool:
    """Whether these of what was sent are whole numbers that a browser counts to."""
    return isinstance(sent, Mapping) and all(
        isinstance(sent.get(name), int) and 0 <= sent[name] < 10 ** 9 for name in names)


