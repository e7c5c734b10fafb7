"""A phone's answer: whether it is one to what was asked, and the same in one form."""

import unicodedata
from collections.abc import Mapping
from math import isfinite
from typing import Any

from transformer.lessons.grading import is_number
from transformer.rooms.distance import shares

SURE = "a guess", "fairly sure", "certain"  # how sure somebody is, by its place
TALLEST = 1e9  # of a bar as it was drawn
JOINERS = "\u200c\u200d"  # inside emoji and inside several scripts


def fits(spec: Mapping[str, Any], value: object, number: int) -> int | float | list[float] | str:
    """A phone's answer, checked: the place of a choice, a number in its bounds, bars that sum to 1, or a text on one
    line. number: the phone's, from 0. Raises ValueError, with what to do, for anything else."""
    match spec["form"]:
        case "choice":
            choices = spec["each"][number % len(spec["each"])]["choices"] if "each" in spec else spec["choices"]
            if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < len(choices):
                raise ValueError(f"the answer is not one of the {len(choices)} choices; choose one")
            return value
        case "number":
            return _number(value, spec["least"], spec["most"])
        case "draw":
            return _drawn(value, len(spec["labels"]))
        case "text":
            return _text(value, spec["longest"])
    raise AssertionError(f"nothing answers {spec['form']!r}")


def fits_sure(sure: object) -> int | None:
    """How sure somebody is, a place in `SURE`, or None for not said. Raises ValueError for anything else."""
    if sure is None:
        return None
    if isinstance(sure, bool) or not isinstance(sure, int) or not 0 <= sure < len(SURE):
        raise ValueError(f"how sure is one of 0 to {len(SURE) - 1}, or left out")
    return sure


def _number(value: object, least: float | None, most: float | None) -> float:
    if not is_number(value, least, most):
        raise ValueError(f"the answer is not a number{'' if least is None else f' from {least:g} to {most:g}'}; type "
                         "one")
    return float(value)


def _drawn(value: object, bars: int) -> list[float]:
    if not isinstance(value, list) or len(value) != bars:
        raise ValueError(f"the answer does not have {bars} bars; draw each of them")
    for bar in value:
        if isinstance(bar, bool) or not isinstance(bar, int | float) or not 0 <= bar <= TALLEST:
            raise ValueError("a bar is not a number from 0 up; draw it again")
    heights = [float(bar) for bar in value]
    if not max(heights) > 0:
        raise ValueError("all bars are empty; draw at least one")
    out = shares(heights)
    assert all(map(isfinite, out)), f"bars that are not finite from {heights}"
    return out


def _text(value: object, longest: int) -> str:
    if not isinstance(value, str):
        raise ValueError("the answer is not a text; type one")
    if len(value) > 4 * longest:  # before anything is done with a text of any length
        raise ValueError(f"the answer is longer than {longest} characters; shorten it")
    # what is unseen is dropped: it can turn the direction of the text around it
    seen = (one for one in value if one in JOINERS or unicodedata.category(one) != "Cf")
    text = " ".join("".join(seen).split())
    if not text.strip(JOINERS):
        raise ValueError("the answer is empty; type something")
    if len(text) > longest:
        raise ValueError(f"the answer has {len(text)} characters; at most {longest} are kept. Please shorten it")
    if any(unicodedata.category(one) in ("Cc", "Cs", "Co") for one in text):  # control, halves of pairs, private
        raise ValueError("the answer has characters that cannot be shown; type it again")
    return text
