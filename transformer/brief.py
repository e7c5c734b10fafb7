"""What holds tensors, in one line: a notebook shows its value after a cell, and nobody reads a thousand numbers."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass

LONGEST = 40  # characters of a text


def brief(thing: object) -> str:
    """The `repr` of a dataclass or a named tuple: its name, and of each field its shape, its size or a short text."""
    names = [one.name for one in fields(thing) if one.repr] if is_dataclass(thing) else thing._fields
    return f"{type(thing).__name__}({', '.join(f'{name}={_value(getattr(thing, name))}' for name in names)})"


def quoted(text: str, *, longest: int = LONGEST) -> str:
    """A text in quotes on one line, its middle left out where it is long."""
    if len(text) > longest:
        text = f"{text[: longest // 2]}…{text[-(longest - longest // 2 - 1):]}"
    return repr(text)


def _value(value: object) -> str:
    if hasattr(value, "shape"):
        return f"({', '.join(map(str, value.shape))})"
    if isinstance(value, str):
        return quoted(value)
    if hasattr(value, "_fields") or is_dataclass(value):
        return type(value).__name__
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return f"{{{', '.join(quoted(key, longest=20) for key in list(value)[:3])}{', …' * (len(value) > 3)}}}"
    if isinstance(value, Mapping | list | tuple | set):
        return f"{len(value)} of {type(next(iter(value))).__name__}" if value else "none"
    if isinstance(value, float):
        return f"{value:.4g}"
    return quoted(repr(value))[1:-1] if len(repr(value)) > LONGEST else repr(value)
