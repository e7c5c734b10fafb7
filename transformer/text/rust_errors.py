"""Panics of libraries written in Rust, as errors like any other."""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def refuse_panics() -> Iterator[None]:
    """Raises a panic, which is not an Exception, as RuntimeError. Everything else, Ctrl-C too, goes through
    unchanged."""
    try:
        yield
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # the class cannot be imported
            raise
        raise RuntimeError(str(error)) from None
