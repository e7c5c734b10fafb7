"""Where a rule looks, as a small picture: a square for every two characters, dark where one comes from the other."""

from base64 import b64encode
from collections.abc import Sequence
from html import escape

from ui.figures.palette import INK, ramp

CELL, EDGE = 14, 18  # px of the picture's own measure
TALL = 150  # px of the page


def pattern(source: str, target: str, links: Sequence[tuple[int, int]], *, causal: bool, label: str,
            dark: bool) -> str:
    """An image of rows of target characters over columns of source characters, for `st.html`. links: (row, column) of
    the squares that are looked at, of which those of one row share its weight. causal: those over the diagonal cannot
    be looked at."""
    shades = ramp(256, dark=dark)
    weights = {(row, column): 1 / sum(other == row for other, _ in links) for row, column in links}
    squares, names, middle = [], [], CELL / 2 - 0.5
    for y, one in enumerate(target):
        names.append(f'<text x="{EDGE - 9}" y="{EDGE + CELL * y + middle + 3.5}">{escape(one)}</text>')
        for x in range(y + 1 if causal else len(source)):
            red, green, blue = shades[int(255 * weights.get((y, x), 0.0) ** 0.5)]
            squares.append(f'<rect x="{EDGE + CELL * x}" y="{EDGE + CELL * y}" width="{CELL - 1}" '
                           f'height="{CELL - 1}" fill="rgb({red},{green},{blue})"/>')
    names += [f'<text x="{EDGE + CELL * x + middle}" y="{EDGE - 6}">{escape(one)}</text>'
              for x, one in enumerate(source)]
    width, height = EDGE + CELL * len(source), EDGE + CELL * len(target)
    picture = (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" fill="{INK[dark]}" '
               f'viewBox="0 0 {width} {height}" font-family="monospace" font-size="10" text-anchor="middle">'
               f'{"".join(squares)}{"".join(names)}</svg>')
    return (f'<img src="data:image/svg+xml;base64,{b64encode(picture.encode()).decode()}" alt="{escape(label)}" '
            f'style="display: block; height: {TALL}px; max-width: 100%; object-fit: contain; margin: auto">')
