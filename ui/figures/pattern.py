"""Where a rule looks, as a small picture: a square for every two characters, dark where one comes from the other."""

from collections.abc import Sequence
from html import escape

from ui.figures.palette import BAR

CELL, EDGE = 14, 18  # px of the picture's own measure


def pattern(source: str, target: str, links: Sequence[tuple[int, int]], *, causal: bool, label: str) -> str:
    """SVG of rows of target characters over columns of source characters. links: (row, column) of the dark squares, of
    which those of one row share its weight. causal: squares over the diagonal cannot be looked at."""
    dark = {}
    for row, column in links:
        dark[row, column] = 1 / sum(other == row for other, _ in links)
    cells = [f'<rect x="{EDGE + CELL * x}" y="{EDGE + CELL * y}" width="{CELL - 1}" height="{CELL - 1}" rx="2" '
             f'fill="{BAR}" fill-opacity="{max(0.12, dark.get((y, x), 0.0) ** 0.5):.2f}"/>'
             for y in range(len(target)) for x in range(len(source)) if not (causal and x > y)]
    middle = CELL / 2 - 0.5
    names = [f'<text x="{EDGE + CELL * x + middle}" y="{EDGE - 6}">{escape(one)}</text>'
             for x, one in enumerate(source)]
    names += [f'<text x="{EDGE - 9}" y="{EDGE + CELL * y + middle + 3.5}">{escape(one)}</text>'
              for y, one in enumerate(target)]
    width, height = EDGE + CELL * len(source), EDGE + CELL * len(target)
    return (f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{escape(label)}" style="display: block; '
            f'width: 100%; max-width: {width * 1.2:.0f}px; max-height: 170px; margin: auto" fill="currentColor" '
            f'font-family="monospace" font-size="10" text-anchor="middle">{"".join(cells)}{"".join(names)}</svg>')
