"""Changes with everything looked up for one checkpoint, so that a forward pass or a decoding can run under them.

T positions.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Union

import numpy as np
import orjson
import torch
from torch import Tensor

from transformer.basics.formatting import how_many, shorten
from transformer.checkpoints.checkpoint import Checkpoint
from transformer.inference.forward import Batch, captured
from transformer.inference.prompts import prompt
from transformer.inference.validation import check_checkpoint, check_text
from transformer.model.changes import MOST_TEXTS, Change, Changed, Ready, Values
from transformer.model.masks import allowed_keys
from transformer.model.sites import NO_TAPS, Place, Taps
from transformer.settings.config import ModelConfig
from transformer.text.corpora import corpus, drawn, is_available, passages

AVERAGED = 100  # held-out texts of a mean or a resample
LONGEST_SAID = 80  # characters of a change in an error
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
    items = [given] if isinstance(given, Change | Mapping) else given
    if not isinstance(items, Iterable) or isinstance(items, bytes | Tensor | np.ndarray):
        raise ValueError(f"changes are given as {type(given).__name__}; give a list, such as "
                         "[transformer.scale(\"cross.0.z\", 0, heads=[1])]")
    return tuple(one if isinstance(one, Change) else Change.from_json(one) for one in items)


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

    def hits(self, src: int, tgt: int, *, ahead: bool = False) -> list[int]:
        """How many places of a text each change acts on: rows of its sites, each with all heads, and of "cut" edges.

        src, tgt: the tokens that the encoder and the decoder read; 0 of one that there is not. ahead: what is decoded
        counts with all tokens that may follow.
        """
        return [self._hits(change, src, tgt, ahead=ahead) for change in self.items]

    def _hits(self, change: Change, src: int, tgt: int, *, ahead: bool) -> int:
        tgt = self.ckpt.config.max_len if ahead else tgt
        return sum(_hit(self.ckpt.config, one, *(size for size, _ in _sides(one.place, src, tgt)), ahead=ahead)
                   for one in self._places_of(change))

    def said(self, src: int, tgt: int) -> str:
        """How many changes there are, and how many places of a text they act on."""
        return f"{how_many(len(self.items), 'change')}, {how_many(sum(self.hits(src, tgt)), 'place')}"

    def missed(self, lengths: Iterable[tuple[int, int]], *, ahead: bool = False) -> list[tuple[Change, str]]:
        """The changes that act on no place of any of some texts, each with the reason and what to do. lengths: src and
        tgt of each text; ahead: as for `hits`."""
        different = sorted(set(lengths), reverse=True)
        missed = [change for change in self.items if different and not any(
            self._hits(change, *one, ahead=ahead) for one in different)]
        return [(change, self._why(change, *map(max, zip(*different, strict=True)), ahead=ahead)) for change in missed]

    def check_hits(self, lengths: Iterable[tuple[int, int]], *, ahead: bool = False, texts: int = 1) -> None:
        """Raises ValueError for a change that acts on no place of any of some texts, as for `missed`, and for a source
        of several texts where no more than `texts` are read in one pass."""
        self.check_texts(texts)
        for change, why in self.missed(lengths, ahead=ahead):
            raise ValueError(f"{shorten(str(change), LONGEST_SAID)} changes nothing: {why}")

    def check_texts(self, count: int) -> None:
        """Raises ValueError for a source of several texts where another number is read in one pass."""
        for one in self.ready:
            if one.source is not None and len(one.source.values) not in (1, count):
                raise ValueError(f"the source of {one.place} is of {how_many(len(one.source.values), 'text')}, and "
                                 f"{count} {'is' if count == 1 else 'are'} read here; give as many, or one")

    def _places_of(self, change: Change) -> list[Ready]:
        return [*{one.place: one for one in self.ready if one.change is change}.values()]

    def _why(self, change: Change, src: int, tgt: int, *, ahead: bool) -> str:
        """Why a change acts on nothing in texts that are no longer."""
        config, one = self.ckpt.config, self._places_of(change)[0]
        of_rows, of_keys = _sides(one.place, src, config.max_len if ahead else tgt)
        (rows, _), (keys, _) = of_rows, of_keys
        if config.task != "translation":
            of_rows, of_keys = (rows, "text"), (keys, "text")
        named = [query for query, _ in change.edges] if change.edges is not None else change.rows
        if named is not None and min(named) >= rows:
            return _not_there("row", min(named), *of_rows)
        if not _own_rows_are_there(change, rows):
            return _not_there("row", max(change.source["rows"]), *of_rows)
        there = one.rows(range(rows))
        if one.source is not None and not there:
            known = one.source.values.shape[one.place.row_axis]
            return f"the source has {how_many(known, 'row')}; name rows from 0 to {known - 1}"
        edges = [(there[0], key) for key in change.keys or ()] if change.edges is None else [
            (query, key) for query, key in change.edges if query < rows]
        query, key = next((edge for edge in edges if edge[1] < keys), edges[0])
        if key >= keys:
            return _not_there("key", key, *of_keys)
        kind, layer = one.place.kind, one.place.layer
        assert kind is not None
        allowed = allowed_keys(config, kind, range(query, query + 1), range(keys), layer=layer)[0]
        seen = allowed.nonzero()[:, 0].tolist()
        if key in seen:
            return "a row that sees nothing else stays as it is; give a longer text, or renormalise=False"
        which = f"keys {seen[0]} to {seen[-1]}" if len(seen) > 1 else f"key {seen[0]}"
        return f"row {query} may look at {which} and not at key {key}; name what it may look at"

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

    def of_batch(self, batch: Batch, texts: Sequence[int] = ()) -> Taps:
        """The taps of a batch. texts: where only some of several are in it, which of them."""
        ready = self.ready if not texts else [
            one if one.source is None or len(one.source.values) == 1 else one._replace(
                source=one.source._replace(values=one.source.values[[*texts]])) for one in self.ready]
        if not self.unchanged:
            return Changed(ready) if texts and ready else self.fixed
        read = self.unchanged if batch.tgt is not None else [
            place for place in self.unchanged if place.kind == "encoder"]
        _, values = captured(self.ckpt, batch, read)
        return Changed([one if not _is_own(one.change) else one._replace(source=self._own(one, values, batch))
                        for one in ready if not _is_own(one.change) or one.place in read])

    def _own(self, one: Ready, values: Mapping[str, Tensor], batch: Batch) -> Values:
        """What a change takes from the text itself. A text that has not all of the rows stays as it is: they have not
        been read yet, or the text is shorter than others of its batch."""
        found = values[one.place.name]
        if one.change.how == "freeze":
            return Values(found)
        last = max(one.change.source["rows"])
        lengths = batch.src_lengths if batch.sides(one.place)[one.place.row_axis] == "src" else batch.tgt_lengths
        there = torch.tensor([last < length for length in lengths])
        if not there.any():
            return Values(found, {})
        return _chosen(found, one.place, one.change.source["rows"], one.change)._replace(
            texts=None if there.all() else there)

    def _sources(self) -> dict[tuple[int, Place], Values]:
        """What each change takes from elsewhere, by its number and place."""
        out: dict[tuple[int, Place], Values] = {}
        of_texts: dict[tuple, dict[str, Tensor]] = {}
        places = [change.places(self.ckpt.config) for change in self.items]
        for change, some in zip(self.items, places, strict=True):
            for place in some:
                _check_place(change, place)
        samples = self._samples(places)
        for at, (change, some) in enumerate(zip(self.items, places, strict=True)):
            for place in some:
                if at in samples:
                    out[at, place] = self._of_sample(change, place, *samples[at], of_texts)
                elif change.source is not None and not _is_own(change):
                    out[at, place] = self._source(change, place, some, of_texts)
        return out

    def _samples(self, places: Sequence[Sequence[Place]]) -> dict[int, tuple[tuple, list[Place]]]:
        """The texts of which a mean or a draw is taken, and all places at which any change needs it, by the number of
        the change: so that each text is read once for all of them. Raises ValueError for too many texts."""
        found: dict[tuple, dict[Place, None]] = {}
        wanted = {at: (_texts_of(self.ckpt, change), change.source != "resample")
                  for at, change in enumerate(self.items) if _is_sample(change.source)}
        for at, sample in wanted.items():
            found.setdefault(sample, {}).update(dict.fromkeys(places[at]))
        named = {sample for at, sample in wanted.items() if isinstance(self.items[at].source, Mapping)}
        if (count := sum(len(texts) for texts, _ in named)) > MOST_TEXTS:
            raise ValueError(f"the changes name {count:,} texts, and at most {MOST_TEXTS} are read for all of them; "
                             "name fewer, or the same for several")
        return {at: (sample, [*found[sample]]) for at, sample in wanted.items()}

    def _source(self, change: Change, place: Place, places: Sequence[Place],
                of_texts: dict[tuple, dict[str, Tensor]]) -> Values:
        source = change.source
        if isinstance(source, Tensor):
            return Values(_with_axes(source, place))
        if source == "zero":
            return Values(torch.zeros((1,) * len(place.axes)))
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

    def _of_sample(self, change: Change, place: Place, sample: tuple, places: Sequence[Place],
                   of_texts: dict[tuple, dict[str, Tensor]]) -> Values:
        """The mean of a site over some texts, or a draw of its rows."""
        texts, is_mean = sample
        if sample not in of_texts:
            of_texts[sample] = self._read(texts, places, is_mean=is_mean)
        values, axis = of_texts[sample][place.name], place.row_axis
        if is_mean:
            return Values(values)
        draw = torch.from_numpy(np.random.default_rng(0).integers(0, values.shape[axis], self.ckpt.config.max_len))
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
                part, axis = values[one.name], one.row_axis
                counts[one.name] += part.shape[axis]
                if is_mean:
                    found[one.name] = [sum(found[one.name], part.sum(axis, keepdim=True))]
                else:
                    found[one.name].append(part)
            if sum(part.numel() for parts in found.values() for part in parts) > KEPT:
                raise ValueError(f"what is drawn from at {len(places)} sites is more than {KEPT:,} numbers; name fewer "
                                 "sites, or take the mean")
        return {one.name: found[one.name][0] / counts[one.name] if is_mean else
                torch.cat(found[one.name], dim=one.row_axis) for one in places}


def _sides(place: Place, src: int, tgt: int) -> tuple[tuple[int, str], tuple[int, str]]:
    """How many rows and how many keys a place has in a text, and whose tokens these are."""
    source, target = (src, "source"), (tgt, "target")
    of_source = place.kind == "encoder" or (place.kind == "cross" and place.site in ("k", "v"))
    return source if of_source else target, target if place.kind == "decoder" else source


def _hit(config: ModelConfig, one: Ready, rows: int, keys: int, *, ahead: bool) -> int:
    """How many places a change acts on at a site of so many rows and keys; see `Changes.hits`."""
    change, kind, layer = one.change, one.place.kind, one.place.layer
    if not _own_rows_are_there(change, rows):
        return 0
    there = one.rows(range(rows))
    if kind is None:  # the logits, which have no keys
        return len(there)
    if change.edges is not None:
        return sum(bool(allowed_keys(config, kind, range(query, query + 1), range(key, key + 1), layer=layer))
                   for query, key in change.edges if query < rows and key < keys)
    if change.keys is None or not there:
        return len(there)
    within, at = range(min(there), max(there) + 1), torch.tensor(there) - min(there)
    named = [allowed_keys(config, kind, within, range(key, key + 1), layer=layer)[at] for key in change.keys
             if key < keys]
    seen = torch.cat([torch.zeros(len(there), 0, dtype=torch.bool), *named], 1)
    if change.how == "force":
        return int(seen.any(1).sum())
    if change.rows is None and change.renormalise and not ahead:  # a row that sees nothing else stays as it is
        seen = seen[seen.sum(1) < allowed_keys(config, kind, within, range(keys), layer=layer)[at].sum(1)]
    return int(seen.sum())


def _own_rows_are_there(change: Change, rows: int) -> bool:
    """Whether a text of so many rows has those that a change takes from the text itself."""
    return change.how == "freeze" or not _is_own(change) or max(change.source["rows"]) < rows


def _not_there(what: str, named: int, count: int, side: str) -> str:
    return (f"there is no {what} {named:,}, as the {side} has {how_many(count, 'token')}; name {what}s from 0 to "
            f"{count - 1:,}")


def _is_own(change: Change) -> bool:
    """Whether a change takes what the text itself has there."""
    named = change.source.keys() if isinstance(change.source, Mapping) else {"text"}
    return change.how == "freeze" or not named & {"text", "texts"}


def _check_place(change: Change, place: Place) -> None:
    """Raises ValueError for a change that this place cannot have."""
    if place.site == "logits":
        raise ValueError("nothing is computed from the logits, so a change there would change nothing; change final")
    if _is_sample(change.source) and "key" in place.axes:
        raise ValueError(f"{place} has a row of other length in every text, so it has no mean; give a text of the "
                         "same length, or change z")
    of_source = place.kind == "encoder" or (place.kind == "cross" and place.site in ("k", "v"))
    if change.how == "freeze" or not _is_own(change):
        return
    _check_count(change.source["rows"], change)
    if not of_source:
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
    axis = place.row_axis
    rows = [rows] if isinstance(rows, int) else [*rows]
    if wrong := [row for row in rows if not 0 <= row < values.shape[axis]]:
        raise ValueError(f"the source has no row {wrong[0]}; it has {values.shape[axis]}, counted from 0")
    chosen = values.index_select(axis, torch.tensor(rows, device=values.device))
    _check_count(rows, change)
    return Values(chosen, None if len(rows) == 1 else dict(zip(change.rows or (), range(len(rows)), strict=True)))


def _check_count(rows: Sequence[int], change: Change) -> None:
    """Raises ValueError where several rows of a source are named, and not one for each that is changed."""
    if len(rows) > 1 and (change.rows is None or len(change.rows) != len(rows)):
        raise ValueError(f"{len(rows)} rows of the source are named for {len(change.rows or ()) or 'all'} rows here; "
                         "name as many, or one")


def _is_sample(source: object) -> bool:
    """Whether a source is a mean or a draw over texts."""
    if isinstance(source, Mapping):
        return "texts" in source
    return isinstance(source, str) and source in ("mean", "resample")


def _texts_of(ckpt: Checkpoint, change: Change) -> tuple:
    """The texts of a mean or a draw: those that are named, or held-out ones. Raises ValueError as `_held_out` does."""
    return tuple(change.source["texts"]) if isinstance(change.source, Mapping) else _held_out(ckpt, 0)


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

