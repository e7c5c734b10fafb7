"""A training on one screen: its loss, one head as it forms, what the model writes, and the steps to move through.

What is looked at stands here, and only the snapshots that the browser has not got are sent.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from math import isfinite
from pathlib import Path
from typing import Any
from zlib import crc32

from numpy.typing import NDArray

from transformer.attention_view.message import pack
from transformer.basics.folders import written_ns
from transformer.basics.formatting import shorten
from transformer.checkpoints.openings import OPENINGS
from transformer.jobs import run_files
from transformer.measures.catalogue import BY_NAME
from transformer.settings.config import KINDS
from transformer.settings.quick_tasks import QUICK
from transformer.text.corpus_catalogue import find_source, published_loss
from transformer.training.forming import Forming, Pinned
from transformer.training.record import SAMPLES_FILE
from transformer.training.runs import guessing_loss
from ui.components.run_curves import CurvesState, curves_message
from ui.components.scripts import HERE, component
from ui.figures.loss import guessing_label
from ui.page.link import Field, choice, optional, whole
from ui.state import caches
from ui.state.page_state import Kept, PageState

SPECIAL = ("<s>", "</s>", "<pad>")
LONGEST_LABEL = 60
SAMPLES = 3  # held-out texts
CURVES = 4  # measures of which every head's curve is drawn, as in training_screen.js: the first of these that there are
DRAWN = (*dict.fromkeys(quick.measure for quick in QUICK.values()), "entropy", "diagonal", "previous", "first")

_view = component("training_screen", HERE / "forming" / "training_screen.js",
                  '<div class="attention-view forming"></div>')


@dataclass(frozen=True)
class FormingSelection:
    """What is looked at."""

    step: int | None  # None: the newest, and newer ones as they come
    kind: str
    layer: int
    head: int
    sentence: int  # counted from 1


class FormingState(PageState):
    """What is kept of a screen: what somebody has chosen of a selection, a parameter of the address each; the text, if
    it is the visitor's; and what the browser has."""

    forming_step = optional(whole(0, 0, 10 ** 12))
    forming_kind = optional(choice(None, KINDS))
    forming_layer = optional(whole(0, 0, 1_000))
    forming_head = optional(whole(0, 0, 1_000))
    forming_sentence = optional(whole(0, 0, 1_000))
    text: Field[str | None] = Field(None, str, lambda value: value or None, long=True)
    forming: Kept[Any] = Kept(None)  # what its component reports
    forming_reported: Kept[FormingSelection | None] = Kept(None)  # what the browser shows
    forming_given = Kept(0)  # selections that were sent to it
    forming_answered = Kept(0)  # the number of the one that it reported last
    forming_sent: Kept[dict[str, Any] | None] = Kept(None)  # of: a version; a sentence and a kind -> their steps


# a part of a selection -> where it is kept once it is chosen
CHOSEN: dict[str, Field] = {"step": FormingState.forming_step, "kind": FormingState.forming_kind,
                            "layer": FormingState.forming_layer, "head": FormingState.forming_head,
                            "sentence": FormingState.forming_sentence}


def draw_screen(prefix: str, folder: Path, forming: Forming | None, *, dark: bool, plays: bool = False,
                says: str = "", beside: Sequence[Path] = ()) -> None:
    """Draw the training of the run or checkpoint in `folder`. forming: None while nothing is recorded yet; plays: moves
    through all steps once by itself; says: how far it is; beside: other runs, whose curves are drawn with its own."""
    selection = selection_in_range(prefix, forming, folder) if forming else None
    message, arrays, lower = _forming(prefix, folder, forming, selection) if forming and selection else ({}, {}, set())
    curves, sent, loss = None, None, f"{prefix}_loss"
    if (folder / "metrics.jsonl").is_file() or beside:
        curves, points, sent = curves_message(loss, [folder, *beside], reference=published_loss(_corpus(folder)))
        arrays |= points
    _view(key=FormingState.forming.key(prefix), on_selection_change=partial(_take_selection, prefix),
          on_missing_change=partial(CurvesState.curves_sent.pop, loss),
          data=pack(message | {"dark": dark, "says": says, "plays": plays, "samples": _samples(folder),
                               "curves": curves}, arrays, lower=lower))
    FormingState(prefix).forming_reported = selection
    if sent is not None:
        CurvesState(loss).curves_sent = sent  # last: a script run that is cut short above has sent nothing


