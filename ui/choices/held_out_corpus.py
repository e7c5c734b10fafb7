"""The choice of a text on which the heads of a checkpoint are measured."""

import re
from pathlib import Path

import streamlit as st

from transformer.basics.folders import written_ns
from transformer.checkpoints.checkpoint import Checkpoint, Description
from transformer.evaluation.held_out import form_of_model, held_out_sentences
from transformer.studies.roles_file import count_held_out
from transformer.text.corpora import corpus, is_available
from transformer.text.corpus_catalogue import SOURCES, find_source
from transformer.text.user_corpus import is_user_corpus
from ui import figures
from ui.access.owners import me, refuse_corpus
from ui.state.caches import shelf

UPLOADED = re.compile(r"/uploads/corpora/(?:[^/]+/)?[0-9a-f]{8}-([^/]+)$")  # as `keep_upload` names files


def corpus_of(about: Description) -> str | None:
    """The corpus on which a checkpoint was trained; None if it is unknown or this visitor may not have it read."""
    name = about.train and about.train.corpus
    if not find_source(name) and not is_user_corpus(name or ""):
        return None  # the name may be anything
    return None if refuse_corpus(me(), name) else name


def readable(ckpt: Checkpoint) -> list[str]:
    """The available corpora on which a checkpoint can be measured: its own, else those of the kind that it reads."""
    own = corpus_of(ckpt.description)
    if own:
        return [own] if is_available(own) else []
    if not ckpt.reads_text:
        return []
    speaks = ckpt.description.languages
    return [source.name for source in SOURCES if source.form == form_of_model(ckpt) and not source.synthetic
            and (speaks is None or source.languages in (None, speaks))]


def measurable(ckpt: Checkpoint) -> list[str]:
    """The available corpora on which heads can be measured: the readable ones; for an encoder without any, all
    texts."""
    if (own := readable(ckpt)) or ckpt.config.decoder_layers:
        return own
    if not ckpt.reads_text:
        return []
    return [source.name for source in SOURCES if source.measured_on != "train" and not source.synthetic]


def corpus_name(name: str) -> str:
    """The name of a corpus for readers: of a file its name, of an uploaded one its original name."""
    if uploaded := UPLOADED.search(Path(name).as_posix()):
        return uploaded[1]
    return Path(name).name if is_user_corpus(name) else name


def texts_of(ckpt: Checkpoint) -> str:
    """The plural for the texts on which a checkpoint is measured."""
    return {"translation": "sentences", "text": "windows of text"}.get(ckpt.config.task, "texts")


def sizes_of(ckpt: Checkpoint, name: str, sizes: list[int]) -> dict[int, str]:
    """The possible sizes of a sample, with their names: those smaller than the split, and the whole split."""
    most = max(sizes)
    key = ckpt.id, name, most, written_ns(Path(name)) if is_user_corpus(name) else None  # it may change
    try:
        count = count_held_out(ckpt, name) or shelf("counts").make(key, "Reading the corpus", lambda work: len(
            held_out_sentences(ckpt, limit=most + 1, seed=None, name=name)))
    except (ValueError, OSError):
        return {size: f"{size:,}" for size in sizes}  # reading it will show the error
    whole = next((size for size in sorted(sizes) if size >= count), None)
    return {size: f"{size:,}" for size in sizes if size < count} | (
        {} if whole is None else {whole: f"all {count:,}"})


def choose_size(label: str, key: str, sizes: dict[int, str]) -> int:
    """Draws the chooser of one of `sizes_of` and returns the size."""
    if st.session_state[key] not in sizes:
        st.session_state[key] = max(sizes)
    st.segmented_control(label, list(sizes), key=key, required=True, persist_state="session",
                         format_func=sizes.__getitem__)
    return st.session_state[key]


def split_of(name: str) -> str:
    """The split of a corpus on which checkpoints are measured: "train" if nothing is held out."""
    if source := find_source(name):
        return source.measured_on
    try:
        return corpus(name).measured_on
    except (ValueError, OSError):
        return "test"  # reading it will show the error


def say_missing(ckpt: Checkpoint) -> None:
    """Says why there is no held-out text."""
    own, about = corpus_of(ckpt.description), ckpt.description.train
    if own is None and about and is_user_corpus(about.corpus):
        st.info("It was trained on a text that is not public here, so there is nothing to measure it on.")
    elif own is None:
        st.info("This checkpoint does not name its training corpus, so it has no held-out text.")
    else:
        st.info(f"It was trained on {figures.markdown_text(corpus_name(own))}, which is not on this machine.")
