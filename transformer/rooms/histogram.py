"""Numbers that a room guessed, in bins whose bounds are round."""

from collections.abc import Sequence
from math import ceil, floor, log10
from typing import Any

MOST = 12  # bins
FAR = 3  # widths of the middle half of the numbers, beyond which one stands alone


def span(values: Sequence[float], least: float | None, most: float | None) -> tuple[float, float]:
    """What bins go over: the range of the question; where it has none what was said, without what is far from it."""
    if least is not None and most is not None:
        return least, most
    if not values:
        return 0.0, 1.0
    ordered = sorted(values)
    low, middle, high = (ordered[part * (len(ordered) - 1) // 4] for part in (1, 2, 3))
    reach = FAR * (high - low) or max(1.0, abs(middle))
    return max(ordered[0], low - reach), min(ordered[-1], high + reach)


def bins(values: Sequence[float], low: float, high: float, beside: Sequence[float] = ()) -> list[dict[str, Any]]:
    """Bins over a range: "from", "to" (not in it, but for the last) and "count". What lies below or above, there or in
    another round, is in the first or the last, which then begins or ends nowhere: None."""
    width = _round_width((high - low) / MOST) if high > low else 1.0
    first = floor(low / width + 1e-9)
    count = max(1, ceil(high / width - 1e-9) - first)
    counts = [0] * count
    for value in values:
        counts[min(count - 1, max(0, floor(value / width + 1e-9) - first))] += 1
    found: list[dict[str, Any]] = [{"from": _plain((first + at) * width), "to": _plain((first + at + 1) * width),
                                    "count": number} for at, number in enumerate(counts)]
    for value in (*values, *beside):
        if value < (first - 1e-9) * width:
            found[0]["from"] = None
        elif value > (first + count + 1e-9) * width:
            found[-1]["to"] = None
    return found


def _round_width(least: float) -> float:
    """The smallest of 1, 2, 5, 10, 20, ... (and tenths of these) that is not below."""
    power = 10.0 ** floor(log10(least))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= least * (1 - 1e-9))


def _plain(number: float) -> float:
    return float(f"{number:.10g}")
