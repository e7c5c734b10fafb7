"""Grading of answers, for a visitor and for a room alike, from plain values and without a model."""

from typing import TypeGuard

LARGEST = 1e12  # of a typed number


def is_number(reply: object, least: float | None = None, most: float | None = None) -> TypeGuard[float]:
    """Whether a value is a number within the limits given."""
    return isinstance(reply, int | float) and not isinstance(reply, bool) and (
        (-LARGEST if least is None else least) <= reply <= (LARGEST if most is None else most))


def is_right(reply: object, right: float | None, tolerance: float = 0.0) -> bool | None:
    """Whether an answer is right; None if nothing is right or wrong. right: the place of a choice, or a number, from
    which an answer may differ by the tolerance."""
    return None if right is None else is_number(reply, *bounds(right, tolerance))


def bounds(right: float, tolerance: float) -> tuple[float, float]:
    """The least and the largest right number."""
    off = tolerance * (1 + 1e-9)
    return right - off, right + off
