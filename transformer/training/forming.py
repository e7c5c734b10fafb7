"""Attention as it forms: what a run recorded of its pinned sentences, or its reading of a text at every step it kept.

The folder may be somebody else's, or still being written: what is damaged is left out with a note, and what is read
has a limit. L layers, H heads, Tq queries, Tk keys.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from math import log1p
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.functional import cross_entropy

from transformer.basics.formatting import how_many
from transformer.checkpoints.checkpoint import describe, load, snapshots
from transformer.inference.beam_search import translate
from transformer.inference.reading import Reading, attend
from transformer.jobs import run_files
from transformer.measures.matrices import PLACES, decode_weights, encode_weights
from transformer.settings.config import ModelConfig
from transformer.training.event_file import Event, events_stamp, read_events
from transformer.training.recorded import (
    MOST_TOKENS,
    Pinned,
    PinnedTokens,
    RecordedMeasures,
    entries,
    read_json,
    read_recorded,
)

MOST_BYTES = 10_000_000  # of weights held at once, over all snapshots
MOST_METRICS = 64_000_000  # bytes
CURVE = 300  # points of a curve, evenly spaced by the logarithm of the step
Points = tuple[tuple[int, float], ...]  # step and loss


class SentenceMeasures:
    """Every measure of one pinned sentence. rows: kind -> name -> the value of uniform attention; those that count no
    query are left out, unless they are among PLACES."""

    def __init__(self, config: ModelConfig, pinned: PinnedTokens):
        self.pinned, self._measures = pinned, RecordedMeasures(config, [pinned], everywhere=True)
        self.rows = {kind: {name: even for name, even in by_name.items()
                            if self._measures.queries[kind][name] or name in PLACES}
                     for kind, by_name in self._measures.even.items()}

    def __call__(self, cells: dict[str, NDArray]) -> dict[str, NDArray]:
        """Kind -> uint8 square roots (L, H, Tq, Tk) of a step, and kind -> float32 (rows, L, H), NaN where no query
        counts."""
        values = self._measures({f"0.{kind}": one for kind, one in cells.items()})
        return {kind: np.stack([values[kind][name] for name in names]) for kind, names in self.rows.items()}


@dataclass(frozen=True)
class Forming:
    """The snapshots of a run or a checkpoint, and its loss."""

    name: str  # the checkpoint's id, or the run's name
    live: bool  # more may come
    steps: tuple[int, ...]
    heads: dict[str, tuple[int, int]]  # kind -> (L, H)
    sentences: tuple[Pinned, ...]
    cells: dict[tuple[int, str], NDArray]     # sentence and kind -> uint8 square roots (steps, L, H, Tq, Tk)
    measures: dict[tuple[int, str], NDArray]  # -> float32 (steps, rows, L, H), NaN where no query counts
    measured_by: tuple[SentenceMeasures, ...]  # of each sentence
    training: Points = ()     # at most CURVE
    validation: Points = ()
    losses: tuple[tuple[float | None, float | None], ...] = ()  # the latest of both at each step of `steps`
    notes: tuple[str, ...] = field(default=())  # what was left out, and why
    called: tuple[str, str] = ("training loss", "held-out loss")  # what the two losses are
    events: tuple[Event, ...] = ()  # of heads, and alerts

    @property
    def rows(self) -> dict[tuple[int, str], dict[str, float]]:
        """Sentence and kind -> the measures of this sentence alone, in the order of `measures`: name -> the value of
        uniform attention."""
        return {(at, kind): rows for at, one in enumerate(self.measured_by) for kind, rows in one.rows.items()}

    def weights(self, sentence: int, kind: str, step: int) -> NDArray:
        """float32 (L, H, Tq, Tk), rows sum to 1."""
        return decode_weights(self.cells[sentence, kind][self.steps.index(step)])


def forming_stamp(folder: Path) -> tuple:
    """A value that changes when there is something new to read, the run's state last; cheap enough for every tick."""
    files = [(entry.name, (stat := entry.stat()).st_size, stat.st_mtime_ns) for entry in entries(folder)]
    return (*sorted(files), events_stamp(folder), _state(folder))


