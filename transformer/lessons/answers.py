"""The model's own answers to the questions of a lesson, computed from what the links open; and a lesson's check."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from transformer.basics.formatting import in_percent, quote
from transformer.by_hand.stages import ByHand, Settings
from transformer.inference.decoding import Candidate, Step, next_step
from transformer.inference.reading import Reading
from transformer.lessons.grading import is_right
from transformer.lessons.lesson import Lesson, Question, Stop
from transformer.lessons.opened_link import Opened, Row, head_of, row_of, source_of, step_of

CHOICES = 4
CLEAR = 0.05  # the least lead of the first over the second, in probability or in a row's weight
LONGEST = 200  # tokens of a text that the model writes


@dataclass(frozen=True)
class NextToken:
    """Tokens to choose from, of which the likeliest is right."""

    choices: tuple[Candidate, ...]
    right: int

    def judge(self, reply: object) -> bool | None:
        return is_right(reply, self.right)


@dataclass(frozen=True)
class Cell:
    """A row of a head and the key with most of its weight."""

    kind: str
    layer: int
    head: int
    query: int
    right: int
    queries: tuple[str, ...] = field(repr=False)
    keys: tuple[str, ...] = field(repr=False)
    weights: tuple[float, ...] = field(repr=False)

    def judge(self, reply: object) -> bool | None:
        return is_right(reply, self.right)


@dataclass(frozen=True)
class Number:
    """A number and the tolerance for an answer."""

    right: float
    tolerance: float

    def judge(self, reply: object) -> bool | None:
        return is_right(reply, self.right, self.tolerance)


@dataclass(frozen=True)
class FreeText:
    """Any answer will do. output: the model's text, if it is to be compared."""

    output: str | None = None

    def judge(self, reply: object) -> None:
        return None


Answer = NextToken | Cell | Number | FreeText


def answer(question: Question, opened: Opened) -> Answer:
    """The model's answer. Raises ValueError, with what to do, if it is not clear."""
    match question.kind:
        case "next token":
            return next_token(step_of(opened))
        case "cell":
            return cell(row_of(opened, question.query))
        case "number":
            return number(question, opened)
        case "free text":
            return FreeText(written(_writer(opened)) if question.compare == "output" else None)
    raise AssertionError(f"nothing answers {question.kind!r}")


def step_or_reading(opened: Opened) -> Step | Reading | None:
    """The step or reading that a link shows; None for a page without one. Raises ValueError for a text, step, layer or
    head that does not exist."""
    if opened.shows == "hand":
        _settings(opened.values)
    if opened.shows not in ("step", "reading"):
        return None
    source = source_of(opened)
    head_of(opened, source)
    return source


def next_token(step: Step) -> NextToken:
    """The likeliest candidates of a step, shuffled. Raises ValueError if two are about as likely."""
    candidates = step.top(CHOICES)
    first, second = candidates[:2]
    if first.probability - second.probability < CLEAR:
        raise ValueError(f"the model hesitates: {quote(first.piece)} has {in_percent(first.probability)} and "
                         f"{quote(second.piece)} {in_percent(second.probability)}; choose another step or text")
    # shuffled independently of the probabilities, and alike for everybody
    shuffled = sorted(candidates, key=lambda one: sha256(f"{step.text}\0{step.index}\0{one.id}".encode()).digest())
    return NextToken(tuple(shuffled), shuffled.index(first))


def cell(row: Row) -> Cell:
    """The key with most of a row's weight. Raises ValueError if two have about as much."""
    order = sorted(row.seen, key=row.weights.__getitem__, reverse=True)
    if len(order) < 2:
        raise ValueError("this row looks at one token, so there is nothing to choose; take a later step")
    first, second = order[:2]
    weights, keys = row.weights, row.keys
    if weights[first] - weights[second] < CLEAR:
        raise ValueError(f"the head hesitates: {quote(keys[first])} has {weights[first]:.2f} and "
                         f"{quote(keys[second])} {weights[second]:.2f}; choose another head, step or query")
    return Cell(row.kind, row.layer, row.head, row.query, first, row.queries, keys, weights)


def _settings(values: Mapping[str, Any]) -> Settings:
    return Settings(values["text"], seed=values["seed"], d=values["d"], d_k=values["d_k"], d_v=values["d_v"],
                    heads=values["heads"], scale=values["scale"], causal=values["mask"] == "causal",
                    positions=values["positions"], numbers=values["numbers"])


def number(question: Question, opened: Opened) -> Number:
    """A number of By hand. Raises ValueError for another page."""
    hand, query, key = by_hand(opened)
    if question.value == "divisor":
        return Number(hand.settings.divisor, question.tolerance)
    head = hand.heads[0]
    matrix = {"product": head.products, "scaled": head.scaled, "weight": head.weights}[question.value]
    return Number(float(matrix[query, key]), question.tolerance)


def by_hand(opened: Opened) -> tuple[ByHand, int, int]:
    """The computation of By hand, and the places of its query and key. Raises ValueError for another page."""
    if opened.shows != "hand":
        raise ValueError("this asks for a number that is computed by hand: open By hand")
    hand = ByHand(_settings(opened.values))
    words = len(hand.settings.words)
    query, key = (min(words - 1, words - 1 if at is None else at)
                  for at in (opened.values.get("query"), opened.values.get("key")))
    return hand, query, key


def written(step: Step, most: int = LONGEST) -> str:
    """The text that the model writes from a step on, to its end or for `most` tokens more."""
    for _ in range(most):
        if step.ended:
            break
        step = next_step(step.ckpt, step)
    return step.output


def _writer(opened: Opened) -> Step:
    if opened.shows != "step":
        raise ValueError("this compares with what the model writes: open Translate or Write")
    return step_of(opened)


@dataclass(frozen=True)
class Finding:
    """A stop with the problem of its link or question, or the answer where there is none."""

    stop: Stop
    problem: str | None
    answer: Answer | None = None


def check(lesson: Lesson, opens: Callable[[Stop], Opened], *,
          watch: Callable[[int, int], None] = lambda done, total: None) -> list[Finding]:
    """A finding for each stop. opens: opens a link, raises ValueError where it leads nowhere. watch: called with the
    number of stops checked and of all."""
    findings = []
    for at, stop in enumerate(lesson.stops):
        watch(at, len(lesson.stops))
        findings.append(check_stop(stop, opens))
    return findings


def check_stop(stop: Stop, opens: Callable[[Stop], Opened]) -> Finding:
    try:
        opened = opens(stop)
        step_or_reading(opened)
        return Finding(stop, None, answer(stop.question, opened) if stop.question else None)
    except ValueError as error:
        return Finding(stop, str(error))
