"""An opened link and the parts of it that questions are about: a step, a row of a head. Tk keys."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from transformer.basics.formatting import brief, quote
from transformer.checkpoints.checkpoint import Checkpoint
from transformer.inference.decoding import Sampling, Step, steps
from transformer.inference.reading import Reading, attend
from transformer.settings.config import Kind

FARTHEST = 2_000  # steps
PLAIN = {"of": "head", "tokens": "pieces", "special": "shown"}  # the view in which a row can be asked about

Shows = Literal["step", "reading", "hand", "other"]


@dataclass(frozen=True)
class Opened:
    """An opened link. values: of all parameters of the page; shows: what questions there can be about."""

    shows: Shows
    values: Mapping[str, Any]
    ckpt: Checkpoint | None = None

    __repr__ = brief


@dataclass(frozen=True)
class Row:
    """A row of a head: one query and all keys, of which it may see some."""

    kind: Kind
    layer: int
    head: int
    query: int
    queries: tuple[str, ...] = field(repr=False)
    keys: tuple[str, ...] = field(repr=False)
    weights: tuple[float, ...] = field(repr=False)  # (Tk,)
    seen: tuple[int, ...] = field(repr=False)  # the places of the keys that the query may attend to

    __repr__ = brief


def step_of(opened: Opened) -> Step:
    """The step of the link. Raises ValueError, with what to do, if there is none."""
    if opened.shows != "step" or opened.ckpt is None:
        raise ValueError("this asks for the next token: open Translate or Write")
    values = opened.values
    wanted = int(values.get("step") or 0)
    size = opened.ckpt.config.vocab_size
    forced = {at: id for at, id in (values.get("choices") or {}).items()
              if id < size and at <= min(wanted, FARTHEST)}
    *_, step = steps(opened.ckpt, values["text"], sampling=Sampling.of(values), forced=forced,
                     max_steps=min(wanted, FARTHEST) + 1, change=values.get("change"))
    if step.index < wanted:
        raise ValueError(f"the text ends at step {step.index}, so there is no step {wanted:,}; choose an earlier one")
    return step


def source_of(opened: Opened) -> Step | Reading:
    """The step or reading of the link. Raises ValueError for a page without one."""
    ckpt = _check_page(opened)
    return step_of(opened) if opened.shows == "step" else attend(ckpt, opened.values["text"] or "",
                                                                 change=opened.values.get("change"))


def head_of(opened: Opened, source: Step | Reading) -> tuple[Kind, int, int]:
    """The kind, layer and head in the link. Raises ValueError for one that the model does not have."""
    kind = opened.values.get("kind") or source.kinds[-1]
    if kind not in source.kinds:
        raise ValueError(f"this model has no {quote(kind)} attention; choose {' or '.join(source.kinds)}")
    place = []
    for name, count in (("layer", source.ckpt.config.layers(kind)), ("head", source.ckpt.config.n_heads)):
        number = str(opened.values.get(name) or 0)
        if not (number.isascii() and number.isdigit() and int(number) < count):
            raise ValueError(f"{name} is {quote(number)}; choose one from 0 to {count - 1}")
        place.append(int(number))
    return kind, *place


def row_of(opened: Opened, query: str, source: Step | Reading | None = None) -> Row:
    """The row of the link's head that a question names. source: that of the link, if it has been read already. Raises
    ValueError, with what to do, if the link shows something else or gives the answer away."""
    _check_page(opened)
    if opened.values.get("pair"):
        raise ValueError("the link already shows a pair of tokens, which answers the question; leave “pair” out")
    for name, plain in PLAIN.items():
        if opened.values.get(name) not in (None, plain):
            raise ValueError("the question is about one head, and all its tokens as the model reads them; leave "
                             f"“{name}” out of the link")
    source = source_of(opened) if source is None else source
    kind, layer, head = head_of(opened, source)
    queries, keys = source.axes(kind)
    at = _place(query, queries)
    weights = source.attended(kind, slice(layer, layer + 1), slice(head, head + 1))[1][0, 0, at].tolist()
    seen = source.mask(kind)[at].nonzero()[:, 0].tolist()
    return Row(kind, layer, head, at, tuple(queries), tuple(keys), tuple(weights), tuple(seen))


def _check_page(opened: Opened) -> Checkpoint:
    if opened.shows not in ("step", "reading") or opened.ckpt is None:
        raise ValueError("this asks about a head: open Translate, Write or Classify")
    return opened.ckpt


def _place(query: str, queries: list[str]) -> int:
    """The place of the row that a question names: the newest, a token, or a number from 0."""
    if query == "newest":
        return len(queries) - 1
    if re.fullmatch(r"[0-9]{1,5}", query):
        if int(query) < len(queries):
            return int(query)
        raise ValueError(f"query is {query}; choose one from 0 to {len(queries) - 1}, “newest”, or a token")
    bare = [piece.strip("▁ ") for piece in queries]
    if (wanted := query.strip("▁␣ ")) in bare:
        return bare.index(wanted)
    raise ValueError(f"no row is called {quote(query)}; choose one of {', '.join(map(quote, bare[:20]))}")
