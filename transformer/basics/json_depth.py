"""The depth of JSON, checked before any recursion over it."""

DEEPEST = 32  # levels of JSON in JSON


def is_shallow(value: object, deepest: int = DEEPEST) -> bool:
    """Whether lists and objects are nested at most so many levels deep."""
    level = [value]
    for _ in range(deepest + 1):
        level = [inner for one in level if isinstance(one, dict | list)
                 for inner in (one.values() if isinstance(one, dict) else one)]
    return not level
