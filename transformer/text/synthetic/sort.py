"""Digits, and the same digits in order."""

from transformer.text.synthetic.drawing import Draw, pairs

DIGITS = "0123456789"
SHORTEST, LONGEST = 4, 10
COUNT = 10_000
PINNED = ("5203714\t0123457", "31415926\t11234569")


def make() -> str:
    """Lines of `digits TAB digits in order`."""
    draw = Draw(2)
    return pairs(lambda: draw.string(DIGITS, SHORTEST, LONGEST), COUNT, lambda source: "".join(sorted(source)))


def links(source: str, target: str) -> list[tuple[int, int]]:
    """The place of each digit of the target, and every place of the source where the same digit stands."""
    return [(place, at) for place, digit in enumerate(target) for at, other in enumerate(source) if other == digit]
