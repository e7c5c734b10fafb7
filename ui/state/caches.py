"""The caches of the app, one copy for all visitors: opened checkpoints, results of heavy work, charts. No other file
caches; `transformer.text.corpora` keeps corpora."""

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakValueDictionary

import numpy as np
import orjson
import pandas as pd
import streamlit as st
import torch

from transformer.analysis.jacobian_lens import (
    JacobianLens,
    fit_jacobian_lens,
    read_jacobian_lens,
    write_jacobian_lens,
)
from transformer.analysis.masks import LearnedDigits, learn_digits
from transformer.analysis.tensors import Change, Circuits, Summary, compare_weights, summarise
from transformer.analysis.tensors import circuits as head_circuits
from transformer.analysis.tuned_lens import TunedLens, read_tuned_lens
from transformer.basics.paths import home, places
from transformer.checkpoints.checkpoint import (
    SNAPSHOTS,
    Checkpoint,
    CheckpointError,
    Description,
    describe,
    find,
    load,
    snapshots,
)
from transformer.evaluation.held_out import held_out_sentences
from transformer.evaluation.unfamiliar_text import FamiliarText, read_familiar
from transformer.text.corpora import Corpus, LabelledCorpus, PairCorpus, corpus
from transformer.training.curves import Curves
from transformer.training.event_file import Event, events_stamp
from transformer.training.events import known_events
from transformer.training.forming import Forming, forming_stamp, read_forming, reread
from transformer.training.runs import find as find_runs
from ui.state.work_queue import POLL, Work, heavy

if TYPE_CHECKING:
    from ui.figures.chart import Chart

torch.set_num_threads(1)  # on busy cores a small forward takes 10 ms with one thread and 500 ms with two
MOST_OPENED = 8
MOST_RUNS = 30  # the newest, whose single steps can be chosen
SHARED = 1.0  # seconds
FITTED_ON = 200  # texts at most, of which a Jacobian lens reads as many as it needs
T = TypeVar("T")
_one_at_a_time = threading.Lock()


@dataclass(frozen=True)
class Entry:
    """A checkpoint folder with its description."""

    folder: Path
    about: Description
    error: None = None


@dataclass(frozen=True)
class Unopened:
    """A checkpoint folder with the error why it cannot be opened."""

    folder: Path
    error: str
    about: None = None


def entries() -> list[Entry | Unopened]:
    """All checkpoints: those that come with the app, those kept of runs, uploaded and imported ones."""
    first, *others = places()
    shipped = sorted(find(first), key=lambda folder: folder.name != "translate")  # the default where any will do
    return [_entry(folder) for folder in [*shipped, *chain.from_iterable(map(find, others))]]


def described(wanted: str | None) -> Description | None:
    """The checkpoint with this id or, where somebody typed that alone, with this name; None where there is none."""
    return next((entry.about for entry in entries() if entry.about and wanted in (
        entry.about.id, entry.about.name)), None)


def along_the_way() -> list[Entry]:
    """Weights of single training steps, kept with checkpoints and by the newest runs, and the best weights of each of
    these runs. What cannot be read is left out."""
    runs = find_runs(home() / "runs")[:MOST_RUNS]
    folders = [*chain.from_iterable(map(find, places())), *runs]
    weights = [part for folder in folders for part in snapshots(folder)]
    weights += [run / "best" for run in runs if (run / "best" / "manifest.json").exists()]
    return [entry for entry in map(_entry, weights) if isinstance(entry, Entry)]


def is_best(entry: Entry) -> bool:
    """Whether an entry of `along_the_way` is the best of a run, and not a single step."""
    return entry.folder.parent.name != SNAPSHOTS


def steps_of(entry: Entry) -> list[Entry]:
    """The training steps kept of a checkpoint, in order; for one of these steps, the others."""
    folder = entry.folder
    whole = folder.parent.parent if folder.parent.name == SNAPSHOTS else (
        folder.parent if folder.name == "best" else folder)
    return [step for step in map(_entry, snapshots(whole)) if isinstance(step, Entry) and step.folder != folder]


def _entry(folder: Path) -> Entry | Unopened:
    try:
        stamp = tuple((folder / name).stat().st_mtime_ns for name in ("manifest.json", "config.json",
                                                                      "model.safetensors"))
    except OSError:
        stamp = (time.time(),)  # `describe` says what is missing
    try:
        return Entry(folder, _described(folder, stamp))
    except CheckpointError as error:
        return Unopened(folder, str(error))


@lru_cache(2_000)  # asked for by every page, for every checkpoint; Streamlit's own cache takes ten times as long
def _described(folder: Path, stamp: tuple) -> Description:
    return describe(folder)


@st.cache_resource(max_entries=MOST_OPENED, show_spinner="Opening the checkpoint…")
def opened(folder: Path, id: str) -> Checkpoint:
    """A checkpoint with its weights. The id is part of the key, so a folder that changes is read again; one that
    somebody still steps through, or whose results are kept, is not."""
    held = _held.get((folder, id))
    if held is None:
        held = _held[folder, id] = load(folder)
    return held


