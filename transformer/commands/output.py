"""What the commands print: results on standard output, to read or as JSON; progress and errors on standard error."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import orjson
from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress

console = Console(stderr=True)


def report(result: Mapping[str, object], as_json: bool) -> None:
    """Print a result: one JSON line, or one line a value."""
    print(orjson.dumps(result).decode() if as_json else "\n".join(lines(result)), flush=True)


@contextmanager
def counting(what: str, *, numbers: bool = False) -> Iterator[Callable[[int, int], None]]:
    """A bar while something goes on -> the function that is told how far it is: done, of how many."""
    columns = [*Progress.get_default_columns(), *([MofNCompleteColumn()] if numbers else [])]
    with Progress(*columns, console=console, transient=True) as progress:
        bar = progress.add_task(what, total=None)
        yield lambda done, of: progress.update(bar, completed=done, total=of)


def lines(result: Mapping[str, object]) -> list[str]:
    """One line a value; what is itself named values goes below its name."""
    flat = {}
    for key, value in result.items():
        inner = value.items() if isinstance(value, Mapping) else [(None, value)]
        flat |= {key if name is None else f"{key}: {name}": text(one) for name, one in inner if one is not None}
    widest = max(map(len, flat), default=0)
    return [f"{key:>{widest}}  {value}" for key, value in flat.items()]


def text(value: object) -> str:
    """A value as text: whole numbers in groups of three, others to seven digits, a list with commas."""
    match value:
        case bool() | str():
            return str(value)
        case int():
            return f"{value:,}"
        case float():
            return f"{value:.7g}"
        case list() | tuple():
            return ", ".join(map(text, value))
    return str(value)


def table(rows: Sequence[Mapping[str, object]]) -> list[str]:
    """Rows with the same names, in columns under them."""
    cells = [[*rows[0]], *([text(value) for value in row.values()] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells]
