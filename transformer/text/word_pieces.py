"""Groups pieces into words.

Two neighbouring pieces are of one word if there is no space between them and the characters on both sides of the cut
are letters, digits or marks on them. So a punctuation mark is a word of its own, and the space before a word belongs to
it. Scripts without spaces (Chinese, Japanese, Thai and others) keep their pieces. What is one sign on the screen is
never split: bytes of a character, an accent, an emoji of several parts.
"""

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Sequence
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, NamedTuple, TypedDict

if TYPE_CHECKING:
    from transformer.text.tokenizer import Tokenizer

BEGINS, GOES_ON, ENDS, NONE = "▁", "##", "</w>", ""  # marks of words in the pieces of a tokenizer
INSIDE = "·"  # before a piece that goes on inside a word, in a label
SPACES = "▁ "  # how the pieces of every tokenizer show a space
BYTES = re.compile(r"(?:<(?:0x)?[0-9A-F]{2}>)+")  # as tokenizers spell bytes that are no whole character
UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
                      "\U00020000-\U0003ffff]")
RAISED, LOWERED = (str.maketrans("0123456789", digits) for digits in ("⁰¹²³⁴⁵⁶⁷⁸⁹", "₀₁₂₃₄₅₆₇₈₉"))
NEAR = 32  # pieces before one that may decide how it is labelled: more than a word, or a sign in bytes, has
JOINER, NON_JOINER = "\u200d", "\u200c"


class LeftOut(TypedDict):
    """The labels of tokens left out, for what they are."""

    special: list[str]
    sinks: list[str]


class Merged(LeftOut):
    """What was made of tokens. words: they are put together."""

    words: bool


class _Part(NamedTuple):
    """A piece without the mark of a word."""

    begins: bool
    ends: bool
    core: bytes


def words_of(pieces: Sequence[str], mark: str, special: Collection[int] = ()) -> list[range]:
    """The places of the pieces of each word, in order. mark: the tokenizer's `word_mark`. special: the places of
    special tokens, which are words of their own."""
    parts = [_part("" if at in special else piece, mark) for at, piece in enumerate(pieces)]
    text = b"".join(part.core for part in parts).decode("utf-8", "surrogateescape")
    starts = _starts(text)
    starts_of_words, offset = [], 0
    for at, part in enumerate(parts):
        apart = mark == NONE or at == 0 or at in special or at - 1 in special
        if apart or not _joined(parts[at - 1], part, mark, text, starts, offset):
            starts_of_words.append(at)
        offset += len(part.core)
    return [range(*ends) for ends in pairwise([*starts_of_words, len(parts)])]


def word_text(pieces: Sequence[str], mark: str) -> str:
    """A word as text, without the marks of a word; a space alone stays visible."""
    if mark == NONE:
        return "".join(pieces)
    return b"".join(_part(piece, mark).core for piece in pieces).decode("utf-8", "replace") or "".join(pieces)


def label_mark(tokenizer: "Tokenizer | None") -> str:
    """The mark of words that labels of a tokenizer's pieces do without; none where every piece is a character."""
    return NONE if tokenizer is None or tokenizer.kind == "char" else tokenizer.word_mark


def mark_in(pieces: Sequence[str]) -> str:
    """The mark of words in pieces whose tokenizer is not at hand, which is one of our own: "▁", or none where every
    piece is a character."""
    return BEGINS if any(len(piece) > 1 and piece[0] == BEGINS for piece in pieces) else NONE


def piece_labels(pieces: Sequence[str], mark: str = NONE) -> list[str]:
    """Labels of consecutive pieces, with bytes shown as the characters that they are part of: an emoji cut in two is
    😀¹⁄₂ and 😀²⁄₂. Bytes of no whole character stay as they are. mark: as of `label_mark`, which labels leave out; a
    piece that goes on inside a word has a dot before it instead. Without a mark the pieces are exact."""
    return [*_piece_labels(tuple(pieces), mark)]


@lru_cache(2**10)  # a step asks for those of the same tokens a dozen times
def _piece_labels(pieces: tuple[str, ...], mark: str) -> list[str]:
    labels = _of_bytes(pieces)
    if mark == NONE:
        return labels
    for word in words_of(pieces, mark):
        begun = False
        for at in word:
            whole = labels[at] != pieces[at] or bool(BYTES.fullmatch(pieces[at]))
            label = labels[at] if whole else _unmarked(labels[at], mark)
            inside = begun and not whole and unicodedata.category(label[0])[0] in "LN"
            begun = begun or bool(_part(pieces[at], mark).core)
            labels[at] = INSIDE * inside + label
    return labels


def labelled(pieces: Sequence[str], tokenizer: "Tokenizer | None") -> list[str]:
    """`piece_labels` of consecutive pieces of a tokenizer."""
    return piece_labels(pieces, label_mark(tokenizer))