def _corpus(folder: Path) -> object:
    """The corpus of a run or a checkpoint, if its settings say so."""
    train = run_files.read_json(folder / "config.json").get("train")
    return train.get("corpus") if isinstance(train, dict) else None


def selection_in_range(prefix: str, forming: Forming, folder: Path) -> FormingSelection:
    """What is looked at: what somebody has chosen, brought into the range of what there is, or else the head of the
    newest event. The step becomes the snapshot up to it."""
    state = FormingState(prefix)
    step, kind, layer, head = state.forming_step, state.forming_kind, state.forming_layer, state.forming_head
    sentence = state.forming_sentence
    if step is not None:
        step = max((one for one in forming.steps if one <= step), default=forming.steps[0])
    if kind is None and layer is None and head is None:
        kind, layer, head, its = _telling(forming, folder)
        sentence = sentence or its
    kind = kind if kind in forming.heads else next(reversed(forming.heads))
    layers, heads = forming.heads[kind]
    selection = FormingSelection(
        None if step == forming.steps[-1] else step, kind, min(layer or 0, layers - 1), min(head or 0, heads - 1),
        min(max(sentence or 1, 1), len(forming.sentences)))
    for name, value in asdict(selection).items():
        if CHOSEN[name].of(prefix) is not None:  # what nobody has chosen follows the training
            CHOSEN[name].put(prefix, value)
    return selection


def _telling(forming: Forming, folder: Path) -> tuple[str | None, int | None, int | None, int | None]:
    """The head that tells most of a training, and on which sentence: the one that does most what its task is about, or
    else the one that its page opens with."""
    events = [event for event in caches.events(folder) if event["kind"] in forming.heads]
    quick = QUICK.get(str(_corpus(folder)))
    wanted = quick.measure if quick else None if (folder / "manifest.json").is_file() else "alignment"
    about = [event for event in events if event["measure"] == wanted]
    chosen = max(about, key=lambda event: event["value"] or 0.0, default=None)
    if chosen and chosen["kind"] and chosen["measure"]:
        return chosen["kind"], chosen["layer"], chosen["head"], _told_by(forming, chosen["kind"], chosen["measure"])
    if quick:
        return quick.kind, None, None, _told_by(forming, quick.kind, quick.measure)
    opening = OPENINGS.get("translation" if "cross" in forming.heads else "text" if "decoder" in forming.heads else "")
    return (opening.kind, opening.layer, opening.head, None) if opening else (None, None, None, None)


def _told_by(forming: Forming, kind: str, measure: str) -> int | None:
    """The first sentence of which a measure can be taken, counted from 1."""
    return next((at + 1 for at in range(len(forming.sentences)) if measure in forming.rows.get((at, kind), ())), None)


def sentence_label(sentence: Pinned) -> str:
    """A pinned sentence as one reads it."""
    sides = ["".join(f"▁{token}" if token == "<unk>" else token for token in side if token not in SPECIAL)
             .replace("▁", " ").strip() for side in (sentence.source, sentence.target) if side]
    label = " → ".join(" ".join(side.replace("\n", " ↵ ").split()) for side in sides)
    return shorten(f"random, twice: {label}" if sentence.random else label, LONGEST_LABEL)


def _version(forming: Forming, folder: Path) -> str:
    """Tells a run from another one in the same place, a text from another one, and other measures of the same."""
    shown = repr((forming.sentences, {key: list(rows) for key, rows in forming.rows.items()}))
    return f"{forming.name} {written_ns(folder / 'config.json')} {crc32(shown.encode()):x}"


