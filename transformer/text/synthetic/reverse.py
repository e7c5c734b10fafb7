"""Letters, and the same letters backwards."""

from transformer.text.synthetic.drawing import Draw, pairs

LETTERS = "abcdefghijkl"
SHORTEST, LONGEST = 4, 10
COUNT = 10_000
PINNED = ("jackal\tlakcaj", "beachhead\tdaehhcaeb")


def make() -> str:
    """Lines of `letters TAB letters backwards`."""
    draw = Draw(1)
    return pairs(lambda: draw.string(LETTERS, SHORTEST, LONGEST), COUNT, lambda source: source[::-1])


def links(source: str, target: str) -> list[tuple[int, int]]:
    """The place of each letter of the target, and of the letter of the source that it is."""
    return [(place, len(source) - 1 - place) for place in range(len(target))]
