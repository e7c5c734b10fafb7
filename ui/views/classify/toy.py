"""The smallest run: two sentences, a process that learns to tell them apart, and a page that watches it."""

import csv
import re
import secrets
import shutil
import time
from functools import partial
from pathlib import Path

import streamlit as st

from transformer.checkpoints.checkpoint import CheckpointError, describe
from transformer.jobs import run_files
from transformer.jobs.launch import Progress, alive, launch, log_tail, progress, stop
from transformer.jobs.lock import file_lock
from transformer.text.corpora import corpus
from transformer.training.runs import guessing_loss
from ui import figures
from ui.access import owners, quotas, visitors
from ui.page.plain_text import say_error
from ui.page.text_limits import SENTENCE, TOY, taken, within
from ui.state.caches import chart, home, opened
from ui.state.polling import run_started
from ui.views.classify.classifier import show_reading

(POSITIVE, _), (NEGATIVE, _) = corpus("sentiment").split("train")
KEPT = 24                # finished toys on disk
NAME = re.compile(r"toy-\d{8}-\d{6}-[0-9a-f]{4}")
EVERY = 0.4              # seconds between two polls of a run under way


def toy_folder(name: str | None) -> Path | None:
    """The run folder of a toy of that name, if it exists."""
    if not name or not NAME.fullmatch(name):
        return None
    folder = home() / "runs" / name
    return folder if folder.is_dir() else None


def start_toy(positive: str, negative: str) -> str:
    """Starts training on two sentences and returns the run's name. Raises ValueError for sentences that teach nothing,
    or if too many toys train already."""
    words = []
    for what, sentence in (("positive", positive), ("negative", negative)):
        words.append(re.findall(r"\w+", within(sentence, TOY, f"{what} sentence").lower()))
        if not words[-1]:
            raise ValueError(f"the {what} sentence is empty; type one")
    if words[0] == words[1]:
        raise ValueError("the two sentences have the same words; change one")
    runs = home() / "runs"
    with file_lock(runs / ".toys.lock"):
        toys = sorted((folder for folder in runs.glob("toy-*") if NAME.fullmatch(folder.name)), reverse=True)
        busy = [folder for folder in toys if alive(folder)]
        if len(busy) >= quotas.TOYS:
            raise ValueError(f"{len(busy)} small runs are training on this server; the limit is {quotas.TOYS}. Please "
                             "try again in a few seconds")
        for old in [folder for folder in toys if folder not in busy][KEPT - 1:]:
            shutil.rmtree(old, ignore_errors=True)
        name = f"toy-{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(2)}"
        folder = runs / name
        folder.mkdir(parents=True)
        corpus = folder / "sentences.csv"
        with open(corpus, "w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([
                ("text", "label"), *((" ".join(sentence.split()), label) for label, sentence in (
                    ("positive", positive), ("negative", negative)))])
        launch(folder, ["--preset", "sentiment", "--set", f"corpus={corpus.resolve()}", "--device", "cpu"],
               owner=visitors.owner())
    run_started("sentiment")
    return name


def show_toy(prefix: str, *, dark: bool) -> None:
    """Two sentences to edit, the button, the run, and then its classifier to try."""
    state = st.session_state
    st.markdown("Watch a one-layer transformer learn **two sentences**. Nothing is held out: it memorises both, and "
                "its predictions on other sentences show how little this means.")
    left, right = st.columns(2)
    with left:
        taken(st.text_input("A positive sentence", key=f"{prefix}_positive"), TOY)
    with right:
        taken(st.text_input("A negative sentence", key=f"{prefix}_negative"), TOY)
    folder = toy_folder(state[f"{prefix}_run"])
    now = progress(folder) if folder else None
    with st.container(horizontal=True):
        refused = owners.refusal(owners.me(), "start")
        st.button("Train", icon=":material/play_arrow:", key=f"{prefix}_train", on_click=_start, args=[prefix],
                  disabled=bool(refused) or (now is not None and now.under_way),
                  help=figures.markdown_text(refused) if refused else None)
        if folder is not None and now is not None and now.under_way:
            st.button("Stop", icon=":material/stop:", key=f"{prefix}_stop", on_click=_stop, args=[prefix, folder],
                      disabled=not owners.allowed("stop", owners.run_thing(folder)))
    if refused := state.pop(f"{prefix}_refused", None):
        say_error(refused)
    if folder is None or now is None:
        if state[f"{prefix}_run"]:
            st.info("The run behind this link is gone: the server keeps only the newest. Press Train to start another.")
        return
    st.fragment(_watch, run_every=EVERY if now.under_way else None)(prefix, folder, now.under_way, dark)
    if not now.under_way:
        _show_outcome(prefix, folder, now, dark=dark)


