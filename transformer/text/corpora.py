"""The corpora: found or downloaded, verified, and split the same way everywhere."""

import functools
import hashlib
import os
import string
import unicodedata
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pooch

from transformer.text.labelled import TWO_SENTENCES, Labelled, by_speaker, split_texts
from transformer.text.own import is_own, read_labelled, read_pairs, read_text

Pair = tuple[str, list[str]]  # an English source, and its French references in file order

HELD_OUT = 2000  # sources in test, and as many in validation
# What each task learns from: the kind of corpus in words, those known by name, and how a file of one's own ends.
LEARNS_FROM = {
    "translation": ("pairs of sentences", ("eng-fra",), ".tsv"),
    "language-model": ("running text", ("tiny-shakespeare",), ".txt"),
    "classification": ("texts with a class", ("speakers", "sentiment"), ".csv"),
}

# sha256 of the test sources of eng-fra, in order, joined by newlines: whoever measures on others has another split.
TEST_SOURCES_SHA256 = "a4eda07911d7756c3a6deae6fac9d6df5497dcf5f1b3f4b5350b39e6f29b13be"


class CorpusMissing(ValueError):
    """Neither a file at hand nor a download gave the corpus."""


class CorpusChanged(ValueError):
    """The text is not the one that results are stated for."""


@dataclass(frozen=True)
class Corpus:
    """A verified corpus; `sha256` is that of the text itself, whatever it was packed in."""

    name: str
    sha256: str
    licence: str
    attribution: str


@dataclass(frozen=True)
class TextCorpus(Corpus):
    """Running text, cut once: the first 90% of the characters to train on, the rest to validate."""

    text: str = field(repr=False, compare=False)

    def split(self, name: str) -> str:
        """The text of "train" or "validation"; raises ValueError for any other name."""
        _check_split(self.name, name, ("train", "validation"))
        cut = int(len(self.text) * 0.9)
        return self.text[:cut] if name == "train" else self.text[cut:]


@dataclass(frozen=True)
class PairCorpus(Corpus):
    """Sentences with their translations, split by source so that no test source is trained on."""

    splits: dict[str, dict[str, list[str]]] = field(repr=False, compare=False)
    languages: tuple[str, str] | None = None  # of the sources and of the translations, in English, where it is known

    def split(self, name: str) -> list[Pair]:
        """(source, references) of "train", "validation" or "test", in the order of the sources' sha256."""
        _check_split(self.name, name, tuple(self.splits))
        return list(self.splits[name].items())

    def find(self, text: str) -> tuple[str, list[str]] | None:
        """The split and the references of a sentence that is exactly a source, else None."""
        for name, pairs in self.splits.items():
            if text in pairs:
                return name, pairs[text]
        return None


@dataclass(frozen=True)
class LabelledCorpus(Corpus):
    """Texts with a class each; a file too small to hold anything out has the split "train" alone."""

    classes: tuple[str, ...]
    splits: dict[str, list[Labelled]] = field(repr=False, compare=False)

    def split(self, name: str) -> list[Labelled]:
        """(text, class) of "train", "validation" or "test", in the order of the text they come from."""
        _check_split(self.name, name, tuple(self.splits))
        return self.splits[name]

    def find(self, text: str) -> tuple[str, list[str]] | None:
        """The split of a text that is exactly one of these, and its classes (whoever says it), else None."""
        for name, items in self.splits.items():
            if labels := [label for known, label in items if known == text]:
                return name, sorted(set(labels))
        return None


@dataclass(frozen=True)
class _Source:
    files: tuple[str, ...]  # names looked for; a download takes the first
    urls: tuple[tuple[str, str | None], ...]  # tried in order, with the hash of the download where it is known
    sha256: str  # of the text
    licence: str
    attribution: str
    languages: tuple[str, str] | None = None


