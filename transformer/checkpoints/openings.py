"""What a page shows of a model at first: texts to try, the head looked at, and how tokens are chosen."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from transformer.checkpoints.checkpoint import Checkpoint, Description
from transformer.settings.quick_tasks import QUICK
from transformer.text.corpus_catalogue import find_source

LONGEST = 60  # characters of a label
WORDS = 3  # of a text whose author is named


@dataclass(frozen=True)
class Example:
    """A text to try. whose: who wrote or said it, where that matters."""

    text: str
    whose: str = ""

    @property
    def label(self) -> str:
        """The text in short, on one line."""
        first = " ".join(self.text.split()[:WORDS]).rstrip(":,;.")
        if self.whose:
            return f"{self.whose.title().replace('Iii', 'III')}: {first} …"
        text = self.text if len(self.text) <= LONGEST else "…" + self.text[-LONGEST:]
        return text.replace("\n", "↵")


@dataclass(frozen=True, kw_only=True)
class Opening:
    """How a text opens. ahead: the tokens that are written then; None for all, to the end of the text."""

    examples: Sequence[Example]
    kind: str | None = None
    layer: int = 0
    head: int = 0
    temperature: float = 0.0
    ahead: int | None = None

    @property
    def selection(self) -> dict[str, object]:
        """The part of a selection that is not as usual."""
        return {} if self.kind is None else {"kind": self.kind, "layer": self.layer, "head": self.head}


OPENINGS = {  # by the task of a model
    "translation": Opening(kind="cross", layer=1, head=0, examples=[Example(text) for text in (
        "I like red wine.", "I am cold.", "Do you know where he lives?", "She is not as tall as her brother.",
        "We have to go home before it gets dark.")]),
    "text": Opening(kind="decoder", layer=2, head=1, temperature=0.8, ahead=40, examples=[Example(text) for text in (
        "ROMEO:\nO, she doth teach", "First Citizen:\nBefore we proceed", "To be, or not to be", "KING ")]),
    "reads": Opening(examples=[Example(text) for text in (
        "The weather is cold today, so we stay at home.", "She gave her brother the book that he had lost.",
        "What he said was true, and nobody believed it.")]),
}
CLASSES = {  # of a model that tells classes apart, by the corpus that it learned from
    "speakers": Opening(examples=[  # of the test split, not seen in training
        Example("Is she a Capulet?\nO dear account! my life is my foe's debt.", "ROMEO"),
        Example("What, with my tongue in your tail? nay, come again,\nGood Kate; I am a gentleman.", "PETRUCHIO"),
        Example("There is no truth at all i' the oracle:\nThe sessions shall proceed: this is mere falsehood.",
                "LEONTES"),
        Example("By Jupiter! forgot.\nI am weary; yea, my memory is tired.\nHave we no wine here?", "CORIOLANUS"),
        Example("Shall we hear from thee, Tyrrel, ere we sleep?", "KING RICHARD III")]),
    "endings": Opening(examples=[Example(text) for text in (  # the first two: the same words in two orders
        "The door is open", "Is the door open", "Tell me why", "What a day it was", "He asked where she was")]),
}


PAIRS = {  # of texts that differ where a prediction is decided, by the task of a model or the corpus of its classes
    "translation": (("I like red wine.", "I like white wine."), ("I am cold.", "I am old."),
                    ("She is not as tall as her brother.", "She is not as old as her brother.")),
    "text": (("When Mary and John went to the store, John gave a drink to",
              "When Mary and John went to the store, Mary gave a drink to"),
             ("The capital of France is", "The capital of Italy is")),
    "char": (("ROMEO:\nO, she doth teach", "ROMEO:\nO, she hath teach"),
             ("KING RICHARD III:\nMy lor", "KING RICHARD III:\nMy lov")),
    "endings": (("The door is open", "Is the door open"), ("What a day it was", "What a day was it")),
    "speakers": (("By Jupiter! forgot.\nI am weary; yea, my memory is tired.\nHave we no wine here?",
                  "By Jupiter! forgot.\nI am merry; yea, my memory is tired.\nHave we no wine here?"),
                 ("Is she a Capulet?\nO dear account! my life is my foe's debt.",
                  "Is he a Capulet?\nO dear account! my life is my foe's debt."))}


def pairs_of(ckpt: Checkpoint) -> list[tuple[str, str]]:
    """Pairs of texts that a model reads as equally many tokens, and a word of which decides what it predicts; none
    where it reads another language."""
    about, tokenizer = ckpt.description, ckpt.source_tokenizer
    if not (reads_examples(about) and about.reads_text):
        return []
    name = str(about.meta.get("corpus")) if ckpt.classes else "char" if tokenizer.kind == "char" else about.config.task
    return [pair for pair in PAIRS.get(name, ()) if len({len(tokenizer.encode(text)) for text in pair}) == 1]


def opening_of(about: Description) -> Opening:
    """How a text opens with a model: as with the shipped one that learned the same, and without examples where it reads
    another language, or ids. Of classes of another corpus, as with an encoder that has none."""
    task = about.config.task
    if tries := quick_texts(about):
        return replace(OPENINGS[task], examples=[Example(text) for text in tries])
    opening = CLASSES.get(str(about.meta.get("corpus")), OPENINGS["reads"]) if task == "classes" else OPENINGS[task]
    return opening if reads_examples(about) and about.reads_text else replace(opening, examples=())


def quick_texts(about: Description) -> list[str]:
    """Texts to try with a model that has learned a quick task; none for any other."""
    quick = QUICK.get(str(about.meta.get("corpus")))
    return list(quick.tries) if quick else []


def reads_examples(about: Description) -> bool:
    """Whether a model can be given the examples, which are from eng-fra: not if it is known to read or write another
    language."""
    source = find_source("eng-fra")
    return about.languages is None or (source is not None and about.languages == source.languages)
