"""The corpora that come with the library: everything that is known of each before it is read.

A new one is an entry in `SOURCES` and a zip in `packed/`, or a module in `synthetic/` that makes it.
"""

import hashlib
import lzma
import zipfile
import zlib
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transformer.text.labelled import Labelled, by_ending, by_speaker, labelled_lines
from transformer.text.synthetic import add, brackets, repeat, reverse, sort

PACKED = Path(__file__).with_name("packed")  # a zip each


@dataclass(frozen=True)
class Form:
    """A kind of corpus: the task that learns from it, what it contains, and the user's file that contains the same."""

    task: str
    what: str
    ending: str
    holds: str


PAIRS = Form("translation", "pairs of sentences", ".tsv", "one `source TAB target` a line")
TEXT = Form("language-model", "running text", ".txt", "running text")
CLASSES = Form("classification", "texts with a class", ".csv", "a header line naming the columns text and label")
FORMS = (PAIRS, TEXT, CLASSES)


@dataclass(frozen=True, kw_only=True)
class Source:
    """A corpus that comes with the library."""

    name: str
    form: Form
    title: str
    size: str
    file: str = ""  # in PACKED; its only member is the text
    make: Callable[[], str] | None = None  # makes the text of a synthetic corpus, which has no file
    sha256: str  # of the text
    licence: str
    attribution: str
    splits: tuple[str, ...]
    languages: tuple[str, str] | None = None  # of the sources and of the translations, in English
    manner: str = ""  # how a model writes that has learned from it
    pinned: tuple[str, ...] = ()  # texts whose attention is recorded by default; `source TAB target` where it has none
    published: tuple[float, str] | None = None  # the loss of somebody else's model, in nats per token, and whose
    labelled: Callable[[str], tuple[list[str], list[Labelled]]] | None = None  # its classes and texts, of the text
    question: str = ""  # which its classes answer
    unit: str = "text"  # what one of its texts is called
    # Of a text and its target (of running text the same): where each character of the target, and the characters that
    # it comes from, are. None where no rule says so.
    links: Callable[[str, str], list[tuple[int, int]]] | None = None

    @property
    def measured_on(self) -> str:
        """The split that a model is measured on."""
        return measured_on(self.splits)

    @property
    def synthetic(self) -> bool:
        """Whether it is made by a rule, and not what people have written."""
        return self.make is not None

    def read(self) -> str:
        """The text. Raises ValueError if its sha256 differs."""
        return self.make() if self.make else unpack(PACKED / self.file, self.sha256)


_SHAKESPEARE: dict[str, Any] = {
    "file": "tiny-shakespeare.zip", "sha256": "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed",
    "licence": "public domain",
    "attribution": "William Shakespeare's plays, as gathered by Andrej Karpathy (github.com/karpathy/char-rnn)"}

# unchanged from fra-eng.zip of 2019-04-07; licence: https://creativecommons.org/licenses/by/2.0/
_TATOEBA: dict[str, Any] = {
    "file": "eng-fra.zip", "sha256": "0bb85dbaa1c896844649094d7eaf2e34bee34e84fe362b26ce7e8f2e12aae104",
    "licence": "CC BY 2.0", "splits": ("train", "validation", "test"),
    "attribution": "sentence pairs of the Tatoeba project (tatoeba.org), as gathered by manythings.org/anki"}

_SYNTHETIC: dict[str, Any] = {"licence": "MIT", "attribution": "made by a rule of Heads Up"}
_MADE_PAIRS: dict[str, Any] = {"form": PAIRS, "splits": ("train", "validation", "test"), **_SYNTHETIC}
_MADE_TEXT: dict[str, Any] = {"form": TEXT, "size": "0.3 million characters", "splits": ("train", "validation"),
                              **_SYNTHETIC}

