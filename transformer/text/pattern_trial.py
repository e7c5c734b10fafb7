"""Times a regular expression on texts that are hard for it, in a process of its own.

`split_patterns.py` runs this file and writes the pattern to it as JSON. It ends with 0 if no text took long, and with 1
if one did, or if the pattern has parts that it does not know.

The texts: of each kind of character that the pattern distinguishes one or two, found by asking the package itself which
characters each class matches; repeated, alone and in short words, before an end of every kind, and before two: one that
does not go on, and one that the pattern has to find somewhere.
"""

import json
import random
import re
import sys
import time
import unicodedata
from collections.abc import Iterator

from tokenizers import Regex
from tokenizers.pre_tokenizers import Split

MEMORY, CPU_SECONDS = 2**31, 60
STAGES = (300, 0.02, 400), (1_500, 0.3, 40), (20_000, 1.0, 0)  # characters, seconds, and how many go on: the slowest
MOST_SIGNS, MOST_WORDS, MOST_SHORT, ENDS, STRANGERS = 120, 40, 200, 8, 12
_PART = re.compile(r"""
    (?P<group>\((?:\?(?:[:=!>]|<[=!]|(?P<flags>[im-]+)[:)]))?) | (?P<other>[|)^$*+?]|\{\d*,?\d*\}|\\[bBAzZ])
  | (?P<hex>\\x\{(?P<code>[0-9A-Fa-f]{1,6})\}|\\x[0-9A-Fa-f]{2}|\\u[0-9A-Fa-f]{4})
  | (?P<kind>\\[pP]\{\^?[\w =:-]+\}|\\[sSdDwWhH]|\.) | (?P<sign>\\[rntfvae]|\\[^\w\s]|[^\\\[(])
""", re.VERBOSE | re.DOTALL)
_NAMED = re.compile(r"\\x\{([0-9A-Fa-f]{1,6})\}|\\x([0-9A-Fa-f]{2})|\\u([0-9A-Fa-f]{4})")


def atoms(pattern: str) -> Iterator[tuple[str, bool]]:
    """The parts of a pattern that match a character each, as written, and whether each is a single sign. Raises
    ValueError for syntax that is not supported."""
    at = 0
    while at < len(pattern):
        if pattern[at] == "[":
            end = _end_of_class(pattern, at)
            yield pattern[at:end], False
            at = end
            continue
        part = _PART.match(pattern, at)
        if not part or (pattern.startswith(("(?", "(*"), at) and part["group"] == "("):
            raise ValueError(f"{pattern[at:at + 10]} is not understood")
        if part["hex"] or part["kind"] or part["sign"]:
            yield part[0], not part["kind"]
        at = part.end()


def _end_of_class(pattern: str, begin: int) -> int:
    """The end of a class, with the classes inside it."""
    depth, at = 0, begin
    while at < len(pattern):
        if pattern[at] == "\\":
            at += 1
        elif pattern[at] == "[":
            depth += 1
            at += pattern.startswith("[^", at)
            at += pattern.startswith("]", at + 1)  # which stands for itself there
        elif pattern[at] == "]":
            depth -= 1
            if not depth:
                return at + 1
        at += 1
    raise ValueError("a class does not end")


def alphabet(pattern: str) -> str:
    """Characters to try: those that the pattern names and their neighbours first, then some of every script."""
    named = {ord(one) for one in pattern} | {int("".join(filter(None, code)), 16) for code in _NAMED.findall(pattern)}
    near = sorted({one + by for one in named for by in (-1, 0, 1)}, key=lambda one: (one not in named, one))
    cases = [ord(one) for code in near if 0 <= code < 0x110000 for one in (chr(code).lower() + chr(code).upper())]
    many = ((0x3400, 0xA000), (0xAC00, 0xD800), (0x17000, 0x19000), (0x20000, 0x110000))  # much alike
    rest = [code for code in range(0x110000) if not any(low <= code < high for low, high in many) or code % 97 == 0]
    return "".join(chr(code) for code in dict.fromkeys([*near, *cases, *map(ord, "aA1 \n\t'!"), *rest])
                   if 0 <= code < 0x110000 and unicodedata.category(chr(code)) not in ("Cs", "Cn", "Co"))


def signs_of(pattern: str, parts: list[str]) -> list[str]:
    """One or two characters of each kind that the parts distinguish."""
    letters = alphabet(pattern)
    kinds = [0] * len(letters)
    for number, part in enumerate(parts):
        for form in (part, f"(?i:{part})") if "(?" in pattern else (part,):
            matched = [True] * len(letters)
            for _, (begin, end) in Split(Regex(form), "removed").pre_tokenize_str(letters):
                matched[begin:end] = [False] * (end - begin)
            for at, one in enumerate(matched):
                kinds[at] |= one << 2 * number + (form != part)
    signs: dict[int, list[str]] = {}
    for letter, kind in zip(letters, kinds, strict=True):
        if len(of_kind := signs.setdefault(kind, [])) < 2:
            of_kind.append(letter)
    if len(signs) > MOST_SIGNS:
        raise ValueError("it tells too many kinds of characters apart")
    ones, others = [kind[0] for kind in signs.values()], [kind[1] for kind in signs.values() if len(kind) > 1]
    return [*ones, *others][:MOST_SIGNS]


def texts(signs: list[str], words: list[str]) -> Iterator[tuple[str, str]]:
    """Pairs of what is repeated, and the end that follows."""
    draw, parts = random.Random(0), [*signs, *words]
    for sign in signs:
        for end in ("", "\n!", *signs, *_two(signs, draw)):
            yield sign, end
    drawn = ["".join(draw.choices(parts, k=draw.randint(2, 6))) for _ in range(MOST_SHORT)]
    for word in [*words, *drawn]:
        for end in ("", "!", "\n!", *draw.choices(signs, k=ENDS), *draw.choices([*_two(signs, draw)], k=ENDS)):
            yield word, end


def _two(signs: list[str], draw: random.Random) -> Iterator[str]:
    """Ends of two signs: some of all, and after it each."""
    for first in draw.sample(signs, min(STRANGERS, len(signs))):
        yield from (first + second for second in signs)


def seconds(split: Split, word: str, end: str, length: int) -> float:
    began = time.process_time()
    split.pre_tokenize_str(word * (length // len(word)) + end)
    return time.process_time() - began


def is_quick(pattern: str) -> bool:
    """Whether the pattern is fast on all texts. Raises ValueError for syntax that is not supported."""
    parts = list(atoms(pattern))
    words = re.findall(r"\w{2,}", pattern) + re.findall(
        r".{2,}", "".join(json.loads(f'"\\u{part[2:]}"') if re.fullmatch(r"\\u\w{4}", part) else part[-1:]
                          if one else "\n" for part, one in parts))
    split = Split(Regex(pattern), "isolated")
    tried = list(texts(signs_of(pattern, list(dict.fromkeys(part for part, _ in parts))), words[:MOST_WORDS]))
    for length, most, go_on in STAGES:
        took = []
        for word, end in tried:
            took.append((seconds(split, word, end, length), word, end))
            if took[-1][0] > most and seconds(split, word, end, length) > most:
                return False
        tried = [(word, end) for _, word, end in sorted(took, reverse=True)[:go_on]]
    return True


if __name__ == "__main__":
    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    try:
        sys.exit(not is_quick(json.load(sys.stdin)))
    except ValueError:
        sys.exit(1)
