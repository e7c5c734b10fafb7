"""How a text is unlike those that a model was trained on, counted over its training split and said in one line.

A line judges neither the text nor the output. It says what was counted, and only where held-out texts are seldom so:
one or two in a hundred for each thing that is counted.

familiar.json in a checkpoint's folder has the counts, so that a page need not count. It is outside the manifest, as
roles.json is, and names the checkpoint that it was counted for; for any other it is ignored.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from math import ceil, exp
from pathlib import Path

import orjson

from transformer.checkpoint import Checkpoint
from transformer.folders import FAMILIAR
from transformer.formatting import how_many
from transformer.held_out import corpus_of
from transformer.inference.decoding import Step, steps
from transformer.resource_errors import os_errors
from transformer.text.augmentation import MOST_JOINED
from transformer.text.corpora import LabelledCorpus, PairCorpus, TextCorpus
from transformer.text.tokenizer import standardise

FORMAT = 1
WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
SELDOM = 0.01  # the share of held-out texts that may get a line, for each thing that is counted;
SELDOM_FIRST = 0.02  # for first words, which are proper names more often than others
LONG = 0.999  # the share of training texts that are no longer than `longest`
MOST_NAMED = 3  # words in a line


@dataclass(frozen=True, kw_only=True)
class FamiliarText:
    """Counts of the training texts of a checkpoint. Words are compared without case, except the first of a text."""

    checkpoint: str  # its id
    what: str  # a name of the texts, such as "training sentences"
    n: int  # how many
    words: frozenset[str]  # that any of them has
    others: frozenset[str]  # words of the translations, if there are any
    languages: tuple[str, str] | None  # of the texts and of their translations, if they are known
    begins: dict[str, int]  # first word -> how many texts begin with it
    bare: int  # texts that do not end with a mark
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

    Raises ValueError if the checkpoint does not name its corpus, or nothing of it was held out.
    """
    corpus = corpus_of(ckpt)
    typed, joined = (getattr(ckpt.description.train, name) > 0 for name in ("as_typed", "joined"))
    if corpus.measured_on == "train":
        raise ValueError(f"nothing of {corpus.name} was held out, so what is usual cannot be told from what is not")
    train, held_out = _texts(corpus, "train"), _texts(corpus, "validation")
    plain = standardise if ckpt.source_tokenizer.standardise else str
    begins, words, bare, lengths = Counter(), set(), 0, []
    for text in map(plain, train):
        there = WORD.findall(text)
        words.update(map(str.lower, there))
        for first in there[:1]:
            begins.update({first, first.lower()} if typed else {first})
        bare += _bare(text)
        lengths.append(len(there))
    others = {word.lower() for _, texts in corpus.split("train") for text in texts for word in WORD.findall(text)
              } if isinstance(corpus, PairCorpus) else ()
    known = [_words(text) for text in map(plain, held_out)]
    shares = sorted(sum(word.lower() not in words for word in there) / max(1, len(there)) for there in known)
    firsts = [begins[there[0]] for there in known if there]
    whole = not isinstance(corpus, TextCorpus)  # running text is continued, so what is typed has no end yet
    usual = FamiliarText(
        checkpoint=ckpt.id, what=_what(corpus), n=len(train), words=frozenset(words), others=frozenset(others),
        languages=ckpt.description.languages, begins=dict(begins), bare=bare,
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
    """How a text is unlike the training texts, in one line; "" if nothing that was counted differs. last: the last step
    of the model's own translation, from which its sureness is taken."""
    text = standardise(text) if usual.standardise else text.strip()
    there, of = _words(text), f"{usual.n:,} {usual.what}"
    never = [word for word in there if word.lower() not in usual.words]
    if not there:
        return ""
    if foreign := _foreign(usual, there):
        return foreign
    if usual.longest and usual.longest < (count := len(WORD.findall(text))):
        return f"{count:,} words: {LONG:.1%} of {of} have at most {usual.longest}."
    if len(never) / len(there) > usual.share:
        more = f" and {len(never) - MOST_NAMED} more" * (len(never) > MOST_NAMED)
        return f"Never seen in {of}: {', '.join(f'“{word}”' for word in never[:MOST_NAMED])}{more}."
    first = WORD.findall(text)[0]
    if (count := usual.begins.get(first, 0)) <= usual.first:
        return f"{count or 'None'} of {of} {'begins' if count < 2 else 'begin'} with “{first}”."
    if usual.marked and _bare(text):
        return f"{usual.bare or 'None'} of {of} lack closing punctuation, as this does."
    if last is not None and usual.sure is not None and (sure := sureness(last)) < usual.sure:
        return (f"On average {exp(sure):.0%} sure of each token; on {1 - SELDOM:.0%} of held-out sentences over "
                f"{exp(usual.sure):.0%}.")
    return ""


def _foreign(usual: FamiliarText, there: Sequence[str]) -> str:
    """A line if more of a text's words are of the translations than of the texts, else ""."""
    ours, theirs = (sum(word.lower() in side for word in there) for side in (usual.words, usual.others))
    if theirs <= ours:
        return ""
    read, target = usual.languages or ("source", "target")
    return (f"{theirs} of {how_many(len(there), 'word')} {'are' if theirs > 1 else 'is'} in the {target} training "
            f"sentences, {ours} in the {read}.")


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


def _texts(corpus: TextCorpus | PairCorpus | LabelledCorpus, split: str) -> list[str]:
    """The texts of a split that a model reads; of running text its paragraphs."""
    content = corpus.split(split)
    return [part for part in content.split("\n\n") if part.strip()] if isinstance(corpus, TextCorpus) else [
        text for text, _ in content]


def _what(corpus: TextCorpus | PairCorpus | LabelledCorpus) -> str:
    if isinstance(corpus, LabelledCorpus):
        return "training texts"
    return "training sentences" if isinstance(corpus, PairCorpus) else "paragraphs of the training text"


def _words(text: str) -> list[str]:
    """Each word once, in order."""
    return list(dict.fromkeys(WORD.findall(text)))


def _bare(text: str) -> bool:
    return text.rstrip()[-1:].isalnum()