_SOURCES = {
    "tiny-shakespeare": _Source(
        files=("tinyshakespeare.txt", "input.txt"),
        urls=(
            (
                "https://raw.githubusercontent.com/karpathy/char-rnn/master/data/tinyshakespeare/input.txt",
                "sha256:86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed",
            ),
        ),
        sha256="86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed",
        licence="public domain",
        attribution="William Shakespeare's plays, as gathered by Andrej Karpathy (github.com/karpathy/char-rnn)",
    ),
    "eng-fra": _Source(
        files=("fra-eng.zip", "fra.txt"),
        urls=(
            (
                "http://d2l-data.s3-accelerate.amazonaws.com/fra-eng.zip",
                "sha1:94646ad1522d915e7b0f9296181140edcf86a4f5",
            ),
            ("http://storage.googleapis.com/download.tensorflow.org/data/fra-eng.zip", None),
        ),
        sha256="0bb85dbaa1c896844649094d7eaf2e34bee34e84fe362b26ce7e8f2e12aae104",
        licence="CC BY 2.0",
        attribution="sentence pairs of the Tatoeba project (tatoeba.org), as gathered by manythings.org/anki",
        languages=("English", "French"),
    ),
}


def corpus(name: str, *, data_dir: Path | None = None,
           allow_changed: bool = False) -> TextCorpus | PairCorpus | LabelledCorpus:
    """Find or download "tiny-shakespeare" or "eng-fra", verify it, and offer its splits.

    "speakers" is Tiny Shakespeare cut into passages (see `transformer.text.labelled`), "sentiment" two sentences that
    come with the library, and a path that ends in .txt, .tsv or .csv a file of one's own (see `transformer.text.own`).
    The others are looked for in `data_dir`, then the
    folder `HEADSUP_DATA` names, then the user's cache, else downloaded into it. Raises CorpusMissing, CorpusChanged
    (unless `allow_changed`), or ValueError for an unknown name or a broken file.
    """
    if is_own(name):
        return _own(Path(name))
    if name == "speakers":
        plays = corpus("tiny-shakespeare", data_dir=data_dir, allow_changed=allow_changed)
        return _speakers(plays)
    if name == "sentiment":
        return _sentiment()
    if name not in _SOURCES:
        raise ValueError(f"no corpus {name!r}; known: {', '.join(_SOURCES)}, speakers, sentiment, or the path of a "
                         ".txt, .tsv or .csv file")
    source = _SOURCES[name]
    path = _locate(name, data_dir) or _download(name)
    stat = path.stat()
    found = _open(name, path, stat.st_mtime_ns, stat.st_size)
    if found.sha256 != source.sha256 and not allow_changed:
        raise CorpusChanged(
            f"{path} is not the {name} that results are stated for: its text has sha256 {found.sha256}, expected "
            f"{source.sha256}; delete it to get the expected one, or say allow_changed=True to use it as it is"
        )
    return found


def at_hand(name: str) -> bool:
    """Whether `corpus(name)` would find a file here, without a download."""
    if is_own(name):
        return Path(name).is_file()
    name = "tiny-shakespeare" if name == "speakers" else name
    return name == "sentiment" or (name in _SOURCES and _locate(name, None) is not None)


def languages(name: str) -> tuple[str, str] | None:
    """Of the sources and the translations of a corpus known by name; None where nobody says."""
    return _SOURCES[name].languages if name in _SOURCES else None


def unseen(test: Sequence[Pair], train: Sequence[Pair]) -> list[bool]:
    """Which test items count as unseen in training, one bool each.

    False where the source differs from a training source only in case or punctuation, and where every reference is a
    training target.
    """
    sources = {_bare(source) for source, _ in train}
    targets = {target for _, references in train for target in references}
    return [_bare(source) not in sources and not targets.issuperset(references) for source, references in test]


def split_sources(sources: Sequence[str], *, held_out: int = HELD_OUT) -> dict[str, list[str]]:
    """Deal different sources to "test" (the `held_out` first by sha256), "validation" (as many) and "train"."""
    ordered = sorted(sources, key=lambda source: hashlib.sha256(source.encode()).hexdigest())
    return {
        "train": ordered[2 * held_out :],
        "validation": ordered[held_out : 2 * held_out],
        "test": ordered[:held_out],
    }