SOURCES = (  # the first of a form is offered first
    Source(name="speakers", form=CLASSES, title="who says which passage in Shakespeare", size="ten classes",
           splits=("train", "validation", "test"), labelled=by_speaker, question="Who is speaking?", unit="passage",
           **_SHAKESPEARE),
    Source(name="endings", form=CLASSES, title="how an English sentence ends", size="three classes", labelled=by_ending,
           question="How does it end?", unit="sentence", **_TATOEBA),
    Source(name="sentiment", form=CLASSES, title="one sentence that is positive and one that is not",
           size="two sentences", file="sentiment.zip",
           sha256="5a013e942befb3adeaebf9a2431c8c98305f4ff487145d981bfd4c17c6ec03c9", licence="MIT",
           attribution="two sentences that come with Heads Up", splits=("train",), labelled=labelled_lines),
    Source(name="tiny-shakespeare", form=TEXT, title="Tiny Shakespeare", size="1.1 million characters",
           splits=("train", "validation"), manner="in Shakespeare's manner",
           pinned=("First Citizen:\nBefore we proceed",),
           published=(1.4697, "nanoGPT, 10.65M parameters, by characters: 1.4697"), **_SHAKESPEARE),
    Source(name="eng-fra", form=PAIRS, title="short English and French sentences", size="167,130 pairs",
           languages=("English", "French"), pinned=("I am cold.", "Do you know where he lives?"), **_TATOEBA),
    Source(name="reverse", title="letters, and the same backwards", size="10,000 pairs", make=reverse.make,
           sha256="b60523340e04f5acddc9f08db9a40abb33ad9871a652ffeb24d8be80f64218ce", links=reverse.links,
           languages=("letters", "letters backwards"), pinned=reverse.PINNED, **_MADE_PAIRS),
    Source(name="sort", title="digits, and the same in order", size="10,000 pairs", make=sort.make,
           sha256="b0528b339c0d9a59f4990b4634f23940e95a7974c6b3237fbaaedc04f8ff270c", links=sort.links,
           languages=("digits", "digits in order"), pinned=sort.PINNED, **_MADE_PAIRS),
    Source(name="add", title="two numbers, and their sum", size="20,000 pairs", make=add.make,
           sha256="b2eb7df42292bd80ddf118c5e8d944be472df32e31f9bb9a2bfd6d2b6e425ac3", links=add.links,
           languages=("two numbers", "their sum"), pinned=add.PINNED, **_MADE_PAIRS),
    Source(name="repeat", title="random letters, repeated", make=repeat.make, links=repeat.links,
           sha256="03f9bdbdca547b3ae21ecbaa09982c25b8c2a13b653b2bdc45159e2fbfcb46b4",
           manner="of random letters, repeated", pinned=repeat.PINNED, **_MADE_TEXT),
    Source(name="brackets", title="brackets that close as they should", make=brackets.make, links=brackets.links,
           sha256="474f9b61f59fa7776912b4a502f4dd3e96e13c510b6efaf13ca94fe3c913328e",
           manner="of brackets", pinned=brackets.PINNED, **_MADE_TEXT),
)


def find_source(name: object) -> Source | None:
    """The corpus of that name that comes with the library, else None."""
    return next((source for source in SOURCES if source.name == name), None)


def published_loss(name: object) -> tuple[float, str] | None:
    """The loss of somebody else's model on the corpus of that name, to compare a curve with."""
    source = find_source(name)
    return source.published if source else None


def form_of(task: str) -> Form:
    """The form of corpus that a task learns from."""
    return next(form for form in FORMS if form.task == task)


def sources_of(form: Form) -> list[Source]:
    """The corpora of a form."""
    return [source for source in SOURCES if source.form == form]


def corpus_choices(form: Form) -> str:
    """The corpora that can be named for a form, as part of a sentence."""
    return f"{', '.join(source.name for source in sources_of(form))} or the path of a {form.ending} file"


def measured_on(splits: Collection[str]) -> str:
    """The split of a corpus that a model is measured on: "train" if nothing is held out."""
    return next(split for split in ("test", "validation", "train") if split in splits)


def unpack(path: Path, sha256: str) -> str:
    """The text in a zip of one file. Raises ValueError if it is not the text with that sha256."""
    try:
        with zipfile.ZipFile(path) as archive:
            content = archive.read(archive.namelist()[0])
    except (OSError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, IndexError) as error:
        raise ValueError(f"{path} is not a whole zip with a text inside ({error}); install Heads Up again") from None
    if (digest := hashlib.sha256(content).hexdigest()) != sha256:
        raise ValueError(f"{path} is not the text that results are stated for: its sha256 is {digest}, expected "
                         f"{sha256}; install Heads Up again")
    return content.decode()
