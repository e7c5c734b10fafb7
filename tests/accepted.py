"""Accepted files: what a page says or a picture draws, kept as text beside the tests and reviewed as text.

`accepted("why.translate", text)` compares a text with `accepted/why.translate.txt` beside the test's own file. Words
have to be equal; a computed number (two decimals, or a percentage) may differ in its last digit, or by `TOLERANCE`, so
that another processor's rounding is no change. `pytest --update FILE` writes what there is now; read the difference
before committing it.
"""

import difflib
import re
from collections.abc import Callable

import pytest

TOLERANCE = 0.01  # of a number: what another processor or another build of PyTorch makes of it
NUMBER = re.compile(r"(?<![\w.])[−+-]?\d+(?:,\d{3})*(?:\.\d+)?(?:e-?\d+)?")


def pytest_addoption(parser) -> None:
    parser.addoption("--update", action="store_true", help="accept what pages say and pictures draw now")


def value(number: str) -> float:
    return float(number.replace(",", "").replace("−", "-"))


def last_digit(number: str) -> float:
    """What one more in the last digit that is written adds: 0.01 of 3.14."""
    mantissa, _, exponent = number.partition("e")
    return 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))


def alike(one: str, other: str) -> bool:
    """Whether two lines differ at most in how their numbers are rounded."""
    if NUMBER.split(one) != NUMBER.split(other):
        return False
    pairs = zip(NUMBER.finditer(one), NUMBER.finditer(other), strict=True)
    return all(a[0] == b[0] or (may_be_rounded(a) and may_be_rounded(b) and abs(value(a[0]) - value(b[0])) <= max(
        1.001 * last_digit(a[0]), TOLERANCE * abs(value(b[0])))) for a, b in pairs)


def may_be_rounded(number: re.Match) -> bool:
    """Whether it was computed: it has two decimals, or one and a per cent sign. 4 counts something, 1.3 is a head."""
    decimals = len(number[0].partition("e")[0].partition(".")[2])
    return decimals >= 2 or "e" in number[0] or (decimals == 1 and number.string[number.end():].lstrip()[:1] == "%")


def difference(now: str, before: str) -> str:
    """The lines that are not alike, as a unified diff; nothing where all are."""
    lines = now.splitlines(), before.splitlines()
    if len(lines[0]) == len(lines[1]) and all(map(alike, *lines)):
        return ""
    kept = [b if alike(a, b) else a for a, b in zip(*lines, strict=False)] + lines[0][len(lines[1]):]
    return "\n".join(difflib.unified_diff(lines[1], kept, "accepted", "now", lineterm="", n=1))


@pytest.fixture
def accepted(request) -> Callable[[str, str], None]:
    """Compares a text with the accepted one of that name."""

    def accepted(name: str, text: str) -> None:
        path = request.path.parent / "accepted" / f"{name}.txt"
        text = "\n".join(line.rstrip() for line in text.splitlines()) + "\n"
        before = path.read_text("utf-8") if path.exists() else ""
        if not (changed := difference(text, before)):
            return
        if not request.config.getoption("--update"):
            pytest.fail(f"{path.name} is not what it was; if that is right: pytest --update {request.path}\n{changed}",
                        pytrace=False)
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, "utf-8")

    return accepted
