"""Changes with everything looked up for one checkpoint, so that a forward pass or a decoding can run under them.

T positions.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Union

import numpy as np
import orjson
import torch
from torch import Tensor

from transformer.checkpoint import Checkpoint
from transformer.inference.forward import Batch, captured
from transformer.inference.prompts import prompt
from transformer.inference.validation import check_checkpoint, check_text
from transformer.model.changes import Change, Changed, Ready, Values
from transformer.model.sites import NO_TAPS, Place, Taps
from transformer.text.corpora import corpus, drawn, is_available, passages

AVERAGED = 100  # held-out texts of a mean or a resample
KEPT = 50_000_000  # numbers of which some are drawn: 200 MB

Given = Union[Change, Mapping[str, Any], str, Iterable[Change | Mapping[str, Any]], "Changes", None]


def parsed(given: Given) -> tuple[Change, ...]:
    """The changes that a call was given: one or several, as values, plain objects or JSON. Raises ValueError for
    anything else."""
    if given is None:
        return ()
    if isinstance(given, Changes):
        return given.items
    if isinstance(given, str):
        try:
            given = orjson.loads(given)
        except orjson.JSONDecodeError as error:
            raise ValueError(f"the changes are no JSON ({error}); give a list such as "
                             '[{"how": "scale", "site": "cross.0.z", "heads": [1], "factor": 0}]') from None
    if isinstance(given, Change | Mapping):
        given = [given]
    if not isinstance(given, Iterable) or isinstance(given, bytes | Tensor | np.ndarray):
        raise ValueError(f"changes are given as {type(given).__name__}; give a list, such as "
                         "[transformer.scale(\"cross.0.z\", 0, heads=[1])]")
    return tuple(one if isinstance(one, Change) else Change.from_json(one) for one in given)


class Changes:
    """Changes that fit a model, with their sources looked up. Those that were given first act first."""

    def __init__(self, ckpt: Checkpoint, items: Sequence[Change], *, ready: Sequence[Ready] | None = None,
                 watch: Callable[[], None] = lambda: None):
        """ready: what they take from elsewhere, where that is known. watch: called before each text that is read for
        it, and may raise to end that. Raises ValueError for what the model has not, and a source that it cannot
        read."""
        self.ckpt, self.items, self._watch = ckpt, tuple(items), watch
        if ready is None:
            sources = self._sources()
            ready = [Ready(change, place, sources.get((at, place))) for at, change in enumerate(self.items)
                     for place in change.places(ckpt.config)]
        self.ready = [*ready]
        self.unchanged = [one.place for one in self.ready if _is_own(one.change)]  # of the text itself, as it is
        self.fixed = Changed(self.ready) if self.ready and not self.unchanged else NO_TAPS
        self.newest: tuple[tuple, Taps] | None = None  # the ids of a text, and its taps

    @classmethod
    def of(cls, ckpt: Checkpoint, given: Given, *, watch: Callable[[], None] = lambda: None) -> "Changes":
        """The changes that a call was given, for this checkpoint. Raises ValueError as `parsed` and the class do."""
        check_checkpoint(ckpt)
        if isinstance(given, Changes) and given.ckpt is ckpt:
            return given
        return cls(ckpt, parsed(given), watch=watch)

    @classmethod
    def joined(cls, ckpt: Checkpoint, parts: "Sequence[Changes]") -> "Changes":
        """All of several, in their order; nothing is looked up again."""
        return cls(ckpt, [one for part in parts for one in part.items],
                   ready=[one for part in parts for one in part.ready])

    def __bool__(self) -> bool:
        return bool(self.items)

    def __repr__(self) -> str:
        return "; ".join(map(str, self.items)) or "no change"

    @property
    def by_head(self) -> bool:
        """Whether each head's output has to be made."""
        return any(one.place.site == "result" for one in self.ready)

    @property
    def grows(self) -> bool:
        """Whether the taps are others for every text, and for a text that has grown."""
        return bool(self.unchanged)

    def check_finite(self, logits: Tensor | None) -> None:
        """Raises ValueError where changes have made numbers that are none."""
        if self.items and logits is not None and logits.isnan().any():
            raise ValueError("with these changes the numbers grow beyond what can be computed; take smaller factors")

    def taps(self, src: Tensor | None, tgt: Tensor | None, types: Tensor | None = None) -> Taps:
        """The taps of texts with these ids (B, S) and (B, T), which are the same whatever was cached. Those that need
        the text as it is are kept until another text comes: a picture asks for them many times."""
        if not self.unchanged:
            return self.fixed
        ids = tuple(None if part is None else (*part.shape, *part.flatten().tolist()) for part in (src, tgt, types))
        known = self.newest
        if known is None or known[0] != ids:
            known = self.newest = ids, self.of_batch(Batch.of(src, tgt, types))
        return known[1]

    def of_batch(self, batch: Batch) -> Taps:
        """The taps of a batch."""
        if not self.unchanged:
            return self.fixed
        read = self.unchanged if batch.tgt is not None else [
            place for place in self.unchanged if place.kind == "encoder"]
        _, values = captured(self.ckpt, batch, read)
        return Changed([one if not _is_own(one.change) else one._replace(source=self._own(one, values))
                        for one in self.ready if not _is_own(one.change) or one.place in read])

    def _own(self, one: Ready, values: Mapping[str, Tensor]) -> Values:
        found = values[one.place.name]
        if one.change.how == "freeze":
            return Values(found)
        known = found.shape[_row_axis(one.place)]
        rows = tuple(row for row in one.change.source["rows"] if row < known)
        if not rows:
            return Values(found, {-1: 0})  # the row that is taken has not been read yet, and none before it is changed
        return _chosen(found, one.place, rows, one.change)

    def _sources(self) -> dict[tuple[int, Place], Values]:
        """What each change takes from elsewhere, by its number and place."""
        out: dict[tuple[int, Place], Values] = {}
        of_texts: dict[tuple, dict[str, Tensor]] = {}
        for at, change in enumerate(self.items):
            places = change.places(self.ckpt.config)
            for place in places:
                _check_place(change, place)
                if change.source is not None and not _is_own(change):
                    out[at, place] = self._source(change, place, places, of_texts)
        return out

    def _source(self, change: Change, place: Place, places: Sequence[Place],
                of_texts: dict[tuple, dict[str, Tensor]]) -> Values:
        source = change.source
        if isinstance(source, Tensor):
            return Values(_with_axes(source, place))
        if source == "zero":
            return Values(torch.zeros((1,) * len(place.axes)))
        if source in ("mean", "resample") or (isinstance(source, Mapping) and "texts" in source):
            return self._of_sample(change, place, places, of_texts)
        if isinstance(source, Mapping):
            key = (source["text"], source.get("target"), change.site)
            if key not in of_texts:
                check_text(source["text"], name="the text of a source")
                batch = Batch.of(*prompt(self.ckpt, source["text"], source.get("target")))
                _, of_texts[key] = captured(self.ckpt, batch, places)
            return _chosen(of_texts[key][place.name], place, source.get("rows"), change)
        if source.ckpt.config != self.ckpt.config:
            raise ValueError(f"the source is a run of {source.ckpt.id}, which has other sizes than {self.ckpt.id}")
        return Values(source.batched(place))

    def _of_sample(self, change: Change, place: Place, places: Sequence[Place],
                   of_texts: dict[tuple, dict[str, Tensor]]) -> Values:
        """The mean of a site over held-out text, or a draw of its rows."""
        if "key" in place.axes:
            raise ValueError(f"{place} has a row of other length in every text, so it has no mean; give a text of the "
                             "same length, or change z")
        named = change.source if isinstance(change.source, Mapping) else {}
        seed = int(named.get("seed", 0))
        texts = tuple(named["texts"]) if "texts" in named else _held_out(self.ckpt, seed)
        is_mean = change.source != "resample"
        key, axis = (texts, change.site, is_mean), _row_axis(place)
        if key not in of_texts:
            of_texts[key] = self._read(texts, places, is_mean=is_mean)
        values = of_texts[key][place.name]
        if is_mean:
            return Values(values)
        draw = torch.from_numpy(np.random.default_rng(seed).integers(0, values.shape[axis], self.ckpt.config.max_len))
        return Values(values.index_select(axis, draw.to(values.device)))

    def _read(self, texts: Sequence[Any], places: Sequence[Place], *, is_mean: bool) -> dict[str, Tensor]:
        """What is at some places in all positions of some texts, by name: its mean, or all of it. Raises ValueError for
        more than is kept."""
        found: dict[str, list[Tensor]] = {one.name: [] for one in places}
        counts = dict.fromkeys(found, 0)
        for text in texts:
            self._watch()
            text, target = text if isinstance(text, tuple) else (text, None)
            values = captured(self.ckpt, Batch.of(*prompt(self.ckpt, text, target)), places)[1]
            for one in places:
                part, axis = values[one.name], _row_axis(one)
                counts[one.name] += part.shape[axis]
                if is_mean:
                    found[one.name] = [sum(found[one.name], part.sum(axis, keepdim=True))]
                else:
                    found[one.name].append(part)
            if sum(part.numel() for parts in found.values() for part in parts) > KEPT:
                raise ValueError(f"what is drawn from at {len(places)} sites is more than {KEPT:,} numbers; name fewer "
                                 "sites, or take the mean")
        return {one.name: found[one.name][0] / counts[one.name] if is_mean else
                torch.cat(found[one.name], dim=_row_axis(one)) for one in places}