def read_forming(folder: Path, *, known: Forming | None = None) -> Forming | None:
    """Read all that is recorded under attention/ and in metrics.jsonl; None if there is no snapshot yet.

    If the snapshots take more than MOST_BYTES, some are left out evenly. known: what was read of the same run before,
    whose snapshots are not read again. Raises ValueError if the folder does not say which model and which sentences
    these are.
    """
    recorded = read_recorded(folder)
    if recorded is None:
        return None
    folder, config, size = recorded.folder, recorded.config, recorded.size
    notes: list[str] = []
    if MOST_BYTES // size < 2:
        raise ValueError(f"one snapshot of {folder.name} takes {size:,} bytes, and {MOST_BYTES:,} are read in all; pin "
                         "fewer or shorter sentences")
    steps = _evenly(list(recorded.steps), size, notes)
    sentences = tuple(one.sentence for one in recorded.pinned)
    heads = {kind: (config.layers(kind), config.n_heads) for kind in config.kinds}
    if known and ([one.pinned for one in known.measured_by], known.heads) == ([*recorded.pinned], heads):
        measured_by = known.measured_by
    else:  # also where something is known now that measures lacked
        measured_by, known = tuple(SentenceMeasures(config, one) for one in recorded.pinned), None
    old = known.steps if known else ()
    new = {}
    for step in steps:
        try:
            if step not in old:
                new[step] = recorded.snapshot(step)
        except (ValueError, OSError) as error:
            notes.append(f"attention/{step}.safetensors is left out: {error}.")
    kept = [step for step in steps if step in old or step in new]
    if not kept:
        raise ValueError(f"none of the {len(steps)} snapshots of {folder.name} can be read. {notes[-1]}")
    cells, measures = {}, {}
    for at, measure in enumerate(measured_by):
        fresh = {step: {kind: snapshot[f"{at}.{kind}"] for kind in config.kinds} for step, snapshot in new.items()}
        taken = {step: measure(one) for step, one in fresh.items()}
        for key in ((at, kind) for kind in config.kinds):
            both = {step: (fresh[step][key[1]], taken[step][key[1]]) for step in fresh}
            if known:
                both |= {step: (known.cells[key][place], known.measures[key][place]) for place, step in enumerate(old)}
            cells[key], measures[key] = (np.stack(column) for column in zip(*map(both.get, kept), strict=True))
    training, validation = _curves(folder / "metrics.jsonl", notes)
    is_checkpoint = (folder / "manifest.json").is_file()
    losses = zip(_latest(kept, training), _latest(kept, validation), strict=True)
    return Forming(describe(folder).id if is_checkpoint else f"run {folder.name}", _state(folder) == "running",
                   tuple(kept), heads, sentences, cells, measures, measured_by, thinned(training), thinned(validation),
                   tuple(losses), tuple(notes), events=tuple(read_events(folder)))


