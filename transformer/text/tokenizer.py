"""What every tokenizer does, and the sentencepiece one that the shipped models use: text -> pieces (str) -> ids
(int)."""

import functools
import hashlib
import io
import re
import string
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import sentencepiece

from transformer.text.word_pieces import BEGINS, NONE

KINDS = ("unigram", "bpe", "char", "word")
LARGEST_FILE = 64_000_000  # bytes; the largest vocabularies in use take a third of it
_SPECIALS = 5  # <pad> <unk> <s> </s>, and the newline of a verbatim vocabulary

# Sentencepiece drops training lines over 4,192 bytes without a word, and a character takes at most 4 bytes.
_LONGEST_LINE = 1000


class Piece(NamedTuple):
    """One piece of a text, read from `text[start:end]`, with the space before a word included."""

    text: str  # as displayed: "▁" for a space; the typed text of an unknown piece
    id: int
    start: int
    end: int
    unknown: bool


class TokenizerFile(Protocol):
    """What a checkpoint can store."""

    kind: str
    standardise: bool
    vocab_size: int
    digest: str

    def save(self, path: Path) -> None:
        """Write the tokenizer's file."""
        ...


class Tokenizer(Protocol):
    """The interface of tokenizers for models, pages and the command line."""

    kind: str
    standardise: bool  # lower-cases and strips punctuation before it cuts
    vocab_size: int
    digest: str  # sha256 (hex) of all that decides how text is cut
    word_mark: str  # "▁" begins a word, "##" goes on with one, "</w>" ends one; "" where every piece is one
    special: frozenset[int]  # ids that stand for no text

    @property
    def pad_id(self) -> int | None: ...

    @property
    def bos_id(self) -> int | None: ...

    @property
    def eos_id(self) -> int | None: ...

    @property
    def unk_id(self) -> int | None: ...

    @property
    def end_id(self) -> int | None:
        """The id after a text that an encoder-decoder reads; None if it is EOS."""
        ...

    def encode(self, text: str) -> list[int]:
        """Ids of a text, without BOS or EOS; text that spells a special token is ordinary text."""
        ...

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """`encode` of each text."""
        ...

    def decode(self, ids: Sequence[int]) -> str:
        """Text of ids; padding, BOS, EOS and ids outside the vocabulary leave no trace."""
        ...

    def pieces(self, text: str) -> list[Piece]:
        """The pieces of a text with their place in it; their ids are those of `encode`."""
        ...

    def piece(self, id: int) -> str:
        """Label of an id, never failing: the piece as the vocabulary holds it, or "<id>" outside the vocabulary."""
        ...

    def save(self, path: Path) -> None:
        """Write the tokenizer's file."""


