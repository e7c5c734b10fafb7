"""The walk of a page: the one place that keeps it, moves it as the controls ask, and begins another."""

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
from ui.page.plain_text import say_error
from ui.state.caches import made_once
from ui.views.stepper.decoding_tree import FORESEEN, PORTION, Walk, begin

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


def walk_of(page: str) -> Walk | None:
    """The walk under way."""
    return st.session_state.get(f"{page}_walk")


def keep_walk(page: str, walk: Walk) -> Walk:
    """Make this the walk under way."""
    st.session_state[f"{page}_walk"] = walk
    return walk


def forget_walk(page: str) -> None:
    """Have `follow` begin another."""
    st.session_state.pop(f"{page}_walk", None)


def follow(page: str, ckpt: Checkpoint, text: str, arrival: Mapping[str, Any] | None, *, opening: int | None) -> Walk:
    """The walk to show: the one under way moved as the controls ask, or a new one where text or checkpoint changed;
    stops the page with a sentence where the text cannot be read.

    arrival: the values of the address by which somebody has just come. opening: the step at which a text opens; None
    for its last, and then a branch is always decoded to its end, so that the whole of it can be seen coming.
    """
    state, sampling = st.session_state, sampling_of(page)
    walk, move = walk_of(page), move_of(page)
    new = walk is None or walk.step.ckpt is not ckpt or walk.step.text != text
    if new:
        try:
            walk = _opened(ckpt, text, arrival, sampling, FORESEEN if opening is None else opening)
        except ValueError as error:
            forget_walk(page)
            say_error(error)
            st.stop()
        state[f"{page}_walks"], state[f"{page}_opened"] = state.get(f"{page}_walks", 0) + 1, walk.index
    elif sampling != state[f"{page}_sampled"]:
        walk = walk.anew(sampling)
    way = None if new or not move else way_of(page)
    if move and not arrival and move["number"] != state.get(f"{page}_answered", 0):
        if way is None or way.number != move["number"]:  # else its next portion begins when this one has been drawn
            walk, way = _moved(page, walk, move, sampling, way)
    else:
        walk, way = walk if new else walk.settled(sampling), None
    if opening is None and way is None:
        walk = walk.foreseen(sampling)
    state[f"{page}_sampled"] = sampling
    _keep_move(page, walk, way, move)
    return walk


def _keep_move(page: str, walk: Walk, way: _Way | None, move: dict | None) -> None:
    """The walk, and what of a move has been done: after the walk, for a run that is cut short between the two goes to
    the same place again."""
    state = st.session_state
    keep_walk(page, walk)
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


def _opened(ckpt: Checkpoint, text: str, arrival: Mapping[str, Any] | None, sampling: Sampling, most: int) -> Walk:
    """A text at the step of its address, else with as much written as there is to be when it opens."""
    at = arrival["step"] if arrival else None
    choices = dict((arrival["choices"] if arrival else None) or {})

    def opened() -> Walk:
        walk = begin(ckpt, text, sampling=sampling, choices=choices, index=at or 0)
        return walk.foreseen(sampling, most=most) if at is None else walk

    with st.spinner(f"Writing up to step {at:,}…" if at else "Reading the text…", show_time=True):  # if it takes long
        short = len(text) <= SHARED and (at or 0) <= SHARED
        if short:
            with turn(ckpt):
                walk = made_once(repr((id(ckpt), text, sampling, choices, at, most)), opened)
        else:  # which nobody waits for
            walk = opened()
        if at is None:
            walk = walk.foreseen(sampling, most=most)  # all of it, where whoever was first ran out of patience
            walk = walk.to(walk.branch.tip.index, sampling)
    return walk


def untouched(page: str, walk: Walk) -> Step | None:
    """The last step of a text as the model writes it by itself; None where somebody chose or sampled, and before its
    end is known."""
    theirs = walk.branch.choices or sampling_of(page).temperature
    return None if theirs or walk.last is None else walk.branch.tip


def way_of(page: str) -> _Way | None:
    """What has been done of a move that is still under way; None where everything asked for is on the screen."""
    return st.session_state.get(f"{page}_way")


def go_on(page: str) -> None:
    """The next portion of a long way, once all of the last one has been drawn; the last call of a fragment."""
    walk, move, way = walk_of(page), move_of(page), way_of(page)
    if walk is None or move is None or way is None:
        return
    _keep_move(page, *_moved(page, walk, move, sampling_of(page), way), move)
    try:
        st.rerun(scope="fragment")
    except StreamlitAPIException:  # the whole page is being drawn, and not the fragment alone
        st.rerun()


def _moved(page: str, walk: Walk, move: dict, sampling: Sampling, way: _Way | None) -> tuple[Walk, _Way | None]:
    """Candidates chosen at their steps, in the order they were, then the place to look at; where that takes long, a
    portion of it, and what has been done."""
    way = _Way(move["number"]) if way is None else replace(way, number=move["number"])
    state = st.session_state
    # pressed while another text was on the screen: counts from where this one opens
    other = move["walk"] not in (None, state[f"{page}_walks"])
    origin = move["from"] - state[f"{page}_opened"] if other else 0
    for choice in move["choices"]:
        if choice["number"] > max(way.chosen, state.get(f"{page}_answered", 0)):
            walk, way, there = _along(walk, choice["at"] - origin, sampling, way)
            if not there:
                return walk, way
            candidates, _ = walk.candidates(sampling)
            if choice["nth"] < len(candidates):
                walk = walk.pick(candidates[choice["nth"]].id, sampling)
            way = _Way(move["number"], chosen=choice["number"])
    walk, way, there = _along(walk, move["index"] - origin, sampling, way)
    return walk, None if there else way


def _along(walk: Walk, index: int, sampling: Sampling, way: _Way) -> tuple[Walk, _Way, bool]:
    """A portion of the way to a step; and whether that is all of it."""
    farthest = walk.index + FARTHEST if way.farthest is None else way.farthest
    goal = min(index, farthest)
    walk = walk.to(goal, sampling, seconds=PORTION)
    return walk, replace(way, farthest=farthest), walk.index >= goal or walk.last is not None


def go_to(page: str, step: Step | None) -> None:
    """Look at a step that was made elsewhere; at the first of all for None."""
    walk = walk_of(page)
    if walk is not None:
        keep_walk(page, walk.to(0, sampling_of(page)) if step is None else walk.visit(step))


def switch_to(page: str, at: int) -> None:
    """Look at another branch, by its place among the others."""
    walk = walk_of(page)
    keep_walk(page, walk.switch(walk.others[at]))
