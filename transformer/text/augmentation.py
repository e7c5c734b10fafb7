"""Training pairs drawn anew for every epoch: as people type them, joined, with other names, in pieces cut at random."""

import random
import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TypeVar

from transformer.text.tokenizer import SentencePieceTokenizer, Tokenizer

MOST_JOINED = 3
FINAL_MARK = re.compile(r"[\s\u00a0\u202f]*[.!?…]+\s*$")
WORD = re.compile(r"[^\W\d_]{3,}")  # shorter ones, such as *Oh* and *No*, are seldom names
LONGEST_NAME = 12  # letters

Text = tuple[str, str]  # source, target
Pair = tuple[list[int], list[int]]  # their ids
Side = TypeVar("Side")


class AugmentedPairs:
    """The sentence pairs of an epoch, as ids; a function of the epoch's number.

    as_typed: the share of pairs in lower case, without their last mark, or both. joined: the share with one or two
    other pairs after them. other_names: the share, of those that have names, with other ones on both sides, so that
    names are copied and not translated. subword_sampling: see `SentencePieceTokenizer.sample_batch`; None: the best
    cut. A pair that does not fit into `max_len` then is as it was.
    """

    def __init__(self, pairs: Sequence[Text], plain: Sequence[Pair], *, source_tokenizer: Tokenizer,
                 tokenizer: Tokenizer, max_len: int, as_typed: float = 0.0, joined: float = 0.0,
                 other_names: float = 0.0, subword_sampling: float | None = None, seed: int = 0):
        self.pairs, self.plain, self.max_len, self.seed = pairs, plain, max_len, seed
        self.tokenizers = source_tokenizer, tokenizer
        self.as_typed, self.joined, self.subword_sampling = as_typed, joined, subword_sampling
        self.other_names = other_names
        self.names = Names(pairs) if other_names else None

    def __call__(self, epoch: int) -> list[Pair]:
        """The pairs of an epoch, as many as there are and in their order."""
        drawn = random.Random(f"{self.seed} {epoch}")
        texts = [self._text(pair, drawn) for pair in self.pairs]
        sides = [self._encode(tokenizer, [text[side] for text in texts], drawn.getrandbits(31))
                 for side, tokenizer in enumerate(self.tokenizers)]
        return [pair if max(map(len, pair)) < self.max_len else plain
                for pair, plain in zip(zip(*sides, strict=True), self.plain, strict=True)]

    def _text(self, pair: Text, drawn: random.Random) -> Text:
        if self.names and drawn.random() < self.other_names:
            pair = self.names.exchanged(pair, drawn)
        if drawn.random() < self.joined:
            others = [drawn.choice(self.pairs) for _ in range(drawn.randint(1, MOST_JOINED - 1))]
            pair = _both(" ".join, zip(pair, *others, strict=True))
        return typed(pair, drawn) if drawn.random() < self.as_typed else pair

    def _encode(self, tokenizer: Tokenizer, texts: list[str], seed: int) -> list[list[int]]:
        if self.subword_sampling is None:
            return tokenizer.encode_batch(texts)
        assert isinstance(tokenizer, SentencePieceTokenizer)
        return tokenizer.sample_batch(texts, alpha=self.subword_sampling, seed=seed)


def typed(pair: Text, drawn: random.Random) -> Text:
    """A pair as people type it: both sides in lower case, without their last mark, or both."""
    how = drawn.randrange(3)
    if how != 0:
        pair = _both(without_mark, pair)
    return _both(str.lower, pair) if how != 1 else pair


def _both(change: Callable[[Side], str], sides: Iterable[Side]) -> Text:
    source, target = map(change, sides)
    return source, target


def without_mark(text: str) -> str:
    """A text without the mark that ends it; a text of marks alone as it is."""
    return FINAL_MARK.sub("", text) or text


class Names:
    """Names that both sides of a pair have: which, and others for them.

    A name is a word that begins with a capital, is spelt alike on both sides, and is nowhere in the sources in lower
    case. It is exchanged for another of them, or as often for one made up: each letter is drawn from those that follow
    the two before it in the names. Both begin with a vowel or an h, or neither does (*d'Anna*, *de Tom*; *an*, *a*).
    """

    def __init__(self, pairs: Sequence[Text]):
        self._common = {word for source, _ in pairs for word in WORD.findall(source) if word.islower()}
        self.known = sorted({name for pair in pairs for name in self.of(pair)})
        self._alike = {is_open: [name for name in self.known if _is_open(name) == is_open] for is_open in (True, False)}
        self._next: dict[str, list[str]] = defaultdict(list)
        for name in self.known:
            spelt = f"  {name} "
            for at in range(2, len(spelt)):
                self._next[spelt[at - 2:at]].append(spelt[at])

    def of(self, pair: Text) -> list[str]:
        """The names of a pair, in the order of the alphabet."""
        source, target = ({word for word in WORD.findall(side) if word[0].isupper()} for side in pair)
        return sorted(word for word in source & target if word.lower() not in self._common)

    def exchanged(self, pair: Text, drawn: random.Random) -> Text:
        """One of those pairs with other names, the same ones on both sides."""
        others = {name: self._other(name, drawn) for name in self.of(pair)}
        return _both(partial(WORD.sub, lambda word: others.get(word[0], word[0])), pair)

    def _other(self, name: str, drawn: random.Random) -> str:
        other = drawn.choice(self._alike[_is_open(name)])
        return other if drawn.random() < 0.5 else self._made_up(other[0], drawn)

    def _made_up(self, first: str, drawn: random.Random) -> str:
        spelt = "  " + first
        while len(spelt) < 2 + LONGEST_NAME and (letter := drawn.choice(self._next[spelt[-2:]])) != " ":
            spelt += letter
        return spelt[2:]


def _is_open(name: str) -> bool:
    """Whether a name begins with a vowel or an h, whatever its accent."""
    return unicodedata.normalize("NFD", name)[0] in "AEIOUH"
