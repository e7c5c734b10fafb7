"""Alignment error: how well attention, or a statistical aligner, links words that people have linked by hand.

L layers, H heads, S source words, T target words.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from transformer.analysis.alignment import WordAligner, words, words_of
from transformer.basics.formatting import brief
from transformer.checkpoints.checkpoint import Checkpoint
from transformer.inference.run import run
from transformer.text.lines import lines_of
from transformer.text.tokenizer import Piece

HAND_ALIGNED = Path(__file__).resolve().parents[1] / "text" / "packed" / "eng-fra-alignments.tsv"
AT_ONCE = 50  # pairs
Link = tuple[int, int]  # the place of a source word and of a target word
READ: tuple[Literal["input", "output"], ...] = ("output", "input")


@dataclass(frozen=True)
class AlignedPair:
    """A sentence and its translation, with the words that belong together: sure links, and all that are possible, the
    sure ones among them. Och and Ney 2003, section 6."""

    source: str
    target: str
    sure: frozenset[Link]
    possible: frozenset[Link]


def read_aligned(path: Path = HAND_ALIGNED) -> list[AlignedPair]:
    """Reads a file of hand-aligned pairs: source, target, and links such as "0-0 1-2 3?1" (the question mark for those
    that are only possible), apart by tabs. Raises ValueError for a link outside of the words."""
    pairs = []
    for number, line in enumerate(lines_of(path.read_text("utf-8")), 1):
        if line.startswith("#"):
            continue
        source, target, links = line.split("\t")
        found: dict[str, set[Link]] = {"-": set(), "?": set()}
        for link in links.split():
            sign = "-" if "-" in link else "?"
            one, other = map(int, link.split(sign))
            if not (0 <= one < len(words(source)) and 0 <= other < len(words(target))):
                raise ValueError(f"line {number} of {path.name} links word {one} to {other}, and there is no such word")
            found[sign].add((one, other))
        pairs.append(AlignedPair(source, target, frozenset(found["-"]), frozenset(found["-"] | found["?"])))
    return pairs


def error_rate(pairs: Sequence[AlignedPair], links: Sequence[Collection[Link]]) -> float:
    """AER of links A, for each pair: 1 - (|A and S| + |A and P|) / (|A| + |S|). Och and Ney 2003, section 6."""
    right = both = 0
    for pair, found in zip(pairs, links, strict=True):
        chosen = set(found)
        right += len(chosen & pair.sure) + len(chosen & pair.possible)
        both += len(chosen) + len(pair.sure)
    return 1 - right / both


def model1_links(aligner: WordAligner, pairs: Sequence[AlignedPair]) -> list[set[Link]]:
    """The links of IBM Model 1: each target word to what it most likely translates. Brown et al. 1993."""
    return [{(at, word) for word, places in enumerate(aligner.align(words(pair.source), words(pair.target)))
             for at in places} for pair in pairs]


@dataclass(frozen=True, eq=False)
class HeadAlignment:
    """What every cross-attention head links, by where it is read."""

    pairs: Sequence[AlignedPair]
    weights: Mapping[str, list[NDArray]]  # "output" or "input" -> of each pair (L, H, T, S), between words

    __repr__ = brief

    def links(self, read: str, heads: NDArray) -> list[set[Link]]:
        """The links of the mean of some heads (L, H, booleans): each target word to the source word that draws most."""
        out = []
        for weights in self.weights[read]:
            mean = weights[heads].mean(0)  # (T, S)
            out.append({(int(at), word) for word, at in enumerate(mean.argmax(-1))})
        return out

    def errors(self, read: str) -> NDArray:
        """AER of each head by itself -> (L, H)."""
        layers, heads = self.weights[read][0].shape[:2]
        out = np.empty((layers, heads))
        for at in np.ndindex(layers, heads):
            out[at] = error_rate(self.pairs, self.links(read, only(at, (layers, heads))))
        return out

    def best_combination(self, read: str) -> tuple[list[Link], float]:
        """The heads (layer, head) whose mean aligns best, and its AER: chosen one after the other on every other pair,
        measured on the pairs between."""
        halves = [HeadAlignment(self.pairs[start::2], {read: self.weights[read][start::2]}) for start in (0, 1)]
        chosen, lowest = np.zeros(self.weights[read][0].shape[:2], bool), 1.0
        while True:
            tried = []
            for at in np.argwhere(~chosen):
                heads = chosen.copy()
                heads[tuple(at)] = True
                tried.append((error_rate(halves[0].pairs, halves[0].links(read, heads)), tuple(map(int, at))))
            if not tried or min(tried)[0] >= lowest:
                break
            lowest, best = min(tried)
            chosen[best] = True
        return [(int(layer), int(head)) for layer, head in np.argwhere(chosen)], error_rate(
            halves[1].pairs, halves[1].links(read, chosen))


def only(at: tuple[int, ...], shape: tuple[int, int]) -> NDArray:
    """One head, of all (L, H)."""
    chosen = np.zeros(shape, bool)
    chosen[at] = True
    return chosen


def attention_between_words(ckpt: Checkpoint, pairs: Sequence[AlignedPair], *,
                            watch: Callable[[int, int], None] = lambda done, of: None) -> HeadAlignment:
    """Reads each pair, the target forced, and gathers what every cross-attention head gives to each source word.

    Pieces of a source word are added, rows of a target word averaged: the rows that predict its pieces ("output"), or
    those that have just read them ("input"). Chen et al. 2020, section 3. Raises ValueError for a model without
    cross-attention.
    """
    if "cross" not in ckpt.config.kinds:
        raise ValueError(f"{ckpt.id} has no cross-attention, so it aligns nothing; choose a model that translates")
    weights: dict[str, list[NDArray]] = {read: [] for read in READ}
    for first in range(0, len(pairs), AT_ONCE):
        watch(first, len(pairs))
        some = pairs[first:first + AT_ONCE]
        passed = run(ckpt, [pair.source for pair in some], [pair.target for pair in some], capture="cross.*.pattern")
        for at, pair in enumerate(some):
            one = passed.of(at)
            pattern = np.stack([one[name].numpy() for name in one.names])  # (L, H, rows, source tokens)
            source, target = (_grouping(text, tokenizer.pieces(text)) for text, tokenizer in (
                (pair.source, ckpt.source_tokenizer), (pair.target, ckpt.tokenizer)))
            between = pattern[..., : len(source)] @ source  # (L, H, rows, S)
            target = target / np.maximum(target.sum(0), 1)
            count = len(target)
            before = between.shape[2] - count  # the start token, and a language where there is one
            for read, start in (("input", before), ("output", before - 1)):
                weights[read].append(np.einsum("lhrs,rt->lhts", between[:, :, start:start + count], target))
    return HeadAlignment(pairs, weights)


def _grouping(text: str, pieces: Sequence[Piece]) -> NDArray:
    """Which pieces make which word of a text -> (pieces, words)."""
    out = np.zeros((len(pieces), len(words(text))), np.float32)
    for at, word in enumerate(words_of(text, [(piece.start, piece.end) for piece in pieces])):
        if word is not None:
            out[at, word] = 1
    return out
