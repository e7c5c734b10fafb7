"""Everything the app holds once for all its visitors, opened checkpoints and more. All of its caching is in this file;
corpora are kept by `transformer.text.corpora`."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from itertools import chain
from pathlib import Path

import numpy as np
import orjson
import pandas as pd
import streamlit as st
import torch

from transformer.analysis.masks import LearnedDigits, learn_digits
from transformer.analysis.tensors import Change, Circuits, Summary, compare_weights, summarise
from transformer.analysis.tensors import circuits as head_circuits
from transformer.checkpoint import SNAPSHOTS, Checkpoint, CheckpointError, Description, describe, find, load, snapshots
from transformer.paths import home, places
from transformer.runs import find as find_runs
from transformer.text.corpora import Corpus, LabelledCorpus, PairCorpus, corpus
from transformer.training.curves import Curves
from transformer.training.forming import Forming, forming_stamp, read_forming
from transformer.training.replay import reread
from transformer.unfamiliar_text import FamiliarText, read_familiar
from ui.state.work_queue import LOOK, Work, heavy

torch.set_num_threads(1)  # on busy cores a small forward takes 10 ms with one thread and 500 ms with two
MOST_RUNS = 30  # whose single steps are on offer


@dataclass(frozen=True)
class Entry:
    """A checkpoint folder on offer, and what is wrong with it where something is."""

    folder: Path
    about: Description | None
    error: str | None = None


def entries() -> list[Entry]:
    """Every checkpoint at hand: those that come with the app, those kept of runs, uploaded and imported ones."""
    first, *others = places()
    shipped = sorted(find(first), key=lambda folder: folder.name != "translate")  # what a page that takes any shows
    return [_entry(folder) for folder in [*shipped, *chain.from_iterable(map(find, others))]]


def described(wanted: str | None) -> Description | None:
    """The checkpoint of this id, or of this name where somebody typed that alone; None where there is none."""
    return next((entry.about for entry in entries() if entry.about and wanted in (
        entry.about.id, entry.about.name)), None)


def along_the_way() -> list[Entry]:
    """The weights of single training steps, of checkpoints that come with them and of the newest runs; and what each
    of those runs has found best. What cannot be read is left out."""
    runs = find_runs(home() / "runs")[:MOST_RUNS]
    folders = [*chain.from_iterable(map(find, places())), *runs]
    found = [part for folder in folders for part in snapshots(folder)]
    found += [run / "best" for run in runs if (run / "best" / "manifest.json").exists()]
    return [entry for entry in map(_entry, found) if entry.about]


def is_best(entry: Entry) -> bool:
    """Of what stands along the way: whether it is all that a run has found best, and not a single step."""
    return entry.folder.parent.name != SNAPSHOTS


def steps_of(entry: Entry) -> list[Entry]:
    """The single steps kept of the training that a checkpoint is of, by their number; of a step, the others."""
    folder = entry.folder
    of = folder.parent.parent if folder.parent.name == SNAPSHOTS else folder.parent if folder.name == "best" else folder
    return [found for part in snapshots(of) if (found := _entry(part)).about and found.folder != folder]


def _entry(folder: Path) -> Entry:
    try:
        stamp = tuple((folder / name).stat().st_mtime_ns for name in ("manifest.json", "config.json",
                                                                      "model.safetensors"))
    except OSError:
        stamp = (time.time(),)  # `describe` says what is missing
    try:
        return Entry(folder, _described(folder, stamp))
    except CheckpointError as error:
        return Entry(folder, None, str(error))


@st.cache_resource(max_entries=2_000, show_spinner=False)
def _described(folder: Path, stamp: tuple) -> Description:
    return describe(folder)


@st.cache_resource(max_entries=8, show_spinner="Opening the checkpoint…")
def opened(folder: Path, id: str) -> Checkpoint:
    """A checkpoint's weights, read once. The id belongs to the key, so a folder that changes is read again."""
    return load(folder)


@st.cache_resource(max_entries=64, show_spinner=False)
def curves(folder: Path) -> Curves:
    """The metrics of a run, followed for all who watch it."""
    return Curves(folder / "metrics.jsonl")


@st.cache_resource
def watchers() -> dict[str, float]:
    """Sessions that watch a run -> when they last looked, by the monotonic clock."""
    return {}


@st.cache_resource(max_entries=16, show_spinner=False)
def _usual(id: str, _ckpt: Checkpoint) -> FamiliarText | None:
    return read_familiar(_ckpt)


def usual(ckpt: Checkpoint) -> FamiliarText | None:
    """What was counted of the texts that a checkpoint was trained on; None where nothing was."""
    return _usual(ckpt.id, ckpt)


def summaries(ckpt: Checkpoint) -> dict[str, Summary]:
    """Each tensor of a checkpoint in a few numbers, under every name it has."""
    def measure(work: Work) -> dict[str, Summary]:
        tensors = ckpt.model.state_dict()
        found = {}
        for name, tensor in tensors.items():
            work.watch(len(found), len(tensors))
            found[name] = summarise(tensor)
        return found

    return shelf("summaries").make((ckpt.id,), "Measuring every tensor", measure)


