"""The step view of a decoding: its tokens, its candidates, and where it stands."""

from collections.abc import Mapping, Sequence
from functools import partial

import streamlit as st

from transformer.attention_view.heads import Head
from transformer.attention_view.message import Selection, newest_row
from transformer.attention_view.step_view import (
    Bars,
    Row,
    StepView,
    bars,
    candidate_bars,
    probability,
    source_tokens,
    target_tokens,
    unknown,
)
from transformer.inference.decoding import Sampling, Step
from transformer.text.word_pieces import piece_labels
from ui.components.step_view import show_step_view, steps_of
from ui.figures import head_label, part_of_one, percent, spoken_label
from ui.page.plain_text import end_of
from ui.views.stepper.controller import sampling_of, switch_to, way_of
from ui.views.stepper.decoding_tree import DecodingTree

HELP = ("Orange: the model's choice. Click another token, or press its number, to make the model write that instead. "
        "Your earlier version is kept as a branch.")


def source_row(decoding: DecodingTree, *, label: str) -> Row:
    """What the encoder reads."""
    return Row(label=label, name="source tokens", part="source", tokens=source_tokens(decoding.step),
               unknown=unknown(decoding.step))


def target_row(decoding: DecodingTree, *, label: str, name: str = "target tokens") -> Row:
    """What the decoder has read, the token predicted, and those known to come."""
    step, read = decoding.step, target_tokens(decoding.step)
    prompt = len(read) - step.index  # the start token, or the text typed
    return Row(label=label, name=name, part="target", tokens=piece_labels([*read, step.piece, *decoding.after]),
               predicted=len(read),
               unknown=() if step.src is not None else unknown(step), picked=[prompt + at for at in decoding.picks])


def bars_of(decoding: DecodingTree, sampling: Sampling, *, brief: bool = False) -> Bars:
    """The likeliest next tokens."""
    step = decoding.step
    given = f"at temperature {sampling.temperature:g}" if sampling.temperature else ""
    note = given.capitalize()
    if step.full and not step.ckpt.config.ends(step.id):
        note = f"Context full: this model reads at most {step.ckpt.config.max_len:,} tokens."
    return candidate_bars(step, bars(step, sampling), label=f"next tokens {given}".strip(),
                          note=note, help=HELP, invites="Click another word to use it instead." if brief else "",
                          hint=f"Choose this token and continue from it. {_why(decoding, sampling)}")


def _why(decoding: DecodingTree, sampling: Sampling) -> str:
    """Why the chosen token is the one chosen."""
    step = decoding.step
    if step.index in decoding.picks:
        return "Orange: the token you chose."
    if step.id == step.likeliest:
        return "Orange: the model's choice, the likeliest token."
    at = f"temperature {sampling.temperature:g}" if sampling.temperature else "another temperature"
    return f"Orange: the model's choice, sampled at {at}."


def _until(step: Step, text: Mapping[str, object]) -> dict[str, object]:
    """The text so far without what is predicted now, and without what it is compared with."""
    before = step.parent.output if step.parent else ""
    if step.src is None:
        before = step.parent.whole if step.parent else step.text
    return {"label": text["label"], "written": before, "coming": "", "lines": text.get("lines", False)}


def said_of(decoding: DecodingTree, selection: Selection, head: Head, sampling: Sampling, *,
            hidden: bool = False) -> str:
    """One step in a sentence, for who cannot see it."""
    step, keys = decoding.step, decoding.step.axes(selection.kind)[1]
    row = newest_row(step, selection, head)
    which = head_label(selection.layer, selection.head) if selection.of == "head" else "the mean"
    token = "hidden" if hidden else f"{spoken_label(step.piece)}, {percent(probability(step, sampling))}"
    most = spoken_label(keys[int(row.argmax())])
    return f"Step {step.index}: {token}; {which} looks most at {most}, {part_of_one(row.max())}"


def show_decoding(page: str, decoding: DecodingTree, selection: Selection, head: Head, *, rows: Sequence[Row],
                   text: Mapping[str, object] | None,
              dark: bool, brief: bool = False, plays: int = 0) -> None:
    """The step view of a page that steps through a text. plays: steps that it takes by itself when it is first seen."""
    branches = [end_of(branch.tip.output) for branch in (decoding.branch, *decoding.others)] if decoding.others else []
    sampling, hidden = sampling_of(page), bool(st.session_state.get(f"{page}_hide"))
    if hidden:
        text, branches = text and _until(decoding.step, text), []
    step_view = StepView(rows=rows, text=text, branches=branches, brief=brief, plays=plays,
                  said=said_of(decoding, selection, head, sampling, hidden=hidden),
                  bars=bars_of(decoding, sampling, brief=brief),
                  steps=steps_of(page, index=decoding.index, last=decoding.last, going=way_of(page) is not None))
    coming = list(zip(decoding.coming, decoding.after, strict=True))
    show_step_view(page, decoding.step, selection, head, step_view, dark=dark, tip=decoding.branch.tip,
                   sampling=sampling, on_branch=partial(_switch, page), coming=coming)


def _switch(page: str, at: int) -> None:
    if at < len(st.session_state[f"{page}_decoding"].others):
        switch_to(page, at)
