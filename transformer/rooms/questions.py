"""Questions for a room, made from the moment that it looks at; every key is a forward pass.

A question is about a word of `ABOUT`. What phones are told and the key are plain values, so that any process can judge
and count without a model.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from transformer.formatting import brief
from transformer.lessons.answers import written
from transformer.lessons.lesson import Stop
from transformer.lessons.opened_link import Opened
from transformer.rooms import head_questions as of_heads
from transformer.rooms import number_questions, token_questions
from transformer.rooms import sentence_questions as sentences_of
from transformer.rooms.question_record import ABOUT, FORMS, Moment, QuestionRecord, key

LONGEST = 280  # characters of a free text
WRITTEN = 40  # tokens that the model writes to compare one with
WAYS = {"head": of_heads.WAYS, "number": number_questions.WAYS, "own sentence": sentences_of.WAYS}  # the first is usual

Watch = Callable[[int, int], None]  # done, of


@dataclass(frozen=True)
class Offer:
    """A kind of question at a moment: ready to be asked, or why it cannot be asked there. `asked` is None too where
    neither is said: a sentence for each phone is made once it is wanted."""

    about: str
    asked: QuestionRecord | None
    why: str | None

    __repr__ = brief


def offers(opened: Opened) -> list[Offer]:
    """What can be asked of a moment, one for each of `ABOUT`."""
    moment, found = Moment(opened), []
    if opened.shows in ("step", "reading"):
        try:
            _ = moment.shown  # where the link leads nowhere, that is found out once
        except ValueError as error:
            return [Offer(about, None, str(error)) for about in ABOUT]
    for about in ABOUT:
        try:
            if about == "own sentence":  # they are drawn and read once they are wanted
                sentences_of.check(moment, None)
                asked = None
            else:
                asked = _MAKERS[about](moment)
            found.append(Offer(about, asked, None))
        except ValueError as error:
            found.append(Offer(about, None, str(error)))
    return found


def make(about: str, opened: Opened, *, ask: str | None = None, of: str | None = None, query: str = "newest",
         heads: Sequence[int] | None = None, sentences: Sequence[str] | int | None = None, seed: int = 0,
         tolerance: float | None = None, compare: bool | None = None,
         watch: Watch = lambda done, of: None) -> QuestionRecord:
    """A question about a moment. Raises ValueError, with what to do, where the model has no clear answer there.

    ask: the words, else plain ones; of: one of `WAYS`, where there are several; query: the row, "newest", a token or
    its place; heads: those to choose from, of the layer in the link; sentences: one's own, or how many of the held-out
    ones; seed: of what is drawn; tolerance: how far off a number of By hand may be; compare: whether what the model
    writes is shown beside a text; watch: told how many sentences are read, of how many.
    """
    if about not in ABOUT:
        raise ValueError(f"nothing is asked about {about!r}; choose one of {', '.join(ABOUT)}")
    if of is not None and of not in WAYS.get(about, ()):
        raise ValueError(f"there is no {about} question about {of!r}; choose one of {', '.join(WAYS.get(about, ()))}"
                         if about in WAYS else f"there is one way to ask about a {about}; leave {of!r} out")
    options = {"next token": {}, "distribution": {}, "text": {"compare": compare}, "cell": {"query": query},
               "row": {"query": query}, "number": {"query": query, "of": of, "tolerance": tolerance},
               "head": {"query": query, "of": of, "heads": heads, "seed": seed},
               "own sentence": {"query": query, "of": of, "sentences": sentences, "seed": seed, "watch": watch}}
    asked = _MAKERS[about](Moment(opened), **options[about])
    return QuestionRecord({**asked.spec, "ask": ask.strip()}, asked.key) if ask and ask.strip() else asked


def of_stop(stop: Stop) -> dict[str, Any] | None:
    """What a room is asked in place of one visitor, as plain values; None where nothing is. about, ask: in `make`;
    options: the rest of it; view: what is asked about, wherever the page has gone since."""
    if (question := stop.question) is None:
        return None
    options = {"cell": {"query": question.query}, "number": {"of": question.value, "tolerance": question.tolerance},
               "free text": {"compare": question.compare}}
    return {"about": "text" if question.kind == "free text" else question.kind, "ask": question.ask,
            "options": options.get(question.kind, {}), "view": {"page": stop.page, "params": dict(stop.params)}}


def text(moment: Moment, *, compare: bool | None = None) -> QuestionRecord:
    """A short text of one's own; beside it what the model writes from here, where one does and it is compared."""
    output = None
    if moment.opened.shows == "step" and compare is not False:
        output = written(moment.step) if compare else written(moment.step, WRITTEN)
    return QuestionRecord(
        {"about": "text", "form": FORMS["text"], "longest": LONGEST, **moment.context(),
         "ask": "What do you think?" if output is None else "What will the model write?"},
        key(said="There is no right answer." if output is None else f"The model writes: {output}", output=output,
            proof=moment.proof(compare=compare)))


_MAKERS: dict[str, Callable[..., QuestionRecord]] = {
    "next token": token_questions.next_token, "cell": of_heads.cell, "head": of_heads.head,
    "number": number_questions.number, "row": of_heads.row, "distribution": token_questions.distribution, "text": text,
    "own sentence": sentences_of.own_sentence}
