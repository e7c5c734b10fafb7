"""The trial of a checkpoint on fifty sentences of its test set, each beside the right answer."""

import streamlit as st

from transformer.analysis.trial import Trial, try_sentences
from transformer.basics.formatting import shorten
from transformer.checkpoints.checkpoint import Checkpoint
from transformer.evaluation.held_out import held_out_sentences
from transformer.text.corpus_catalogue import find_source
from ui import figures
from ui.choices.head import origin
from ui.choices.held_out_corpus import corpus_name, corpus_of, readable, say_missing, split_of
from ui.page.link import optional, quiet, switch, whole
from ui.page.pages import stepper_of
from ui.page.plain_text import say_error
from ui.page.presentation import settings
from ui.state.page_state import Kept, PageState
from ui.state.work_queue import heavy, may_begin

COUNT, LAST_DRAW = 50, 9_999


class TrialState(PageState):
    """What is kept of this view."""

    draw = quiet(whole(0, 0, LAST_DRAW))
    worst = quiet(switch(False))
    row = optional(whole(0, 0, COUNT - 1))
    tried: Kept[tuple[tuple, list[Trial]] | None] = Kept(None)  # of which checkpoint, corpus and draw; and its results


class TableState(PageState):
    """What is kept of a table of results, under its own prefix."""

    picked: Kept[list[int]] = Kept([])  # the row that was ticked last


def show_trial(page: str, ckpt: Checkpoint) -> None:
    """The results, after the trial, and the chosen sentence."""
    if ckpt.config.task == "reads":
        st.info("This encoder has no head: it predicts nothing that could be right or wrong.")
        return
    names = readable(ckpt)
    if not names:
        say_missing(ckpt)
        return
    name = names[0]
    st.caption(figures.markdown_text(_on_what(ckpt, name)))
    with st.container(horizontal=True, vertical_alignment="bottom", key=f"{page}_draw_settings"):
        st.number_input("Sample seed", 0, LAST_DRAW, step=1, key=TrialState.draw.key(page), width=160,
                        help="Seed for the sample of fifty; the same seed gives the same sample.")
        st.toggle("Worst first", key=TrialState.worst.key(page), on_change=TrialState.row.put, args=[page, None])
    tried = _tried(page, ckpt, name, TrialState(page).draw)
    if tried is None:
        return
    _show_all(page, ckpt, name, tried)


def _on_what(ckpt: Checkpoint, name: str) -> str:
    """Describes the texts, whether the model has seen them, and what is shown of each."""
    columns = ("how well the model predicts each token" if ckpt.config.task == "text" else
               "what the model predicts beside the correct answer")
    if corpus_of(ckpt.description) is None:
        source = find_source(name)
        unlike = source and source.languages and ckpt.description.languages is None
        other = " or be in languages that it does not know" if unlike else ""
        return (f"This checkpoint does not name its training data. It is tried on fifty texts of {corpus_name(name)}, "
                f"which it may have seen in training{other}: {columns}.")
    seen = "that it was trained on, as nothing is held out" if split_of(name) == "train" else "not seen in training"
    return f"Fifty texts {seen}: {columns}."


def _tried(page: str, ckpt: Checkpoint, name: str, draw: int) -> list[Trial] | None:
    """The results for this draw, made if there are none yet; None, with a message, if that fails."""
    key = (ckpt.id, name, draw)
    before = TrialState(page).tried
    if before and before[0] == key:
        return before[1]
    if not may_begin(ckpt, f"{page}_try", key, f"Try it on {COUNT} texts", reads=COUNT):
        return None
    try:
        with heavy("Running on fifty texts") as work:
            sentences = held_out_sentences(ckpt, limit=COUNT, seed=draw, name=name)
            result = try_sentences(ckpt, sentences, watch=work.watch)
    except ValueError as error:
        say_error(error)
        return None
    TrialState(page).tried = key, result
    return result


