"""What the model says to a question: computed from what the stop's link opens, never written down."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Literal

from transformer.brief import brief, quoted
from transformer.by_hand.stages import ByHand, Settings
from transformer.checkpoint import Checkpoint
from transformer.inference.decoding import Candidate, Sampling, Step, steps
from transformer.inference.reading import Reading, attend
from transformer.lessons.lesson import Question

CHOICES = 4
CLEAR = 0.05  # by which the first must lead the second: of probability, or of a row's weight
FARTHEST = 2_000  # steps
PLAIN = {"of": "head", "tokens": "pieces", "special": "shown"}  # what a cell is asked of
WRITTEN = 200  # tokens of a text that is compared

Shows = Literal["step", "reading", "hand", "other"]


@dataclass(frozen=True)
class Opened:
    """What a link opens. values: of all the page's parameters; shows: what can be asked of the page."""

    shows: Shows
    values: Mapping[str, Any]
    ckpt: Checkpoint | None = None

    __repr__ = brief


@dataclass(frozen=True)
class NextToken:
    """Tokens to choose from, the likeliest the right one."""

    choices: tuple[Candidate, ...]
    right: int

    def judge(self, given: object) -> bool:
        return given == self.right


@dataclass(frozen=True)
class Cell:
    """A row of a head, and the key on which most of its weight is."""

    kind: str
    layer: int
    head: int
    query: int
    right: int
    queries: tuple[str, ...] = field(repr=False)
    keys: tuple[str, ...] = field(repr=False)
    weights: tuple[float, ...] = field(repr=False)

    def judge(self, given: object) -> bool:
        return given == self.right


@dataclass(frozen=True)
class Number:
    """A number, and how far off an answer may be."""

    right: float
    tolerance: float

    def judge(self, given: object) -> bool:
        return isinstance(given, int | float) and abs(given - self.right) <= self.tolerance * (1 + 1e-9)


@dataclass(frozen=True)
class FreeText:
    """No answer is wrong. output: what the model writes, where it is to be compared."""

    output: str | None = None

    def judge(self, given: object) -> None:
        return None


Answer = NextToken | Cell | Number | FreeText


def answer(question: Question, opened: Opened) -> Answer:
    """Raises ValueError, with what to do, for a question that has no clear answer there."""
    match question.kind:
        case "next token":
            return _next_token(_step(opened))
        case "cell":
            return _cell(question, opened)
        case "number":
            return _number(question, opened)
        case "free text":
            return FreeText(_written(opened) if question.compare else None)
    raise AssertionError(f"nothing answers {question.kind!r}")


def look(opened: Opened) -> Step | Reading | None:
    """What the link shows, with layer and head there; None of a page that shows no text to a model. Raises ValueError
    for a text, step, layer or head that is not there."""
    if opened.shows == "hand":
        _settings(opened.values)
    if opened.shows not in ("step", "reading"):
        return None
    shown = _step(opened) if opened.shows == "step" else attend(opened.ckpt, opened.values["text"] or "")
    _head_of(opened, shown)
    return shown


def _step(opened: Opened) -> Step:
    if opened.shows != "step":
        raise ValueError("a next token is asked where a model writes; link to Translate or Write")
    values = opened.values
    sampling = Sampling(temperature=values.get("temperature") or 0.0, top_k=values.get("top_k") or None,
                        seed=int(values.get("seed") or 0))
    wanted = int(values.get("step") or 0)
    size = opened.ckpt.config.vocab_size
    forced = {at: id for at, id in (values.get("choices") or {}).items() if id < size}
    *_, step = steps(opened.ckpt, values["text"], sampling=sampling, forced=forced, max_steps=min(wanted, FARTHEST) + 1)
    if step.index < wanted:
        raise ValueError(f"the text ends at step {step.index}, so there is no step {wanted:,}; choose an earlier one")
    return step


def _next_token(step: Step) -> NextToken:
    candidates = step.top(CHOICES)
    first, second = candidates[:2]
    if first.probability - second.probability < CLEAR:
        raise ValueError(f"the model hesitates: {quoted(first.piece)} has {first.probability:.1%} and "
                         f"{quoted(second.piece)} {second.probability:.1%}; choose another step or text")
    # an order that has nothing to do with the probabilities, and is the same for everybody
    mixed = sorted(candidates, key=lambda one: sha256(f"{step.text}\0{step.index}\0{one.id}".encode()).digest())
    return NextToken(tuple(mixed), mixed.index(first))


