"""Numbers that a room guesses: a probability, a weight, or a number of By hand. Answers are counted in bins."""

from collections.abc import Iterator, Sequence
from math import ceil, floor, log10
from statistics import fmean, median
from typing import Any

from torch import Tensor

from transformer.by_hand.exercises import Exercise, Matrix, exercises, written
from transformer.by_hand.stages import ByHand, Settings
from transformer.lessons.answers import by_hand
from transformer.lessons.answers import number as answer
from transformer.lessons.grading import bounds, is_number, is_right
from transformer.lessons.lesson import NUMBERS, Question
from transformer.lessons.opened_link import row_of
from transformer.rooms.questions.kind import (
    Answers,
    Kind,
    Moment,
    Options,
    QuestionRecord,
    Values,
    level_pairs,
    make_key,
)
from transformer.rooms.questions.wording import apart, bare, clear_lead, percent, place

POINTS = 5.0  # of a percentage: how far off an answer may be
ZERO_AT = 10  # tolerances off, where a number scores nothing
STEPS = {"product": 4, "scaled": 5, "weight": 7}  # of By hand, that compute it
MOST_BINS = 12
FAR = 3  # widths of the middle half of the numbers, beyond which one stands alone


class Number(Kind):
    """A number. Without a choice of `ways` it is the probability of what is likeliest, or a weight of By hand. There
    whoever computes with the numbers that are shown is right, unless the options have a tolerance."""

    name = form = stop = "number"
    title = "How much?"
    ways = ("probability", *reversed(NUMBERS))
    on_page = True

    def make(self, moment: Moment, options: Options) -> QuestionRecord:
        if moment.opened.shows == "hand":
            return self._by_hand(moment, "weight" if options.of is None else options.of, options.tolerance)
        if options.of in (None, "probability"):
            return self._probability(moment)
        if options.of == "weight":
            return self._weight(moment, options.query)
        raise ValueError(f"this asks for the {options.of}, computed by hand: open By hand")

    def _probability(self, moment: Moment) -> QuestionRecord:
        if moment.opened.shows == "reading":
            ordered = sorted(zip(*reversed(moment.classes), strict=True), reverse=True)
            what = f"{ordered[0][1]}, its likeliest class"
        else:
            ordered = [(one.probability, one.piece) for one in moment.step.top(2)]
            what = f"{bare(ordered[0][1])}, its likeliest next token"
        clear_lead(ordered[0][0], ordered[1][0], who="the model")  # or there is no likeliest one
        return self._share(moment, ordered[0][0], ask=f"What probability does the model give {what}?",
                           made={"of": "probability"}, said="The model gives it {}.")

    def _weight(self, moment: Moment, query: str) -> QuestionRecord:
        """The weight of the key that has most of a row."""
        row = row_of(moment.opened, query, moment.source)
        at = max(row.seen, key=row.weights.__getitem__)
        reading, token = bare(row.queries[row.query]), bare(apart(row.keys)[at])
        return self._share(
            moment, row.weights[at], row=place(row), said="It is {} of the row.",
            ask=f"How much of this head's attention from {reading} is on {token}?",
            made={"of": "weight", "query": query})

    def _share(self, moment: Moment, right: float, *, ask: str, said: str, made: dict,
               **spec: object) -> QuestionRecord:
        key = make_key(right=100 * right, tolerance=POINTS, said=said.format(percent(right)),
                       proof=moment.proof(**made))
        return self.record(moment, key, ask=ask, unit="%", least=0.0, most=100.0, **spec)

    def _by_hand(self, moment: Moment, of: str, tolerance: float | None) -> QuestionRecord:
        if of == "probability":
            raise ValueError("By hand has no probability; ask for a weight")
        hand, query, key = by_hand(moment.opened)
        task = exercises(hand, moment.opened.values.get("first", 0)).get(STEPS.get(of, 0))
        result = answer(Question(kind="number", ask="", value=of, tolerance=_tolerance(task, query, key)
                                 if tolerance is None else tolerance), moment.opened)
        words = hand.settings.words
        pair = f"of the query “{words[query]}” and the key “{words[key]}”"
        ask = {"weight": f"What is the weight {pair}?", "product": f"What is the product q · k {pair}?",
               "scaled": f"What is the scaled product {pair}?", "divisor": _ask_divisor(hand.settings)}[of]
        return self.record(
            moment, make_key(right=result.right, tolerance=result.tolerance, said=f"It is {result.right:.4g}.",
                             proof=moment.proof(of=of, tolerance=tolerance)),
            ask=ask, unit="", least=None, most=None, given=_given(hand, task, of, query, key))

    def check(self, spec: Values, value: object, number: int) -> float:
        least, most = spec["least"], spec["most"]
        if not is_number(value, least, most):
            raise ValueError(f"the answer is not a number{'' if least is None else f' from {least:g} to {most:g}'}; "
                             "type one")
        return float(value)

    def judge(self, spec: Values, key: Values, value: Any, number: int) -> dict[str, Any]:
        """The score falls to nothing at ten tolerances."""
        off, tolerance = abs(value - key["right"]), key["tolerance"]
        right = is_right(value, key["right"], tolerance)
        score = max(0.0, 1 - off / (ZERO_AT * tolerance)) if tolerance else float(right or False)
        return super().judge(spec, key, value, number) | {"right": right, "score": score}

    def count(self, spec: Values, answers: Answers, beside: Answers = ()) -> dict[str, Any]:
        """Also bins, median and mean, and values with how sure each was."""
        answers = list(answers)
        pairs = level_pairs(answers)
        values, others = [value for value, _ in pairs], [float(value) for _, value, _ in beside]
        low, high = _span([*values, *others], spec["least"], spec["most"])
        return super().count(spec, answers) | {
            "bins": _bins(values, low, high, others), "median": median(values) if values else None,
            "mean": fmean(values) if values else None, "values": [list(pair) for pair in pairs]}

    def grades(self, spec: Values, key: Values, votes: Values) -> Iterator[tuple[bool, int, int]]:
        for value, level in votes["values"]:
            yield self.judge(spec, key, value, 0)["right"], level, 1

    def key_to_show(self, key: Values) -> dict[str, Any]:
        """With the bounds of what is right, as a phone judges nothing by itself."""
        return {**key, "bounds": bounds(key["right"], key["tolerance"])}

    def stop_options(self, question: Question) -> dict[str, Any]:
        return {"of": question.value, "tolerance": question.tolerance}

    def stop_lines(self, spec: Values, key: Values) -> tuple[str, ...]:
        of = key.get("proof", {}).get("made", {}).get("of")
        if of not in NUMBERS or spec["unit"]:  # only a number of By hand
            return super().stop_lines(spec, key)
        return "- question: number", f"- value: {of}", f"- tolerance: {key['tolerance']}"


