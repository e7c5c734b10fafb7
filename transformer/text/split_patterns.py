"""Regular expressions by which tokenizers cut texts. Known ones are fast on any text. An unknown one is first tried in
a process of its own: the package that runs it may backtrack without end, and holds the interpreter while it does, so
that no thread could stop it."""

import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import orjson

_ENDS = r"\s*[\r\n]+|\s+(?!\S)|\s+"
_SHORT = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_WORD = rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+%s|[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*%s"
LLAMA3 = rf"{_SHORT}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|{_ENDS}"
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
TEKKEN = rf"{_WORD % ('', '')}|\p{{N}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|{_ENDS}"
GPT4O = (rf"{_WORD % (_SHORT + '?', _SHORT + '?')}|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|{_ENDS}")
BLOOM = r" ?[^(\s|[.,!?…。，、।۔،])]+"
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
FALCON = (r"[\p{P}\$\+<=>\^~\|`]+", GPT2, "[0-9][0-9][0-9]")  # one after the other
# The last ones are written by transformers for tokenizers without a tokenizer.json.
KNOWN = {LLAMA3, QWEN2, TEKKEN, GPT4O, BLOOM, *FALCON, r"\n", " +▁", r"\s+", " {2,}", "^▁+$", r"[\n\r\t]",
         r"\s{2,}|[\n\r\t]"}
MOST, LONGEST = 40, 8_000  # patterns of one tokenizer, characters of one
SECONDS = 120
TRIAL = Path(__file__).with_name("pattern_trial.py")


def patterns_in(part: object) -> Iterator[str]:
    """The patterns in a step of a tokenizer.json, and in the steps inside it."""
    for name, value in part.items() if isinstance(part, dict) else ():
        if name == "Regex":
            yield str(value)
        for inner in value if isinstance(value, list) else [value]:
            yield from patterns_in(inner)


def check_patterns(*steps: object) -> None:
    """Raises ValueError for steps with an unknown pattern that is slow on some texts."""
    unknown = {one for step in steps for one in patterns_in(step)} - KNOWN
    if len(unknown) > MOST or any(len(one) > LONGEST for one in unknown):
        raise ValueError(f"tokenizer.json cuts texts by more than {MOST} patterns, or by one of more than {LONGEST:,} "
                         "characters; do not use it")
    for one in sorted(unknown):
        if not _is_quick(one):
            raise ValueError(f"tokenizer.json cuts texts by a pattern that takes very long for some of them "
                             f"({one[:60]}); do not use it")


@cache
def _is_quick(pattern: str) -> bool:
    try:
        return subprocess.run([sys.executable, TRIAL], input=orjson.dumps(pattern), capture_output=True,
                              timeout=SECONDS).returncode == 0
    except subprocess.TimeoutExpired:
        return False
