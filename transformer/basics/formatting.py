"""Numbers, times and texts in few words, and a one-line `repr` for values that hold tensors."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

LONGEST = 40  # characters of a text


def brief(self: Any) -> str:
    """A `repr` for dataclasses and named tuples: the name, and for each field its shape, its size or a short text."""
    names = [one.name for one in fields(self) if one.repr] if is_dataclass(self) else self._fields
    return f"{type(self).__name__}({', '.join(f'{name}={_value(getattr(self, name))}' for name in names)})"


def how_many(number: int, thing: str, things: str = "") -> str:
    """A count with its noun: "1 run", "2 runs", "1,200 classes" with the plural given."""
    return f"{number:,} {thing if number == 1 else things or thing + 's'}"


def with_stop(error: object) -> str:
    """What an error says, with the full stop of a sentence, which some errors have already."""
    return f"{str(error).rstrip('.')}."


def enumerated(names: Sequence[str]) -> str:
    """One name or more in a sentence: "a", "a and b", "a, b and c"."""
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def size(bytes: float) -> str:
    """A number of bytes: "1.20 MB", "512.0 GB"."""
    units = (1e12, "TB"), (1e9, "GB"), (1e6, "MB")
    unit, name = next((one for one in units if bytes >= one[0]), (1e3, "kB"))
    return f"{bytes / unit:,.{2 if bytes < 10 * unit else 1}f} {name}"


def amount(number: float) -> str:
    """A large number: "1.2 million", "135 million", "12,345"."""
    unit, name = next(((unit, name) for unit, name, least in ((1e9, " billion", 1e9), (1e6, " million", 1e5))
                       if number >= least), (1, ""))
    return f"{number / unit:,.{1 if name and number < 100 * unit else 0}f}{name}"


def duration(seconds: float) -> str:
    """A time: "0.3 s", "36 min", "2.5 h", "2.3 days"."""
    for most, unit, name in ((90, 1, "s"), (5_400, 60, "min"), (172_800, 3_600, "h")):
        if seconds < most:
            return f"{seconds / unit:.{1 if seconds < 10 * unit else 0}f} {name}"
    return f"{seconds / 86_400:.1f} days"


def in_percent(share: float) -> str:
    """A probability to a tenth of a percent, to a hundredth where it would be none or all, and never a false 0 or 100:
    "8.7%", "0.02%", "<0.01%"."""
    if share in (0, 1):
        return f"{share:.0%}"
    if share < 0.0001:
        return "<0.01%"
    if share > 0.9999:
        return ">99.99%"
    return f"{100 * share + 1e-9:.{2 if share < 0.001 or share > 0.999 else 1}f}%"  # half goes up


def shorten(text: str, longest: int) -> str:
    """The beginning of a text, with a sign if more follows."""
    return text if len(text) <= longest else f"{text[:longest - 1]}…"


def quote(text: str, *, longest: int = LONGEST) -> str:
    """A text in quotes on one line, with its middle left out if it is long."""
    if len(text) > longest:
        text = f"{text[: longest // 2]}…{text[-(longest - longest // 2 - 1):]}"
    return repr(text)


def _value(value: Any) -> str:
    if hasattr(value, "shape"):
        return f"({', '.join(map(str, value.shape))})"
    if isinstance(value, str):
        return quote(value)
    if hasattr(value, "_fields") or is_dataclass(value):
        return type(value).__name__
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return f"{{{', '.join(quote(key, longest=20) for key in list(value)[:3])}{', …' * (len(value) > 3)}}}"
    if isinstance(value, Mapping | list | tuple | set):
        return f"{len(value)} of {type(next(iter(value))).__name__}" if value else "none"
    if isinstance(value, float):
        return f"{value:.4g}"
    return quote(repr(value))[1:-1] if len(repr(value)) > LONGEST else repr(value)
