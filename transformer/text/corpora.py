"""Corpora: those of the library and the user's files, split the same way everywhere."""

import functools
import hashlib
import re
import string
import threading
import unicodedata
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np

from transformer.text.corpus_catalogue import CLASSES, FORMS, PAIRS, SOURCES, TEXT, Form, find_source, measured_on
from transformer.text.labelled import Labelled, deal
from transformer.text.lines import lines_of
from transformer.text.user_corpus import form_of_file, is_user_corpus, read_labelled, read_pairs, read_text

Item = TypeVar("Item")
Pair = tuple[str, list[str]]  # a source, and its references in file order

HELD_OUT = 2000  # sources in test, and as many in validation
LEAST_WORDS = 4  # of a source that has neighbours: one of three has them by chance

# sha256 of the test sources of eng-fra, in order, joined by newlines: whoever measures on others has another split.
TEST_SOURCES_SHA256 = "a4eda07911d7756c3a6deae6fac9d6df5497dcf5f1b3f4b5350b39e6f29b13be"


@dataclass(frozen=True)
class Corpus:
    """A corpus in memory; `sha256` is that of the text itself, however it was packed."""

    form: ClassVar[Form]
    name: str
    sha256: str
    licence: str
    attribution: str


@dataclass(frozen=True)
class TextCorpus(Corpus):
    """Running text, cut once: the first 90% of the characters to train on, the rest to validate."""

    form, splits, measured_on = TEXT, ("train", "validation"), "validation"
    text: str = field(repr=False, compare=False)

    def split(self, name: str) -> str:
        """The text of "train" or "validation"; raises ValueError for any other name."""
        _check_split(self.name, name, self.splits)
        cut = int(len(self.text) * 0.9)
        return self.text[:cut] if name == "train" else self.text[cut:]


@dataclass(frozen=True)
class PairCorpus(Corpus):
    """Sentences with their translations, split by source so that no test source is trained on."""

    form = PAIRS
    splits: dict[str, dict[str, list[str]]] = field(repr=False, compare=False)
    languages: tuple[str, str] | None = None  # of the sources and of the translations, in English; None if unknown

    @property
    def measured_on(self) -> str:
        """The split that a model is measured on: "train" if nothing is held out."""
        return measured_on(self.splits)

    def split(self, name: str) -> list[Pair]:
        """(source, references) of "train", "validation" or "test", in the order of the sources' sha256."""
        _check_split(self.name, name, self.splits)
        return list(self.splits[name].items())

    def find(self, text: str) -> tuple[str, list[str]] | None:
        """The split and the references of a sentence that is exactly a source, else None."""
        for name, pairs in self.splits.items():
            if text in pairs:
                return name, pairs[text]
        return None


@dataclass(frozen=True)
class LabelledCorpus(Corpus):
    """Texts with a class; a file too small to hold anything out has only the split "train"."""

    form = CLASSES
    classes: tuple[str, ...]
    splits: dict[str, list[Labelled]] = field(repr=False, compare=False)

    @property
    def measured_on(self) -> str:
        """The split that a model is measured on: "train" if nothing is held out."""
        return measured_on(self.splits)

    def split(self, name: str) -> list[Labelled]:
        """(text, class) of "train", "validation" or "test", in the order of the text they come from."""
        _check_split(self.name, name, self.splits)
        return self.splits[name]

    def find(self, text: str) -> tuple[str, list[str]] | None:
        """The split of a text that is exactly one of these, and its classes (several if several speakers say it), else
        None."""
        for name, items in self.splits.items():
            if labels := [label for one, label in items if one == text]:
                return name, sorted(set(labels))
        return None


_turns: dict[str, threading.Lock] = {}


def corpus(name: str) -> TextCorpus | PairCorpus | LabelledCorpus:
    """A corpus of the library by its name (`corpus_catalogue`), or a user's file by its path (`user_corpus`).

    The last few are cached, a file until it is written again. Raises ValueError for an unknown name, and for a broken
    file.

    >>> len(transformer.corpus("eng-fra").split("test"))
    2000
    """
    with _turns.setdefault(name, threading.Lock()):  # the first who asks reads it, for all who ask meanwhile
        return _open_corpus(name)


def _open_corpus(name: str) -> TextCorpus | PairCorpus | LabelledCorpus:
    if not is_user_corpus(name):
        return _read(name)
    path = Path(name).absolute()
    try:
        stat = path.stat()
    except OSError:
        return _own(path)  # raises the reason
    return _read(str(path), stat.st_mtime_ns, stat.st_size)


def is_available(name: str) -> bool:
    """Whether `corpus(name)` finds it: it comes with the library, or is an existing file."""
    return Path(name).is_file() if is_user_corpus(name) else find_source(name) is not None


def passages(found: TextCorpus | PairCorpus | LabelledCorpus,
             split: str | None = None) -> list[tuple[str, Any]]:
    """(text, right answer) of a split, by default the held-out one; of running text its paragraphs, or its lines if it
    has no paragraphs."""
    if not isinstance(found, TextCorpus):
        return found.split(split or found.measured_on)
    text = found.split(split or found.measured_on)
    parts = text.split("\n\n") if "\n\n" in text else lines_of(text)
    return [(part.strip(), None) for part in parts if part.strip()]


