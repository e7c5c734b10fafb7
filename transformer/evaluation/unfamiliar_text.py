"""How a text is unlike those that a model was trained on, counted over its training split and said in one sentence.

A sentence judges neither the text nor the output. It is said only where held-out texts are seldom so: one or two in a
hundred for each thing that is counted.

familiar.json in a checkpoint's folder has the counts, so that a page need not count. It is outside the manifest, as
roles.json is, and names the checkpoint that it was counted for; for any other it is ignored.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import ceil
from pathlib import Path

import orjson

from transformer.basics.folders import FAMILIAR
from transformer.basics.formatting import enumerated
from transformer.basics.resource_errors import os_errors
from transformer.checkpoints.checkpoint import Checkpoint
from transformer.evaluation.held_out import corpus_of
from transformer.inference.decoding import Step, steps
from transformer.text.augmentation import MOST_JOINED
from transformer.text.corpora import LabelledCorpus, PairCorpus, TextCorpus
from transformer.text.spelling import learned_spellings, respell
from transformer.text.tokenizer import standardise

FORMAT = 2
WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
SELDOM = 0.01  # the share of held-out texts that may get a line, for each thing that is counted;
SELDOM_FIRST = 0.02  # for first words, which are proper names more often than others
LONG = 0.999  # the share of training texts that are no longer than `longest`
SAID = {'"': "straight quotes", "'": "straight quotes", "-": "plain hyphens", "--": "double hyphens",
        ", ": "commas for dashes", "...": "three dots"}
MOST_NAMED = 3  # words in a sentence


@dataclass(frozen=True, kw_only=True)
class FamiliarText:
    """Counts of the training texts of a checkpoint. Words are compared without case, except the first of a text."""

    checkpoint: str  # its id
    what: str  # a name of the texts, such as "training sentences"
    n: int  # how many
    words: frozenset[str]  # that any of them has
    others: frozenset[str]  # words of the translations, if there are any
    signs: str  # characters that any of them has and that are punctuation marks or symbols
    spellings: dict[str, str]  # what is read as what (`text.spelling`)
    languages: tuple[str, str] | None  # of the texts and of their translations, if they are known
    begins: dict[str, int]  # first word -> how many texts begin with it
    longest: int | None  # words that nearly no text exceeds; None for running text
    share: float  # of words never seen: hardly a held-out text has more
    first: int  # hardly a held-out text begins with a word that so few training texts begin with; -1: many do
    marked: bool  # hardly a held-out text ends without a mark
    standardise: bool  # read in lower case without punctuation
    sure: float | None = None  # mean log-probability of a token: of hardly a held-out translation is it lower
    translated: int = 0  # held-out texts whose translation that was measured on


def count_familiar(ckpt: Checkpoint, *, limit: int = 1_000,
                watch: Callable[[int, int], None] = lambda done, of: None) -> FamiliarText:
    """Counts the training split of a checkpoint's corpus, and translates the first `limit` sentences of the validation
    split. watch: called with the number of those done, and of all. A training that changed texts (`as_typed`, `joined`)
    knows them in lower case and without their mark, and several of them as one.

    Words with two spellings are known where breame is installed (the extra "spelling").

    Raises ValueError if the checkpoint does not name its corpus, or nothing of it was held out.
    """
    corpus = corpus_of(ckpt)
    typed, joined = (getattr(ckpt.description.train, name) > 0 for name in ("as_typed", "joined"))
    if corpus.measured_on == "train":
        raise ValueError(f"nothing of {corpus.name} was held out, so what is usual cannot be told from what is not")
    train, held_out = _texts(corpus, "train"), _texts(corpus, "validation")
    plain = standardise if ckpt.source_tokenizer.standardise else str
    begins, words, lengths = Counter(), set(), []
    for text in map(plain, train):
        there = WORD.findall(text)
        words.update(map(str.lower, there))
        for first in there[:1]:
            begins.update({first, first.lower()} if typed else {first})
        lengths.append(len(there))
    others = {word.lower() for _, texts in corpus.split("train") for text in texts for word in WORD.findall(text)
              } if isinstance(corpus, PairCorpus) else ()
    known = [_words(text) for text in map(plain, held_out)]
    shares = sorted(sum(word.lower() not in words for word in there) / max(1, len(there)) for there in known)
    firsts = [begins[there[0]] for there in known if there]
    whole = not isinstance(corpus, TextCorpus)  # running text is continued, so what is typed has no end yet
    usual = FamiliarText(
        checkpoint=ckpt.id, what=_what(corpus), n=len(train), words=frozenset(words), others=frozenset(others),
        signs="".join(sorted({sign for text in train for sign in _signs(text)})),
        spellings=learned_spellings(train, pairs=_two_spellings()),
        languages=ckpt.description.languages, begins=dict(begins),
        longest=(MOST_JOINED if joined else 1) * sorted(lengths)[int(LONG * (len(lengths) - 1))] if whole else None,
        share=shares[min(ceil((1 - SELDOM) * len(shares)), len(shares) - 1)],
        first=max((few for few in range(10) if whole
                   and sum(count <= few for count in firsts) <= SELDOM_FIRST * len(firsts)), default=-1),
        marked=whole and not typed and sum(_bare(plain(text)) for text in held_out) <= SELDOM * len(held_out),
        standardise=ckpt.source_tokenizer.standardise)
    if not isinstance(corpus, PairCorpus):
        return usual
    sure, sample = [], held_out[:limit]
    for text in sample:
        *_, last = steps(ckpt, text)
        sure.append(sureness(last))
        watch(len(sure), len(sample))
    return FamiliarText(**vars(usual) | {"sure": sorted(sure)[int(SELDOM * len(sure))], "translated": len(sure)})


def sureness(step: Step) -> float:
    """The mean log-probability per token that a model gave to its own output, up to a step."""
    chances = [float(one.logits.log_softmax(-1)[one.id]) for one in step.path()]
    return sum(chances) / len(chances)


def describe_unfamiliar(usual: FamiliarText, text: str, *, last: Step | None = None) -> str:
    """What a text is read as, and how it is unlike the training texts, in a sentence each; "" where there is nothing to
    say. last: the last step of the model's own translation, from which its sureness is taken."""
    text, found = respell(text, usual.spellings)
    return " ".join(filter(None, (read_as(found), _unlike(usual, text, last))))


