"""Numbers that a room guesses: a probability, a weight, or a number of By hand."""

from transformer.lessons.answers import number as by_hand
from transformer.lessons.lesson import NUMBERS, Question
from transformer.lessons.opened import row_of
from transformer.rooms.asked import FORMS, Asked, Moment, apart, bare, clear_lead, key, percent, place

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
        found = sorted(zip(*reversed(moment.classes), strict=True), reverse=True)
        what = f"{found[0][1]}, its likeliest class"
    else:
        found = [(one.probability, one.piece) for one in moment.step.top(2)]
        what = f"{bare(found[0][1])}, its likeliest next token"
    clear_lead(found[0][0], found[1][0], who="the model")  # or there is no likeliest one
    return _share(moment, found[0][0], ask=f"What probability does the model give {what}?",
                  made={"of": "probability"}, said="The model gives it {}.")


def _weight(moment: Moment, query: str) -> Asked:
    """Of the key with most of a row."""
    row = row_of(moment.opened, query, moment.shown)
    at = max(row.seen, key=row.weights.__getitem__)
    return _share(
        moment, row.weights[at], row=place(row), said="It is {} of the row.",
        ask=f"How much of this head's attention from {bare(row.queries[row.query])} is on {bare(apart(row.keys)[at])}?",
        made={"of": "weight", "query": query})


def _share(moment: Moment, right: float, *, ask: str, said: str, made: dict, **more: object) -> Asked:
    return Asked({"about": "number", "form": FORMS["number"], "ask": ask, "unit": "%", "least": 0.0, "most": 100.0,
                  **more, **moment.context()},
                 key(right=100 * right, tolerance=POINTS, said=said.format(percent(right)),
                     proof=moment.proof(**made)))


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
