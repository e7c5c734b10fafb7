"""One forward pass over one text or many, with what every site computed, changed or not.

B texts, S source length, T target length, V vocabulary.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from transformer.basics import data_frames
from transformer.basics.formatting import how_many, quote
from transformer.checkpoints.checkpoint import Checkpoint
from transformer.inference.changed import Changes, Given
from transformer.inference.forward import Batch, captured
from transformer.inference.prompts import prompt, prompt_pair
from transformer.inference.validation import check_checkpoint, check_texts, listed
from transformer.model.sites import Place, find_place, find_places, places, several_names

if TYPE_CHECKING:
    from pandas import DataFrame

Text = str | tuple[str, str]


@dataclass(frozen=True, eq=False)
class Run:
    """A forward pass: its logits, and what was at the sites that were captured.

    `run["decoder.3.pattern"]` is a tensor with the axes of `run.axes(...)`; where one text was given and no list, it
    has no axis of texts. Names are those of `transformer.model.sites`; "D3H1.pattern" is of one head.

    >>> found = transformer.run(ckpt, "I am cold.", "J'ai froid.", capture="cross.0.*")
    >>> [*found][:2]
    ['cross.0.q', 'cross.0.k']
    >>> found["X0H2.pattern"].shape
    torch.Size([6, 5])
    >>> found.axes("cross.0.pattern")
    ('head', 'query', 'key')
    """

    ckpt: Checkpoint
    texts: tuple[Text, ...]
    targets: tuple[str | None, ...]
    batch: Batch
    changes: Changes
    values: Mapping[str, Tensor]  # by the name of the place, each with all axes
    all_logits: Tensor | None  # (B, T, V), or (B, classes)
    alone: bool  # one text was given, and no list

    def __repr__(self) -> str:
        what = quote(str(self.texts[0])) if self.alone else how_many(len(self.texts), "text")
        changed = ""
        if self.changes:
            places = sum(sum(self.changes.hits(*lengths)) for lengths in self.batch.lengths)
            changed = f", under {how_many(len(self.changes.items), 'change')}, {how_many(places, 'place')}"
        return f"Run of {what} by {self.ckpt.id}: {how_many(len(self.values), 'site')}{changed}"

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def logits(self) -> Tensor | None:
        """(T, V), or (B, T, V) for a list of texts; of a classifier its log-probabilities, without T. None for a model
        without a head."""
        return self.all_logits if self.all_logits is None or not self.alone else self.all_logits[0]

    def __getitem__(self, name: str) -> Tensor:
        """What was at a site. Raises KeyError for one that was not captured or is not there."""
        place = self._place(name)
        values = self.batched(place)
        if place.head is not None:
            values = values.select(place.axes.index("head"), place.head)
        return values[0] if self.alone else values

    def __iter__(self) -> Iterator[str]:
        """The names of the sites that were captured."""
        return iter(self.values)

    def __contains__(self, name: object) -> bool:
        try:
            return self._place(str(name)).name in self.values
        except KeyError:
            return False

    def _place(self, name: str) -> Place:
        try:
            return find_place(self.ckpt.config, name)
        except ValueError as error:
            raise KeyError(str(error)) from None

    def batched(self, place: Place) -> Tensor:
        """What was at a place, always with an axis of texts. Raises KeyError for one that was not captured."""
        if place.name not in self.values:
            raise KeyError(f"{place.name} was not captured; run again with capture=[{place.name!r}]")
        return self.values[place.name]

    def axes(self, name: str) -> tuple[str, ...]:
        """The names of the axes of `run[name]`."""
        place = self._place(name)
        axes = place.axes if place.head is None else tuple(axis for axis in place.axes if axis != "head")
        if place.site == "logits" and self.ckpt.config.task == "classes":
            axes = ("text", "class")
        return axes[1:] if self.alone else axes

    @property
    def names(self) -> list[str]:
        """The sites that were captured, in the order of computation."""
        return [name for name in places(self.ckpt.config) if name in self.values]

    def of(self, at: int) -> "Run":
        """The run of one of several texts, without the padding of longer ones."""
        if not 0 <= at < len(self.texts):
            raise IndexError(f"there is no text {at} among {len(self.texts)}")
        batch = self.batch.choose([at])
        lengths = {"src": batch.src_lengths, "tgt": batch.tgt_lengths}
        values = {}
        for name, value in self.values.items():
            place, part = find_place(self.ckpt.config, name), value[at:at + 1]
            for axis, side in enumerate(self.batch.sides(place)):
                if side is not None and not (place.site == "logits" and self.ckpt.config.n_classes):
                    part = part.narrow(axis, 0, lengths[side][0])
            values[name] = part
        logits = self.all_logits
        if logits is not None:
            logits = logits[at:at + 1]
            if logits.dim() == 3:
                logits = logits[:, : (batch.tgt_lengths or batch.src_lengths)[0]]
        return replace(self, texts=self.texts[at:at + 1], targets=self.targets[at:at + 1], batch=batch, values=values,
                       all_logits=logits, alone=True)

    def tokens(self, side: str | None = None, at: int = 0) -> list[str]:
        """The tokens of "src" or "tgt" of a text, as text to show; by default what the decoder read, else the
        encoder. Raises ValueError for another side."""
        if side not in (None, "src", "tgt"):
            raise ValueError(f"there is no side {side!r}; choose src or tgt")
        side = side or ("src" if self.batch.tgt is None else "tgt")
        ids, lengths = ((self.batch.src, self.batch.src_lengths) if side == "src" else
                        (self.batch.tgt, self.batch.tgt_lengths))
        if ids is None:
            return []
        tokenizer = self.ckpt.source_tokenizer if side == "src" else self.ckpt.tokenizer
        return [tokenizer.piece(id) if tokenizer else str(id) for id in ids[at, : lengths[at]].tolist()]

    def as_source(self) -> dict[str, Any]:
        """What a change that takes its values from here says in JSON. Raises ValueError for what no text tells."""
        text, target = self.texts[0], self.targets[0]
        if self.changes or len(self.texts) > 1 or not isinstance(text, str):
            raise ValueError("a change is saved with the text that it takes its values from, and this run was changed "
                             "itself or is of several texts; give the tensor, run[...], instead")
        read = prompt(self.ckpt, text, target)
        if any(one is not other if one is None or other is None else not torch.equal(one, other)
               for one, other in zip(read, (self.batch.src, self.batch.tgt), strict=True)):
            raise ValueError("what this run read is not what its text gives as tokens; give the tensor, run[...], "
                             "instead")
        return {"text": text, **({} if target is None else {"target": target})}

    def frame(self, name: str) -> "DataFrame":
        """A site as a tidy table: a row for each number, a column for each axis, and `value`; positions, queries and
        keys also come with their tokens. Raises KeyError as `run[name]` does."""
        place, runs = self._place(name), [self] if self.alone else [self.of(at) for at in range(len(self))]
        sides = {axis: side for axis, side in zip(place.axes, self.batch.sides(place), strict=True) if side}
        return data_frames.site([(run[name], run.axes(name), {axis: run.tokens(side) for axis, side in sides.items()})
                                 for run in runs])

    def grad(self, metric: Callable[["Run"], Tensor]) -> "Run":
        """The gradient of a metric with respect to all that was captured: a run whose tensors are gradients.

        metric: of a run like this one, a single number. The pass is made again, and nothing of it is kept for weights.
        Raises ValueError for a metric that is none, and KeyError for one that reads what was not captured.
        """
        found = [find_place(self.ckpt.config, name) for name in self.values]
        with torch.enable_grad():
            logits, values = captured(self.ckpt, self.batch, found, self.changes.of_batch, with_grad=True)
            measured = metric(replace(self, values=values, all_logits=logits))
            if not isinstance(measured, Tensor) or measured.numel() != 1:
                raise ValueError(f"the metric is {measured!r}; give a function from a run to a tensor of one number")
            if not measured.requires_grad:
                raise ValueError("the metric does not depend on anything that was captured; capture what it reads")
            gradients = torch.autograd.grad(measured.sum(), list(values.values()), allow_unused=True)
        return replace(self, all_logits=None, values={
            name: torch.zeros_like(value) if gradient is None else gradient
            for (name, value), gradient in zip(values.items(), gradients, strict=True)})


def run(ckpt: Checkpoint, texts: Text | Sequence[Text], target: str | Sequence[str | None] | None = None, *,
        capture: str | Iterable[str] = (), change: Given = None) -> Run:
    """One forward pass over a text, or over a list of texts of any lengths, and what is at chosen sites.

    target: of an encoder-decoder what the decoder reads (teacher-forced), one for each text. capture: names of sites,
    in which * stands for anything; "*" is all but each head's `result`, which is large and has to be named. change: one
    or several `transformer.Change`. Raises ValueError for what is too long, empty or has no place in the model, and for
    a site that is not there; for a change that acts on nothing of any text, and one that makes numbers too large.

    >>> texts, targets = ["I am cold.", "Go."], ["J'ai froid.", "Va."]
    >>> transformer.run(ckpt, texts, targets, capture="decoder.0.pattern")["decoder.0.pattern"].shape
    torch.Size([2, 4, 6, 6])
    """
    check_checkpoint(ckpt)
    alone = isinstance(texts, str | tuple)
    given: list[Any] = [texts] if alone else listed(texts)
    if not alone:
        check_texts([text for text in given if not isinstance(text, tuple)])
    if not given:
        raise ValueError("no text is given; give one, or a list of some")
    if not isinstance(target, str | list | tuple | None):
        raise ValueError(f"the target is of type {type(target).__name__}; give one str, or a list with one for each "
                         "text")
    targets = [target] * len(given) if target is None or (isinstance(target, str) and alone) else target
    if isinstance(targets, str) or len(targets) != len(given):
        raise ValueError(f"{how_many(len(given), 'text')} and {1 if isinstance(targets, str) else len(targets)} "
                         "targets; give one for each, in a list")
    rows = []
    for text, one in zip(given, targets, strict=True):
        if isinstance(text, tuple):
            src, types = prompt_pair(ckpt, text)
            rows.append((src, None, types))
        else:
            rows.append((*prompt(ckpt, text, one), None))
    found = run_ids(ckpt, rows, texts=given, targets=targets, capture=capture, change=change, alone=alone)
    if found.changes and found.all_logits is not None:
        for logits, (src, tgt) in zip(found.all_logits, found.batch.lengths, strict=True):
            found.changes.check_finite(logits if logits.dim() == 1 else logits[: tgt or src])
    return found


@torch.no_grad()
def run_ids(ckpt: Checkpoint, rows: Sequence[tuple[Tensor | None, Tensor | None, Tensor | None]], *,
            texts: Sequence[Text], targets: Sequence[str | None], capture: str | Iterable[str] = (),
            change: Given = None, alone: bool = True) -> Run:
    """The same of ids: of each text what the encoder (1, S) and the decoder (1, T) read, and the segments (1, S), None
    for what there is not. texts, targets: as they are called."""
    batch = Batch.padded(rows, ckpt.config.pad_id)
    changes = Changes.of(ckpt, change)
    if changes is not change:  # else it was looked up for a text of which this may be a part
        changes.check_hits(batch.lengths, texts=len(batch))
    changes.check_texts(len(batch))
    _check_rows(changes, batch)
    names = several_names(capture)
    wanted = find_places(ckpt.config, names)
    if "*" in names:
        kept = set(find_places(ckpt.config, [name for name in names if name != "*"]))
        wanted = [place for place in wanted if place.site != "result" or place in kept]
    logits, values = captured(ckpt, batch, [place for place in wanted if place.site != "logits"], changes.of_batch)
    if logits is not None and any(place.site == "logits" for place in wanted):
        values = {**values, "logits": logits}
    return Run(ckpt, tuple(texts), tuple(targets), batch, changes, values, logits, alone)


def _check_rows(changes: Changes, batch: Batch) -> None:
    """Raises ValueError where all rows are replaced by those of a shorter or longer text, which has not all of them."""
    lengths = {"src": batch.src_lengths, "tgt": batch.tgt_lengths}
    for one in changes.ready:
        axis = one.place.row_axis
        side = batch.sides(one.place)[axis]
        if one.source is None or one.change.rows is not None or side is None:
            continue
        known = one.source.values.shape[axis]
        if known > 1 and one.change.source != "resample" and known != max(lengths[side]):
            raise ValueError(f"{one.place} has {known} rows in the source and {max(lengths[side])} here; give a text "
                             "of the same length, or name rows")
