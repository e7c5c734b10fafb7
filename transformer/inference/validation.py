"""Validation of arguments: each function raises ValueError with one sentence."""

from collections.abc import Mapping
from contextlib import suppress
from math import inf
from numbers import Integral, Real
from typing import Any

from transformer.checkpoints.checkpoint import Checkpoint


def check_checkpoint(ckpt: object) -> None:
    if not isinstance(ckpt, Checkpoint):
        raise ValueError(f"the checkpoint is of type {type(ckpt).__name__}; open it with transformer.load(folder)")


def check_text(text: object, *, name: str = "the text") -> str:
    """Returns a text as it is."""
    if not isinstance(text, str):
        raise ValueError(f"{name} is of type {type(text).__name__}; give one str, and call once for each of several")
    return text


def listed(texts: Any) -> list[Any]:
    """Several texts of any collection as a list, whatever is in it."""
    with suppress(TypeError):
        if not isinstance(texts, str | bytes | Mapping):
            return list(texts)
    raise ValueError(f"the texts are of type {type(texts).__name__}; give a list of str, also for one text")


def check_texts(texts: object) -> list[str]:
    """Returns several texts as a list."""
    texts = listed(texts)
    for place, text in enumerate(texts):
        check_text(text, name=f"text {place} of the list")
    return texts


def check_whole(name: str, value: object, low: float, high: float = inf) -> None:
    """Raises ValueError unless the value is a whole number from low to high, both included."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < low or not value <= high:
        limit = f"from {low} up" if high == inf else f"from {low} to {high:,}"
        raise ValueError(f"{name} is {value!r}; choose a whole number {limit}")


def check_number(name: str, value: object, low: float, high: float) -> None:
    """Raises ValueError unless the value is a number from low to high, both included."""
    if not isinstance(value, Real) or isinstance(value, bool) or value < low or not value <= high:
        raise ValueError(f"{name} is {value!r}; choose a number from {low:g} to {high:g}")
