"""What all kinds of question have in common: `Kind`, the moment that is asked about, and the question that is made."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import fsum
from typing import Any, ClassVar

from transformer.basics.formatting import brief
from transformer.inference.decoding import Step
from transformer.inference.reading import Reading
from transformer.lessons.lesson import Question
from transformer.lessons.opened_link import Opened, source_of, step_of

Values = Mapping[str, Any]  # of a spec, of a key, or of votes as `Kind.count` returns them
Answers = Iterable[tuple[int, Any, int | None]]  # the phone's number, its answer as `Kind.check` returned it, how sure

SURE = "a guess", "fairly sure", "certain"  # how sure somebody is, by its place
LEVELS = len(SURE) + 1  # the last counts those who did not say


@dataclass(frozen=True)
class QuestionRecord:
    """A question that was made. spec: what phones are told, which never gives the key away; key: hidden until the
    answer is shown. Both are plain values, for a store and for other processes."""

    spec: dict[str, Any]
    key: dict[str, Any]

    __repr__ = brief


@dataclass(frozen=True, kw_only=True)
class Options:
    """What a question may be asked with; a kind reads those that it knows. of: one of its `ways`; query: the row,
    "newest", a token or its place; heads: those to choose from, of the layer in the link; sentences: one's own, or how
    many of the held-out ones; seed: of random choices; tolerance: how far off a number of By hand may be; compare:
    what a text is held against, the model's "output" or the "page", None where the model can write one; watch: is
    called with how many sentences have been read, of how many."""

    of: str | None = None
    query: str = "newest"
    heads: Sequence[int] | None = None
    sentences: Sequence[str] | int | None = None
    seed: int = 0
    tolerance: float | None = None
    compare: str | None = None
    watch: Callable[[int, int], None] = lambda done, of: None


@dataclass(frozen=True, eq=False)
class Moment:
    """What a room looks at, read once for all that is asked about it."""

    opened: Opened

    @cached_property
    def source(self) -> Step | Reading:
        """Raises ValueError where the link shows no text to a model."""
        return source_of(self.opened)

    @property
    def step(self) -> Step:
        """Raises ValueError, with what to do, where no model writes."""
        source = self.source if self.opened.shows == "step" else None
        return source if isinstance(source, Step) else step_of(self.opened)

    @property
    def classes(self) -> tuple[list[str], list[float]]:
        """The classes of a text and the probability of each; raises ValueError where a model has none."""
        source = self.source
        if (not isinstance(source, Reading) or source.logits is None or source.ckpt.config.decoder_layers
                or not source.ckpt.config.n_classes):
            raise ValueError("this asks for a class, and this model has none: open Classify")
        return [*source.ckpt.classes], source.logits.exp().tolist()

    def context(self) -> dict[str, str]:
        """The text that is asked about and what the model wrote before this step, for those who do not see the page."""
        source = self.source if self.opened.shows == "step" else None
        before = source.parent.output if isinstance(source, Step) and source.parent else ""
        return {"text": str(self.opened.values.get("text") or ""), "written": before}

    def proof(self, **made: object) -> dict[str, Any]:
        """From what a key can be computed again. step: of the text; trained: steps of training; made: the options of
        the question."""
        opened = self.opened
        values = {name: _plain(value) for name, value in opened.values.items() if value is not None}
        text = values.pop("text", "")
        return {"checkpoint": opened.ckpt.id if opened.ckpt else None,
                "trained": opened.ckpt.description.step if opened.ckpt else None,
                "step": int(values.get("step") or 0) if opened.shows == "step" else None,
                "seed": int(values.get("seed") or 0), "text": text, "params": values, "made": made}


class Kind:
    """One kind of question: how it is asked and what its key is (`make`), which answers it takes (`check`), what they
    are worth (`judge`), how those of a room are counted (`count`), and what the counts say once the key is shown
    (`summary`).

    All but `make` work on plain values and need no model. Votes do not depend on the order of the answers. Which
    answers count, the last of each device and round, is for the store to say.
    """

    name: ClassVar[str]   # what the question is about
    form: ClassVar[str]   # how it is answered: a name in ui/components/js/room/question/forms/answer_forms.js
    title: ClassVar[str]  # on the lecturer's button
    ways: ClassVar[tuple[str, ...]] = ()  # what may be asked for, where there are several; the first is usual
    stop: ClassVar[str | None] = None     # what a stop of a lesson calls the same question
    on_page: ClassVar[bool] = False       # whether the page shows the answer while nothing is hidden
    takes_sentences: ClassVar[bool] = False  # whether the lecturer may type sentences
    moderated: ClassVar[bool] = False     # whether the lecturer lets each answer through
    right_or_wrong: ClassVar[bool] = True
    grade: ClassVar[str] = "share"        # the part of the summary that two rounds are compared by

    def make(self, moment: Moment, options: Options) -> QuestionRecord:
        """Raises ValueError, with what to do, where the model has no clear answer."""
        raise NotImplementedError

    def offer(self, moment: Moment) -> QuestionRecord | None:
        """The question with its usual options; None where it is too long to make before it is wanted. Raises
        ValueError where it cannot be asked."""
        return self.make(moment, Options())

    def record(self, moment: Moment, key: dict[str, Any], *, ask: str, **spec: object) -> QuestionRecord:
        """The question with what all specs have."""
        return QuestionRecord({"about": self.name, "form": self.form, "ask": ask, **spec, **moment.context()}, key)

    def check(self, spec: Values, value: object, number: int) -> Any:
        """A phone's answer in the one form in which it counts. number: the phone's, from 0. Raises ValueError, with
        what to do, for anything that is no answer."""
        raise NotImplementedError

    def judge(self, spec: Values, key: Values, value: Any, number: int) -> dict[str, Any]:
        """What an answer is worth. right: whether it is right, None where nothing is; score: 0 to 1; kl and overlap: of
        bars, see `bars.divergence`."""
        return {"right": None, "score": None, "kl": None, "overlap": None}

    def count(self, spec: Values, answers: Answers, beside: Answers = ()) -> dict[str, Any]:
        """How a room answered, before it is known what is right; texts are not in it. count: of answers; sure: how many
        were how sure. beside: answers of the other round, which numbers share their bins with. What `to_show` leaves
        out is large and for `summary` alone."""
        levels = [_level(sure) for *_, sure in answers]
        return {"count": len(levels), "sure": [levels.count(at) for at in range(LEVELS)]}

    def summary(self, spec: Values, key: Values, votes: Values) -> dict[str, Any]:
        """What the key says of the votes."""
        rights, wrongs = [0] * LEVELS, [0] * LEVELS
        for right, level, many in self.grades(spec, key, votes):
            (rights if right else wrongs)[level] += many
        count = sum(rights) + sum(wrongs)
        return {"count": count, "right": sum(rights), "share": sum(rights) / count if count else None,
                "sure_right": _mean_sure(rights), "sure_wrong": _mean_sure(wrongs)}

    def grades(self, spec: Values, key: Values, votes: Values) -> Iterable[tuple[bool, int, int]]:
        """Whether answers are right, how sure they were, and how many they are."""
        raise NotImplementedError

    def compare_rounds(self, spec: Values, first: Answers, second: Answers,
                       key: Values | None = None) -> dict[str, Any]:
        """A second round beside the first. count: of answers in each; both: how many phones answered in both; changed:
        how many of those changed their answer. With the key: the grade of each round, and became_right and became_wrong
        where something is right."""
        first, second = list(first), list(second)
        before = {number: value for number, value, _ in first}
        both = [(before[number], value, number) for number, value, _ in second if number in before]
        out: dict[str, Any] = {"count": [len(first), len(second)], "both": len(both),
                               "changed": sum(one != other for one, other, _ in both)}
        if key is not None:
            out[self.grade] = [self.summary(spec, key, self.count(spec, answers)).get(self.grade)
                               for answers in (first, second)]
            if self.right_or_wrong:
                right = [[self.judge(spec, key, value, number)["right"] for value in pair] for *pair, number in both]
                out |= {"became_right": right.count([False, True]), "became_wrong": right.count([True, False])}
        return out

    def choices(self, spec: Values, number: int) -> Sequence[str]:
        """What a phone chooses from, where it does."""
        return ()

    def hides_page(self, key: Values) -> bool:
        """Whether the page that is asked about has the answer in it. key: the options before a key is made."""
        return True

    def key_to_show(self, key: Values) -> dict[str, Any]:
        """The key as everybody sees it with the answer."""
        return dict(key)

    def stop_options(self, question: Question) -> dict[str, Any]:
        """The options of the same question at a stop of a lesson."""
        return {}

    def stop_lines(self, spec: Values, key: Values) -> tuple[str, ...]:
        """The lines by which a stop of a lesson asks the same; a free text where it cannot."""
        return ("- question: free text",)


def to_show(votes: Values) -> dict[str, Any]:
    """The part of the votes that phones and the wall are sent."""
    return {name: value for name, value in votes.items() if name not in ("values", "each")}


def check_sure(sure: object) -> int | None:
    """How sure somebody is, a place in `SURE`, or None for not said. Raises ValueError for anything else."""
    if sure is None:
        return None
    if isinstance(sure, bool) or not isinstance(sure, int) or not 0 <= sure < len(SURE):
        raise ValueError(f"how sure is one of 0 to {len(SURE) - 1}, or left out")
    return sure


def levels_table(answers: Answers, width: int) -> list[list[int]]:
    """Counts of choices, a row for each level of how sure."""
    table = [[0] * width for _ in range(LEVELS)]
    for _, value, sure in answers:
        table[_level(sure)][value] += 1
    return table


def level_pairs(answers: Answers) -> list[tuple[float, int]]:
    """Numbers with the level of how sure each was, in order."""
    return sorted((float(value), _level(sure)) for _, value, sure in answers)


def _level(sure: object) -> int:
    return sure if isinstance(sure, int) and not isinstance(sure, bool) and 0 <= sure < len(SURE) else len(SURE)


def _mean_sure(levels: Sequence[int]) -> float | None:
    """How sure somebody was on the mean, 0 to 1; None where nobody said."""
    answered = levels[: len(SURE)]
    total = sum(answered)
    return fsum(at * count for at, count in enumerate(answered)) / total / (len(SURE) - 1) if total else None


def make_key(values: Sequence[float] = (), *, right: int | float | None = None, said: str, proof: Mapping[str, Any],
             margin: float = 0.0, tolerance: float = 0.0, **more: object) -> dict[str, Any]:
    """A key with all its parts. values: a probability or a weight for each choice or label; said: the answer in a
    sentence; margin: by how much the right one leads, in nats where it is one of probabilities or weights."""
    return {"right": right, "tolerance": tolerance, "values": list(values), "said": said, "proof": dict(proof),
            "margin": margin, **more}


def _plain(value: object) -> Any:
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value if isinstance(value, str | int | float | bool) or value is None else str(value)
