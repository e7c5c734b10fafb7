"""Numbers that a room guessed, in bins whose bounds are round."""

from collections.abc import Sequence
from math import ceil, floor, log10
from typing import Any

MOST = 12  # bins
WIDE = 100  # the widest range that is shown whole, whatever was said


def span(values: Sequence[float], least: float, most: float) -> tuple[float, float]:
    """What bins go over: the whole range, or where that is wide what was said."""
    return (least, most) if most - least <= WIDE or not values else (min(values), max(values))


def bins(values: Sequence[float], low: float, high: float) -> list[dict[str, Any]]:
    """Bins over a range: "from", "to" (not in it, but for the last) and "count"."""
    width = _round_width((high - low) / MOST) if high > low else 1.0
    first = floor(low / width)
    count = max(1, ceil(high / width - 1e-9) - first)
    counts = [0] * count
    for value in values:
        counts[min(count - 1, max(0, floor(value / width + 1e-9) - first))] += 1
    return [{"from": _plain((first + at) * width), "to": _plain((first + at + 1) * width), "count": number}
            for at, number in enumerate(counts)]


def _round_width(least: float) -> float:
    """The smallest of 1, 2, 5, 10, 20, ... (and tenths of these) that is not below."""
    power = 10.0 ** floor(log10(least))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= least * (1 - 1e-9))


def _plain(number: float) -> float:
    return float(f"{number:.10g}")
