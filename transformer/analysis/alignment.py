"""Word alignment learned from counts alone, without attention: IBM Model 1.

Brown et al. 1993, section 4.2. NLTK has the same model (`nltk.translate.IBMModel1`), and a test compares every
probability with it; but it counts in dictionaries and takes a minute for 40,000 pairs, the arrays here two seconds. One
difference: a target word that stands twice in a sentence counts once in NLTK, and twice in the paper and here.
"""

import os
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import load_file, save_file

from transformer.basics.formatting import brief
from transformer.basics.resource_errors import os_errors

WORD = re.compile(r"\w+|[^\w\s]")
NULL = 0  # the source "word" of those that translate nothing
RAREST = 1e-3  # a saved table leaves out smaller probabilities


def words(text: str) -> list[str]:
    """The words and punctuation marks of a text, in lower case."""
    return [word.lower() for word in WORD.findall(text)]


@dataclass(frozen=True, eq=False)
class WordAligner:
    """A table of t(target word | source word), for pairs of words that occurred together."""

    source: dict[str, int]  # from 1; 0 is no word
    target: dict[str, int]
    keys: NDArray  # (entries,), target * (sources + 1) + source, sorted
    table: NDArray  # (entries,), t
    pairs: int  # sentences learned from
    iterations: int

    __repr__ = brief

    @classmethod
    def learn(cls, pairs: Iterable[tuple[Sequence[str], Sequence[str]]], *, iterations: int = 5,
              watch: Callable[[], None] = lambda: None) -> "WordAligner":
        """Expectation maximisation on (source words, target words), from the uniform table on.

        watch is called now and then, and may raise to end it. Raises ValueError where there is no pair with words on
        both sides.
        """
        source, target, rows = {}, {}, []
        for left, right in pairs:
            if len(rows) % 1_000 == 0:
                watch()
            if left and right:
                rows.append(([NULL, *(source.setdefault(word, len(source) + 1) for word in left)],
                             [target.setdefault(word, len(target)) for word in right]))
        if not rows:
            raise ValueError("there are no pairs of sentences to learn an alignment from")
        # one entry for each target word of a sentence and each source word that it may come from
        seen = np.concatenate([(np.array(right)[:, None] * (len(source) + 1) + np.array(left)).ravel()
                               for left, right in rows])
        keys, entries = np.unique(seen, return_inverse=True)
        sizes = np.repeat([len(left) for left, _ in rows], [len(right) for _, right in rows])  # of each target word
        starts = np.cumsum(sizes) - sizes
        from_source = keys % (len(source) + 1)
        table = np.ones(len(keys))
        for _ in range(iterations):
            watch()
            likely = table[entries]
            likely /= np.repeat(np.add.reduceat(likely, starts), sizes)  # that this source word is the one
            counts = np.bincount(entries, likely, minlength=len(keys))
            table = counts / np.bincount(from_source, counts)[from_source]
        return cls(source, target, keys, table, len(rows), iterations)

    def probability(self, target: str, source: str | None) -> float:
        """t(target | source), with None for no word; 0 for words never seen together."""
        left, right = NULL if source is None else self.source.get(source), self.target.get(target)
        if left is None or right is None:
            return 0.0
        key = right * (len(self.source) + 1) + left
        at = int(np.searchsorted(self.keys, key))
        return float(self.table[at]) if at < len(self.keys) and self.keys[at] == key else 0.0

    def align(self, source: Sequence[str], target: Sequence[str]) -> list[tuple[int, ...]]:
        """For each target word, the places of the source words that it most likely translates: several if a word stands
        twice, none if it most likely translates nothing or is unknown."""
        places = []
        for word in target:
            each = [self.probability(word, other) for other in source]
            best = max(each, default=0.0)
            likelier = best > 0 and best >= self.probability(word, None)
            places.append(tuple(at for at, value in enumerate(each) if value == best) if likelier else ())
        return places

    def save(self, path: Path) -> None:
        """Write the table, without probabilities under 0.001, as safetensors."""
        keep = self.table >= RAREST
        tensors = {"keys": self.keys[keep], "table": self.table[keep].astype(np.float32)}
        for side in ("source", "target"):
            tensors[side] = np.frombuffer("\n".join(getattr(self, side)).encode(), np.uint8)
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            with os_errors():
                save_file(tensors, str(new), metadata={"pairs": str(self.pairs), "iterations": str(self.iterations)})
            new.replace(path)
        finally:
            new.unlink(missing_ok=True)

    @classmethod
    def load(cls, path: Path) -> "WordAligner":
        """Reads a saved table. Raises ValueError if it is damaged or another kind of file."""
        try:
            with safe_open(path, "np") as file:
                about = file.metadata()
            tensors = load_file(str(path))
            source, target = (bytes(tensors[side]).decode().split("\n") for side in ("source", "target"))
            return cls({word: at + 1 for at, word in enumerate(source)}, {word: at for at, word in enumerate(target)},
                       tensors["keys"], tensors["table"].astype(np.float64), int(about["pairs"]),
                       int(about["iterations"]))
        except (OSError, SafetensorError, KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{path.name} is not a saved word alignment ({type(error).__name__}); delete it to learn "
                             "it again") from None


def word_links(aligner: WordAligner, source: str, target: str, source_spans: Sequence[tuple[int, int]],
               target_spans: Sequence[tuple[int, int]]) -> NDArray:
    """The pieces of a target whose word translates the word of a source piece -> bool (T, S).

    A span is the (start, end) of a piece in its text; a piece belongs to the first word that it shares a letter with.
    """
    places = aligner.align(words(source), words(target))
    of_source, of_target = words_of(source, source_spans), words_of(target, target_spans)
    links = np.zeros((len(target_spans), len(source_spans)), bool)
    for row, word in enumerate(of_target):
        if word is not None:
            links[row] = [other is not None and other in places[word] for other in of_source]
    return links


def words_of(text: str, spans: Sequence[tuple[int, int]]) -> list[int | None]:
    """The word that each piece of a text belongs to, by its span: the first that it shares a letter with."""
    places = [match.span() for match in WORD.finditer(text)]
    return [next((at for at, (start, end) in enumerate(places) if start < last and first < end), None)
            for first, last in spans]
