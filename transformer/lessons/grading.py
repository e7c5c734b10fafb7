"""Whether an answer is right: judged alike for one visitor and for a room, from plain values and without a model."""

LARGEST = 1e12  # of a number that is typed


def is_number(given: object, least: float | None = None, most: float | None = None) -> bool:
    """Whether that is a number in a range, where there is one."""
    return isinstance(given, int | float) and not isinstance(given, bool) and (
        (-LARGEST if least is None else least) <= given <= (LARGEST if most is None else most))


def is_right(given: object, right: float | None, tolerance: float = 0.0) -> bool | None:
    """right: the place of a choice, or a number that an answer may be off by the tolerance; None where nothing is right
    or wrong."""
    return None if right is None else is_number(given, *bounds(right, tolerance))


def bounds(right: float, tolerance: float) -> tuple[float, float]:
    """The least and the largest number that is right."""
    off = tolerance * (1 + 1e-9)
    return right - off, right + off
