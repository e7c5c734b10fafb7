"""A disk or a memory without room, recognised however a library says it, and said in one sentence; and memory given
back."""

import ctypes
import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TypeGuard

from safetensors import SafetensorError

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
NO_MEMORY = ("out of memory", "can't allocate memory", "not enough memory", "bad_alloc")  # torch's own words


class Shortage(ValueError):
    """There is no room; the message says where, and what to do."""


def disk_is_full(error: BaseException) -> TypeGuard[OSError]:
    return isinstance(error, OSError) and error.errno in FULL


def memory_is_full(error: BaseException) -> bool:
    if isinstance(error, RuntimeError):
        return any(words in str(error).lower() for words in NO_MEMORY)
    return isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM)


def hold_little() -> None:
    """Once, before threads are begun: have large blocks freed to the system at once and few heaps made, for a thread's
    own heap keeps what it has grown to while anything in it is in use."""
    with suppress(OSError, AttributeError):
        libc = ctypes.CDLL(None)
        libc.mallopt(-3, 1 << 20)  # M_MMAP_THRESHOLD, which would rise with each large block that is freed
        libc.mallopt(-8, 2)        # M_ARENA_MAX


def give_back() -> None:
    """Give memory that is free back to the system, which the C library would keep for later."""
    with suppress(OSError, AttributeError):  # another library than glibc gives back by itself
        ctypes.CDLL(None).malloc_trim(0)


def in_words(error: BaseException) -> str | None:
    """What there is no room for, and what to do; None for any other error."""
    if disk_is_full(error):
        return f"the disk is full ({os.strerror(error.errno or 0)}); free some space and try again"
    if memory_is_full(error):
        return "not enough memory; close other programs or use a smaller model, and try again"
    return None


@contextmanager
def said() -> Iterator[None]:
    """Raise a shortage as one that says so, and every other error as it is."""
    try:
        yield
    except Exception as error:
        if (words := in_words(error)) is None:
            raise
        raise Shortage(words) from error


@contextmanager
def os_errors() -> Iterator[None]:
    """Have safetensors raise OSError, as all other writers do, where the disk does not take what it writes."""
    try:
        yield
    except SafetensorError as error:
        if (number := re.search(r"\(os error (\d+)\)", str(error))) is None:
            raise
        raise OSError(int(number[1]), os.strerror(int(number[1]))) from error
