"""Training pairs drawn anew for every epoch: as people type them, joined, and cut into pieces at random."""

import random
import re
from collections.abc import Sequence

from transformer.text.tokenizer import SentencePieceTokenizer

MOST_JOINED = 3
FINAL_MARK = re.compile(r"[\s\u00a0\u202f]*[.!?…]+\s*$")

Text = tuple[str, str]  # source, target
Pair = tuple[list[int], list[int]]  # their ids


class AugmentedPairs:
    """The sentence pairs of an epoch, as ids; a function of the epoch's number.

    as_typed: the share of pairs in lower case, without their last mark, or both. joined: the share with one or two
    other pairs after them. subword_sampling: see `SentencePieceTokenizer.sample_batch`; None: the best cut. A pair
    that does not fit into `max_len` then is as it was.
    """

    def __init__(self, pairs: Sequence[Text], plain: Sequence[Pair], *, source_tokenizer: SentencePieceTokenizer,
                 tokenizer: SentencePieceTokenizer, max_len: int, as_typed: float = 0.0, joined: float = 0.0,
                 subword_sampling: float | None = None, seed: int = 0):
        self.pairs, self.plain, self.max_len, self.seed = pairs, plain, max_len, seed
        self.tokenizers = source_tokenizer, tokenizer
        self.as_typed, self.joined, self.subword_sampling = as_typed, joined, subword_sampling

    def __call__(self, epoch: int) -> list[Pair]:
        """The pairs of an epoch, as many as there are and in their order."""
        drawn = random.Random(f"{self.seed} {epoch}")
        texts = [self._text(pair, drawn) for pair in self.pairs]
        sides = [self._encode(tokenizer, [text[side] for text in texts], drawn.getrandbits(31))
                 for side, tokenizer in enumerate(self.tokenizers)]
        return [pair if max(map(len, pair)) < self.max_len else plain
                for pair, plain in zip(zip(*sides, strict=True), self.plain, strict=True)]

    def _text(self, pair: Text, drawn: random.Random) -> Text:
        if drawn.random() < self.joined:
            others = [drawn.choice(self.pairs) for _ in range(drawn.randint(1, MOST_JOINED - 1))]
            pair = tuple(" ".join(side) for side in zip(pair, *others, strict=True))
        return typed(pair, drawn) if drawn.random() < self.as_typed else pair

    def _encode(self, tokenizer: SentencePieceTokenizer, texts: list[str], seed: int) -> list[list[int]]:
        if self.subword_sampling is None:
            return tokenizer.encode_batch(texts)
        return tokenizer.sample_batch(texts, alpha=self.subword_sampling, seed=seed)


def typed(pair: Text, drawn: random.Random) -> Text:
    """A pair as people type it: both sides in lower case, without their last mark, or both."""
    how = drawn.randrange(3)
    if how != 0:
        pair = tuple(map(without_mark, pair))
    return tuple(side.lower() for side in pair) if how != 1 else pair


def without_mark(text: str) -> str:
    """A text without the mark that ends it; a text of marks alone as it is."""
    return FINAL_MARK.sub("", text) or text
