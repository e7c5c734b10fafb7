"""What a room is asked about a model's prediction: the next token, a class, and the whole distribution."""

from transformer.lessons.answers import next_token as likeliest
from transformer.rooms.question_record import (
    BARS,
    FORMS,
    Moment,
    QuestionRecord,
    bare,
    clear_lead,
    key,
    mixed,
    most_is,
    percent,
)

LIKELIEST = 6  # bars of a distribution, beside that of all others
OTHERS = "all others"
CHOICES = 4  # classes, at most
CLEARLY = 0.05  # of probability: the lead of the likeliest class


def next_token(moment: Moment) -> QuestionRecord:
    """Which token is likeliest next, among the likeliest four; of a text that is classified, which class."""
    if moment.opened.shows == "reading":
        return likeliest_class(moment)
    step = moment.step
    found = likeliest(step)
    right = found.choices[found.right]
    second = max((one for one in found.choices if one != right), key=lambda one: one.probability)
    margin = clear_lead(right.probability, second.probability, who="the model")
    return QuestionRecord(
        {"about": "next token", "form": FORMS["next token"],
         "ask": "Which token does the model think is most likely to come next?",
         "choices": [one.piece for one in found.choices], "pieces": True, **moment.context()},
        key([one.probability for one in found.choices], right=found.right, margin=margin, proof=moment.proof(),
            said=f"The model gives {bare(right.piece)} {percent(right.probability)}; {bare(second.piece)} comes second "
                 f"with {percent(second.probability)}."))


def distribution(moment: Moment) -> QuestionRecord:
    """How the model spreads its probability over the likeliest tokens, or over classes: a bar each."""
    if moment.opened.shows == "reading":
        return _of_classes(moment)
    step = moment.step
    top = step.top(min(LIKELIEST, len(step.logits) - 1))
    order = mixed(top, "distribution", step.text, step.index, by=lambda one: one.id)
    rest = max(0.0, 1 - sum(one.probability for one in top))
    return QuestionRecord(
        {"about": "distribution", "form": FORMS["distribution"], "pieces": True,
         "ask": "How does the model spread its probability over the next token?",
         "labels": [*(one.piece for one in order), OTHERS], **moment.context()},
        key([*(one.probability for one in order), rest], proof=moment.proof(),
            said=f"{most_is([bare(one.piece) for one in top], [one.probability for one in top])} All tokens not named "
                 f"here have {percent(rest)} together."))


def _of_classes(moment: Moment) -> QuestionRecord:
    names, values = moment.classes
    if len(names) > BARS:
        raise ValueError(f"this model tells {len(names)} classes apart, and a phone has room to draw {BARS}; ask for a "
                         "number")
    return QuestionRecord(
        {"about": "distribution", "form": FORMS["distribution"], "pieces": False, "labels": names,
         "ask": "How does the model spread its probability over the classes?", **moment.context()},
        key(values, proof=moment.proof(), said=most_is(names, values)))


def likeliest_class(moment: Moment) -> QuestionRecord:
    """Which class a model finds likeliest, among the likeliest four."""
    names, values = moment.classes
    order = sorted(range(len(names)), key=lambda at: -values[at])
    first, second = order[:2]
    if values[first] - values[second] < CLEARLY:
        raise ValueError(f"the model hesitates between {names[first]}, {percent(values[first])}, and {names[second]}, "
                         f"{percent(values[second])}; choose another text")
    offered = mixed(order[:CHOICES], "class", moment.shown.text)
    return QuestionRecord(
        {"about": "next token", "form": FORMS["next token"], "ask": "Which class does the model choose?",
         "choices": [names[at] for at in offered], "pieces": False, **moment.context()},
        key([values[at] for at in offered], right=offered.index(first), proof=moment.proof(),
            margin=clear_lead(values[first], values[second], who="the model"),
            said=f"The model gives {names[first]} {percent(values[first])}; {names[second]} comes second with "
                 f"{percent(values[second])}."))