def _head_of(opened: Opened, shown: Step | Reading) -> tuple[str, int, int]:
    """The kind, layer and head that the link names."""
    kind = opened.values.get("kind") or shown.kinds[-1]
    if kind not in shown.kinds:
        raise ValueError(f"this model has no {quoted(kind)} attention; choose {' or '.join(shown.kinds)}")
    place = []
    for name, count in (("layer", shown.ckpt.config.layers(kind)), ("head", shown.ckpt.config.n_heads)):
        said = str(opened.values.get(name) or 0)
        if not (said.isascii() and said.isdigit() and int(said) < count):
            raise ValueError(f"{name} is {quoted(said)}; choose one from 0 to {count - 1}")
        place.append(int(said))
    return kind, *place


def _cell(question: Question, opened: Opened) -> Cell:
    if opened.shows not in ("step", "reading"):
        raise ValueError("a cell is asked where a head is on the page; link to Translate, Write or Classify")
    if opened.values.get("pair"):
        raise ValueError("the link already shows a pair of tokens, which answers the question; leave “pair” out")
    for name, plain in PLAIN.items():
        if opened.values.get(name) not in (None, plain):
            raise ValueError("a cell is asked of one head and of all its tokens as the model reads them; leave "
                             f"“{name}” out of the link")
    shown = look(opened)
    kind, layer, head = _head_of(opened, shown)
    queries, keys = shown.axes(kind)
    query = _row(question.query, queries)
    row = shown.attentions[kind][layer, head, query].tolist()
    order = sorted(range(len(row)), key=row.__getitem__, reverse=True)
    if len(row) < 2:
        raise ValueError("this row has one token, so there is nothing to choose; take a later step")
    first, second = order[:2]
    if row[first] - row[second] < CLEAR:
        raise ValueError(f"the head hesitates: {quoted(keys[first])} has {row[first]:.2f} and {quoted(keys[second])} "
                         f"{row[second]:.2f}; choose another head, step or query")
    return Cell(kind, layer, head, query, first, tuple(queries), tuple(keys), tuple(row))


def _row(query: str, queries: list[str]) -> int:
    """The row that a question names: the newest, a token, or its place from 0."""
    if query == "newest":
        return len(queries) - 1
    if re.fullmatch(r"[0-9]{1,5}", query):
        if int(query) < len(queries):
            return int(query)
        raise ValueError(f"query is {query}; choose one from 0 to {len(queries) - 1}, “newest”, or a token")
    bare = [piece.strip("▁ ") for piece in queries]
    if (wanted := query.strip("▁␣ ")) in bare:
        return bare.index(wanted)
    raise ValueError(f"no row is called {quoted(query)}; choose one of {', '.join(map(quoted, bare[:20]))}")


def _settings(values: Mapping[str, Any]) -> Settings:
    return Settings(values["text"], seed=values["seed"], d=values["d"], d_k=values["d_k"], d_v=values["d_v"],
                    heads=values["heads"], scale=values["scale"], causal=values["mask"] == "causal",
                    positions=values["positions"], numbers=values["numbers"])


def _number(question: Question, opened: Opened) -> Number:
    if opened.shows != "hand":
        raise ValueError("a number is asked where it can be computed; link to By hand")
    values, settings = opened.values, _settings(opened.values)
    if question.value == "divisor":
        return Number(settings.divisor, question.tolerance)
    words, head = len(settings.words), ByHand(settings).heads[0]
    query, key = (min(words - 1, words - 1 if at is None else at) for at in (values.get("query"), values.get("key")))
    matrix = {"product": head.products, "scaled": head.scaled, "weight": head.weights}[question.value]
    return Number(float(matrix[query, key]), question.tolerance)


def _written(opened: Opened) -> str:
    """All that the model writes, from the beginning to the end."""
    if opened.shows != "step":
        raise ValueError("there is no text of the model to compare with; link to Translate or Write")
    *_, last = steps(opened.ckpt, opened.values["text"], max_steps=WRITTEN)
    return last.output
