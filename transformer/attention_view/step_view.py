"""What stands round the attention on the stage: rows of tokens, what may come next, the text so far; of one step, or of
all steps of a decoding, for a page that has nobody to ask."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from transformer.inference.decoding import GREEDY, Candidate, Sampling, Step
from transformer.text.word_pieces import piece_labels

CANDIDATES = 10
LONGEST_CHARACTER = 3  # pieces before the last one of a character in UTF-8


@dataclass(frozen=True, kw_only=True)
class Row:
    """One row of tokens, shaded by what the newest query gives them. name: for a screen reader; part: "source" or
    "target"; predicted: from where on nothing has been read yet; picked: what the reader chose; added: what each adds
    to `adds_to`, by which they are then shaded; wraps: on several lines."""

    label: str
    name: str
    part: str
    tokens: Sequence[str]
    unknown: Sequence[int] = ()
    predicted: int | None = None
    picked: Sequence[int] = ()
    added: Sequence[float] | None = None
    adds_to: str = ""
    wraps: bool = False


@dataclass(frozen=True, kw_only=True)
class Bar:
    """One candidate or class."""

    label: str
    probability: float
    chosen: bool = False
    excluded: bool = False


@dataclass(frozen=True, kw_only=True)
class Bars:
    """What may come next, or the classes of a text. rest: the probability of all that have no bar; label: for a screen
    reader; keys: each is chosen by a digit; least: how many are there however unlikely; most: how many there is room
    for; tokens: their labels are tokens; hint: what a click on one does; invites: to click, those who can."""

    title: str
    label: str
    rows: Sequence[Bar]
    rest: float | None = None
    least: int = 4
    most: int = 10
    keys: bool = True
    tokens: bool = True
    hint: str = "choose this token"
    help: str = ""
    note: str = ""
    invites: str = ""


@dataclass(frozen=True, kw_only=True)
class StepView:
    """All that stands round the attention. said: a sentence for a screen reader; text: what is written so far, or known
    of what is read; steps: where a decoding is, for the controls; branches: how each version of the text ends, the one
    looked at first; brief: with little besides, for a first look; plays: steps that it takes by itself then."""

    rows: Sequence[Row]
    said: str
    bars: Bars | None = None
    text: Mapping[str, object] | None = None
    steps: Mapping[str, object] | None = None
    branches: Sequence[str] = ()
    brief: bool = False
    plays: int = 0

    def sent(self) -> dict[str, object]:
        """As the script reads it."""
        rows = [{name: value for name, value in asdict(row).items() if value is not None} for row in self.rows]
        return asdict(self) | {"rows": rows}


def candidate_bars(step: Step, rows: Sequence[Bar], **more: object) -> Bars:
    """The likeliest next tokens of a step."""
    return Bars(**{"title": "What comes next?", "label": "next tokens", "rows": rows,
                   "rest": max(0.0, 1 - sum(one.probability for one in rows if not one.excluded)), **more})


def unknown(step: Step) -> list[int]:
    """Where in the text given there is something that the vocabulary lacks."""
    return [at for at, piece in enumerate(step.source) if piece.unknown]


def source_tokens(step: Step) -> list[str]:
    """What the encoder reads, as it was typed, and the end token after it."""
    return [*piece_labels([piece.text for piece in step.source]), step.axes("cross")[1][-1]]


def target_tokens(step: Step) -> list[str]:
    """What the decoder has read; of a text typed for it, what the vocabulary lacks is as it was typed."""
    read = piece_labels(step.axes("decoder")[0])
    lacking = () if step.src is not None else unknown(step)
    return [step.source[at].text if at in lacking else piece for at, piece in enumerate(read)]


def candidates(step: Step, sampling: Sampling = GREEDY) -> tuple[list[Candidate], list[int]]:
    """Returns the likeliest next tokens under `sampling`, and the ids of those that it leaves out; these have the
    probability that they would have if nothing were left out."""
    before = step.top(CANDIDATES, sampling.unfiltered)
    after = sampling.probabilities(step.allowed)
    kept = [one._replace(probability=float(after[one.id]) or one.probability) for one in before]
    return kept, [one.id for one in before if not after[one.id]]


def probability(step: Step, sampling: Sampling = GREEDY) -> float:
    """That of the token chosen, as `candidates` has it."""
    after = sampling.probabilities(step.allowed)[step.id]
    return float(after) or float(sampling.unfiltered.probabilities(step.allowed)[step.id])


def bars(step: Step, sampling: Sampling = GREEDY) -> list[Bar]:
    """A bar for each of the likeliest next tokens."""
    found, excluded = candidates(step, sampling)
    read = step.axes("decoder")[0][-LONGEST_CHARACTER:]
    return [Bar(label=piece_labels([*read, one.piece])[-1], probability=one.probability, chosen=one.id == step.id,
                excluded=one.id in excluded) for one in found]


def path_of(step: Step, sampling: Sampling = GREEDY) -> dict[str, object]:
    """Every step on the way to this one, as the script reads it: the tokens, and for each step its candidates, with
    their probabilities under `sampling`, and the text that it ends."""
    steps, read = step.path(), target_tokens(step)
    source = None if step.src is None else source_tokens(step)
    return {"prompt": len(read) - step.index, "source": source, "target": [*read, step.piece], "unknown": unknown(step),
            "outputs": [at.whole if source is None else at.output for at in steps],
            "bars": [[asdict(one) | {"probability": round(one.probability, 6)} for one in bars(at, sampling)]
                     for at in steps]}