def weight_changes(one: Checkpoint, other: Checkpoint) -> tuple[list[Change], list[str]]:
    """What changed in each tensor."""
    return shelf("changes").make((one.id, other.id), "Comparing every tensor",
                                 lambda work: compare_weights(one, other, watch=work.watch))


def circuits(ckpt: Checkpoint, kind: str) -> Circuits:
    """The singular values of every head of a kind."""
    return shelf("circuits").make((ckpt.id, kind), "Taking the heads apart",
                                  lambda work: head_circuits(ckpt.model, kind, watch=work.watch))


def forming(folder: Path) -> Forming | None:
    """The attention that a run or a checkpoint recorded, read again when there is more of it. Raises ValueError."""
    return shelf("forming", 8).make((folder, forming_stamp(folder)), "Reading what was recorded",
                                    lambda work: (read_forming(folder),))[0]  # nothing is kept as well


def formed(ckpt: Checkpoint, text: str) -> Forming:
    """The attention that a checkpoint and the steps kept of its training give to a text. Raises ValueError."""
    folder = ckpt.description.folder
    ids = tuple(one.about.id for one in map(_entry, snapshots(folder)) if one.about)
    return shelf("formed", 8).make((ckpt.id, ids, text), "Reading the text with every step",
                                   lambda work: reread(folder, text, watch=work.watch))


def sentences(name: str) -> PairCorpus | None:
    """A corpus of sentence pairs; None for another kind, and for a file that is gone or broken."""
    text = _read(name)
    return text if isinstance(text, PairCorpus) else None


def labelled(name: str) -> LabelledCorpus | None:
    """A corpus of texts with classes, the same way."""
    text = _read(name)
    return text if isinstance(text, LabelledCorpus) else None


_read_before: set[str] = set()  # corpora that this process has read: a spinner would be two messages for nothing


def _read(name: str) -> Corpus | None:
    try:
        with nullcontext() if name in _read_before else st.spinner("Reading the corpus…"):
            text = corpus(name)
    except (OSError, ValueError):
        return None
    _read_before.add(name)
    return text


@st.cache_resource(show_spinner="Training two tiny decoders on random digits…")
def digit_runs() -> tuple[LearnedDigits, LearnedDigits]:
    """A decoder trained with the causal mask, and one trained without; made once, a second or two."""
    return learn_digits(causal=True), learn_digits(causal=False)


def chart(figure: Callable[..., object], *arguments: object, **options: object) -> dict:
    """The finished specification of an altair chart of `ui.figures`, for `st.vega_lite_chart`: made once for the same
    arguments, of which every number counts (`st.cache_data` looks at a part of a large array alone)."""
    key = orjson.dumps((figure.__name__, arguments, options), default=np.ndarray.tolist,
                       option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS)
    return _finished(sha256(key).hexdigest(), partial(figure, *arguments, **options))


@st.cache_resource(max_entries=200, show_spinner=False)
def _finished(key: str, _make: Callable[[], object]) -> dict:
    spec = _make().to_dict()
    if "datasets" in spec:  # as frames: Streamlit takes ten times longer to send lists of rows
        spec["datasets"] = {name: pd.DataFrame(rows) for name, rows in spec["datasets"].items()}
    return spec


class Shelf:
    """Results of heavy work: each made once for all visitors, the ones used longest ago gone."""

    def __init__(self, most: int):
        self._kept, self._most = OrderedDict(), most
        self._making, self._changed = set(), threading.Condition()

    def find(self, key: tuple) -> object | None:
        with self._changed:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def make(self, key: tuple, text: str, make: Callable[[Work], object]) -> object:
        """What is kept under a key, else what `make` makes, as heavy work of which `text` says what it is."""
        if (found := self.find(key)) is not None:
            return found
        with heavy(text) as work:
            while not self._take(key):  # somebody else is making it, whose turn it will be again
                work.give_way()
            try:
                found = self.find(key)
                return self.keep(key, make(work)) if found is None else found
            finally:
                with self._changed:
                    self._making.discard(key)
                    self._changed.notify_all()

    def _take(self, key: tuple) -> bool:
        with self._changed:
            if key in self._making:
                self._changed.wait(LOOK)
                return False
            self._making.add(key)
            return True

    def keep(self, key: tuple, found: object) -> object:
        with self._changed:
            self._kept[key] = found
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)
        return found


@st.cache_resource(max_entries=8, ttl=120, show_spinner=False)
def made_once(key: str, _make: Callable[[], object]) -> object:
    """What nobody changes and a class asks for within a minute: made for the first of them, while the others wait.
    Kept no longer, for it may hold a checkpoint."""
    return _make()


@st.cache_resource
def shelf(name: str, most: int = 64) -> Shelf:
    """Where results of one sort are kept."""
    return Shelf(most)
