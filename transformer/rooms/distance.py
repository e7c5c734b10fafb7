"""How far what was drawn lies from what the model has. p: the model's, q: the drawn, both summing to 1."""

from collections.abc import Sequence
from math import fsum, log

SMOOTHED = 0.01  # of what was drawn, spread evenly over all bars, so that a bar left empty costs much and not all


def shares(values: Sequence[float]) -> list[float]:
    """Values from 0 up as shares of their sum; all alike where there is nothing."""
    most = max(values, default=0.0)
    if most <= 0:
        return [1 / len(values) for _ in values]
    scaled = [value / most for value in values]
    total = fsum(scaled)
    return [value / total for value in scaled]


def divergence(p: Sequence[float], q: Sequence[float]) -> float:
    """KL(p ‖ q) in nats (Kullback and Leibler 1951), of the drawn with a hundredth of it spread evenly."""
    even = SMOOTHED / len(q)
    return max(0.0, fsum(a * log(a / ((1 - SMOOTHED) * b + even)) for a, b in zip(p, q, strict=True) if a > 0))


def overlap(p: Sequence[float], q: Sequence[float]) -> float:
    """The share that the two have in common: the sum of the smaller of each, 1 where they are the same."""
    return min(1.0, fsum(map(min, p, q)))
