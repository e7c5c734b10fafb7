"""Grading of answers, for a visitor and for a room alike, from plain values and without a model."""

LARGEST = 1e12  # of a typed number


def is_number(given: object, least: float | None = None, most: float | None = None) -> bool:
    """Whether a value is a number within the limits given."""
    return isinstance(given, int | float) and not isinstance(given, bool) and (
        (-LARGEST if least is None else least) <= given <= (LARGEST if most is None else most))


def is_right(given: object, right: float | None, tolerance: float = 0.0) -> bool | None:
    """Whether an answer is right; None if nothing is right or wrong. right: the place of a choice, or a number, from
    which an answer may differ by the tolerance."""
    return None if right is None else is_number(given, *bounds(right, tolerance))


def bounds(right: float, tolerance: float) -> tuple[float, float]:
    """The least and the largest right number."""
    off = tolerance * (1 + 1e-9)
    return right - off, right + off
