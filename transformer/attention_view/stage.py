"""What stands round the attention on the stage: rows of tokens, what may come next, the text so far; of one step, or of
all steps of a decoding, for a page that has nobody to ask."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from transformer.inference.decoding import Step

CANDIDATES = 10


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
    for; tokens: their labels are tokens."""

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


@dataclass(frozen=True, kw_only=True)
class Stage:
    """All that stands round the attention. said: a sentence for a screen reader; text: what is written so far, or known
    of what is read; steps: where a walk is, for the controls; branches: how each version of the text ends, the one
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


def path_of(step: Step) -> dict[str, object]:
    """Every step on the way to this one, as the script reads it: the tokens, and for each step its candidates and the
    text that it ends."""
    steps = step.path()
    read = step.axes("decoder")[0]
    prompt = len(read) - step.index
    source = step.axes("cross")[1] if step.src is not None else None
    bars = [[{"label": one.piece, "probability": round(one.probability, 6), "chosen": one.id == at.id}
             for one in at.top(CANDIDATES)] for at in steps]
    return {"prompt": prompt, "source": source, "target": [*read, step.piece],
            "unknown": [at for at, piece in enumerate(step.source) if piece.unknown],
            "outputs": [at.output for at in steps], "bars": bars}
