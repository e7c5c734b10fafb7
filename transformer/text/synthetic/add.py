"""Two numbers of three digits, and their sum."""

from transformer.text.synthetic.drawing import Draw, pairs

COUNT = 20_000
PINNED = ("427+386\t0813", "999+001\t1000")


def make() -> str:
    """Lines such as `427+081 TAB 0508`."""
    draw = Draw(3)
    return pairs(lambda: f"{draw.number(0, 999):03}+{draw.number(0, 999):03}", COUNT,
                 lambda source: f"{sum(map(int, source.split('+'))):04}")


def links(source: str, target: str) -> list[tuple[int, int]]:
    """The place of each digit of the sum, and the places of the two digits in its column."""
    return [(place, at) for place in range(1, 4) for at in (place - 1, place + 3)]
