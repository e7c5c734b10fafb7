"""Numbers that a room guesses: a probability, a weight, or a number of By hand."""

from torch import Tensor

from transformer.by_hand.exercises import Exercise, exercises, written
from transformer.by_hand.stages import ByHand
from transformer.lessons.answers import by_hand
from transformer.lessons.answers import number as answer
from transformer.lessons.lesson import NUMBERS, Question
from transformer.lessons.opened_link import row_of
from transformer.rooms.question_record import (
    FORMS,
    Moment,
    QuestionRecord,
    apart,
    bare,
    clear_lead,
    key,
    percent,
    place,
)

WAYS = ("probability", *(name for name in reversed(NUMBERS)))
POINTS = 5.0  # of a percentage: how far off an answer may be
STEPS = {"product": 4, "scaled": 5, "weight": 7}  # of By hand, that compute it


def number(moment: Moment, *, of: str | None = None, query: str = "newest",
           tolerance: float | None = None) -> QuestionRecord:
    """of: a word of `WAYS`; where nothing is said, the probability of what is likeliest, or a weight of By hand.
    tolerance: of a number of By hand; else whoever computes with the numbers that are shown is right."""
    if moment.opened.shows == "hand":
        return _by_hand(moment, "weight" if of is None else of, tolerance)
    if of in (None, "probability"):
        return _probability(moment)
    if of == "weight":
        return _weight(moment, query)
    raise ValueError(f"this asks for the {of}, computed by hand: open By hand")


def _probability(moment: Moment) -> QuestionRecord:
    if moment.opened.shows == "reading":
        found = sorted(zip(*reversed(moment.classes), strict=True), reverse=True)
        what = f"{found[0][1]}, its likeliest class"
    else:
        found = [(one.probability, one.piece) for one in moment.step.top(2)]
        what = f"{bare(found[0][1])}, its likeliest next token"
    clear_lead(found[0][0], found[1][0], who="the model")  # or there is no likeliest one
    return _share(moment, found[0][0], ask=f"What probability does the model give {what}?",
                  made={"of": "probability"}, said="The model gives it {}.")


def _weight(moment: Moment, query: str) -> QuestionRecord:
    """Of the key with most of a row."""
    row = row_of(moment.opened, query, moment.shown)
    at = max(row.seen, key=row.weights.__getitem__)
    return _share(
        moment, row.weights[at], row=place(row), said="It is {} of the row.",
        ask=f"How much of this head's attention from {bare(row.queries[row.query])} is on {bare(apart(row.keys)[at])}?",
        made={"of": "weight", "query": query})


def _share(moment: Moment, right: float, *, ask: str, said: str, made: dict, **more: object) -> QuestionRecord:
    return QuestionRecord({"about": "number", "form": FORMS["number"], "ask": ask, "unit": "%", "least": 0.0,
                   "most": 100.0, **more, **moment.context()},
                 key(right=100 * right, tolerance=POINTS, said=said.format(percent(right)),
                     proof=moment.proof(**made)))


def _by_hand(moment: Moment, of: str, tolerance: float | None) -> QuestionRecord:
    if of == "probability":
        raise ValueError("By hand has no probability; ask for a weight")
    hand, query, key_ = by_hand(moment.opened)
    task = exercises(hand, hand.settings.scale).get(STEPS.get(of, 0))
    found = answer(Question(kind="number", ask="", value=of, tolerance=_tolerance(task, query, key_)
                            if tolerance is None else tolerance), moment.opened)
    words = hand.settings.words
    pair = f"of the query “{words[query]}” and the key “{words[key_]}”"
    ask = {"weight": f"What is the weight {pair}?", "product": f"What is the product q · k {pair}?",
           "scaled": f"What is the scaled product {pair}?", "divisor": "By what are the products divided?"}[of]
    return QuestionRecord({"about": "number", "form": FORMS["number"], "ask": ask, "unit": "", "least": None,
                   "most": None, "given": _given(hand, task, of, query, key_), **moment.context()},
                 key(right=found.right, tolerance=found.tolerance, said=f"It is {found.right:.4g}.",
                     proof=moment.proof(of=of, tolerance=tolerance)))


def _tolerance(task: Exercise | None, query: int, key_: int) -> float:
    if task is None:
        return Question.tolerance
    right = task.answer.values[query, key_]
    return max(float((bound[query, key_] - right).abs()) for bound in task.bounds())


def _given(hand: ByHand, task: Exercise | None, of: str, query: int, key_: int) -> dict[str, object]:
    """What the number is computed from, as By hand writes it: rows of a name and numbers, over them what each is of."""
    words = hand.settings.words
    match of, task.given if task else []:
        case "product", [q, k]:
            return {"rows": [[f"q of “{words[query]}”", _written(q.values[query])],
                             [f"k of “{words[key_]}”", _written(k.values[key_])]]}
        case "scaled", [products]:
            return {"rows": [["q · k", _written(products.values[query, key_:key_ + 1])],
                             ["divided by", [written(hand.settings.divisor)]]]}
        case "weight", [scores]:
            return {"columns": words, "rows": [[f"scores of “{words[query]}”", _written(scores.values[query])]]}
    widths = {"sqrt(d_k)": ("d_k", hand.settings.d_k), "d_k": ("d_k", hand.settings.d_k),
              "sqrt(d_model)": ("d", hand.settings.d)}
    name, width = widths.get(hand.settings.scale, ("", 0))
    return {"rows": [[name, [str(width)]]] if name else []}


def _written(values: Tensor) -> list[str]:
    return [written(value) for value in values.tolist()]
