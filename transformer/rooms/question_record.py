"""A question that was made, as plain values: what phones are told, and the key that stays hidden."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from math import inf, log
from typing import Any

from transformer.formatting import brief
from transformer.inference.decoding import Step
from transformer.inference.reading import Reading
from transformer.lessons.opened_link import Opened, Row, shown_at, step_of

FORMS = {  # what a question is about -> how it is answered
    "next token": "choice", "cell": "choice", "head": "choice", "number": "number", "row": "draw",
    "distribution": "draw", "text": "text", "own sentence": "choice"}
ABOUT = tuple(FORMS)
NATS = 0.1  # by which the first must lead the second, of log-probability or of the logarithm of a weight
BARS = 16  # that a phone has room to draw
CONTROLS = {"\n": "↵", "\t": "⇥", "\r": "␍", "": "∅"}
BELOW = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


@dataclass(frozen=True)
class QuestionRecord:
    """One question, made. spec: what phones are told, which never gives the key away; key: hidden until the answer is
    shown. Both are plain values, for a store and for other processes."""

    spec: dict[str, Any]
    key: dict[str, Any]

    __repr__ = brief


@dataclass(frozen=True, eq=False)
class Moment:
    """What a room is looking at, read once for all that is asked of it."""

    opened: Opened

    @cached_property
    def shown(self) -> Step | Reading:
        """Raises ValueError where the link shows no text to a model."""
        return shown_at(self.opened)

    @property
    def step(self) -> Step:
        """Raises ValueError, with what to do, where no model writes."""
        return self.shown if self.opened.shows == "step" else step_of(self.opened)

    @property
    def written(self) -> str:
        """What the model wrote before this step."""
        return self.shown.parent.output if self.opened.shows == "step" and self.shown.parent else ""

    @property
    def classes(self) -> tuple[list[str], list[float]]:
        """The classes of a text and the probability of each; raises ValueError where a model has none."""
        shown = self.shown
        if not isinstance(shown, Reading) or shown.ckpt.config.decoder_layers or not shown.ckpt.config.n_classes:
            raise ValueError("this asks for a class, and this model has none: open Classify")
        return [*shown.ckpt.classes], shown.logits.exp().tolist()

    def context(self) -> dict[str, str]:
        """The text that is asked about, for those who do not see the page."""
        return {"text": str(self.opened.values.get("text") or ""), "written": self.written}

    def proof(self, **made: object) -> dict[str, Any]:
        """From what a key can be computed again. step: of the text; trained: steps of training; made: how the question
        was made."""
        opened = self.opened
        values = {name: _plain(value) for name, value in opened.values.items() if value is not None}
        text = values.pop("text", "")
        return {"checkpoint": opened.ckpt.id if opened.ckpt else None,
                "trained": opened.ckpt.description.step if opened.ckpt else None,
                "step": int(values.get("step") or 0) if opened.shows == "step" else None,
                "seed": int(values.get("seed") or 0), "text": text, "params": values, "made": made}


def key(values: Sequence[float] = (), *, right: int | float | None = None, said: str, proof: Mapping[str, Any],
        margin: float = 0.0, tolerance: float = 0.0, **more: object) -> dict[str, Any]:
    """A key with all its parts. values: a probability or a weight for each choice or label; margin: by how much the
    right one leads, in nats where it is one of probabilities or weights."""
    return {"right": right, "tolerance": tolerance, "values": list(values), "said": said, "proof": dict(proof),
            "margin": margin, **more}


def mixed(items: Sequence[Any], *words: object, by: Callable[[Any], object] = str) -> list[Any]:
    """Items in an order that has nothing to do with what they are worth, and is the same for everybody. by: what an
    item is known by."""
    about = "\0".join(map(str, words))
    return sorted(items, key=lambda one: sha256(f"{about}\0{by(one)}".encode("utf-8", "surrogatepass")).digest())


def lead(first: float, second: float) -> float:
    """By how many nats the first is ahead; what is next to nothing counts as a millionth."""
    return log(max(first, 1e-6) / max(second, 1e-6))


def clear_lead(first: float, second: float, *, who: str) -> float:
    """The lead in nats; raises ValueError where it is too small to call one of the two right."""
    ahead = lead(first, second) if first > 0 else -inf
    if ahead < NATS:
        raise ValueError(f"{who} hesitates: {percent(first)} and {percent(second)} are too close; choose "
                         "another step, head or text")
    return ahead


def most_is(names: Sequence[str], values: Sequence[float]) -> str:
    """Where most of a distribution is, in a sentence; two that are nearly alike are both named, and of what is nearly
    uniform that is said."""
    order = sorted(range(len(values)), key=lambda at: -values[at])
    first, second, last = *order[:2], order[-1]
    if lead(values[first], values[last]) < NATS:
        return f"It is nearly uniform: from {percent(values[last])} to {percent(values[first])} each."
    if lead(values[first], values[second]) < NATS:
        return (f"Most is on {names[first]} and {names[second]}, {percent(values[first])} and "
                f"{percent(values[second])}.")
    return f"Most is on {names[first]}, {percent(values[first])}."


def bare(piece: str) -> str:
    """A token inside a sentence: in quotes, without the sign of a space before it."""
    return f"“{CONTROLS.get(piece, piece.strip('▁ ') or '␣')}”"


def percent(share: float) -> str:
    """A share that is not all and not nothing is not said to be."""
    if 0 < share < 0.0005 or 0.9995 <= share < 1:
        return "less than 0.1%" if share < 0.5 else "more than 99.9%"
    return f"{share:.1%}"


def apart(pieces: Sequence[str]) -> list[str]:
    """The same, those that stand there more than once with a number below: `e₁`, `e₂`."""
    count: dict[str, int] = {}
    out = []
    for piece in pieces:
        count[piece] = count.get(piece, 0) + 1
        out.append(piece + str(count[piece]).translate(BELOW))
    return [name if count[piece] > 1 else piece for piece, name in zip(pieces, out, strict=True)]


def place(row: Row, *, head: bool = True) -> dict[str, Any]:
    """Where a row stands; without its head where that is the question."""
    return {"kind": row.kind, "layer": row.layer, "head": row.head if head else None, "query": row.query,
            "token": row.queries[row.query]}


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value if isinstance(value, str | int | float | bool) or value is None else str(value)