def _show_all(page: str, ckpt: Checkpoint, name: str, tried: list[Trial]) -> None:
    state = TrialState(page)
    order = list(range(len(tried)))
    if state.worst:
        order.sort(key=lambda at: _badness(tried[at]))
    rows = [tried[at] for at in order]
    key = f"{page}_trial_{ckpt.id}_{state.draw}_{state.worst}"
    with settings(page, "table"):
        event = st.dataframe(_columns(ckpt, rows), hide_index=True, height=420, width="stretch", on_select="rerun",
                             selection_mode="single-row", key=key, column_config={
                                 name: st.column_config.NumberColumn(format=form, width="small") for name, form in (
                                     ("chrF", "%.1f"), ("nats", "%.3f"), ("probability", "%.3f"),
                                     ("references", "%d"))})
    st.caption(figures.markdown_text(f"{_said(ckpt, name, tried)} {origin(ckpt)}"))
    picked = event["selection"]["rows"]
    if picked and TableState(key).picked != picked:
        state.row = order[picked[0]]
    TableState(key).picked = picked
    if state.row not in order:
        state.row = order[0]
    with settings(page, "row"):
        chosen = st.selectbox("Look closer at", order, key=TrialState.row.key(page),
                              format_func=lambda at: shorten(" ".join(tried[at].text.split()), 80),
                              help="Or tick a row above; click a heading to sort.")
    _show_one(ckpt, tried[chosen])


def _badness(one: Trial) -> float:
    """The key by which results are sorted; smaller is worse."""
    if one.chrf is not None:
        return one.chrf
    return -(one.loss if one.loss is not None else 0.0)


def _columns(ckpt: Checkpoint, rows: list[Trial]) -> dict[str, list]:
    if ckpt.config.task == "text":
        return {"nats": [one.loss for one in rows], "text": [one.text for one in rows]}
    if ckpt.config.decoder_layers:
        return {"chrF": [one.chrf for one in rows], "source": [one.text for one in rows],
                "translation": [one.output for one in rows],
                "first reference": [one.references[0] for one in rows],
                "references": [len(one.references) for one in rows], "nats": [one.loss for one in rows]}
    return {"right": [one.output in one.references for one in rows],
            "probability": [one.probability for one in rows], "class": [" ".join(one.references) for one in rows],
            "said": [one.output for one in rows], "text": [one.text for one in rows]}


def _said(ckpt: Checkpoint, name: str, tried: list[Trial]) -> str:
    split = split_of(name)
    selected = split == "validation" and corpus_of(ckpt.description) == name
    of = f"{len(tried)} drawn from the {split} split of {corpus_name(name)}" + (
        ", which also selected its best weights" if selected else "")
    losses = [one.loss for one in tried if one.loss is not None]
    mean = f"{sum(losses) / len(losses):.3f}" if losses else "unknown"
    if ckpt.config.task == "text":
        return (f"Windows of running text, {of}. nats: loss per token, −ln of the probability of the actual token; "
                f"mean: {mean}.")
    if ckpt.config.decoder_layers:
        scores = [one.chrf for one in tried if one.chrf is not None]
        return (f"Sentences, {of}. chrF: character n-gram overlap with the references (sacrebleu, per sentence), 0 to "
                f"100; mean: {sum(scores) / len(scores):.1f}. nats: loss per token of the first reference.")
    right = sum(one.output in one.references for one in tried)
    return f"Texts, {of}: {right} right. probability: of the correct class."


def _show_one(ckpt: Checkpoint, one: Trial) -> None:
    with st.container(border=True):
        st.header("Source" if one.output and ckpt.config.decoder_layers else "Text", anchor=False)
        st.text(one.text)
        if ckpt.config.task == "translation":
            left, right = st.columns(2)
            left.header(f"Translation · chrF {one.chrf:.1f}", anchor=False)
            left.text(one.output)
            right.header(f"References · {len(one.references)}", anchor=False)
            right.text("\n".join(one.references))
        elif ckpt.config.encoder_layers:
            st.markdown(figures.markdown_text(f"Predicted: {one.output}. Correct: {' '.join(one.references)}."))
        other = stepper_of(ckpt.config)
        query = {"checkpoint": ckpt.id, "text": one.text}
        if other.name == "write":
            query["text"] = one.text[:ckpt.config.max_len // 2]
        st.page_link(other.script, label=f"Open in {other.title}", query_params=query,
                     icon=":material/arrow_forward:")