_held: WeakValueDictionary[tuple[Path, str], Checkpoint] = WeakValueDictionary()  # all that are in memory


def curves(folder: Path) -> Curves:
    """The metrics of a run, read once for all who watch it: by `update`, under a lock of its own."""
    with _one_at_a_time:
        known = shelf("curves").find((folder,))
        return known or shelf("curves").keep((folder,), Curves(folder / "metrics.jsonl"))


class _Shared:
    """What `shared` has made under a key, and the lock that is held while it is made."""

    def __init__(self) -> None:
        self.lock, self.made, self.at = threading.Lock(), None, -math.inf  # by the monotonic clock


_shared: dict[tuple, _Shared] = {}


def shared(key: tuple, make: Callable[[], Any], *, fresh: bool = False) -> Any:
    """A cache for what all who watch a run ask for again and again: made for the first, while the others wait, and kept
    for SHARED seconds. fresh: made now."""
    one = _shared.setdefault(key, _Shared())
    with one.lock:
        if fresh or time.monotonic() - one.at > SHARED:
            one.made = make()
            one.at = time.monotonic()
            for old in [key for key, other in list(_shared.items()) if one.at - other.at > 60]:
                _shared.pop(old, None)
        return one.made


def events(folder: Path) -> list[Event]:
    """The events of a run, or of a checkpoint that kept its attention, read again when there are more; none where that
    is damaged."""
    key = folder, events_stamp(folder) or forming_stamp(folder)[:-1]
    try:
        known = shelf("events").find(key)
        return shelf("events").keep(key, known_events(folder)) if known is None else known
    except ValueError:
        return []


@st.cache_resource
def watchers() -> dict[str, float]:
    """Sessions that watch a run -> when they last polled, by the monotonic clock."""
    return {}


@st.cache_resource(max_entries=16, show_spinner=False)
def _usual(id: str, _ckpt: Checkpoint) -> FamiliarText | None:
    return read_familiar(_ckpt)


def usual(ckpt: Checkpoint) -> FamiliarText | None:
    """Counts of the texts that a checkpoint was trained on; None where there are none."""
    return _usual(ckpt.id, ckpt)


@st.cache_resource(max_entries=16, show_spinner=False)
def _tuned(id: str, _ckpt: Checkpoint) -> TunedLens | None:
    return read_tuned_lens(_ckpt)


def tuned_lens(ckpt: Checkpoint) -> TunedLens | None:
    """The tuned lens that is kept beside a checkpoint; None where there is none."""
    return _tuned(ckpt.id, ckpt)


def jacobian_lens(ckpt: Checkpoint) -> JacobianLens | None:
    """The Jacobian lens that is kept for a checkpoint; None where nobody has had one fitted."""
    kept, key = shelf("jacobian", 4), (ckpt.id,)
    if (lens := kept.find(key)) is None and (lens := read_jacobian_lens(ckpt, home() / "analysis")) is not None:
        kept.keep(key, lens)
    return lens


def fitted_jacobian_lens(ckpt: Checkpoint, corpus: str) -> JacobianLens:
    """The Jacobian lens of a checkpoint, fitted on training texts of a corpus, and kept for all visitors and for the
    next start. Raises ValueError as `held_out_sentences` does."""
    def fit(work: Work) -> JacobianLens:
        if (known := read_jacobian_lens(ckpt, home() / "analysis")) is not None:  # another process was faster
            return known
        sentences = held_out_sentences(ckpt, limit=FITTED_ON, split="train", name=corpus)
        lens = fit_jacobian_lens(ckpt, sentences, corpus=corpus, watch=work.watch)
        with suppress(OSError):  # where the disk takes nothing, it is fitted again after the next start
            write_jacobian_lens(ckpt, lens, home() / "analysis")
        return lens

    return shelf("jacobian", 4).make((ckpt.id,), "Fitting the Jacobian lens", fit)


def summaries(ckpt: Checkpoint) -> dict[str, Summary]:
    """A summary of each tensor of a checkpoint, under every name that it has."""
    def measure(work: Work) -> dict[str, Summary]:
        tensors = ckpt.model.state_dict()
        result = {}
        for name, tensor in tensors.items():
            work.watch(len(result), len(tensors))
            result[name] = summarise(tensor)
        return result

    return shelf("summaries").make((ckpt.id,), "Measuring every tensor", measure)


def weight_changes(one: Checkpoint, other: Checkpoint) -> tuple[list[Change], list[str]]:
    """The change of each tensor between two checkpoints, and the names that only one of them has."""
    return shelf("changes").make((one.id, other.id), "Comparing every tensor",
                                 lambda work: compare_weights(one, other, watch=work.watch))


def circuits(ckpt: Checkpoint, kind: str) -> Circuits:
    """The singular values of every head of a kind."""
    return shelf("circuits").make((ckpt.id, kind), "Taking the heads apart",
                                  lambda work: head_circuits(ckpt.model, kind, watch=work.watch))