def _own(path: Path) -> TextCorpus | PairCorpus | LabelledCorpus:
    """A file of one's own, by how its name ends; one too small to hold anything out has the split "train" alone."""
    match path.suffix.lower():
        case ".txt":
            kind, content = TextCorpus, (read_text(path),)
        case ".csv":
            classes, labelled = read_labelled(path)
            kind, content = LabelledCorpus, (tuple(classes), labelled)
        case _:
            references = read_pairs(path)
            held_out = min(HELD_OUT, len(references) // 10)  # none of fewer than ten
            dealt = split_sources(list(references), held_out=held_out) if held_out else {"train": list(references)}
            kind, content = PairCorpus, ({name: {source: references[source] for source in sources}
                                          for name, sources in dealt.items()},)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return kind(path.name, digest, "not stated", "a file of one's own", *content)


@functools.lru_cache(maxsize=1)
def _speakers(plays: TextCorpus) -> LabelledCorpus:
    classes, items = by_speaker(plays.text)
    return LabelledCorpus("speakers", plays.sha256, plays.licence, plays.attribution, tuple(classes),
                          split_texts(items))


def _sentiment() -> LabelledCorpus:
    digest = hashlib.sha256("\n".join("\t".join(item) for item in TWO_SENTENCES).encode()).hexdigest()
    return LabelledCorpus("sentiment", digest, "MIT", "two sentences that come with Heads Up",
                          tuple(label for _, label in TWO_SENTENCES), {"train": TWO_SENTENCES})


def _locate(name: str, data_dir: Path | None) -> Path | None:
    named = os.environ.get("HEADSUP_DATA")
    folders = [data_dir, Path(named) if named else None, _cache()]
    candidates = (folder / file for folder in folders if folder for file in _SOURCES[name].files)
    return next((path for path in candidates if path.is_file()), None)


def _download(name: str) -> Path:
    source = _SOURCES[name]
    failures = []
    for url, known_hash in source.urls:
        try:
            path = pooch.retrieve(url, known_hash, fname=source.files[0], path=_cache(), progressbar=True)
            return Path(path)
        except (OSError, ValueError) as error:  # no network, or pooch's refusal of a wrong hash
            failures.append(f"{url} ({type(error).__name__})")
    raise CorpusMissing(
        f"the corpus {name} is not at hand and could not be downloaded from {' or '.join(failures)}; "
        f"put {' or '.join(source.files)} into {_cache()}, or into a folder that HEADSUP_DATA names"
    )


def _cache() -> Path:
    return Path(pooch.os_cache("headsup"))


@functools.lru_cache(maxsize=4)
def _open(name: str, path: Path, mtime_ns: int, size: int) -> TextCorpus | PairCorpus:
    """Read, hash and split a file once per process; its time and size are there to notice that it was replaced."""
    source = _SOURCES[name]
    content = _content(path)
    described = (name, hashlib.sha256(content).hexdigest(), source.licence, source.attribution)
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8 text: byte {error.start:,} is wrong; save it as UTF-8") from error
    if name == "tiny-shakespeare":
        return TextCorpus(*described, text)
    references = _references(text, path)
    if len(references) <= 2 * HELD_OUT:
        raise ValueError(
            f"{path} has {len(references):,} different sources, and {2 * HELD_OUT:,} of them are held out from "
            "training; use a larger file"
        )
    splits = split_sources(list(references))
    dealt = {split: {source: references[source] for source in sources} for split, sources in splits.items()}
    return PairCorpus(*described, dealt, source.languages)


def _content(path: Path) -> bytes:
    """The bytes of the text: of the file, or of fra.txt inside a zip."""
    if path.suffix != ".zip":
        return path.read_bytes()
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.read("fra.txt")
    except (zipfile.BadZipFile, zlib.error, EOFError, KeyError) as error:
        raise ValueError(f"{path} is not a whole zip with fra.txt inside; delete it and download it again") from error


def _references(text: str, path: Path) -> dict[str, list[str]]:
    """French translations of each English sentence, both in file order."""
    references: dict[str, list[str]] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        if not line:
            continue
        columns = line.rstrip("\r").split("\t")  # later editions of the file add a third: who wrote the sentences
        if len(columns) < 2:
            raise ValueError(f"{path}, line {number:,}: 1 column where 2 are needed, English TAB French")
        references.setdefault(columns[0], []).append(columns[1])
    return references


def _bare(text: str) -> str:
    """The text in one case, without punctuation, and with the gaps that leaves closed."""
    kept = (char for char in text if char not in string.punctuation and not unicodedata.category(char).startswith("P"))
    return " ".join("".join(kept).casefold().split())


def _check_split(corpus_name: str, name: str, known: tuple[str, ...]) -> None:
    if name not in known:
        raise ValueError(f"{corpus_name} has no split {name!r}; it has {len(known)}: {', '.join(known)}")