def drawn(items: list[Item], limit: int | None, seed: int | None) -> list[Item]:
    """`limit` items in a random order, or the first ones without a seed."""
    if seed is None:
        return items[:limit]
    order = np.random.default_rng(seed).permutation(len(items))
    return [items[at] for at in order[:limit]]


def unseen(test: Sequence[Pair], train: Sequence[Pair]) -> list[bool]:
    """Whether each test item was unseen in training.

    False if the source differs from a training source only in case or punctuation, or every reference is a training
    target.
    """
    sources = {_bare(source) for source, _ in train}
    targets = {target for _, references in train for target in references}
    return [_bare(source) not in sources and not targets.issuperset(references) for source, references in test]


def neighbours(test: Sequence[Pair], train: Sequence[Pair]) -> list[bool]:
    """Whether each test source is a training source with one word exchanged.

    Both have the same number of words, four or more (letters, digits and underscores, ignoring case), and all but one
    are equal.
    """
    holed: dict[tuple[str | None, ...], list[int]] = {}
    for at, (source, _) in enumerate(test):
        for words in _holed(source):
            holed.setdefault(words, []).append(at)
    places = {at for source, _ in train for words in _holed(source) for at in holed.get(words, ())}
    return [at in places for at in range(len(test))]


def _holed(source: str) -> list[tuple[str | None, ...]]:
    """The words of a source with each left out in turn; none for a short source."""
    words = re.findall(r"\w+", source.casefold())
    return [(*words[:at], None, *words[at + 1:]) for at in range(len(words))] if len(words) >= LEAST_WORDS else []


def split_pairs(references: dict[str, list[str]]) -> dict[str, dict[str, list[str]]]:
    """Splits the references of each source: of ten sources or more a tenth, at most HELD_OUT, goes to each of "test"
    and "validation"; of fewer none."""
    held_out = min(HELD_OUT, len(references) // 10)
    dealt = split_sources(list(references), held_out=held_out) if held_out else {"train": list(references)}
    return {name: {source: references[source] for source in sources} for name, sources in dealt.items()}


def split_sources(sources: Sequence[str], *, held_out: int = HELD_OUT) -> dict[str, list[str]]:
    """Deals different sources to "test" (the `held_out` first by sha256), "validation" (as many) and "train"."""
    ordered = sorted(sources, key=lambda source: hashlib.sha256(source.encode()).hexdigest())
    return {
        "train": ordered[2 * held_out :],
        "validation": ordered[held_out : 2 * held_out],
        "test": ordered[:held_out],
    }


@functools.lru_cache(maxsize=4)
def _read(name: str, *stamp: int) -> TextCorpus | PairCorpus | LabelledCorpus:
    """Reads and splits a corpus once per process; a file's time and size show whether it was replaced."""
    return _own(Path(name)) if is_user_corpus(name) else _packed(name)


def _packed(name: str) -> TextCorpus | PairCorpus | LabelledCorpus:
    source = find_source(name)
    if source is None:
        raise ValueError(f"no corpus {name!r}; there are {', '.join(source.name for source in SOURCES)}, or give the "
                         f"path of a {', '.join(form.ending for form in FORMS[:-1])} or {FORMS[-1].ending} file")
    about, text = (name, source.sha256, source.licence, source.attribution), source.read()
    if source.labelled is not None:
        classes, items = source.labelled(text)
        return LabelledCorpus(*about, tuple(classes), deal(items))
    if source.form == TEXT:
        return TextCorpus(*about, text)
    references: dict[str, list[str]] = {}
    for line in text.split("\n"):
        if line:
            first, translation = line.split("\t")[:2]  # later editions of such files add a third: who wrote them
            references.setdefault(first, []).append(translation)
    return PairCorpus(*about, split_pairs(references), source.languages)


def _own(path: Path) -> TextCorpus | PairCorpus | LabelledCorpus:
    """A user's file."""
    form = form_of_file(path)
    content = read_text(path) if form == TEXT else read_labelled(path) if form == CLASSES else read_pairs(path)
    about = path.name, hashlib.sha256(path.read_bytes()).hexdigest(), "not stated", "a file of one's own"
    if isinstance(content, str):
        return TextCorpus(*about, content)
    if isinstance(content, tuple):
        classes, labelled = content
        return LabelledCorpus(*about, tuple(classes), labelled)
    return PairCorpus(*about, split_pairs(content))


def _bare(text: str) -> str:
    """The text in lower case without punctuation and doubled spaces."""
    letters = (char for char in text if char not in string.punctuation
               and not unicodedata.category(char).startswith("P"))
    return " ".join("".join(letters).casefold().split())


def _check_split(corpus_name: str, name: str, splits: Collection[str]) -> None:
    if name not in splits:
        raise ValueError(f"{corpus_name} has no split {name!r}; it has {len(splits)}: {', '.join(splits)}")
