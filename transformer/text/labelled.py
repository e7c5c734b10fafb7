"""Texts with a class: the speeches of Tiny Shakespeare with their speakers, English sentences with the way they end.

Tiny Shakespeare has 7,097 speeches, separated by empty lines, each under its speaker's name and a colon. A passage is
one speech without that heading. The ten speakers with the most passages (of equals the earlier in the alphabet) are the
classes: GLOUCESTER 211, DUKE VINCENTIO 189, MENENIUS 161, ROMEO 160, PETRUCHIO 155, CORIOLANUS 148, KING RICHARD III
137, ISABELLA 127, JULIET 124, LEONTES 124. Names are as in the text: Richard is GLOUCESTER until he is king. That makes
1,536 passages. The sha256 of a passage's text decides its split, 80% training, 10% validation, 10% test, so the same
words are never in two: 1,227, 153 and 156 passages.

The English sentences of eng-fra, without the mark that ends them, have as class the mark of their first French
translation, which orders and calls have where the English often has a full stop ("Call a doctor." "Appelez un
médecin !"). Of each of the three the same number, the first by the sha256 of the sentence: 2,563, as many as there are
of the rarest. That makes 6,104 sentences for training, 772 for validation and 813 for testing.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Sequence

from transformer.text.augmentation import without_mark

Labelled = tuple[str, str]  # a text, and its class

SPEAKERS = 10
ENDINGS = {".": "statement", "?": "question", "!": "exclamation"}
CLOSING = " \"'»\u00a0\u202f"  # what may stand after the mark
HOLD_OUT_FROM = 100  # different texts with a class; of fewer none is held out
SPLITS = (("train", 0.8), ("validation", 0.9), ("test", 1.0))  # each up to that share of the hashes


def passages(text: str) -> list[tuple[str, str]]:
    """(speaker, speech) in the order of the text; headings without words are left out."""
    speeches = []
    for block in re.split(r"\n{2,}", text.strip("\n")):
        name, heading, speech = block.partition(":\n")
        if heading and "\n" not in name and speech.strip():
            speeches.append((name, speech.strip()))
    return speeches


def by_speaker(text: str, *, speakers: int = SPEAKERS) -> tuple[list[str], list[Labelled]]:
    """The most frequent speakers, most passages first, and their passages as (speech, speaker)."""
    speeches = passages(text)
    counts = Counter(name for name, _ in speeches)
    names = sorted(counts, key=lambda name: (-counts[name], name))[:speakers]
    return names, [(speech, name) for name, speech in speeches if name in names]


def by_ending(text: str) -> tuple[list[str], list[Labelled]]:
    """The three ways to end, and sentences as (sentence without its mark, way), of lines of `source TAB target`."""
    first = dict(reversed([line.split("\t")[:2] for line in text.split("\n") if line]))
    sentences: dict[str, list[str]] = {ending: [] for ending in ENDINGS.values()}
    for source in sorted(first, key=lambda source: hashlib.sha256(source.encode()).hexdigest()):
        if ending := ENDINGS.get(first[source].rstrip(CLOSING)[-1:]):
            sentences[ending].append(without_mark(source))
    most = min(map(len, sentences.values()))
    return list(sentences), [(one, ending) for ending, some in sentences.items() for one in some[:most]]


def labelled_lines(text: str) -> tuple[list[str], list[Labelled]]:
    """The classes, in order of appearance, and the texts of lines of `text TAB class`."""
    items = [(words, label) for words, _, label in (line.partition("\t") for line in text.split("\n")) if words]
    return list(dict.fromkeys(label for _, label in items)), items


def split_of(text: str) -> str:
    """ "train", "validation" or "test", by the first 32 bits of the text's sha256."""
    place = int(hashlib.sha256(text.encode()).hexdigest()[:8], 16) / 2**32
    return next(name for name, end in SPLITS if place < end)


def split_texts(items: Iterable[Labelled]) -> dict[str, list[Labelled]]:
    """Deals texts to the three splits; the same text always goes to the same one."""
    splits: dict[str, list[Labelled]] = {name: [] for name, _ in SPLITS}
    for text, label in items:
        splits[split_of(text)].append((text, label))
    return splits


def deal(items: Sequence[Labelled]) -> dict[str, list[Labelled]]:
    """The splits of texts. "train" alone if they are too few to hold any out: fewer than HOLD_OUT_FROM different ones,
    or none in a split."""
    splits = split_texts(items)
    held_out = len({text for text, _ in items}) >= HOLD_OUT_FROM and all(splits.values())
    return splits if held_out else {"train": list(items)}
