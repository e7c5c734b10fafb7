"""The stage: the step controls, the tokens, one head large, all heads, and what may come next, on one screen.

What it asks for comes back as the state of the component `<page>_screen`: `move` (the place that presses add up to, and
the candidates chosen on the way), `look` (what of the attention is looked at) and `choose` (a class, or a branch).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial

import streamlit as st

from transformer.attention_view.heads import Head, Shown
from transformer.attention_view.message import Look
from transformer.attention_view.modules import JS
from ui.components.attention_view import looked, message_of
from ui.components.scripts import component

FARTHEST = 200  # steps that "last" goes at most
# what stands there until the script has come: the stage's own size, so that nothing moves when it does
BONES = ('<div class="stage" style="min-height: max(430px, calc(100dvh - 190px)); border-radius: 8px; '
         'background: rgba(128, 128, 128, .08)"></div>')

_stage = component("stage", JS / "stage.js", BONES)


@dataclass(frozen=True, kw_only=True)
class Row:
    """One row of tokens. name: for a screen reader; part: "source" or "target"; weights: those of the chosen head, by
    which tokens are shaded; predicted: from where on nothing has been read yet; picked: what the reader chose; added:
    in place of weights what each adds to `adds_to`; wraps: on several lines."""

    label: str
    name: str
    part: str
    tokens: Sequence[str]
    weights: Sequence[float] | None = None
    unknown: Sequence[int] = ()
    predicted: int | None = None
    picked: Sequence[int] = ()
    added: Sequence[float] | None = None
    adds_to: str = ""
    wraps: bool = False


@dataclass(frozen=True, kw_only=True)
class Bar:
    """One candidate or class."""

    label: str
    probability: float
    percent: str
    chosen: bool = False
    excluded: bool = False


@dataclass(frozen=True, kw_only=True)
class Bars:
    """What may come next, or the classes of a text. rest: the probability of all that have no bar; label: for a screen
    reader; keys: each is chosen by a digit; least: how many are there however unlikely; most: how many there is room
    for; tokens: their labels are tokens."""

    title: str
    label: str
    rows: Sequence[Bar]
    rest: float | None = None
    least: int = 4
    most: int = 10
    keys: bool = True
    tokens: bool = True
    hint: str = "choose this token"
    help: str = ""
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Stage:
    """All that stands round the attention. said: a sentence for a screen reader; text: what is written so far, or known
    of what is read; steps: where a walk is, for the controls; branches: how each version of the text ends, the one
    looked at first; brief: with little besides, for a first look; plays: steps that it takes by itself then."""

    rows: Sequence[Row]
    said: str
    bars: Bars | None = None
    text: Mapping[str, object] | None = None
    steps: Mapping[str, object] | None = None
    branches: Sequence[str] = ()
    brief: bool = False
    plays: int = 0


def show_stage(page: str, shown: Shown, look: Look, head: Head, stage: Stage, *, dark: bool,
               coming: Sequence[tuple[str, str]] = (), newest: bool = True,
               on_choose: Callable[[int], None] | None = None,
               on_branch: Callable[[int], None] | None = None) -> None:
    """Draw it. coming: tokens that will be read, and what is predicted from each; newest: outline the last query;
    on_choose and on_branch: told which class was clicked, and which other branch."""
    sent = {**asdict(stage), "rows": [_row(row) for row in stage.rows],
            "hide": bool(st.session_state.get(f"{page}_hide"))}
    _stage(key=_key(page), on_move_change=lambda: None, on_look_change=partial(looked, page, _key(page)),
           on_choose_change=partial(_chose, page, {"nth": on_choose, "branch": on_branch}),
           data=message_of(page, shown, look, head, dark=dark, newest=newest, coming=coming, stage=sent))


def _key(page: str) -> str:
    """The component's; `<page>_stage` is which stage of the softmax is looked at."""
    return f"{page}_screen"


def _row(row: Row) -> dict[str, object]:
    if row.weights is not None:
        row = replace(row, weights=[round(float(weight), 4) for weight in row.weights])
    return {name: value for name, value in asdict(row).items() if value is not None}


def steps_of(page: str, *, index: int, last: int | None) -> dict[str, object]:
    """What the controls are told of a walk."""
    state = st.session_state
    return {"index": index, "last": last, "walk": state[f"{page}_walks"], "answered": state.get(f"{page}_answered", 0),
            "farthest": FARTHEST}


def move_of(page: str) -> dict | None:
    """What the controls have sent: {index, number, walk, from, choices}; None where it is not what they send."""
    sent = st.session_state.get(_key(page))
    move = sent.get("move") if isinstance(sent, Mapping) else None
    if not isinstance(move, Mapping) or not _whole(move, "index", "number"):
        return None
    choices = move.get("choices", ())
    return dict(move, walk=move.get("walk") if _whole(move, "walk") else None,
                **{"from": move["from"] if _whole(move, "from") else 0},
                choices=[one for one in choices if _whole(one, "number", "at", "nth")]
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