def alternatives(before: Sequence[str], pieces: Sequence[str], mark: str) -> list[str]:
    """Labels of pieces of which each may come next; exact where two would look the same."""
    before = before[-NEAR:]
    labels = [piece_labels([*before, piece], mark)[-1] for piece in pieces]
    return [label if labels.count(label) == 1 else piece_labels([*before, piece])[-1]
            for label, piece in zip(labels, pieces, strict=True)]


def _unmarked(piece: str, mark: str) -> str:
    """A piece without its mark, if anything else is in it."""
    if mark == BEGINS:
        return piece[1:] if piece[:1] in tuple(SPACES) and piece[1:].strip(SPACES) == piece[1:] != "" else piece
    return (piece.removeprefix(mark) if mark == GOES_ON else piece.removesuffix(mark)) or piece


def _of_bytes(pieces: Sequence[str]) -> list[str]:
    out, at = [*pieces], 0
    while at < len(out):
        end = at
        while end < len(out) and BYTES.fullmatch(out[end]):
            end += 1
        if end > at:
            out[at:end] = _characters(out[at:end])
        at = end + 1
    return out


def _characters(pieces: Sequence[str]) -> list[str]:
    """Labels of pieces that are all bytes."""
    parts = [bytes.fromhex(re.sub("<(?:0x)?|>", "", piece)) for piece in pieces]
    text = b"".join(parts).decode("utf-8", "surrogateescape")
    starts, ends = _starts(text), list(accumulate(map(len, parts)))
    labels = []
    for piece, part, end in zip(pieces, parts, ends, strict=True):
        first, last = bisect_right(starts, end - len(part)) - 1, bisect_left(starts, end)
        chars = text[first:last]
        if any("\udc80" <= char <= "\udcff" for char in chars):
            labels.append(piece)  # of an incomplete or invalid character
            continue
        whole = [_share(char, starts[at], starts[at + 1], end - len(part), ends)
                 for at, char in enumerate(chars, start=first)]
        labels.append("".join(whole))
    return labels


def _share(char: str, start: int, stop: int, begin: int, ends: Sequence[int]) -> str:
    """A character as one piece has it, which begins at a byte: with the number of its part, if it is cut."""
    first = bisect_right(ends, start)  # the piece that has its first byte
    count = bisect_left(ends, stop) - first + 1
    if count == 1:
        return char.replace(" ", BEGINS)
    nth = bisect_right(ends, max(start, begin)) - first + 1
    return f"{char}{str(nth).translate(RAISED)}⁄{str(count).translate(LOWERED)}"


@lru_cache(2**14)
def _part(piece: str, mark: str) -> _Part:
    if BYTES.fullmatch(piece):
        data = bytes.fromhex(re.sub("<(?:0x)?|>", "", piece))
        return _Part(data[:1] == b" ", data[-1:] == b" ", data.strip(b" "))
    core = piece
    if mark == GOES_ON:
        core = piece.removeprefix(mark)
        return _Part(core == piece, False, core.encode("utf-8", "surrogatepass"))
    if mark == ENDS:
        core = piece.removesuffix(mark)
        return _Part(False, core != piece, core.encode("utf-8", "surrogatepass"))
    core = piece.strip(SPACES)
    return _Part(piece[:1] in tuple(SPACES), bool(core) and piece[-1] in SPACES,
                 core.replace("▁", " ").encode("utf-8", "surrogatepass"))


def _starts(text: str) -> list[int]:
    """The byte at which each character starts, and the end."""
    starts = [0]
    for char in text:
        starts.append(starts[-1] + len(char.encode("utf-8", "surrogateescape")))
    return starts


def _joined(before: _Part, after: _Part, mark: str, text: str, starts: list[int], offset: int) -> bool:
    if mark == GOES_ON:
        return not after.begins
    if after.begins or before.ends:
        return False
    at = bisect_left(starts, offset)
    if starts[at] != offset:
        return True  # inside a character
    if not before.core:  # a space belongs to what follows it
        return at < len(text) and not text[at].isspace()
    return 0 < at < len(text) and bool(after.core) and _one_word(text, at)


def _one_word(text: str, at: int) -> bool:
    before, after = text[at - 1], text[at]
    if _extends(after) or before == JOINER or (_flag(before) and _flag(after)):
        return True
    base = next((char for char in reversed(text[max(0, at - 8):at]) if not _extends(char)), before)
    return _of_a_word(base) and _of_a_word(after) and not (UNSPACED.match(base) or UNSPACED.match(after))


def _extends(char: str) -> bool:
    """Whether a character belongs to the one before it: accents, vowel signs, parts of emoji."""
    return (unicodedata.category(char)[0] == "M" or char in (JOINER, NON_JOINER)
            or "\U0001f3fb" <= char <= "\U0001f3ff" or "\U000e0020" <= char <= "\U000e007f")


def _flag(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def _of_a_word(char: str) -> bool:
    return char == "_" or unicodedata.category(char)[0] in "LNM"
