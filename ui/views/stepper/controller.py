"""The decoding of a page: begun, kept, and moved as the controls ask, here alone."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary

import streamlit as st
from streamlit.errors import StreamlitAPIException

from transformer.checkpoint import Checkpoint
from transformer.inference.decoding import Sampling, Step
from ui.components.step_view import FARTHEST, move_of
from ui.page.link import end_page
from ui.page.plain_text import say_error
from ui.state.caches import made_once
from ui.views.stepper.decoding_tree import FORESEEN, PORTION, DecodingTree, begin

SHARED = 200  # characters of a text, and steps, up to which it is opened once for all who come to it
TURN = 10.0  # seconds that an opening waits at most for those before it
_turns: WeakKeyDictionary[Checkpoint, Lock] = WeakKeyDictionary()  # held by who opens a text with it now


@dataclass(frozen=True)
class _Way:
    """What has been done of a move that takes more than one portion."""

    number: int  # of the move
    chosen: int = 0  # the number of the last candidate chosen
    farthest: int | None = None  # the step that the part of it under way ends at, at most


def sampling_of(page: str) -> Sampling:
    """What the sampling widgets are set to; they stand further down the page."""
    return Sampling.of({field.name: st.session_state.get(f"{page}_{field.name}") for field in fields(Sampling)})


def decoding_of(page: str) -> DecodingTree | None:
    """The decoding under way."""
    return st.session_state.get(f"{page}_decoding")


def keep_decoding(page: str, decoding: DecodingTree) -> DecodingTree:
    """Make this the decoding under way."""
    st.session_state[f"{page}_decoding"] = decoding
    return decoding


def forget_decoding(page: str) -> None:
    """Have `follow` begin another."""
    st.session_state.pop(f"{page}_decoding", None)


def follow(page: str, ckpt: Checkpoint, text: str, arrival: Mapping[str, Any] | None, *,
           opening: int | None) -> DecodingTree:
    """The decoding to show: the one under way moved as the controls ask, or a new one where text or checkpoint changed;
    stops the page with a sentence where the text cannot be read.

    arrival: the values of the address by which somebody has just come. opening: the step at which a text opens; None
    for its last, and then a branch is always decoded to its end, so that the whole of it can be seen coming.
    """
    state, sampling = st.session_state, sampling_of(page)
    decoding, move = decoding_of(page), move_of(page)
    new = decoding is None or decoding.step.ckpt is not ckpt or decoding.step.text != text
    if new:
        try:
            decoding = _opened(ckpt, text, arrival, sampling, FORESEEN if opening is None else opening)
        except ValueError as error:
            forget_decoding(page)
            say_error(error)
            end_page()
        state[f"{page}_decodings"], state[f"{page}_opened"] = state.get(f"{page}_decodings", 0) + 1, decoding.index
    elif sampling != state[f"{page}_sampled"]:
        decoding = decoding.anew(sampling)
    way = None if new or not move else way_of(page)
    if move and not arrival and move["number"] != state.get(f"{page}_answered", 0):
        if way is None or way.number != move["number"]:  # else its next portion begins when this one has been drawn
            decoding, way = _moved(page, decoding, move, sampling, way)
    else:
        decoding, way = decoding if new else decoding.settled(sampling), None
    if opening is None and way is None:
        decoding = decoding.foreseen(sampling)
    state[f"{page}_sampled"] = sampling
    _keep_move(page, decoding, way, move)
    return decoding


def _keep_move(page: str, decoding: DecodingTree, way: _Way | None, move: dict | None) -> None:
    """Keeps the decoding, then what of a move has been done: a run that is cut short between the two goes to the same
    place again."""
    state = st.session_state
    keep_decoding(page, decoding)
    state[f"{page}_way"] = way
    if move and way is None:
        state[f"{page}_answered"] = move["number"]


@contextmanager
def turn(ckpt: Checkpoint) -> Iterator[None]:
    """One opening after another with one model, for many at once take twice as long, all of them; a slow model is
    waited for so long and no longer."""
    lock = _turns.setdefault(ckpt, Lock())
    mine = lock.acquire(timeout=TURN)
    try:
        yield
    finally:
        if mine:
            lock.release()


def _opened(ckpt: Checkpoint, text: str, arrival: Mapping[str, Any] | None, sampling: Sampling,
            most: int) -> DecodingTree:
    """A text at the step of its address, else with as much written as there is to be when it opens."""
    at = arrival["step"] if arrival else None
    choices = dict((arrival["choices"] if arrival else None) or {})

    def opened() -> DecodingTree:
        decoding = begin(ckpt, text, sampling=sampling, choices=choices, index=at or 0)
        return decoding.foreseen(sampling, most=most) if at is None else decoding

    with st.spinner(f"Writing up to step {at:,}…" if at else "Reading the text…", show_time=True):  # if it takes long
        short = len(text) <= SHARED and (at or 0) <= SHARED
        if short:
            with turn(ckpt):
                decoding = made_once(repr((id(ckpt), text, sampling, choices, at, most)), opened)
        else:  # which nobody waits for
            decoding = opened()
        if at is None:
            decoding = decoding.foreseen(sampling, most=most)  # all of it, where whoever was first ran out of patience
            decoding = decoding.to(decoding.branch.tip.index, sampling)
    return decoding


def untouched(page: str, decoding: DecodingTree) -> Step | None:
    """The last step of a text as the model writes it by itself; None where somebody chose or sampled, and before its
    end is known."""
    theirs = decoding.branch.choices or sampling_of(page).temperature
    return None if theirs or decoding.last is None else decoding.branch.tip


def way_of(page: str) -> _Way | None:
    """What has been done of a move that is still under way; None where everything asked for is on the screen."""
    return st.session_state.get(f"{page}_way")


def go_on(page: str) -> None:
    """The next portion of a long way, once all of the last one has been drawn; the last call of a fragment."""
    decoding, move, way = decoding_of(page), move_of(page), way_of(page)
    if decoding is None or move is None or way is None:
        return
    _keep_move(page, *_moved(page, decoding, move, sampling_of(page), way), move)
    try:
        st.rerun(scope="fragment")
    except StreamlitAPIException:  # the whole page is being drawn, and not the fragment alone
        st.rerun()


def _moved(page: str, decoding: DecodingTree, move: dict, sampling: Sampling,
           way: _Way | None) -> tuple[DecodingTree, _Way | None]:
    """Candidates chosen at their steps, in the order they were, then the place to look at; where that takes long, a
    portion of it, and what has been done."""
    way = _Way(move["number"]) if way is None else replace(way, number=move["number"])
    state = st.session_state
    # pressed while another text was on the screen: counts from where this one opens
    other = move["decoding"] not in (None, state[f"{page}_decodings"])
    origin = move["from"] - state[f"{page}_opened"] if other else 0
    for choice in move["choices"]:
        if choice["number"] > max(way.chosen, state.get(f"{page}_answered", 0)):
            decoding, way, there = _along(decoding, choice["at"] - origin, sampling, way)
            if not there:
                return decoding, way
            candidates, _ = decoding.candidates(sampling)
            if choice["nth"] < len(candidates):
                decoding = decoding.pick(candidates[choice["nth"]].id, sampling)
            way = _Way(move["number"], chosen=choice["number"])
    decoding, way, there = _along(decoding, move["index"] - origin, sampling, way)
    return decoding, None if there else way


def _along(decoding: DecodingTree, index: int, sampling: Sampling, way: _Way) -> tuple[DecodingTree, _Way, bool]:
    """A portion of the way to a step; and whether that is all of it."""
    farthest = decoding.index + FARTHEST if way.farthest is None else way.farthest
    goal = min(index, farthest)
    decoding = decoding.to(goal, sampling, seconds=PORTION)
    return decoding, replace(way, farthest=farthest), decoding.index >= goal or decoding.last is not None


def go_to(page: str, step: Step | None) -> None:
    """Look at a step that was made elsewhere; at the first of all for None."""
    decoding = decoding_of(page)
    if decoding is not None:
        keep_decoding(page, decoding.to(0, sampling_of(page)) if step is None else decoding.visit(step))


def switch_to(page: str, at: int) -> None:
    """Look at another branch, by its place among the others."""
    decoding = decoding_of(page)
    keep_decoding(page, decoding.switch(decoding.others[at]))
