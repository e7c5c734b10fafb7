"""The curves of runs on a canvas: only points that the browser has not got travel."""

from collections.abc import Collection
from functools import partial
from pathlib import Path

import streamlit as st

from transformer.attention_view.message import pack
from transformer.jobs import run_files
from transformer.runs import guessing_loss
from ui.components.scripts import HERE, component
from ui.figures.loss import guessing_label
from ui.figures.palette import CATEGORICAL
from ui.state import caches

MOST_RUNS = 12

_view = component("run_curves", HERE / "run_curves.js", '<div class="run-curves"></div>')


def show_curves(prefix: str, folders: list[Path], *, dark: bool, unit: str = "nats per token",
                reference: tuple[float, str] | None = None) -> None:
    """Draw the curves of up to MOST_RUNS runs, with the loss of guessing at random, and with the next call for the same
    ones what is new of them.

    What a browser was sent is kept in session state under <prefix>_curves_sent; it asks for all where it has less.
    """
    state = st.session_state
    sent: dict[str, dict[int, dict[str, int]]] = dict(state.get(f"{prefix}_curves_sent", {}))
    runs, arrays = [], {}
    for number, folder in enumerate(folders[:MOST_RUNS]):
        curves = caches.curves(folder)
        curves.update()
        have = sent.get(folder.name, {})
        generation, new = curves.new(have)
        groups = {}
        for group, columns in new.items():
            start, count = have.get(generation, {}).get(group, 0), len(columns["step"])
            groups[group] = {"start": start, "count": count, "columns": list(columns)}
            if count:
                arrays |= {f"{number}/{group}/{name}": column for name, column in columns.items()}
        sent[folder.name] = {generation: {group: about["start"] + about["count"] for group, about in groups.items()}}
        runs.append({"key": f"{folder.name}/{generation}", "name": folder.name,
                     "colour": CATEGORICAL[number % len(CATEGORICAL)],
                     "dashed": number >= len(CATEGORICAL), "groups": groups, "skipped": curves.skipped})
    settings = [_settings(folder) for folder in folders[:MOST_RUNS]]
    _view(key=f"{prefix}_curves", on_missing_change=partial(_send_all, prefix),
          data=pack({"runs": runs, "dark": dark, "unit": unit, "reference": reference,
                    "guessing": _guessing(folders[:MOST_RUNS])}, arrays))
    state[f"{prefix}_curves_sent"] = sent  # not before: a run that is cut short there has sent nothing
    st.caption(_explained(unit, on={name for found in settings for name in found}))


def _guessing(folders: list[Path]) -> list[tuple[float, str]]:
    """The loss of guessing at random, and what its line is called, of each size of the vocabulary."""
    losses = {guessing_loss(folder) for folder in folders} - {None}
    return [(loss, guessing_label(loss)) for loss in sorted(losses)]


def _settings(folder: Path) -> list[str]:
    """What makes the loss of training another than that of evaluation, of a run or a checkpoint."""
    config = run_files.read_json(folder / "config.json")
    model, train = (part if isinstance(part := config.get(name), dict) else {} for name in ("model", "train"))
    named = ((model, "dropout"), (model, "attention_dropout"), (train, "word_dropout"), (train, "label_smoothing"))
    return [name.replace("_", " ") for part, name in named if part.get(name)]


def _explained(unit: str, *, on: Collection[str]) -> str:
    """What the numbers on the upright axis are, and why the two losses may stand the other way round."""
    answer = {"nats per token": "token", "nats per text": "class"}.get(unit, "answer")
    said = (f"A loss in nats is −ln of the probability that the right {answer} got, on average: 0 if the model was "
            "certain of it, 0.69 if it gave it one half.")
    kinds = [word for word in ("dropout", "label smoothing") if any(word in name for name in on)]
    if kinds:
        said += (f" The training loss is measured with {' and '.join(kinds)} at work, the held-out loss without, so "
                 "the dots can lie below the line.")
    return said


def _send_all(prefix: str) -> None:
    st.session_state.pop(f"{prefix}_curves_sent", None)
