"""A short text of one's own, which the lecturer lets through."""

import unicodedata
from typing import Any

from transformer.lessons.answers import written
from transformer.lessons.lesson import Question
from transformer.rooms.questions.kind import Kind, Moment, Options, QuestionRecord, Values, make_key

LONGEST = 280  # characters
WRITTEN = 40  # tokens that the model writes to compare one with
JOINERS = "\u200c\u200d"  # inside emoji and inside several scripts


class Text(Kind):
    """A text in one's own words; beside it what the model writes from here, where one does and it is compared."""

    name = "text"
    form = "text"
    title = "In your own words"
    stop = "free text"
    moderated = True
    right_or_wrong = False

    def make(self, moment: Moment, options: Options) -> QuestionRecord:
        output = None
        if moment.opened.shows == "step" and options.compare in (None, "output"):
            output = written(moment.step) if options.compare else written(moment.step, WRITTEN)
        key = make_key(said="There is no right answer." if output is None else f"The model writes: {output}",
                       output=output, compare=options.compare, proof=moment.proof(compare=options.compare))
        return self.record(moment, key, longest=LONGEST,
                           ask="What do you think?" if output is None else "What will the model write?")

    def check(self, spec: Values, value: object, number: int) -> str:
        """The text on one line."""
        longest = spec["longest"]
        if not isinstance(value, str):
            raise ValueError("the answer is not a text; type one")
        if len(value) > 4 * longest:  # before anything is done with a text of any length
            raise ValueError(f"the answer is longer than {longest} characters; shorten it")
        # what is unseen is dropped: it can turn the direction of the text around it
        seen = (one for one in value if one in JOINERS or unicodedata.category(one) != "Cf")
        text = " ".join("".join(seen).split())
        if not text.strip(JOINERS):
            raise ValueError("the answer is empty; type something")
        if len(text) > longest:
            raise ValueError(f"the answer has {len(text)} characters; at most {longest} are kept. Please shorten it")
        if any(unicodedata.category(one) in ("Cc", "Cs", "Co") for one in text):  # control, halves of pairs, private
            raise ValueError("the answer has characters that cannot be shown; type it again")
        return text

    def summary(self, spec: Values, key: Values, votes: Values) -> dict[str, Any]:
        return {"count": votes["count"], "output": key.get("output")}

    def hides_page(self, key: Values) -> bool:
        """Only where the model is going to write or the page tells: else a text is about what is shown."""
        return key.get("output") is not None or bool(key.get("compare"))

    def stop_options(self, question: Question) -> dict[str, Any]:
        return {"compare": question.compare}
