"""Where a head looks: the key that has most of a row's weight."""

from typing import Any

from transformer.lessons.answers import cell
from transformer.lessons.lesson import Question
from transformer.lessons.opened_link import row_of
from transformer.rooms.questions.choice import Choice
from transformer.rooms.questions.kind import Moment, Options, QuestionRecord, Values, make_key
from transformer.rooms.questions.wording import apart, bare, clear_lead, percent, place

TO_CHOOSE = 8  # keys, at most
SEVERAL = 12  # keys that are all offered


class Cell(Choice):
    """On which key most of a row's weight is. The choices are keys that it looks at, in the order of the text."""

    name = stop = "cell"
    title = "Where does this head look?"

    def make(self, moment: Moment, options: Options) -> QuestionRecord:
        row = row_of(moment.opened, options.query, moment.source)
        right = cell(row).right  # which raises where there is nothing to choose
        order = sorted(row.seen, key=lambda at: -row.weights[at])
        margin = clear_lead(row.weights[right], row.weights[order[1]], who="the head")
        first, second = (percent(row.weights[at]) for at in (right, order[1]))
        offered = sorted(order[:TO_CHOOSE] if len(order) > SEVERAL else order)
        names = apart(row.keys)
        key = make_key([row.weights[at] for at in offered], right=offered.index(right), margin=margin,
                       proof=moment.proof(query=options.query),
                       said=f"{first} of the row is on {bare(names[right])}, {second} on {bare(names[order[1]])}.")
        return self.record(moment, key, choices=[names[at] for at in offered], pieces=True, worth="weight",
                           row=place(row), ask=f"Where does this head look most from {bare(row.queries[row.query])}?")

    def stop_options(self, question: Question) -> dict[str, Any]:
        return {"query": question.query}

    def stop_lines(self, spec: Values, key: Values) -> tuple[str, ...]:
        return "- question: cell", f"- query: {spec['row']['query']}"