def _start(prefix: str) -> None:
    state = st.session_state
    running = toy_folder(state[f"{prefix}_run"])
    if running is not None and progress(running).under_way:  # a double click
        return
    try:
        owners.require("start")
        quotas.check_runs()
        state[f"{prefix}_run"] = start_toy(state[f"{prefix}_positive"], state[f"{prefix}_negative"])
    except ValueError as error:
        state[f"{prefix}_refused"] = str(error)
    else:
        state[f"{prefix}_text"] = state[f"{prefix}_positive"]
        state[f"{prefix}_class"] = None


def _stop(prefix: str, folder: Path) -> None:
    try:
        owners.require("stop", owners.run_thing(folder))
        stop(folder)
    except ValueError as error:
        st.session_state[f"{prefix}_refused"] = str(error)


def _watch(prefix: str, folder: Path, was_under_way: bool, dark: bool) -> None:
    """The current state of the run; its end draws the whole page again."""
    now = progress(folder)
    if was_under_way and not now.under_way:
        st.rerun()
    rows = [row for row in run_files.read(folder / "metrics.jsonl") if "loss" in row]
    other = _other_sentences(prefix, folder)
    st.markdown(f"**{_state_text(now)}**" + (" on other sentences:" if other else ""))
    if other:
        st.text("\n".join(f"{label}: {sentence}" for label, sentence in other))
    if rows:
        steps, losses = [row["step"] for row in rows], [row["loss"] for row in rows]
        curve = chart(figures.loss_curve, last=now.steps, chance=guessing_loss(folder), title="Training loss",
                      source=f"run {folder.name}", dark=dark)
        st.vega_lite_chart(figures.with_losses(curve, steps, losses),
                           key=f"{prefix}_loss", alt=figures.describe_loss(steps, losses), width="stretch")
        st.caption("Dashed: ln 2 ≈ 0.69, the loss of predicting 50/50.")


def _other_sentences(prefix: str, folder: Path) -> list[tuple[str, str]]:
    """The labels and sentences of the run, if the boxes have others now."""
    try:
        with open(folder / "sentences.csv", encoding="utf-8", newline="") as file:
            rows = [(row["label"], row["text"]) for row in csv.DictReader(file)]
    except (OSError, KeyError):
        return []
    typed = [" ".join((st.session_state.get(f"{prefix}_{label}") or "").split()) for label in ("positive", "negative")]
    return [] if [sentence for _, sentence in rows] == typed else rows


def _state_text(now: Progress) -> str:
    steps = f"step {now.step:,}" + (f" of {now.steps:,}" if now.steps else "")
    return {"starting": "Loading PyTorch, a few seconds.",
            "running": f"Training: {steps}", "finished": f"Trained: {steps}", "stopped": f"Stopped at {steps}",
            "failed": f"Failed at {steps}", "died": f"The process ended without finishing, at {steps}"}[now.state]


def _show_outcome(prefix: str, folder: Path, now: Progress, *, dark: bool) -> None:
    if now.state in ("failed", "died"):
        why = now.why or "The training process died. Its log may say why; press Train to start again."
        say_error(owners.without_home(why))
        st.code(owners.without_home(log_tail(folder)) or "(empty)", language=None, wrap_lines=True)
    if not (folder / "best").exists():
        if now.state == "stopped":
            st.info("It was stopped before anything was saved. Press Train to start again.")
        return
    try:
        ckpt = opened(folder / "best", describe(folder / "best").id)
    except CheckpointError as error:
        say_error(error)
        return
    st.header("Try it", anchor=False)
    text = taken(st.text_input("A sentence", key=f"{prefix}_text",
                               placeholder="Type a sentence and press Enter",
                               on_change=partial(st.session_state.update, {f"{prefix}_class": None})), SENTENCE)
    known = [ckpt.tokenizer.piece(id).lstrip("▁") for id in range(4, ckpt.config.vocab_size)]
    st.caption("It knows only these words:")
    st.text(" · ".join(sorted(known)))
    if text.strip():
        show_reading(prefix, ckpt, text, question="Positive or negative?", dark=dark)
    else:
        st.info("Type a sentence above to see its prediction.")
