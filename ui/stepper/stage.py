"""The stage of a walk: its tokens, what may come next, and where it stands, for the one component that draws them."""

from collections.abc import Mapping, Sequence
from functools import partial

import streamlit as st

from transformer.attention_view.heads import Head
from transformer.attention_view.message import Look
from transformer.attention_view.stage import Bar, Bars, Row, Stage, candidate_bars
from transformer.inference.decoding import Sampling
from ui.components.stage import show_stage, steps_of
from ui.figures import head_label, percent, plain_label
from ui.say import end_of
from ui.stepper.moves import sampling_of, switch_to
from ui.stepper.walk import Walk

HELP = ("Orange: the model's choice. Click another token, or press its number, to make the model write that instead. "
        "Your earlier version is kept as a branch.")


def source_row(walk: Walk, *, label: str) -> Row:
    """What the encoder reads."""
    step = walk.step
    read = step.axes("cross")[1]
    return Row(label=label, name="source tokens", part="source",
               tokens=[*(piece.text for piece in step.source), read[-1]],  # it reads an end token after them
               unknown=_unknown(walk))


def target_row(walk: Walk, *, label: str, name: str = "target tokens") -> Row:
    """What the decoder has read, the token predicted, and those known to come."""
    step = walk.step
    read = step.axes("decoder")[0]
    prompt = len(read) - step.index  # the start token, or the text typed
    shown = read if step.src is not None else [
        step.source[at].text if at in _unknown(walk) else piece for at, piece in enumerate(read)]
    return Row(label=label, name=name, part="target", tokens=[*shown, step.piece, *walk.after], predicted=len(read),
               unknown=() if step.src is not None else _unknown(walk), picked=[prompt + at for at in walk.picks])


def _unknown(walk: Walk) -> list[int]:
    return [at for at, piece in enumerate(walk.step.source) if piece.unknown]


def bars_of(walk: Walk, sampling: Sampling, *, brief: bool = False) -> Bars:
    """The likeliest next tokens."""
    step = walk.step
    candidates, excluded = walk.candidates(sampling)
    given = f"at temperature {sampling.temperature:g}" if sampling.temperature else ""
    rows = [Bar(label=one.piece, probability=one.probability, chosen=one.id == step.id, excluded=one.id in excluded)
            for one in candidates]
    note = "Click the word you doubt." if brief else ""
    if step.full and step.id != step.ckpt.config.eos_id:
        note = f"Context full: this model reads at most {step.ckpt.config.max_len:,} tokens."
    return candidate_bars(step, rows, label=f"next tokens {given}".strip(), note=note or given.capitalize(), help=HELP,
                          hint=f"Choose this token and go on from it. {_why(walk, sampling)}")


def _why(walk: Walk, sampling: Sampling) -> str:
    """Why the chosen token is the one chosen."""
    step = walk.step
    if step.index in walk.picks:
        return "Orange: the token you chose."
    if step.id == step.likeliest:
        return "Orange: the model's choice, the likeliest token."
    at = f"temperature {sampling.temperature:g}" if sampling.temperature else "another temperature"
    return f"Orange: the model's choice, sampled at {at}."


def said_of(walk: Walk, look: Look, head: Head) -> str:
    """One step in a sentence, for who cannot see it."""
    step, keys = walk.step, walk.step.axes(look.kind)[1]
    row = head.weights[-1]
    likely = next((one.probability for one in step.top(10) if one.id == step.id), 0.0)
    which = head_label(look.layer, look.head) if look.of == "head" else "the mean"
    return (f"Step {step.index}: {plain_label(step.piece)}, {percent(likely)}; {which} looks most at "
            f"{plain_label(keys[int(row.argmax())])}, {row.max():.2f}")


def show_walk(page: str, walk: Walk, look: Look, head: Head, *, rows: Sequence[Row], text: Mapping[str, object] | None,
              dark: bool, brief: bool = False, plays: int = 0) -> None:
    """The stage of a page that steps through a text. plays: steps that it takes by itself when it is first seen."""
    branches = [end_of(branch.tip.output) for branch in (walk.branch, *walk.others)] if walk.others else []
    bars = bars_of(walk, sampling_of(page), brief=brief)
    stage = Stage(rows=rows, said=said_of(walk, look, head), bars=bars, text=text, branches=branches, brief=brief,
                  plays=plays, steps=steps_of(page, index=walk.index, last=walk.last))
    show_stage(page, walk.step, look, head, stage, dark=dark, tip=walk.branch.tip, on_branch=partial(_switch, page),
               coming=list(zip(walk.coming, walk.after, strict=True)))


def _switch(page: str, at: int) -> None:
    if at < len(st.session_state[f"{page}_walk"].others):
        switch_to(page, at)
