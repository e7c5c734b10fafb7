"""Numbers that a room guesses: a probability, a weight, or a number of By hand."""

from transformer.lessons.answers import number as by_hand
from transformer.lessons.lesson import NUMBERS, Question
from transformer.lessons.opened import row_of
from transformer.rooms.asked import FORMS, Asked, Moment, apart, bare, key, place

WAYS = ("probability", *(name for name in reversed(NUMBERS)))
POINTS = 5.0  # of a percentage: how far off an answer may be
NEAR = 0.01  # of a number of By hand
LARGEST = 1_000.0  # of a number of By hand


def number(moment: Moment, *, of: str | None = None, query: str = "newest") -> Asked:
    """of: a word of `WAYS`; where nothing is said, the probability of what is likeliest, or a weight of By hand."""
    if moment.opened.shows == "hand":
        return _by_hand(moment, "weight" if of is None else of)
    if of in (None, "probability"):
        return _probability(moment)
    if of == "weight":
        return _weight(moment, query)
    raise ValueError(f"this asks for the {of}, computed by hand: open By hand")


def _probability(moment: Moment) -> Asked:
    if moment.opened.shows == "reading":
        names, values = moment.classes
        first = max(range(len(names)), key=values.__getitem__)
        what, right = f"{names[first]}, its likeliest class", 100 * values[first]
    else:
        top = moment.step.top(1)[0]
        what, right = f"{bare(top.piece)}, its likeliest next token", 100 * top.probability
    return _percent(moment, right, ask=f"What probability does the model give {what}?", made={"of": "probability"},
                    said="The model gives it {:.1f}%.")


def _weight(moment: Moment, query: str) -> Asked:
    """Of the key with most of a row."""
    row = row_of(moment.opened, query, moment.shown)
    at = max(row.seen, key=row.weights.__getitem__)
    return _percent(
        moment, 100 * row.weights[at], row=place(row), said="The weight is {:.1f}%.",
        ask=f"How much of this head's attention from {bare(row.queries[row.query])} is on {bare(apart(row.keys)[at])}?",
        made={"of": "weight", "query": query})


def _percent(moment: Moment, right: float, *, ask: str, said: str, made: dict, **more: object) -> Asked:
    return Asked({"about": "number", "form": FORMS["number"], "ask": ask, "unit": "%", "least": 0.0, "most": 100.0,
                  **more, **moment.context()},
                 key(right=right, tolerance=POINTS, said=said.format(right), proof=moment.proof(**made)))


def _by_hand(moment: Moment, of: str) -> Asked:
    if of == "probability":
        raise ValueError("By hand has no probability; ask for a weight")
    values = moment.opened.values
    found = by_hand(Question(kind="number", ask="", value=of, tolerance=NEAR), moment.opened)
    words = str(values["text"]).split()
    query, key_ = (words[min(len(words) - 1, len(words) - 1 if at is None else at)]
                   for at in (values.get("query"), values.get("key")))
    pair = f"of the query “{query}” and the key “{key_}”"
    ask = {"weight": f"What is the weight {pair}?", "product": f"What is the product q · k {pair}?",
           "scaled": f"What is the scaled product {pair}?", "divisor": "By what are the products divided?"}[of]
    if abs(found.right) > LARGEST:
        raise ValueError(f"the number is beyond {LARGEST:,.0f}; choose another")
    least, most = (0.0, 1.0) if of == "weight" else (-LARGEST, LARGEST)
    return Asked({"about": "number", "form": FORMS["number"], "ask": ask, "unit": "", "least": least, "most": most,
                  **moment.context()},
                 key(right=found.right, tolerance=found.tolerance, said=f"It is {found.right:.4g}.",
                     proof=moment.proof(of=of)))
