"""What comes next: the likeliest token, or the class that a model chooses."""

from transformer.lessons.answers import next_token
from transformer.rooms.questions.choice import Choice
from transformer.rooms.questions.kind import Moment, Options, QuestionRecord, Values, make_key
from transformer.rooms.questions.wording import bare, clear_lead, mixed, percent

CHOICES = 4  # classes, at most
CLEARLY = 0.05  # of probability: the lead of the likeliest class


class NextToken(Choice):
    """The likeliest next token among the likeliest four; of a text that is classified, the likeliest class."""

    name = stop = "next token"
    title = "What comes next?"
    on_page = True

    def make(self, moment: Moment, options: Options) -> QuestionRecord:
        if moment.opened.shows == "reading":
            return self.of_classes(moment)
        candidates = next_token(moment.step)
        right = candidates.choices[candidates.right]
        second = max((one for one in candidates.choices if one != right), key=lambda one: one.probability)
        key = make_key(
            [one.probability for one in candidates.choices], right=candidates.right, proof=moment.proof(),
            margin=clear_lead(right.probability, second.probability, who="the model"),
            said=f"The model gives {bare(right.piece)} {percent(right.probability)}; {bare(second.piece)} comes second "
                 f"with {percent(second.probability)}.")
        return self.record(moment, key, choices=[one.piece for one in candidates.choices], pieces=True,
                           ask="Which token does the model think is most likely to come next?")

    def of_classes(self, moment: Moment) -> QuestionRecord:
        """The likeliest class among the likeliest four."""
        names, values = moment.classes
        order = sorted(range(len(names)), key=lambda at: -values[at])
        first, second = order[:2]
        if values[first] - values[second] < CLEARLY:
            raise ValueError(f"the model hesitates between {names[first]}, {percent(values[first])}, and "
                             f"{names[second]}, {percent(values[second])}; choose another text")
        offered = mixed(order[:CHOICES], "class", moment.source.text)
        key = make_key([values[at] for at in offered], right=offered.index(first), proof=moment.proof(),
                       margin=clear_lead(values[first], values[second], who="the model"),
                       said=f"The model gives {names[first]} {percent(values[first])}; {names[second]} comes second "
                            f"with {percent(values[second])}.")
        return self.record(moment, key, choices=[names[at] for at in offered], pieces=False,
                           ask="Which class does the model choose?")

    def stop_lines(self, spec: Values, key: Values) -> tuple[str, ...]:
        of_text = key.get("proof", {}).get("step") is None  # a class, which a stop cannot ask for
        return super().stop_lines(spec, key) if of_text else ("- question: next token",)
