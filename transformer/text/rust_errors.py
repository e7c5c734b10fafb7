"""What a library written in Rust panics with, made an error like any other."""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def refuse_panics() -> Iterator[None]:
    """Raise a panic, which is no Exception, as RuntimeError; everything else, Ctrl-C too, goes through unchanged."""
    try:
        yield
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # the class cannot be imported
            raise
        raise RuntimeError(str(error)) from None
