"""Questions for a room, made from what it looks at; the key of each is a forward pass.

`KINDS` is the table of all kinds of question. Everything that depends on a kind goes through it: `kind_of(spec)`. A new
kind is a subclass of `Kind` in a file of its own and a row of this table. A phone answers it with the form of the same
name in `ui/components/js/room/question/forms/answer_forms.js`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from transformer.basics.formatting import brief
from transformer.lessons.lesson import Stop
from transformer.lessons.opened_link import Opened
from transformer.rooms.questions.bars import Distribution, RowOfAttention
from transformer.rooms.questions.cell import Cell
from transformer.rooms.questions.head import Head
from transformer.rooms.questions.kind import Kind, Moment, Options, QuestionRecord
from transformer.rooms.questions.next_token import NextToken
from transformer.rooms.questions.number import Number
from transformer.rooms.questions.own_sentence import OwnSentence
from transformer.rooms.questions.text import Text
from transformer.rooms.questions.without_head import WithoutHead

KINDS: dict[str, Kind] = {kind.name: kind for kind in (
    NextToken(), Cell(), Head(), WithoutHead(), Number(), RowOfAttention(), Distribution(), Text(), OwnSentence())}


def kind_of(spec: Mapping[str, Any]) -> Kind:
    """The kind of a question that was made."""
    return KINDS[spec["about"]]


@dataclass(frozen=True)
class Offer:
    """A kind of question at a moment: ready to be asked, or the reason why it cannot be asked there. `question` is None
    too for a kind that is made only once it is chosen, because it takes long."""

    kind: Kind
    question: QuestionRecord | None
    why: str | None

    __repr__ = brief


def offers(opened: Opened) -> list[Offer]:
    """What can be asked of a moment, one offer for each of `KINDS`."""
    moment, result = Moment(opened), []
    if opened.shows in ("step", "reading"):
        try:
            _ = moment.source  # a link that leads nowhere is read once, not once for each kind
        except ValueError as error:
            return [Offer(kind, None, str(error)) for kind in KINDS.values()]
    for kind in KINDS.values():
        try:
            result.append(Offer(kind, kind.offer(moment), None))
        except ValueError as error:
            result.append(Offer(kind, None, str(error)))
    return result


def make(about: str, opened: Opened, *, ask: str | None = None, **options: Any) -> QuestionRecord:
    """A question about a moment. Raises ValueError, with what to do, where the model has no clear answer there.

    about: a name of `KINDS`; ask: the words, else plain ones; options: see `Options`.
    """
    if about not in KINDS:
        raise ValueError(f"nothing is asked about {about!r}; choose one of {', '.join(KINDS)}")
    kind, chosen = KINDS[about], Options(**options)
    if chosen.of is not None and chosen.of not in kind.ways:
        raise ValueError(f"there is no {about} question about {chosen.of!r}; choose one of {', '.join(kind.ways)}"
                         if kind.ways else f"there is one way to ask about a {about}; leave {chosen.of!r} out")
    made = kind.make(Moment(opened), chosen)
    return QuestionRecord({**made.spec, "ask": ask.strip()}, made.key) if ask and ask.strip() else made


def of_stop(stop: Stop) -> dict[str, Any] | None:
    """The question that a room is asked in place of one visitor, as plain values; None at a stop that asks nothing.
    about, ask and options: those of `make`; view: what is asked about, wherever the page has gone since."""
    if (question := stop.question) is None:
        return None
    kind = next(kind for kind in KINDS.values() if kind.stop == question.kind)
    return {"about": kind.name, "ask": question.ask, "options": kind.stop_options(question),
            "view": {"page": stop.page, "params": dict(stop.params)}}