def _tolerance(task: Exercise | None, query: int, key: int) -> float:
    if task is None:
        return Question.tolerance
    right = task.answer.values[query, key]
    return max(float((bound[query, key] - right).abs()) for bound in task.bounds())


def _ask_divisor(s: Settings) -> str:
    if s.scaling.split:
        return "Queries and keys are each divided by ⁴√d_k. By what does that divide their products?"
    return "By what are the products divided?"


def _given(hand: ByHand, task: Exercise | None, of: str, query: int, key: int) -> dict[str, object]:
    """What the number is computed from, as By hand writes it: rows of a name and numbers, over them what each is of."""
    s, words = hand.settings, hand.settings.words
    match of, task.given if task else []:
        case "product" | "scaled", [q, k, *rest]:
            return {"rows": [*([f"{one.name.split(' = ')[0]} of “{words[at]}”", _shown(one, at)]
                               for one, at in ((q, query), (k, key))),
                             *([one.name, _written(one.values[query, key:key + 1])] for one in rest)]}
        case "scaled", [products]:
            return {"rows": [["q · k", _written(products.values[query, key:key + 1])],
                             ["divided by", [written(s.divisor)]]]}
        case "weight", [scores]:
            return {"columns": words, "rows": [[f"scores of “{words[query]}”", _written(scores.values[query])]]}
    width = s.scaling.width
    return {"rows": [] if width is None else [[width, [str(getattr(s, width))]]]}


def _shown(one: Matrix, row: int) -> list[str]:
    """A row of a matrix, as much as is shown of it."""
    _, columns = one.seen
    return _written(one.values[row, columns.start:columns.stop])


def _written(values: Tensor) -> list[str]:
    return [written(value) for value in values.tolist()]


def _span(values: Sequence[float], least: float | None, most: float | None) -> tuple[float, float]:
    """What the bins cover: the range of the question; where it has none, the answers without those that lie far off."""
    if least is not None and most is not None:
        return least, most
    if not values:
        return 0.0, 1.0
    ordered = sorted(values)
    low, middle, high = (ordered[part * (len(ordered) - 1) // 4] for part in (1, 2, 3))
    reach = FAR * (high - low) or max(1.0, abs(middle))
    return max(ordered[0], low - reach), min(ordered[-1], high + reach)


def _bins(values: Sequence[float], low: float, high: float, beside: Sequence[float]) -> list[dict[str, Any]]:
    """Bins with round bounds: "from", "to" (not in it, but for the last) and "count". What lies below or above, here or
    in the other round, is in the first or the last, whose "from" or "to" is then None."""
    width = _round_width((high - low) / MOST_BINS) if high > low else 1.0
    first = floor(low / width + 1e-9)
    count = max(1, ceil(high / width - 1e-9) - first)
    counts = [0] * count
    for value in values:
        counts[min(count - 1, max(0, floor(value / width + 1e-9) - first))] += 1
    bins: list[dict[str, Any]] = [{"from": _plain((first + at) * width), "to": _plain((first + at + 1) * width),
                                   "count": number} for at, number in enumerate(counts)]
    for value in (*values, *beside):
        if value < (first - 1e-9) * width:
            bins[0]["from"] = None
        elif value > (first + count + 1e-9) * width:
            bins[-1]["to"] = None
    return bins


def _round_width(least: float) -> float:
    """The smallest of 1, 2, 5, 10, 20, ... (and tenths of these) that is not below."""
    power = 10.0 ** floor(log10(least))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= least * (1 - 1e-9))


def _plain(number: float) -> float:
    return float(f"{number:.10g}")
