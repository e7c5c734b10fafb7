"""The decoding of a page: opened, moved as the step controls ask, kept in the session, and drawn."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, fields, replace
from functools import partial
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary

import streamlit as st
from streamlit.errors import StreamlitAPIException

from transformer.attention_view.decoding_parts import bars_of
from transformer.attention_view.heads import Head
from transformer.attention_view.message import newest_row
from transformer.attention_view.message_fields import Row, Selection, StepView, Text
from transformer.attention_view.selected import in_range
from transformer.basics.formatting import in_percent
from transformer.checkpoints.checkpoint import Checkpoint
from transformer.inference.changed import Changes
from transformer.inference.decoding import Sampling, Step
from transformer.inference.decoding_tree import FORESEEN, Choice, DecodingTree, Progress, begin, go
from ui.components.attention_view import Drawn, move_of, show_step_view, steps_of
from ui.figures import head_label, part_of_one, spoken_label
from ui.page.link import end_page
from ui.page.plain_text import end_of, say_error
from ui.state.caches import made_once
from ui.state.page_state import Kept
from ui.state.work_queue import heavy
from ui.views.stepper import what_if

SHARED = 200  # characters of a text, and steps, up to which it is opened once for all who come to it
TURN = 10.0  # seconds that an opening waits at most for those before it
_turns: WeakKeyDictionary[Checkpoint, Lock] = WeakKeyDictionary()  # held by who opens a text with it now


@dataclass(frozen=True)
class _Move:
    """The move under way, by its number, and how far it has come."""

    number: int
    progress: Progress


class Decoded(Drawn):
    """What is kept of a decoding."""

    decoding: Kept[DecodingTree[Step] | None] = Kept(None)  # the one under way
    changed_by: Kept[list[dict[str, Any]]] = Kept([])  # the changes that it is made under
    sampled: Kept[Sampling | None] = Kept(None)  # how its tokens were chosen
    progress: Kept[_Move | None] = Kept(None)  # None where everything asked for is on the screen


def sampling_of(page: str) -> Sampling:
    """What the sampling widgets are set to; they stand further down the page."""
    return Sampling.of({field.name: Kept(None, name=field.name).of(page) for field in fields(Sampling)})


def decoding_of(page: str) -> DecodingTree[Step] | None:
    """The decoding under way."""
    return Decoded(page).decoding


def keep_decoding(page: str, decoding: DecodingTree[Step]) -> DecodingTree[Step]:
    """Make this the decoding under way."""
    Decoded(page).decoding = decoding
    return decoding


def forget_decoding(page: str) -> None:
    """Have `current_decoding` begin another."""
    Decoded.decoding.pop(page)


def current_decoding(page: str, ckpt: Checkpoint, text: str, arrival: Mapping[str, Any] | None, *,
                     opening: int | None) -> DecodingTree[Step]:
    """The decoding of a text: the one under way, moved as the controls ask, or a new one where text or checkpoint
    changed; ends the page with a sentence where the text cannot be read.

    arrival: the values of the link by which somebody came; only a page's first decoding begins as they say. opening:
    the step at which a text opens; None for its last, and then a branch is always decoded to its end, so that all of
    what comes can be seen.
    """
    _forget_places_of_another_text(page, text)
    try:
        changes = what_if.fitting(page, ckpt, text)
        # some need the whole text as it is at every step
        with heavy("Decoding under these changes") if changes.grows else nullcontext():
            return _current(page, ckpt, text, arrival, opening=opening, changes=changes)
    except ValueError as error:
        forget_decoding(page)
        say_error(error)
        if what_if.changes_of(page):
            what_if.offer_way_back(page)
        end_page()


def _forget_places_of_another_text(page: str, text: str) -> None:
    """Takes off changes that name tokens of the text before, where another has been typed."""
    decoding = decoding_of(page)
    if decoding is not None and decoding.step.text != text:
        what_if.forget_places(page)


def _current(page: str, ckpt: Checkpoint, text: str, arrival: Mapping[str, Any] | None, *, opening: int | None,
             changes: Changes) -> DecodingTree[Step]:
    """See `current_decoding`. Raises ValueError for a text that cannot be read, and for what changes make of it."""
    state, sampling = Decoded(page), sampling_of(page)
    decoding, move, under = decoding_of(page), move_of(page), what_if.changes_of(page)
    arrival = None if decoding else arrival
    new = False
    if decoding is None or decoding.step.ckpt.id != ckpt.id or decoding.step.text != text:
        new = True
        decoding = _opened(ckpt, text, arrival, sampling, FORESEEN if opening is None else opening, changes)
        state.decodings, state.opened = state.decodings + 1, decoding.index
    elif under != state.changed_by:
        decoding = begin(ckpt, text, sampling=sampling, choices=decoding.branch.choices, index=decoding.index,
                         change=changes)
    elif sampling != state.sampled:
        decoding = decoding.anew(sampling)
    state.changed_by = under
    progress = None if new or not move else Decoded(page).progress
    if move and not arrival and move["number"] != state.answered:
        # the next portion of the same move begins when this one has been drawn
        if progress is None or progress.number != move["number"]:
            decoding, progress = _moved(page, decoding, move, sampling, progress)
    else:
        decoding, progress = decoding if new else decoding.settled(sampling), None
    if opening is None and progress is None:
        decoding = decoding.foreseen(sampling)
    state.sampled = sampling
    _keep(page, decoding, progress, move)
    return decoding


def show_decoding(page: str, decoding: DecodingTree[Step], *, rows: Sequence[Row], text: Text | None,
                  dark: bool, brief: bool = False, plays: int = 0) -> tuple[Selection, Head]:
    """Draw the step view of a decoding; returns what is selected in it, and the numbers of that head. text: what is
    written so far. brief: with little besides, for a first look; plays: steps that it then takes by itself."""
    branches = [end_of(branch.tip.output) for branch in (decoding.branch, *decoding.others)] if decoding.others else []
    sampling, hidden = sampling_of(page), bool(Decoded(page).hide)
    if hidden:
        text, branches = text and _until(decoding.step, text), []
    step_view = StepView(rows=rows, text=text, branches=branches, brief=brief, plays=plays,
                         bars=bars_of(decoding, sampling, brief=brief),
                         steps=steps_of(page, index=decoding.index, last=decoding.last,
                                        going=Decoded(page).progress is not None))
    return show_step_view(page, decoding.step, step_view, dark=dark, tip=decoding.branch.tip, sampling=sampling,
                          describe=partial(_describe, decoding, sampling, hidden=hidden),
                          coming=list(zip(decoding.coming, decoding.after, strict=True)),
                          on_branch=partial(_switch, page),
                          on_change=None if brief else partial(what_if.take, page))


def _keep(page: str, decoding: DecodingTree[Step], progress: _Move | None, move: dict | None) -> None:
    """Keep the decoding, then how far a move has come: a run that is cut short between the two goes to the same place
    again."""
    state = Decoded(page)
    state.decoding = decoding
    state.progress = progress
    if move and progress is None:
        state.answered = move["number"]


@contextmanager
def turn(ckpt: Checkpoint) -> Iterator[None]:
    """Open one text after another with one model, for many at once all take twice as long. Nobody waits longer than
    `TURN`."""
    lock = _turns.setdefault(ckpt, Lock())
    mine = lock.acquire(timeout=TURN)
    try:
        yield
    finally:
        if mine:
            lock.release()


def _opened(ckpt: Checkpoint, text: str, arrival: Mapping[str, Any] | None, sampling: Sampling,
            most: int, changes: Changes) -> DecodingTree[Step]:
    """A text at the step of its address, else with as much written as there is to be when it opens."""
    at = arrival["step"] if arrival else None
    choices = dict((arrival["choices"] if arrival else None) or {})
    under = [change.to_json() for change in changes.items]

    def opened() -> DecodingTree[Step]:
        decoding = begin(ckpt, text, sampling=sampling, choices=choices, index=at or 0, change=changes)
        return decoding.foreseen(sampling, most=most) if at is None else decoding

    with st.spinner(f"Writing up to step {at:,}…" if at else "Reading the text…", show_time=True):  # if it takes long
        short = len(text) <= SHARED and (at or 0) <= SHARED
        if short:
            with turn(ckpt):
                decoding = made_once(repr((ckpt.id, text, sampling, choices, at, most, under)), opened)
        else:  # which nobody waits for
            decoding = opened()
        if at is None:
            decoding = decoding.foreseen(sampling, most=most)  # all of it, where whoever was first ran out of patience
            decoding = decoding.to(decoding.branch.tip.index, sampling)
    return decoding


def untouched(page: str) -> Step | None:
    """The last step of a text as the model writes it by itself; None where somebody chose or sampled, and before its
    end is known."""
    decoding = decoding_of(page)
    if decoding is None or decoding.last is None or decoding.branch.choices or sampling_of(page).temperature or (
            decoding.step.change):
        return None
    return decoding.branch.tip


def show_what_if(page: str, decoding: DecodingTree[Step]) -> None:
    """What can be changed in the model, what is, and where it is the text as it is beside the changed one."""
    step = decoding.step
    with st.container(key=f"{page}_whatif_box"):
        what_if.offer(page, step, in_range(Decoded(page).selection, step, newest=True)[0])
        if step.change:
            sampling = sampling_of(page)
            before = _opened(step.ckpt, step.text, {"step": None, "choices": decoding.branch.choices}, sampling,
                             FORESEEN, Changes(step.ckpt, []))
            what_if.say_unreached(decoding.branch.tip)
            what_if.show_both(page, before.steps, step, decoding.steps, sampling)


def go_on(page: str) -> None:
    """Go on with a long move, once its last portion has been drawn; the last call of a fragment."""
    decoding, move, progress = decoding_of(page), move_of(page), Decoded(page).progress
    if decoding is None or move is None or progress is None:
        return
    _keep(page, *_moved(page, decoding, move, sampling_of(page), progress), move)
    try:
        st.rerun(scope="fragment")
    except StreamlitAPIException:  # the whole page is being drawn, and not the fragment alone
        st.rerun()


def _moved(page: str, decoding: DecodingTree[Step], move: dict, sampling: Sampling,
           under_way: _Move | None) -> tuple[DecodingTree[Step], _Move | None]:
    """Go where a move leads; where that takes long, a portion of it, and how far that is."""
    state = Decoded(page)
    # pressed while another text was on the screen: counts from where this one opens
    other = move["decoding"] not in (None, state.decodings)
    origin = move["from"] - state.opened if other else 0
    progress = Progress() if under_way is None else under_way.progress
    progress = replace(progress, chosen=max(progress.chosen, state.answered))
    choices = [Choice(one["number"], one["at"] - origin, one["nth"]) for one in move["choices"]]
    decoding, progress = go(decoding, move["index"] - origin, choices, sampling, progress)
    return decoding, None if progress is None else _Move(move["number"], progress)


def go_to(page: str, step: Step | None) -> None:
    """Look at a step that was made elsewhere; at the first of all for None."""
    decoding = decoding_of(page)
    if decoding is not None:
        keep_decoding(page, decoding.to(0, sampling_of(page)) if step is None else decoding.visit(step))


def _until(step: Step, text: Text) -> Text:
    """The text so far without what is predicted now, and without what it is compared with."""
    before = step.parent.output if step.parent else ""
    if step.src is None:
        before = step.parent.whole if step.parent else step.text
    return {"label": text.get("label", ""), "written": before, "coming": "", "lines": text.get("lines", False)}


def _describe(decoding: DecodingTree[Step], sampling: Sampling, selection: Selection, head: Head, *,
              hidden: bool) -> str:
    """One step in a sentence, for screen readers."""
    step, keys = decoding.step, decoding.step.axes(selection.kind)[1]
    row = newest_row(step, selection, head)
    one = head_label(selection.layer, selection.head)
    which = {"head": one, "rollout": "the rollout"}.get(selection.of, "the mean")
    token = "hidden" if hidden else f"{spoken_label(step.piece)}, {in_percent(step.probability(sampling))}"
    most = spoken_label(keys[int(row.argmax())])
    return f"Step {step.index}: {token}; {which} looks most at {most}, {part_of_one(row.max())}"


def _switch(page: str, at: int) -> None:
    """Look at another branch, by its place among the others."""
    decoding = decoding_of(page)
    if decoding is not None and at < len(decoding.others):
        keep_decoding(page, decoding.switch(decoding.others[at]))
