"""A lesson: a list of stops, each a link of the app with a few words and perhaps a question."""

from collections.abc import Mapping
from dataclasses import dataclass, field

LARGEST, STOPS = 64_000, 60  # bytes of a file, stops in it
TITLE, SENTENCES, RECAP, NOTE, LINK = 80, 420, 120, 800, 2_000  # characters
KINDS = ("next token", "cell", "number", "free text")
NUMBERS = ("divisor", "product", "scaled", "weight")  # of By hand
COMPARED = ("output", "page")
DEEDS = {  # the action that completes a stop -> the values of its link that it changes
    "step": ("step",), "pick": ("choices",), "head": ("layer", "head"), "cell": ("pair",), "kind": ("kind",),
    "switch": ("heads",)}
ASK = {
    "next token": "Which token comes next?",
    "cell": "Click the token where this head looks most.",
    "number": "Which number is it?",
    "free text": "What do you think?"}


class LessonError(ValueError):
    """An error in a lesson's file; the message names the file and the line and says what to do."""


@dataclass(frozen=True, kw_only=True)
class Question:
    """The question of a stop. query: its row, "newest", a token or its place; value: one of `NUMBERS`; tolerance: the
    largest error of a number; compare: what a free one is held against, one of `COMPARED` or nothing."""

    kind: str
    ask: str
    query: str = "newest"
    value: str = "weight"
    tolerance: float = 0.01
    compare: str = ""


@dataclass(frozen=True, kw_only=True)
class Stop:
    """A stop of a lesson. page, params: of its link; line: of its heading in the file; note: for the teacher; recap: a
    line for the lesson's end; point: the part of the page to point at; see: the part of a long page to scroll to; deed:
    the action that completes the stop, one of `DEEDS`."""

    title: str
    page: str
    params: Mapping[str, str]
    line: int
    text: str = ""
    note: str = ""
    recap: str = ""
    question: Question | None = None
    point: str | None = None
    see: str | None = None
    deed: str | None = None


@dataclass(frozen=True, kw_only=True)
class Lesson:
    """A lesson. name: its id in links; minutes: its length."""

    name: str
    title: str
    minutes: int
    sentence: str
    stops: tuple[Stop, ...] = field(repr=False)

    @property
    def guided(self) -> bool:
        """Whether it points at parts of pages."""
        return any(stop.point for stop in self.stops)