def _forming(prefix: str, folder: Path, forming: Forming, selection: FormingSelection,
             ) -> tuple[dict[str, object], dict[str, NDArray], set[str]]:
    """What the browser needs of the attention and has not been sent, with its arrays and which of them are lower
    triangles; it asks again for what it finds missing."""
    state, key, version = FormingState(prefix), (selection.sentence - 1, selection.kind), _version(forming, folder)
    name = f"{selection.sentence}/{selection.kind}"
    if selection != state.forming_reported:  # not the reader's doing there: an address, or a range
        state.forming_given += 1
    sent: dict[str, Any] | None = state.forming_sent
    if sent is None or sent["of"] != version:
        sent = dict[str, Any](of=version)
    new = [at for at, step in enumerate(forming.steps) if step not in sent.get(name, ())]
    state.forming_sent = sent | {name: forming.steps}
    first, rows = name not in sent, forming.rows[key]
    arrays = {f"cells/{name}": forming.cells[key][new], f"measures/{name}": forming.measures[key][new]} if new else {}
    sentences = [{"label": sentence_label(one), **one.labels(), "random": one.random} for one in forming.sentences]
    guessing = guessing_loss(folder)
    return {
        "of": version, "name": forming.name, "live": forming.live, "steps": forming.steps,
        "training": forming.training, "validation": forming.validation, "losses": forming.losses,
        "called": forming.called,
        "heads": forming.heads, "sentences": sentences, "guessing": guessing and [guessing, guessing_label(guessing)],
        "measures": {name: _measures(selection.kind, rows)} if first else {},
        "sent": {name: [forming.steps[at] for at in new]}, "notes": forming.notes, "selection": asdict(selection),
        "given": state.forming_given, "answered": state.forming_answered,
    }, arrays, {f"cells/{name}"} if selection.kind == "decoder" and new else set()


def _measures(kind: str, rows: Mapping[str, float]) -> list[dict[str, object]]:
    """What the rows of an attention kind's measures are, in their order; drawn: its place among the curves, if any."""
    drawn = [name for name in DRAWN if name in rows][:CURVES]
    return [{"name": name, "title": BY_NAME[name].title, "unit": BY_NAME[name].unit_in(kind),
             "share": BY_NAME[name].share, "even": even if isfinite(even) else None,
             "drawn": drawn.index(name) if name in drawn else None} for name, even in rows.items()]


def _samples(folder: Path) -> list[dict[str, object]]:
    """What the model wrote of held-out texts, by step; right: None where other answers than the expected are too."""
    corpus = find_source(_corpus(folder))
    rows = [(row["step"], [{"text": one["text"], "output": one["output"],
                            "right": _is_right(one, by_rule=corpus is not None and corpus.synthetic)}
                           for one in row["samples"][:SAMPLES] if isinstance(one, dict)
                           and isinstance(one.get("text"), str) and isinstance(one.get("output"), str)])
            for row in run_files.tail(folder / SAMPLES_FILE)
            if run_files.is_number(row.get("step")) and isinstance(row.get("samples"), list)]
    return [{"step": step, "samples": samples} for step, samples in rows if samples]


def _is_right(sample: Mapping[str, Any], *, by_rule: bool) -> bool | None:
    expected = sample.get("class", sample.get("reference"))
    if not isinstance(expected, str):
        return None
    return sample["output"].strip() == expected.strip() or (False if by_rule or "class" in sample else None)


def _take_selection(prefix: str) -> None:
    state = FormingState(prefix)
    sent = state.forming.selection
    if not isinstance(sent, Mapping) or not isinstance(sent.get("number"), int):
        return
    parts: dict[str, Any] = {name: sent.get(name) for name in FormingSelection.__annotations__}
    selection = FormingSelection(**parts)
    numbers = selection.layer, selection.head, selection.sentence, 0 if selection.step is None else selection.step
    if not isinstance(selection.kind, str) or not all(isinstance(one, int) and one >= 0 for one in numbers):
        return
    for name, value in asdict(selection).items():
        CHOSEN[name].put(prefix, value)
    state.forming_reported, state.forming_answered = selection, sent["number"]
    if sent.get("need"):
        FormingState.forming_sent.pop(prefix)
