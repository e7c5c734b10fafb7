"""Texts with a class each: the speeches of Tiny Shakespeare with who speaks, or a file of one's own.

Tiny Shakespeare has 7,097 speeches, separated by empty lines, each under its speaker's name and a colon. A passage is
one speech without that heading. The ten speakers with the most passages (the earlier in the alphabet where two have as
many) are the classes: GLOUCESTER 211, DUKE VINCENTIO 189, MENENIUS 161, ROMEO 160, PETRUCHIO 155, CORIOLANUS 148, KING
RICHARD III 137, ISABELLA 127, JULIET 124, LEONTES 124. A name is taken as the text has it: Richard is GLOUCESTER until
he is king. That makes 1,536 passages. The sha256 of a passage's text says its split, 80% training, 10% validation, 10%
test, so the same words are never on both sides: 1,227, 153 and 156 passages.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

Labelled = tuple[str, str]  # a text, and its class

SPEAKERS = 10
SPLITS = (("train", 0.8), ("validation", 0.9), ("test", 1.0))  # each up to that share of the hashes
HOLD_OUT_FROM = 100  # texts in a file of one's own; of fewer none is held out
LARGEST_FILE = 50_000_000  # bytes


def passages(text: str) -> list[tuple[str, str]]:
    """(speaker, speech) in the order of the text; headings without words are left out."""
    found = []
    for block in re.split(r"\n{2,}", text.strip("\n")):
        name, heading, speech = block.partition(":\n")
        if heading and "\n" not in name and speech.strip():
            found.append((name, speech.strip()))
    return found


def by_speaker(text: str, *, speakers: int = SPEAKERS) -> tuple[list[str], list[Labelled]]:
    """The most frequent speakers, most passages first, and their passages as (speech, speaker)."""
    found = passages(text)
    counts = Counter(name for name, _ in found)
    names = sorted(counts, key=lambda name: (-counts[name], name))[:speakers]
    return names, [(speech, name) for name, speech in found if name in names]


def split_of(text: str) -> str:
    """ "train", "validation" or "test", by the first 32 bits of the text's sha256."""
    place = int(hashlib.sha256(text.encode()).hexdigest()[:8], 16) / 2**32
    return next(name for name, end in SPLITS if place < end)


def split_texts(items: Iterable[Labelled]) -> dict[str, list[Labelled]]:
    """Deal texts to the three splits; the same text always falls into the same one."""
    splits: dict[str, list[Labelled]] = {name: [] for name, _ in SPLITS}
    for text, label in items:
        splits[split_of(text)].append((text, label))
    return splits


def read_labelled(path: Path) -> tuple[list[str], dict[str, list[Labelled]]]:
    """The classes (in order of appearance) and the splits of a file with one `class TAB text` a line.

    With fewer than HOLD_OUT_FROM lines there is only "train": so few leave nothing to hold out. Raises ValueError for
    a file that cannot be read, a line without a class or a text, or fewer than two classes.
    """
    try:
        if (size := path.stat().st_size) > LARGEST_FILE:
            raise ValueError(f"{path.name} has {size:,} bytes, at most {LARGEST_FILE:,}; train on a part of it")
        content = path.read_bytes().decode()
    except OSError as error:
        raise ValueError(f"{path} cannot be read ({error.strerror}); give the path of a file with one "
                         "`class TAB text` a line") from None
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8 text: byte {error.start:,} is wrong; save it as UTF-8") from None
    items = []
    for number, line in enumerate(content.split("\n"), start=1):
        if not line.strip():
            continue
        label, _, text = (part.strip() for part in line.partition("\t"))
        if not label or not text:
            raise ValueError(f"{path.name}, line {number:,}: a class, a TAB and a text are needed")
        items.append((text, label))
    classes = list(dict.fromkeys(label for _, label in items))
    if len(classes) < 2:
        raise ValueError(f"{path.name} has {len(classes)} class{'es' * (not classes)}; at least 2 are needed to tell "
                         "apart")
    return classes, split_texts(items) if len(items) >= HOLD_OUT_FROM else {"train": items}
