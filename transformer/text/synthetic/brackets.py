"""Brackets of four kinds that open and close as they should."""

from transformer.text.synthetic.drawing import Draw, lines

KINDS = ("()", "[]", "{}", "<>")
SHORTEST, LONGEST = 8, 30  # pairs in a line
DEEPEST = 12
OPENS = 0.55  # how often one opens where another may close
CHARACTERS = 300_000
PINNED = ("([{}<()>])[<>{}]",)


def make() -> str:
    """Lines in which every bracket closes the innermost that is open (Dyck words of four kinds)."""
    draw = Draw(5)
    return lines(lambda: _line(draw, draw.number(SHORTEST, LONGEST)), CHARACTERS)


def _line(draw: Draw, pairs: int) -> str:
    line, is_open = "", []
    while pairs or is_open:
        if pairs and (not is_open or (len(is_open) < DEEPEST and draw.chance(OPENS))):
            opens, closes = draw.one(KINDS)
            line, pairs = line + opens, pairs - 1
            is_open.append(closes)
        else:
            line += is_open.pop()
    return line


def links(text: str, target: str) -> list[tuple[int, int]]:
    """Each place after which a bracket is open, and the place of the innermost one."""
    found, is_open = [], []
    for place, bracket in enumerate(text):
        if any(bracket == kind[0] for kind in KINDS):
            is_open.append(place)
        elif is_open:
            is_open.pop()
        if is_open:
            found.append((place, is_open[-1]))
    return found