def _is_own(change: Change) -> bool:
    """Whether a change takes what the text itself has there."""
    named = change.source.keys() if isinstance(change.source, Mapping) else {"text"}
    return change.how == "freeze" or not named & {"text", "texts"}


def _row_axis(place: Place) -> int:
    return place.axes.index("query" if "query" in place.axes else "position")


def _check_place(change: Change, place: Place) -> None:
    """Raises ValueError for a change that this place cannot have."""
    if place.site == "logits":
        raise ValueError("nothing is computed from the logits, so a change there would change nothing; change final")
    of_source = place.kind == "encoder" or (place.kind == "cross" and place.site in ("k", "v"))
    if change.how != "freeze" and _is_own(change) and not of_source:
        latest = max(change.source["rows"])
        if change.rows is None or min(change.rows) < latest:
            raise ValueError(f"{place} is read from left to right, so a row can take the vector of an earlier one "
                             f"only; name rows from {latest} on")


def _with_axes(values: Tensor, place: Place) -> Tensor:
    """A source with all axes of its place: the text's may be left out, then the position's, then the head's; of a
    matrix the text's and the head's."""
    axes, missing = place.axes, len(place.axes) - values.dim()
    may = [axes.index(name) for name in ("text", *(() if "key" in axes else ("position",)), "head") if name in axes]
    if not 0 <= missing <= len(may) or values.is_complex():
        raise ValueError(f"the source of {place} is of shape {tuple(values.shape)}; give ({', '.join(axes)}), of which "
                         "the first may be left out")
    for axis in sorted(may[:missing]):
        values = values.unsqueeze(axis)
    return values