class SentencePieceTokenizer:
    """A sentencepiece model; raises ValueError when `model` is not the bytes of one."""

    word_mark, end_id = BEGINS, None

    def __init__(self, model: bytes, *, kind: str, standardise: bool = False) -> None:
        _check_kind(kind)
        self._processor = sentencepiece.SentencePieceProcessor()
        try:
            self._processor.LoadFromSerializedProto(model)
        except RuntimeError as error:
            raise ValueError(
                f"these {len(model):,} bytes are not a sentencepiece model: the file is damaged or something else; "
                "copy it again from where the checkpoint came from"
            ) from error
        self.model = model
        self.kind = kind
        self.standardise = standardise
        self.vocab_size: int = self._processor.get_piece_size()
        self.pad_id: int = self._processor.pad_id()
        self.bos_id: int = self._processor.bos_id()
        self.eos_id: int = self._processor.eos_id()
        self.unk_id: int = self._processor.unk_id()
        self.digest = hashlib.sha256(model).hexdigest()
        self.special = frozenset({self.pad_id, self.bos_id, self.eos_id} - {-1})  # -1: there is none

    def encode(self, text: str) -> list[int]:
        """Ids of a text, without BOS or EOS; text that spells a special token is ordinary text."""
        return self._processor.encode(self._prepare(text))

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """`encode` of each text, on all cores."""
        return self._processor.encode([self._prepare(text) for text in texts])

    def sample_batch(self, texts: Sequence[str], *, alpha: float, seed: int) -> list[list[int]]:
        """Ids of each text, cut at random among all the ways that its pieces allow; the same seed cuts the same way.

        alpha: of unigram pieces the power of each way's probability, so that less is more random (Kudo 2018,
        section 3); of bpe the share of merges that are left out (Provilkov et al. 2020).
        """
        sentencepiece.set_random_generator_seed(seed)  # of the generators of threads that begin from here on
        return self._processor.encode([self._prepare(text) for text in texts], enable_sampling=True, alpha=alpha,
                                      nbest_size=-1, num_threads=1)

    def decode(self, ids: Sequence[int]) -> str:
        """Text of ids; padding, BOS, EOS and ids outside the vocabulary leave no trace, an unknown piece reads ⁇."""
        return self._processor.decode([id for id in ids if 0 <= id < self.vocab_size and id not in self.special])

    def pieces(self, text: str) -> list[Piece]:
        """The pieces of a text with their character offsets in it; their ids are those of `encode`."""
        prepared = self._prepare(text)
        # Sentencepiece counts bytes of UTF-8: `typed[b]` is the typed character that prepared byte b came from.
        origin = (i for i, char in enumerate(text) for _ in (_standard(char) if self.standardise else char))
        typed = [i for i, char in zip(origin, prepared, strict=True) for _ in char.encode()]
        pieces = []
        for piece in self._processor.encode(prepared, return_type="proto").pieces:
            if piece.begin < piece.end:
                start, end = typed[piece.begin], typed[piece.end - 1] + 1
            else:  # a piece that was read from nothing: the space sentencepiece puts before the first word
                start = end = typed[piece.begin] if piece.begin < len(typed) else len(text)
            pieces.append(Piece(piece.piece, piece.id, start, end, piece.id == self.unk_id))
        return pieces

    def piece(self, id: int) -> str:
        """Label of an id: the piece with its "▁", "<s>" and the like for specials, "<id>" outside the vocabulary."""
        return self._labels[id] if 0 <= id < self.vocab_size else f"<{id}>"

    @functools.cached_property
    def _labels(self) -> list[str]:
        return [self._processor.id_to_piece(id) for id in range(self.vocab_size)]

    def score(self, id: int) -> float:
        """What the model adds up to choose between two ways to cut: unigram's log-probability; BPE merges by it."""
        return self._processor.get_score(id)

    def save(self, path: Path) -> None:
        """Write the sentencepiece model, the bytes whose sha256 is `digest`."""
        path.write_bytes(self.model)

    def _prepare(self, text: str) -> str:
        return _encodable("".join(map(_standard, text)) if self.standardise else text)


class IdsTokenizer:
    """Replaces a missing tokenizer: a text is ids with spaces between, and ids are shown."""

    kind, standardise, word_mark, end_id = "ids", False, NONE, None

    def __init__(self, vocab_size: int, *, pad_id: int | None, unk_id: int | None, bos_id: int | None,
                 eos_id: int | None) -> None:
        self.vocab_size = vocab_size
        self.pad_id, self.unk_id, self.bos_id, self.eos_id = pad_id, unk_id, bos_id, eos_id
        self.special = frozenset(id for id in (pad_id, bos_id, eos_id) if id is not None)
        self.digest = hashlib.sha256(f"ids {vocab_size}".encode()).hexdigest()

    def encode(self, text: str) -> list[int]:
        """The ids that a text lists. Raises ValueError for a word that is none."""
        return [piece.id for piece in self.pieces(text)]

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """`encode` of each text."""
        return [self.encode(text) for text in texts]

    def decode(self, ids: Sequence[int]) -> str:
        """Ids as text that `encode` reads again; those outside the vocabulary leave no trace."""
        return " ".join(str(id) for id in ids if 0 <= id < self.vocab_size)

    def pieces(self, text: str) -> list[Piece]:
        """Each id with its place in the text. Raises ValueError for a word that is none."""
        return [Piece(word[0], self._id(word[0]), word.start(), word.end(), False)
                for word in re.finditer(r"[^\s,]+", text)]

    def piece(self, id: int) -> str:
        """The id itself, or "<id>" outside the vocabulary."""
        return str(id) if 0 <= id < self.vocab_size else f"<{id}>"

    def save(self, path: Path) -> None:
        """Writes nothing: it has no file."""

    def _id(self, word: str) -> int:
        if re.fullmatch("[0-9]{1,9}", word) and int(word) < self.vocab_size:
            return int(word)
        raise ValueError(f"this checkpoint has no tokenizer and reads ids, whole numbers from 0 to "
                         f"{self.vocab_size - 1:,} with spaces between; {word[:40]!r} is not one")


def load(path: Path, *, kind: str, standardise: bool = False) -> SentencePieceTokenizer:
    """Read a saved sentencepiece model; raises ValueError when it cannot be read or is damaged."""
    try:
        if (size := path.stat().st_size) > LARGEST_FILE:
            raise ValueError(f"the tokenizer {path.name} has {size:,} bytes; the limit is {LARGEST_FILE:,}. Please "
                             "use a smaller one")
        model = path.read_bytes()
    except OSError as error:
        raise ValueError(f"the tokenizer {path.name} cannot be read ({error.strerror}); put the file back") from error
    try:
        return SentencePieceTokenizer(model, kind=kind, standardise=standardise)
    except ValueError as error:
        raise ValueError(f"the tokenizer {path.name} cannot be used: {error}") from error