class GrowingAttention:
    """The recorded attention of a run, of which only what is new is read, once for all who watch it."""

    def __init__(self, folder: Path):
        self._folder, self._lock = folder, threading.Lock()
        self._stamp: tuple = ()
        self._read: Forming | None = None

    def now(self) -> Forming | None:
        with self._lock:
            if (stamp := forming_stamp(self._folder)) != self._stamp:
                self._read = read_forming(self._folder, known=self._read)
                self._stamp = stamp
            return self._read


@st.cache_resource(max_entries=16, show_spinner=False)
def _growing(folder: Path) -> GrowingAttention:
    return GrowingAttention(folder)


def forming(folder: Path) -> Forming | None:
    """Attention recorded during a training, read again when there is more of it. Raises ValueError."""
    if not (folder / "manifest.json").is_file():
        return _growing(folder).now()
    return shelf("forming", 8).make((folder, forming_stamp(folder)), "Reading what was recorded",
                                    lambda work: (read_forming(folder),))[0]  # so that None is cached too


def formed(ckpt: Checkpoint, text: str) -> Forming:
    """The attention of a checkpoint, and of the steps kept of its training, on a text. Raises ValueError."""
    folder = ckpt.description.folder
    ids = tuple(one.about.id for one in map(_entry, snapshots(folder)) if one.about)
    return shelf("formed", 8).make((ckpt.id, ids, text), "Reading the text with every step",
                                   lambda work: reread(folder, text, watch=work.watch))


def sentences(name: str) -> PairCorpus | None:
    """A corpus of sentence pairs; None for another kind, and for a file that is gone or broken."""
    text = _read(name)
    return text if isinstance(text, PairCorpus) else None


def labelled(name: str) -> LabelledCorpus | None:
    """A corpus of texts with classes; None as for `sentences`."""
    text = _read(name)
    return text if isinstance(text, LabelledCorpus) else None


_read_before: set[str] = set()  # corpora that this process has read, for which a spinner would be two needless messages


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
    """A decoder trained with the causal mask, and one trained without; takes a second or two."""
    return learn_digits(causal=True), learn_digits(causal=False)


def chart(figure: Callable[..., "Chart"], *arguments: object, **options: object) -> dict[str, Any]:
    """The specification of an altair chart of `ui.figures`, for `st.vega_lite_chart`: made once for the same arguments.
    All numbers of an array are in the key; `st.cache_data` would take only a sample of a large one."""
    key = orjson.dumps((figure.__name__, arguments, options), default=np.ndarray.tolist,
                       option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS)
    return _finished(sha256(key).hexdigest(), partial(figure, *arguments, **options))


@st.cache_resource(max_entries=200, show_spinner=False)
def _finished(key: str, _make: Callable[[], "Chart"]) -> dict[str, Any]:
    spec = _make().to_dict()
    if "datasets" in spec:  # as frames: Streamlit takes ten times longer to send lists of rows
        spec["datasets"] = {name: pd.DataFrame(rows) for name, rows in spec["datasets"].items()}
    return spec


class Shelf:
    """A cache of results of heavy work: each made once for all visitors, at most `most` kept, the last used ones."""

    def __init__(self, most: int):
        self._results, self._most = OrderedDict(), most
        self._making, self._changed = set(), threading.Condition()

    def find(self, key: tuple) -> Any:
        with self._changed:
            if key in self._results:
                self._results.move_to_end(key)
            return self._results.get(key)

    def make(self, key: tuple, text: str, make: Callable[[Work], T]) -> T:
        """The result for a key: the cached one, else what `make` returns, as heavy work that `text` describes."""
        if (result := self.find(key)) is not None:
            return result
        with heavy(text) as work:
            while not self._reserve(key):  # somebody else is making it and needs a turn to go on
                work.give_way()
            try:
                result = self.find(key)
                return self.keep(key, make(work)) if result is None else result
            finally:
                with self._changed:
                    self._making.discard(key)
                    self._changed.notify_all()

    def _reserve(self, key: tuple) -> bool:
        with self._changed:
            if key in self._making:
                self._changed.wait(POLL)
                return False
            self._making.add(key)
            return True

    def keep(self, key: tuple, result: T) -> T:
        with self._changed:
            self._results[key] = result
            while len(self._results) > self._most:
                self._results.popitem(last=False)
        return result


@st.cache_resource(max_entries=8, ttl=120, show_spinner=False)
def made_once(key: str, _make: Callable[[], T]) -> T:
    """A cache for what a whole class wants within a minute and nobody changes: made for the first, while the others
    wait. It is not kept for long, because it may hold a checkpoint."""
    return _make()


_shelves: dict[str, Shelf] = {}


def shelf(name: str, most: int = 64) -> Shelf:
    """The cache for results of one sort."""
    return _shelves.get(name) or _shelves.setdefault(name, Shelf(most))
