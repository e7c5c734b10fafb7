"""Random letters, said again: lines that are a few letters repeated, with a period that varies.

With a period that is always the same, the position alone would tell what comes next.
"""

from transformer.text.synthetic.drawing import Draw, lines

LETTERS = "abcdefghijklmnopqrstuvwxyz"
SHORTEST, LONGEST = 5, 15  # letters of a period
TIMES = 4
CHARACTERS = 300_000
PINNED = (3 * "qzkfhwjb",)


def make() -> str:
    """Lines of a few random letters, and the same once more."""
    draw = Draw(4)
    return lines(lambda: TIMES * draw.different(LETTERS, SHORTEST, LONGEST), CHARACTERS)


def links(text: str, target: str) -> list[tuple[int, int]]:
    """The place of each letter that has come before, and of the letter after its last occurrence."""
    found = []
    for place, letter in enumerate(text):
        if (earlier := text.rfind(letter, 0, place)) >= 0:
            found.append((place, earlier + 1))
    return found
