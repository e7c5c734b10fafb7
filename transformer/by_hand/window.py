"""Which numbers of a wide matrix are shown: all of them while they fit, else one window at a time."""

WHOLE = 32  # rows or columns that are shown together
WINDOW = 8  # of more than that, as many are shown at a time, so that two matrices stand side by side


def window(count: int, first: int = 0) -> range:
    """The places shown of `count` in a row or column, from the window that has `first` in it; past the end, the last
    window."""
    if count <= WHOLE:
        return range(count)
    start = max(0, min(first, count - 1)) // WINDOW * WINDOW
    return range(start, min(start + WINDOW, count))
