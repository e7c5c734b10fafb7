"""Tables of which a row costs less to check than a test costs to be set up, reported and collected by every process."""

import functools
import inspect
from collections.abc import Callable, Iterable

import pytest


def each_row(names: str | tuple[str, ...], table: Iterable) -> Callable[[Callable], Callable]:
    """As `pytest.mark.parametrize`, but one test goes through all rows, and names those that fail. What fixtures give
    is shared by the rows."""
    wanted = [name.strip() for name in names.split(",")] if isinstance(names, str) else names
    listed = list(table)

    def decorate(test: Callable) -> Callable:
        @functools.wraps(test)
        def through_all(**fixtures: object) -> None:
            failed = []
            for row in listed:
                try:
                    test(**fixtures, **dict(zip(wanted, row if len(wanted) > 1 else [row], strict=True)))
                except (Exception, pytest.fail.Exception) as error:
                    error.add_note(f"in the row {row!r:.300}")
                    failed.append(error)
            if len(failed) > 1:
                raise BaseExceptionGroup(f"{len(failed)} of {len(listed)} rows", failed)
            if failed:
                raise failed[0]

        given = inspect.signature(test)
        through_all.__signature__ = given.replace(parameters=[
            parameter for name, parameter in given.parameters.items() if name not in wanted])
        return through_all

    return decorate