def _chosen(values: Tensor, place: Place, rows: Iterable[int] | int | None, change: Change) -> Values:
    """Some rows of what another text has: one for all that are changed, or one for each."""
    if rows is None:
        return Values(values)
    axis = _row_axis(place)
    rows = [rows] if isinstance(rows, int) else [*rows]
    if wrong := [row for row in rows if not 0 <= row < values.shape[axis]]:
        raise ValueError(f"the source has no row {wrong[0]}; it has {values.shape[axis]}, counted from 0")
    chosen = values.index_select(axis, torch.tensor(rows, device=values.device))
    if len(rows) == 1:
        return Values(chosen)
    if change.rows is None or len(change.rows) != len(rows):
        raise ValueError(f"{len(rows)} rows of the source are named for {len(change.rows or ()) or 'all'} rows here; "
                         "name as many, or one")
    return Values(chosen, dict(zip(change.rows, range(len(rows)), strict=True)))


def _held_out(ckpt: Checkpoint, seed: int) -> tuple[tuple[str, str | None], ...]:
    """Texts that the model was not trained on, each with its target. Raises ValueError for a model whose corpus is not
    here."""
    train = ckpt.description.train
    if train is None or not is_available(train.corpus):
        raise ValueError(f"the corpus of {ckpt.id} is not here, so there is no held-out text; give texts: "
                         '{"texts": ["...", "..."]}')
    found, out = passages(corpus(train.corpus)), []
    for text, right in drawn(found, None, seed):
        target = right[0] if ckpt.config.task == "translation" else None
        try:
            prompt(ckpt, text, target)
        except ValueError:
            continue
        out.append((text, target))
        if len(out) == AVERAGED:
            break
    return tuple(out)

