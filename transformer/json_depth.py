"""How deep JSON goes, before anything that follows it level by level."""

DEEPEST = 32  # levels of JSON in JSON


def is_shallow(value: object, deepest: int = DEEPEST) -> bool:
    """Whether lists and objects lie at most so many levels inside each other."""
    level = [value]
    for _ in range(deepest + 1):
        level = [inner for one in level if isinstance(one, dict | list)
                 for inner in (one.values() if isinstance(one, dict) else one)]
    return not level
