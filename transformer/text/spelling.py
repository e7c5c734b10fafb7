"""Spellings and signs that a model has not learned, read as those that it has: "colour" as "color", “ as ".

What is read as what is counted once for a model (`learned_spellings`), kept with its counts, and applied to what people
type (`respell`; in a published file `publishing/js/page/spelling.js`). The library itself reads every text as it
stands.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence

LETTERS = re.compile(r"[^\W_]+")
RARER = 3  # a spelling is read as another that the training texts have at least so many times as often,
LEAST, RARER_SIGN = 10, 100  # and a sign as one that they have so often, and so many times as often
SPACES = "\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
UNSEEN = "\u00ad\u200b\u2060\ufeff"  # signs that take no room
# signs, and what each may be read as; the first that the training texts have is taken
ALIKE = (
    (tuple('“”„‟«»″〝〞＂"'), ('"', "'")),
    (tuple("‘’‚‛‹›′´`＇"), ("'", '"')),
    (tuple("‐‑‒–−"), ("-",)),
    ((" — ", " – ", " ― ", "—", "―"), ("--", ", ")),
    (("…",), ("...",)),
    (tuple(SPACES), (" ",)),
    (tuple(UNSEEN), ("",)),
)


def learned_spellings(texts: Sequence[str], *, pairs: Mapping[str, str] | None = None) -> dict[str, str]:
    """What is read as what by a model trained on texts: signs, and words in lower case. pairs: words with two
    spellings, either of which may be the one that the texts have; without them only signs are looked at."""
    signs = {}
    for typed, likes in ALIKE:
        for sign in typed:
            seen = sum(text.count(sign) for text in texts)
            least = max(LEAST, RARER_SIGN * seen)
            like = next((like for like in likes if sum(text.count(like) for text in texts) >= least), sign)
            if like != sign:
                signs[sign] = like
    counts = Counter(word.lower() for text in texts for word in LETTERS.findall(text))
    words = {one: other for pair in (pairs or {}).items() for one, other in (pair, pair[::-1])
             if counts[other] and RARER * counts[one] <= counts[other]}
    return signs | words


def respell(text: str, spellings: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """A text as the model learned to spell it, and what was read as what: signs, then words as they stand in the text,
    each once. The case of a word is kept."""
    found: dict[str, str] = {}

    def read(typed: str, like: str) -> str:
        if like != typed:
            found[typed] = like
        return like

    signs = sorted((sign for sign in spellings if not sign.isalnum()), key=len, reverse=True)
    if signs:
        text = re.sub("|".join(map(re.escape, signs)), lambda match: read(match[0], spellings[match[0]]), text)
    text = LETTERS.sub(lambda match: read(match[0], _cased(match[0], spellings)), text)
    return text, found


def _cased(word: str, spellings: Mapping[str, str]) -> str:
    like = spellings.get(word.lower())
    if like is None or not word.isascii():
        return word
    if len(word) > 1 and word == word.upper():
        return like.upper()
    return like[0].upper() + like[1:] if word[0] != word[0].lower() else like