def reread(folder: Path, text: str, *, watch: Callable[[int, int], None] = lambda done, of: None) -> Forming:
    """Read a text with the weights of every step that a checkpoint kept: a `Forming` like that of `read_forming`.

    The loss is that of the text, if a decoder writes such texts. A model that translates is given the translation of
    its last step at every step. watch: called with how many steps have read the text, of how many. Raises ValueError
    for a text that is too long, or that the model cannot read.
    """
    last = describe(folder).step
    folders = {int(part.name): part for part in snapshots(folder)}
    if not folders:
        raise ValueError(f"{folder.name} has no steps of its training; import several, as steps of one checkpoint")
    if last is not None and last > max(folders):
        folders[last] = folder
    watch(0, len(folders))
    ckpt = load(folder)
    target = translate(ckpt, [text], max_steps=MOST_TOKENS // 2)[0] if ckpt.config.task == "translation" else None
    reading = attend(ckpt, text, target)
    longest = max(map(len, reading.tokens.values()))
    size, notes = sum(one.numel() for one in reading.attentions.values()), []
    if longest > MOST_TOKENS or MOST_BYTES // size < 2:
        raise ValueError(f"this text has {how_many(longest, 'token')}, and their attention in every head and at every "
                         f"step is more than is kept here. Please shorten it")
    steps = _evenly(sorted(folders), size, notes)
    weights, losses = [], []
    for step in steps:
        watch(len(weights), len(steps))
        read = reading if folders[step] == folder else attend(load(folders[step]), text, target)
        weights.append({kind: encode_weights(one).numpy() for kind, one in read.attentions.items()})
        losses.append(_loss(read))
    cells = {(0, kind): np.stack([one[kind] for one in weights]) for kind in reading.kinds}
    source, target = (tuple(reading.tokens[side]) or None for side in ("src", "tgt"))
    sentence, sides = Pinned(source, target), {"source": "src", "target": "tgt"}
    ids = {name: tuple(reading.ids[side]) for name, side in sides.items() if reading.tokens[side]}
    config = ckpt.config
    measure = SentenceMeasures(config, PinnedTokens(sentence, ids))
    taken = [measure(one) for one in weights]
    return Forming(ckpt.id, False, tuple(steps), {kind: (config.layers(kind), config.n_heads) for kind in config.kinds},
                   (sentence,), cells, {key: np.stack([one[key[1]] for one in taken]) for key in cells}, (measure,),
                   validation=tuple((step, loss) for step, loss in zip(steps, losses, strict=True) if loss is not None),
                   losses=tuple((None, loss) for loss in losses), notes=tuple(notes),
                   called=("training loss", "loss on this text"))


def _loss(reading: Reading) -> float | None:
    """Nats per token of a text, each given those before it; None where the model does not write such texts."""
    ids = reading.ids["tgt"]
    if reading.ckpt.config.task != "text" or reading.logits is None or len(ids) < 2:
        return None
    return cross_entropy(reading.logits[:-1].cpu(), torch.tensor(ids[1:])).item()


def _evenly(steps: list[int], size: int, notes: list[str]) -> list[int]:
    """As many evenly spaced steps as MOST_BYTES hold of snapshots of that size; with a note if that is not all."""
    most = MOST_BYTES // size
    if len(steps) <= most:
        return steps
    notes.append(f"{len(steps)} snapshots of {size:,} bytes are more than the {MOST_BYTES:,} bytes that are read: "
                 f"{most} of them, evenly spaced, are shown.")
    return [steps[round(at)] for at in np.linspace(0, len(steps) - 1, most)]


def thinned(points: Points, most: int = CURVE) -> Points:
    """The last point of each of `most` equal parts of the logarithm of the step, and so the first and the last too."""
    if len(points) <= most:
        return points
    last = log1p(points[-1][0])
    kept = {int((most - 2) * log1p(step) / last): (step, loss) for step, loss in points[1:]}
    return (points[0], *kept.values())


def _state(folder: Path) -> str | None:
    try:
        status = read_json(folder / "status.json")
    except ValueError:  # checkpoints have none
        return None
    return str(status.get("state")) if isinstance(status, dict) else None


def _curves(path: Path, notes: list[str]) -> tuple[Points, Points]:
    """Training and validation loss by step, a later row in place of an earlier one of the same step."""
    if path.is_file() and path.stat().st_size > MOST_METRICS:
        notes.append(f"{path.name} has {path.stat().st_size:,} bytes, more than the {MOST_METRICS:,} that are read "
                     "here: no loss is shown.")
        return (), ()
    curves: dict[str, dict[int, float]] = {"loss": {}, "validation_loss": {}}
    for row in run_files.read(path):
        step = row.get("step")
        for name, curve in curves.items():
            loss = row.get(name)
            if type(step) is int and step >= 0 and run_files.is_number(loss):
                curve[step] = float(loss)
    return tuple(sorted(curves["loss"].items())), tuple(sorted(curves["validation_loss"].items()))


def _latest(steps: list[int], curve: Points) -> list[float | None]:
    """The value of a curve at the last point up to each step."""
    at = np.searchsorted([step for step, _ in curve], steps, side="right")
    return [curve[place - 1][1] if place else None for place in at]
