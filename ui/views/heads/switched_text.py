"""What a model makes of one text with its heads as they are, and with some switched."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import streamlit as st

from transformer.analysis.ablation import PathChange
from transformer.checkpoint import Checkpoint
from transformer.inference.decoding import Step
from transformer.inference.reading import Reading
from ui import figures
from ui.choices.head import origin, plain_name
from ui.page.pages import stepper_of
from ui.state.caches import chart
from ui.views.stepper.address import address_of_step

TOP = 5
LEAST = 0.01  # a probability whose bar can be seen
MOST_CLASSES = 20
FEW_CLASSES = 6  # beside the switches
BEFORE = "unchanged"


@dataclass(frozen=True)
class Both:
    """A text as the model reads it with all its heads, and with some switched."""

    ckpt: Checkpoint
    name: str  # what is switched, such as “without cross 2.3”
    readings: tuple[Step, Step] | tuple[Reading, Reading]  # the same tokens, read both ways
    change: PathChange | None = None  # of what writes


def show_both(page: str, both: Both, *, dark: bool) -> None:
    """What the model makes of the text, both ways."""
    if both.change is not None:
        _show_paths(page, both.ckpt, both.change, name=both.name)
    else:
        _show_encoder(page, both.ckpt, both.readings, name=both.name, dark=dark)


def show_chances(page: str, both: Both, *, dark: bool) -> None:
    """How likely each token of the unchanged model is, or each class, both ways: drawn, and as a table."""
    ckpt, name = both.ckpt, both.name
    if both.change is not None:
        pieces = [step.piece for step in both.change.before]
        st.vega_lite_chart(
            chart(figures.probability_change, pieces, both.change.probabilities, what="token of the unchanged model",
                  series=(BEFORE, name), title="Probability of each token", dark=dark,
                  source=f"after the same preceding tokens · {origin(ckpt)}"),
            key=f"{page}_switch_chances", alt=figures.describe_probability_change(pieces, both.change.probabilities))
        _table(pieces, both.change.probabilities, name, "token")
        return
    if not ckpt.config.n_classes:
        st.caption("This encoder predicts no class.")
        return
    order, values = _classes(both.readings)
    few = order[:MOST_CLASSES]
    names = [ckpt.classes[at] for at in few]
    st.vega_lite_chart(
        chart(figures.probability_change, names, values[few], what="class", series=(BEFORE, name), dark=dark,
              tokens=False, title="Probability of each class", source=origin(ckpt)),
        key=f"{page}_switch_chances", alt=figures.describe_probability_change(names, values[few]))
    if len(order) > len(few):
        st.caption(f"The {MOST_CLASSES} likeliest of {len(order):,} classes; the table lists all.")
    _table([ckpt.classes[at] for at in order], values[order], name, "class")


def _show_paths(page: str, ckpt: Checkpoint, change: PathChange, *, name: str) -> None:
    """Both paths, the first token that differs and the candidates there."""
    before, after, differs, named = change.before, change.after, change.differs, figures.markdown_text(name)
    for title, path, label in ((BEFORE, before, "tokens before"), (name, after, "tokens after")):
        with st.container(key=f"{page}_path_{label.split()[-1]}", gap="xsmall"):
            st.markdown(f"**{figures.markdown_text(title.capitalize())}**")
            st.text(path[-1].output or "(nothing)")
            st.html(figures.token_chips([step.piece for step in path], label=label, predicted=differs))
            if ckpt.config.encoder_layers and not ckpt.config.ends(path[-1].id):
                st.caption(f"Cut off after {len(path)} tokens: the model had not ended.")
    if differs is None:
        st.success(f"Every token is the same {named}: {len(before)} of {len(before)}.")
    else:
        st.markdown(f"**First difference: step {differs}.** Unchanged, the model predicts "
                    f"“{_shown(before[differs])}”, {named} “{_shown(after[differs])}”.",
                    help="Outlined: the first difference. After it, the two have read different tokens (faint), so "
                         "they are no longer compared.")
        with st.container(key=f"{page}_candidates"):
            for place, step, title in zip(st.columns(2, gap="medium"), (before[differs], after[differs]),
                                          (BEFORE, name), strict=True):
                top = [one for one in step.top(TOP) if one.probability >= LEAST or one.id == step.id]
                rest = 1 - sum(one.probability for one in top)
                place.html(figures.candidate_rows(top, chosen_id=step.id, rest=rest if rest >= LEAST else None,
                                                  label=f"likeliest at step {differs}, {title}"))
    with st.container(horizontal=True, key=f"{page}_paths_settings"):
        _link(page, ckpt, before, "tokens before")
        _link(page, ckpt, after, "tokens after")


def _classes(pair: tuple[Reading, Reading]) -> tuple[np.ndarray, np.ndarray]:
    """The classes, the likeliest of the unchanged model first, and the probabilities (classes, 2)."""
    values = np.stack([one.logits.exp().cpu().numpy() for one in pair], axis=1)
    return np.argsort(-values[:, 0], kind="stable"), values


def _show_encoder(page: str, ckpt: Checkpoint, pair: tuple[Reading, Reading], *, name: str, dark: bool) -> None:
    """The classes, or the pieces put at each place, of a text read both ways."""
    before = pair[0]
    if before.logits is None:
        st.info("This encoder has no head and predicts nothing: only its attention can be compared.")
        return
    if not ckpt.config.n_classes:
        _show_masked(page, ckpt, pair, name=name)
        return
    order, values = _classes(pair)
    first, second = (ckpt.classes[int(column.argmax())] for column in values.T)
    other = "the same" if first == second else f"**{figures.markdown_text(second)}**"
    st.markdown(f"Unchanged, the likeliest class is **{figures.markdown_text(first)}** ({values[:, 0].max():.0%}); "
                f"{figures.markdown_text(name)} it is {other} ({values[:, 1].max():.0%}).")
    few = [at for at in order[:FEW_CLASSES] if values[at].max() >= LEAST]
    st.html(figures.bar_table(
        [figures.words_label(ckpt.classes[at]) for at in few],
        {BEFORE: values[few, 0].tolist(), name: values[few, 1].tolist()}, title="Probability of each class",
        source=plain_name(ckpt), origin=origin(ckpt), corner="class", tokens=False, written=figures.percent, dark=dark))
    _open(page, ckpt, address_of_step(ckpt.id, before.text)[0], "before", "Open this text")


def _show_masked(page: str, ckpt: Checkpoint, pair: tuple[Reading, Reading], *, name: str) -> None:
    """Of a model that was trained to fill in masked pieces: the likeliest piece at each place, both ways."""
    tops = [one.logits.softmax(-1).max(-1) for one in pair]
    rows = [[f"{place}", figures.plain_label(read, longest=None),
             *(text for values, ids in tops for text in (
                 figures.plain_label(ckpt.tokenizer.piece(int(ids[place])), longest=None), f"{values[place]:.3f}"))]
            for place, read in enumerate(pair[0].tokens["src"])]
    same = sum(int(one) == int(other) for one, other in zip(tops[0][1], tops[1][1], strict=True))
    st.markdown(f"**Predictions at each position**: the same at {same} of {len(rows)} positions "
                f"{figures.markdown_text(name)}.")
    st.html(figures.plain_table(["place", "read", BEFORE, "probability", name, "probability"], rows,
                                label="predictions before and after", numbers=(3, 5)))
    _open(page, ckpt, address_of_step(ckpt.id, pair[0].text)[0], "before", "Open this text")


def _shown(step: Step) -> str:
    return figures.markdown_text(figures.plain_label(step.piece))


def _table(names: list[str], probabilities: np.ndarray, name: str, what: str) -> None:
    st.html(figures.number_table(
        [BEFORE, name, "change"],
        [(one if what == "class" else figures.plain_label(one, longest=None),
          [str(before), str(after), f"{after - before:+.6f}"])
         for one, (before, after) in zip(names, probabilities, strict=True)],
        corner=what, label=f"probabilities of each {what}"))


def _link(page: str, ckpt: Checkpoint, path: list[Step], label: str) -> None:
    """Opens these very tokens where the model is stepped through, which has all its heads."""
    choices = {step.index: step.id for step in path}
    address, _ = address_of_step(ckpt.id, path[0].text, choices=choices if label == "tokens after" else {},
                                 temperature=0.0, step=len(path) - 1)
    _open(page, ckpt, address, label.split()[-1], "" if label == "tokens before" else " with all heads on")


def _open(page: str, ckpt: Checkpoint, address: Mapping[str, str], which: str, words: str) -> None:
    other = stepper_of(ckpt.config)
    with st.container(key=f"{page}_open_{which}", width="content"):
        st.page_link(other.script, label=f"Open in {other.title}{words}", icon=":material/open_in_new:",
                     query_params=address)
