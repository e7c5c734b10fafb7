"""The curves of runs on a canvas; only points that the browser does not have are sent."""

from collections.abc import Callable, Collection, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from transformer.attention_view.message import pack
from transformer.basics.formatting import enumerated
from transformer.jobs import run_files
from transformer.training.event_file import sentence
from transformer.training.runs import guessing_loss
from ui.components.scripts import HERE, component
from ui.figures.loss import guessing_label
from ui.figures.palette import CATEGORICAL
from ui.state import caches
from ui.state.page_state import Kept, PageState

MOST_RUNS = 12
Sent = dict[str, dict[int, dict[str, int]]]  # name of a run -> its generation -> points of each group
TRAINING_ONLY = {  # settings that change the training loss and not the held-out loss
    "dropout": "dropout", "attention_dropout": "dropout", "output_dropout": "dropout", "word_dropout": "dropout",
    "label_smoothing": "label smoothing", "r_drop": "R-Drop", "distill": "teachers",
    "subword_sampling": "subword sampling", "as_typed": "changed texts", "joined": "changed texts",
    "other_names": "changed texts"}

_view = component("run_curves", HERE / "curves" / "run_curves.js", '<div class="run-curves"></div>')


class CurvesState(PageState):
    """What is kept of a picture of curves, under its own prefix."""

    curves: Kept[Any] = Kept(None)  # what its component reports
    curves_sent: Kept[Sent] = Kept({})  # the points that the browser was sent
    curves_places: Kept[dict[str, int]] = Kept({})  # the place of each run among the colours


def show_curves(prefix: str, folders: list[Path], *, dark: bool, unit: str = "nats per token",
                reference: tuple[float, str] | None = None,
                on_mark: Callable[[Path, dict[str, object]], None] | None = None) -> None:
    """Draw the curves of up to MOST_RUNS runs, and the loss of guessing at random. The next call sends only new points.

    on_mark: called with the folder and the mark (see `marks_of`) that is clicked. The browser asks for all
    points if it has less than it was sent.
    """
    header, arrays, sent = curves_message(prefix, folders, unit=unit, reference=reference)
    _view(key=CurvesState.curves.key(prefix), on_missing_change=partial(CurvesState.curves_sent.pop, prefix),
          on_mark_change=partial(_take_mark, prefix, folders, on_mark),
          data=pack(header | {"dark": dark, "chooses": on_mark is not None}, arrays))
    CurvesState(prefix).curves_sent = sent  # last: a script run that is cut short above has sent nothing
    st.caption(_explanation(unit, {name for folder in folders for name in _training_only(folder)}))


def curves_message(prefix: str, folders: list[Path], *, unit: str = "nats per token",
                   reference: tuple[float, str] | None = None,
                   ) -> tuple[dict[str, object], dict[str, NDArray], Sent]:
    """What the browser needs of the curves of runs: a header, the points that it has not been sent as arrays, and what
    it has been sent with them, to be kept as `CurvesState.curves_sent` once it is."""
    sent = dict(CurvesState(prefix).curves_sent)
    folders, runs, arrays = folders[:MOST_RUNS], [], {}
    places = _places(prefix, [folder.name for folder in folders])
    for number, folder in enumerate(folders):
        curves = caches.curves(folder)
        curves.update()
        have = sent.get(folder.name, {})
        generation, new = curves.new(have)
        groups = {}
        for group, columns in new.items():
            start, count = have.get(generation, {}).get(group, 0), len(columns["step"])
            measured = {name: column for name, column in columns.items() if not np.isnan(column).all()} if count else {}
            groups[group] = {"start": start, "count": count, "columns": list(measured)}
            arrays |= {f"{number}/{group}/{name}": column for name, column in measured.items()}
        sent[folder.name] = {generation: {group: about["start"] + about["count"] for group, about in groups.items()}}
        runs.append({"key": f"{folder.name}/{generation}", "name": folder.name,
                     "colour": CATEGORICAL[places[folder.name] % len(CATEGORICAL)],
                     "dashed": places[folder.name] >= len(CATEGORICAL), "groups": groups, "skipped": curves.skipped,
                     **caches.shared((_about, folder), partial(_about, folder))})
    # one for each size of the vocabulary
    losses = sorted({loss for run in runs if (loss := run["guessing"]) is not None})
    return {"runs": runs, "unit": unit, "reference": reference,
            "guessing": [(loss, guessing_label(loss)) for loss in losses]}, arrays, sent


def _about(folder: Path) -> dict[str, object]:
    """What the points of a run are drawn with."""
    return {"steps": _steps(folder), "marks": marks_of(folder), "guessing": guessing_loss(folder)}


def marks_of(folder: Path) -> list[dict[str, object]]:
    """The events of a run as marks on its curve: the step, what has happened in words, and the head it is about."""
    return [{**{name: event[name] for name in ("step", "until", "kind", "layer", "head", "measure", "alert")},
             "words": sentence(event)} for event in caches.events(folder)]


def _steps(folder: Path) -> int | None:
    """The steps of the whole training, along which curves are smoothed; None if unknown."""
    train = run_files.read_json(folder / "config.json").get("train")
    steps = train.get("steps") if isinstance(train, dict) else None
    return steps if isinstance(steps, int) and steps > 0 else None


def _places(prefix: str, names: list[str]) -> dict[str, int]:
    """A place among the colours for each run, which it keeps as long as it is drawn, whichever others come and go."""
    state = CurvesState(prefix)
    before = state.curves_places
    places = {name: before[name] for name in names if name in before}
    free = iter([place for place in range(len(names) + len(places)) if place not in places.values()])
    places = state.curves_places = places | {name: next(free) for name in names if name not in places}
    return places


def _training_only(folder: Path) -> list[str]:
    """The settings of a run or a checkpoint that change its training loss and not its held-out loss."""
    config = run_files.read_json(folder / "config.json")
    model, train = (part if isinstance(part := config.get(name), dict) else {} for name in ("model", "train"))
    return [words for name, words in TRAINING_ONLY.items() if model.get(name) or train.get(name)]


def _explanation(unit: str, training_only: Collection[str]) -> str:
    """What the numbers on the vertical axis are, and why the training loss may be above the held-out loss."""
    answer = {"nats per token": "token", "nats per text": "class"}.get(unit, "answer")
    text = (f"A loss in nats is −ln of the probability that the right {answer} got, on average: 0 if the model was "
            "certain of it, 0.69 if it gave it one half.")
    if kinds := [words for words in dict.fromkeys(TRAINING_ONLY.values()) if words in training_only]:
        text += (f" The training loss is measured with {enumerated(kinds)} at work, the held-out loss without, so "
                 "the dots can lie below the line.")
    return text


def _take_mark(prefix: str, folders: list[Path], on_mark: Callable[[Path, dict[str, object]], None] | None) -> None:
    sent = CurvesState(prefix).curves.mark
    if on_mark is None or not isinstance(sent, Mapping):
        return
    wanted = [sent.get(name) for name in ("run", "step", "words")]
    for folder in folders[:MOST_RUNS]:
        for mark in marks_of(folder):
            if [folder.name, mark["step"], mark["words"]] == wanted:
                on_mark(folder, mark)
                return
