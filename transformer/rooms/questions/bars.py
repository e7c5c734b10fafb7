"""Questions that are answered by drawing bars: a row of attention, and what may come next.

p: the model's bars, q: those that were drawn, both summing to 1.
"""

from collections.abc import Sequence
from math import fsum, isfinite, log
from typing import Any

from transformer.lessons.opened_link import row_of
from transformer.rooms.questions.kind import Answers, Kind, Moment, Options, QuestionRecord, Values, make_key
from transformer.rooms.questions.wording import BARS, bare, mixed, most_is, percent, place, row_labels

SMOOTHED = 0.01  # of what was drawn, spread evenly over all bars, so that a bar left empty costs much and not all
TALLEST = 1e9  # of a bar as it was drawn
LIKELIEST = 6  # bars of a distribution, beside that of all others
OTHERS = "all others"


def shares(values: Sequence[float]) -> list[float]:
    """Values from 0 up as shares of their sum; all alike where there is nothing."""
    most = max(values, default=0.0)
    if most <= 0:
        return [1 / len(values) for _ in values]
    scaled = [value / most for value in values]
    total = fsum(scaled)
    return [value / total for value in scaled]


def divergence(p: Sequence[float], q: Sequence[float]) -> float:
    """KL(p ‖ q) in nats (Kullback and Leibler 1951), with a hundredth of q spread evenly."""
    even = SMOOTHED / len(q)
    return max(0.0, fsum(a * log(a / ((1 - SMOOTHED) * b + even)) for a, b in zip(p, q, strict=True) if a > 0))


def overlap(p: Sequence[float], q: Sequence[float]) -> float:
    """The share that the two have in common: the sum of the smaller of each, 1 where they are the same."""
    return min(1.0, fsum(map(min, p, q)))


class Bars(Kind):
    """A bar for each of `labels`; only how they compare counts. Nothing is right or wrong, but nearer or farther."""

    form = "draw"
    right_or_wrong = False
    grade = "overlap"

    def check(self, spec: Values, value: object, number: int) -> list[float]:
        bars = len(spec["labels"])
        if not isinstance(value, list) or len(value) != bars:
            raise ValueError(f"the answer does not have {bars} bars; draw each of them")
        for bar in value:
            if isinstance(bar, bool) or not isinstance(bar, int | float) or not 0 <= bar <= TALLEST:
                raise ValueError("a bar is not a number from 0 up; draw it again")
        heights = [float(bar) for bar in value]
        if not max(heights) > 0:
            raise ValueError("all bars are empty; draw at least one")
        out = shares(heights)
        assert all(map(isfinite, out)), f"bars that are not finite from {heights}"
        return out

    def judge(self, spec: Values, key: Values, value: Any, number: int) -> dict[str, Any]:
        model = shares(key["values"])
        common = overlap(model, value)
        return super().judge(spec, key, value, number) | {
            "score": common, "kl": divergence(model, value), "overlap": common}

    def count(self, spec: Values, answers: Answers, beside: Answers = ()) -> dict[str, Any]:
        """Also mean, the mean height of each bar."""
        answers = list(answers)
        drawn = [value for _, value, _ in answers]
        return super().count(spec, answers) | {
            "mean": [fsum(bar) / len(drawn) for bar in zip(*drawn, strict=True)] if drawn else None}

    def summary(self, spec: Values, key: Values, votes: Values) -> dict[str, Any]:
        """The model's bars beside the room's mean, their kl and their overlap."""
        model, mean = shares(key["values"]), votes["mean"]
        return {"count": votes["count"], "model": model, "mean": mean,
                "kl": None if mean is None else divergence(model, mean),
                "overlap": None if mean is None else overlap(model, mean)}

    def compare_rounds(self, spec: Values, first: Answers, second: Answers,
                       key: Values | None = None) -> dict[str, Any]:
        """Without how many changed their answer: nobody draws twice alike."""
        return super().compare_rounds(spec, first, second, key) | {"changed": None}


class RowOfAttention(Bars):
    """A whole row of a head, a bar for each key that the query may look at, in the order of the text."""

    name = "row"
    title = "Draw the row of attention"

    def make(self, moment: Moment, options: Options) -> QuestionRecord:
        row = row_of(moment.opened, options.query, moment.source)
        labels, weights = row_labels(row), [row.weights[at] for at in row.seen]
        key = make_key(weights, proof=moment.proof(query=options.query), said=most_is([*map(bare, labels)], weights))
        return self.record(moment, key, labels=labels, pieces=True, row=place(row),
                           ask=f"Draw how this head spreads its attention from {bare(row.queries[row.query])}.")


class Distribution(Bars):
    """How the model spreads its probability over the likeliest tokens, or over classes: a bar each."""

    name = "distribution"
    title = "Draw what may come next"
    on_page = True

    def make(self, moment: Moment, options: Options) -> QuestionRecord:
        if moment.opened.shows == "reading":
            return self._of_classes(moment)
        step = moment.step
        top = step.top(min(LIKELIEST, len(step.logits) - 1))
        order = mixed(top, "distribution", step.text, step.index, by=lambda one: one.id)
        rest = max(0.0, 1 - sum(one.probability for one in top))
        key = make_key([*(one.probability for one in order), rest], proof=moment.proof(),
                       said=f"{most_is([bare(one.piece) for one in top], [one.probability for one in top])} "
                            f"All tokens not named here have {percent(rest)} together.")
        return self.record(moment, key, pieces=True, labels=[*(one.piece for one in order), OTHERS],
                           ask="How does the model spread its probability over the next token?")

    def _of_classes(self, moment: Moment) -> QuestionRecord:
        names, values = moment.classes
        if len(names) > BARS:
            raise ValueError(f"this model tells {len(names)} classes apart, and a phone has room to draw {BARS}; ask "
                             "for a number")
        key = make_key(values, proof=moment.proof(), said=most_is(names, values))
        return self.record(moment, key, pieces=False, labels=names,
                           ask="How does the model spread its probability over the classes?")
