"""What was dragged and turned among the vectors, in a link."""

from collections.abc import Mapping
from math import isfinite

from ui.page.link import Field, decimal, quiet

COLDEST, HOTTEST = 0.1, 10.0  # temperatures
MOST, LONGEST, FARTHEST = 7, 4, 1e4  # arrows, digits of a key's position, a coordinate
QUERY = "q"  # the name of the query; a key's is its position


def moved_places(text: str) -> dict[str, tuple[float, float]]:
    """The places in the plane, by name, from a link such as `q:7.5:0,3:1.2:-4`. Raises ValueError for anything else."""
    places = {}
    for one in filter(None, text.split(",", MOST)[:MOST]):
        name, x, y, *more = (*one.split(":", 3), "", "")[:4]
        key = name.isascii() and name.isdigit() and len(name) <= LONGEST
        if not (name == QUERY or key) or more != [""]:
            raise ValueError(f"{one!r:.40} is no place of {QUERY} or of the position of a key; such as {QUERY}:7.5:0")
        place = float(x), float(y)
        if not all(map(isfinite, place)):
            raise ValueError(f"{one!r:.40} is no place; give two numbers")
        places[name if name == QUERY else str(int(name))] = tuple(max(-FARTHEST, min(at, FARTHEST)) for at in place)
    return places


def written(places: Mapping[str, tuple[float, float]]) -> str | None:
    """What `moved_places` reads; None where nothing was dragged."""
    return ",".join(f"{name}:{x:.4g}:{y:.4g}" for name, (x, y) in places.items()) or None


MOVED = {"temperature": quiet(decimal(1.0, COLDEST, HOTTEST)), "moved": Field({}, moved_places, written)}