def read_as(found: Mapping[str, str]) -> str:
    """What was read as what, as `respell` found it; spaces are not worth a word."""
    words = list(dict.fromkeys(like for typed, like in found.items() if typed.isalnum()))
    signs = list(dict.fromkeys(SAID[like] for typed, like in found.items() if like in SAID and not typed.isalnum()))
    if not words:
        return f"Read with {enumerated(signs)}." if signs else ""
    return f"Read as {_named(words)}{f', with {enumerated(signs)}' if signs else ''}."


def _unlike(usual: FamiliarText, text: str, last: Step | None) -> str:
    """How a text, as it is read, is unlike the training texts."""
    text = standardise(text) if usual.standardise else text.strip()
    there = _words(text)
    signs = [] if usual.standardise else [sign for sign in _signs(text) if sign not in usual.signs]
    never = [word for word in there if word.lower() not in usual.words]
    if there and (foreign := _foreign(usual, there)):
        return foreign
    if usual.longest and usual.longest < (count := len(WORD.findall(text))):
        return f"At {count:,} words this is long: nearly all of its {usual.what} have at most {usual.longest}."
    seldom = never if len(never) > usual.share * len(there) else []
    if new := [*seldom, *signs]:
        return f"New to this model: {_named(new)}."
    if not there:
        return ""
    first = WORD.findall(text)[0]
    if (count := usual.begins.get(first, 0)) <= usual.first:
        return f"{count or 'None'} of its {usual.what} {'begins' if count < 2 else 'begin'} with “{first}”."
    if usual.marked and _bare(text):
        return f"Its {usual.what} end with a full stop or another mark; this one does not."
    if last is not None and usual.sure is not None and sureness(last) < usual.sure:
        return "The model is less sure of this than of almost any other sentence."
    return ""


def _named(words: Sequence[str]) -> str:
    """Words in quotes, the first few by name."""
    more = [f"{len(words) - MOST_NAMED} more"] if len(words) > MOST_NAMED else []
    return enumerated([*(f"“{word}”" for word in words[:MOST_NAMED]), *more])


def _foreign(usual: FamiliarText, there: Sequence[str]) -> str:
    """A sentence if more of a text's words are of the translations than of the texts, else "". Single letters are of no
    language."""
    words = [word.lower() for word in there if len(word) > 1]
    ours, theirs = (sum(word in side for word in words) for side in (usual.words, usual.others))
    if theirs <= ours:
        return ""
    if usual.languages is None:
        return "This looks like one of the translations that it writes, not like a text that it reads."
    read, target = usual.languages
    return f"This looks like {target}; this model reads {read}."


def write_familiar(ckpt: Checkpoint, usual: FamiliarText) -> Path:
    """Writes the counts into the checkpoint's folder."""
    path = ckpt.description.folder / FAMILIAR
    content = asdict(usual) | {name: " ".join(sorted(getattr(usual, name))) for name in ("words", "others")}
    with os_errors():
        path.write_bytes(orjson.dumps({"format": FORMAT, **content}))
    return path


def read_familiar(ckpt: Checkpoint) -> FamiliarText | None:
    """The counts for these weights; None if there are none, or the file is damaged."""
    try:
        content = orjson.loads((ckpt.description.folder / FAMILIAR).read_bytes())
        if content.pop("format") != FORMAT or content["checkpoint"] != ckpt.id:
            return None
        words, others = (frozenset(content[name].split()) for name in ("words", "others"))
        languages = content["languages"] and tuple(content["languages"])
        return FamiliarText(**content | {"words": words, "others": others, "languages": languages})
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None


def _two_spellings() -> Mapping[str, str]:
    """British spellings -> American ones; none where the package that lists them is not installed."""
    try:
        from breame.data.spelling_constants import BRITISH_ENGLISH_SPELLINGS
    except ModuleNotFoundError:
        return {}
    return BRITISH_ENGLISH_SPELLINGS


def _texts(corpus: TextCorpus | PairCorpus | LabelledCorpus, split: str) -> list[str]:
    """The texts of a split that a model reads; of running text its paragraphs."""
    if isinstance(corpus, TextCorpus):
        return [part for part in corpus.split(split).split("\n\n") if part.strip()]
    return [text for text, _ in corpus.split(split)]


def _what(corpus: TextCorpus | PairCorpus | LabelledCorpus) -> str:
    if isinstance(corpus, LabelledCorpus):
        return "training texts"
    return "training sentences" if isinstance(corpus, PairCorpus) else "paragraphs of the training text"


def _words(text: str) -> list[str]:
    """Each word once, in order."""
    return list(dict.fromkeys(WORD.findall(text)))


def _signs(text: str) -> list[str]:
    """Each punctuation mark and symbol once, in order."""
    return [char for char in dict.fromkeys(text) if unicodedata.category(char)[0] in "PS"]


def _bare(text: str) -> bool:
    return text.rstrip()[-1:].isalnum()
