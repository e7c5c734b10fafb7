"""How questions name tokens, shares and rows, order what may be chosen, and tell whether a model hesitates."""

from collections.abc import Callable, Sequence
from hashlib import sha256
from math import inf, log
from typing import Any

from transformer.basics.formatting import in_percent
from transformer.lessons.opened_link import Row

NATS = 0.1  # by which the first must lead the second, of log-probability or of the logarithm of a weight
BARS = 16  # that a phone has room to draw
CONTROLS = {"\n": "↵", "\t": "⇥", "\r": "␍", "": "∅"}
SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


def mixed(items: Sequence[Any], *words: object, by: Callable[[Any], object] = str) -> list[Any]:
    """Items in an order that is the same for everybody and has nothing to do with what they are worth. by: what an
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
    """A sentence on where most of a distribution is: on one, on two that are nearly alike, or nowhere."""
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
    """A share in a sentence, in percent."""
    return in_percent(share).replace("<", "less than ").replace(">", "more than ")


def apart(pieces: Sequence[str]) -> list[str]:
    """The same tokens, those that stand there more than once with a number below: `e₁`, `e₂`."""
    count: dict[str, int] = {}
    out = []
    for piece in pieces:
        count[piece] = count.get(piece, 0) + 1
        out.append(piece + str(count[piece]).translate(SUBSCRIPTS))
    return [name if count[piece] > 1 else piece for piece, name in zip(pieces, out, strict=True)]


def place(row: Row, *, head: bool = True) -> dict[str, Any]:
    """Where a row stands. head: whether its head is said, which may be the question."""
    return {"kind": row.kind, "layer": row.layer, "head": row.head if head else None, "query": row.query,
            "token": row.queries[row.query]}


def row_labels(row: Row) -> list[str]:
    """The labels of a row that is drawn. Raises ValueError where a phone has no room for it, or it has one key."""
    if len(row.seen) > BARS:
        raise ValueError(f"this row has {len(row.seen)} keys, and a phone has room to draw {BARS}; choose a shorter "
                         "text or an earlier step")
    if len(row.seen) < 2:
        raise ValueError("this row has one key, so there is nothing to draw; take a later step")
    return [apart(row.keys)[at] for at in row.seen]
