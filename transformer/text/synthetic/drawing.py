"""Random draws that are the same on every machine and in every version of Python."""

from collections.abc import Callable, Sequence
from random import Random
from typing import TypeVar

T = TypeVar("T")


class Draw:
    """A source of random choices. Only `Random.random` is used, whose numbers Python promises not to change."""

    def __init__(self, seed: int):
        self._random = Random(seed)

    def number(self, low: int, high: int) -> int:
        """A whole number from low to high, both included."""
        return low + int(self._random.random() * (high - low + 1))

    def one(self, items: Sequence[T]) -> T:
        """One of the items."""
        return items[self.number(0, len(items) - 1)]

    def string(self, letters: str, low: int, high: int) -> str:
        """From `low` to `high` of the letters, each drawn anew."""
        return "".join(self.one(letters) for _ in range(self.number(low, high)))

    def different(self, letters: str, low: int, high: int) -> str:
        """From `low` to `high` of the letters, none of them twice."""
        left, drawn = list(letters), ""
        for _ in range(self.number(low, high)):
            drawn += left.pop(self.number(0, len(left) - 1))
        return drawn

    def chance(self, share: float) -> bool:
        """True with that probability."""
        return self._random.random() < share


def pairs(draw: Callable[[], str], count: int, answer: Callable[[str], str]) -> str:
    """Lines of `source TAB answer(source)` for the first `count` different sources that are drawn, in order."""
    found: dict[str, None] = {}
    while len(found) < count:
        found[draw()] = None
    return "\n".join(f"{source}\t{answer(source)}" for source in found)


def lines(draw: Callable[[], str], characters: int) -> str:
    """Lines as they are drawn, until they have so many characters."""
    found, length = [], 0
    while length < characters:
        found.append(draw())
        length += len(found[-1]) + 1
    return "\n".join(found)