def train(
    lines: Iterable[str],
    *,
    kind: str,
    vocab_size: int,
    standardise: bool = False,
    verbatim: bool = False,
    seed: int = 0,
) -> SentencePieceTokenizer:
    """Trains a tokenizer in memory; the same lines and options always give the same one.

    `verbatim` preserves every space and newline, so that decoding gives the text back exactly; otherwise runs of white
    space and the narrow and no-break spaces become one space, and characters take their NFKC form. `vocab_size` is a
    ceiling: a text too small for so many pieces gives fewer. Raises ValueError if there is no text, or a text with too
    many different characters for `vocab_size`.
    """
    _check_kind(kind)
    if vocab_size <= _SPECIALS:
        raise ValueError(
            f"a vocabulary of {vocab_size:,} pieces leaves no room beside the special ones; "
            f"ask for {_SPECIALS + 1} or more"
        )
    if verbatim:
        spaces = {
            "normalization_rule_name": "identity",
            "remove_extra_whitespaces": False,
            "add_dummy_prefix": False,
            "user_defined_symbols": ["\n"],
            "unk_surface": "⁇",
        }
    else:
        # French authors write U+0020, U+00A0, U+202F or U+2009 before "?"; to a model that is noise.
        spaces = {"normalization_rule_name": "nmt_nfkc"}
    lines = [*_training_lines(lines, standardise)]
    options = {"model_type": kind, "character_coverage": 1.0, "pad_id": 0, "unk_id": 1, "bos_id": 2, "eos_id": 3,
               "hard_vocab_limit": kind in ("unigram", "bpe"), "num_threads": 2, "minloglevel": 2, **spaces}
    try:
        model = _sentencepiece(lines, vocab_size=vocab_size, seed=seed, **options)
    except RuntimeError as error:
        most = re.search(r"value <= (\d+)", str(error))  # so many pieces are all there are
        if not most:
            raise ValueError(_remedy(str(error), vocab_size)) from error
        model = _sentencepiece(lines, vocab_size=int(most[1]), seed=seed, **options)
    return SentencePieceTokenizer(model, kind=kind, standardise=standardise)


def _sentencepiece(lines: list[str], *, vocab_size: int, seed: int, **options: Any) -> bytes:
    """A trained model's bytes. Raises RuntimeError if the lines cannot give so many pieces."""
    model = io.BytesIO()
    sentencepiece.set_random_generator_seed(seed)
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(lines), model_writer=model, vocab_size=vocab_size,
                                             **options)
    return model.getvalue()


def standardise(text: str) -> str:
    """The text in lower case without punctuation, as a tokenizer with `standardise` reads it."""
    return " ".join("".join(map(_standard, text)).split())


def standard_forms() -> dict[str, str]:
    """What standardising makes of each character that it changes."""
    return {char: form for char in map(chr, range(sys.maxunicode + 1)) if (form := _standard(char)) != char}


def _check_kind(kind: str) -> None:
    if kind not in KINDS:
        raise ValueError(f"no tokenizer of kind {kind!r}; choose one of {', '.join(KINDS)}")


def _training_lines(lines: Iterable[str], standardise: bool) -> Iterator[str]:
    for line in lines:
        if standardise:
            line = "".join(map(_standard, line))
        for start in range(0, len(line), _LONGEST_LINE):
            yield _encodable(line[start : start + _LONGEST_LINE])


@functools.lru_cache(maxsize=4096)
def _standard(char: str) -> str:
    """A standardised character: nothing for punctuation, else lower case, which may be two characters ("İ")."""
    return "" if char in string.punctuation or unicodedata.category(char).startswith("P") else char.lower()


def _encodable(text: str) -> str:
    """The text with lone surrogates replaced one for one; a browser can send them, and UTF-8 cannot represent them."""
    return re.sub("[\ud800-\udfff]", "\ufffd", text)


def _remedy(error: str, vocab_size: int) -> str:
    """Says what sentencepiece's training error means for the user."""
    if "sentences_.empty()" in error or "all_chars_count" in error:
        return "there is no text to train a tokenizer on: 0 lines hold any; give at least one line of text"
    if least := re.search(r"(\d+) vs (\d+)", error):
        return (
            f"a vocabulary of {vocab_size:,} pieces is too small for this corpus, whose characters and special tokens "
            f"alone are {int(least[2]):,}; ask for {int(least[2]):,} or more"
        )
    return f"sentencepiece could not train a vocabulary of {vocab_size:,} pieces: {error}"
