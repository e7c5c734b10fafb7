"""The fields and arrays of messages, which Python packs and the scripts draw; js/message/fields.d.ts is made of them.

A message is a header (`Header`), then arrays (`ARRAYS`). What Python sends, what a published page makes by itself and
what the scripts read are checked against this: a new field is added here first, and then
`python -m transformer.attention_view.message_types` writes the scripts' types anew. A dataclass is sent as an object of
its fields; those that may be None may be left out.

L layers, H heads, Tq queries, Tk keys, D width of one head, P positions, F feed-forward blocks.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple, NotRequired, TypedDict

from transformer.attention_view.shared import CHOICES
from transformer.settings.config import Kind
from transformer.text.word_pieces import Merged


@dataclass(frozen=True)
class Selection:
    """The selection: which part of the attention is seen, and how; every field is a word or a number of the link. Words
    are those of `CHOICES`."""

    kind: Kind
    layer: int = 0
    head: int = 0
    view: str = CHOICES["view"][0]
    of: str = CHOICES["of"][0]  # the head, or one of the means
    stage: str = CHOICES["stage"][0]
    scale: str = CHOICES["scale"][0]
    pair: tuple[int, int] | None = None  # the query and the key compared
    lit: tuple[int, ...] | None = None   # the heads drawn as lines; None: all
    tokens: str = CHOICES["tokens"][0]
    special: str = CHOICES["special"][0]  # special tokens and sinks
    rows: str = CHOICES["rows"][0]  # "made": named by the token read and the one predicted; "read": by the first alone
    order: str = CHOICES["order"][0]  # of many heads
    start: tuple[int, int] | None = None  # the first query and key drawn of a long text; None: see `window`
    level: str = CHOICES["level"][0]  # from how near the whole model is seen
    feature: int | None = None  # the number of a query that is taken apart


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
    """The candidates for what comes next, or the classes of a text. rest: the probability of all that have no bar;
    label: for a screen reader; keys: each is chosen by a digit; least: how many are there however unlikely; most: how
    many there is room for; tokens: their labels are tokens; hint: what a click on one does; invites: to click, those
    who can."""

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


class References(TypedDict):
    """Translations by people."""

    label: str
    note: str
    texts: Sequence[str]
    more: Annotated[int, "how many others there are"]


class Text(TypedDict, total=False):
    """What is written so far, and what is known to come."""

    label: str
    written: str
    coming: str
    lines: Annotated[bool, "as it is broken into lines"]
    note: str
    reference: References


class Steps(TypedDict):
    """Where a decoding is, for the controls."""

    page: Annotated[str, 'its name in links; "" where there are none']
    index: int
    last: Annotated[int | None, "the last step, where it is known"]
    decoding: Annotated[int, "counts texts: what is asked of an earlier one is not answered"]
    answered: Annotated[int, "the number of the last move that was answered"]
    farthest: int
    going: Annotated[bool, "still on its way to where a press led"]
    opened: NotRequired[Annotated[int, "the step at which the text opened"]]


@dataclass(frozen=True, kw_only=True)
class StepView:
    """The step view: all that stands around the attention. said: a sentence for a screen reader; text: what is written
    so far, or known of what is read; steps: where a decoding is, for the controls; branches: how each version of the
    text ends, the one looked at first; brief: with little besides, for a first look; plays: steps that it takes by
    itself then; hide: what comes next is to be guessed; films: the steps can be kept as a film; changes: a click can
    change what the model computes."""

    rows: Sequence[Row]
    said: str = ""
    bars: Bars | None = None
    text: Text | None = None
    steps: Steps | None = None
    branches: Sequence[str] = ()
    brief: bool = False
    hide: bool = False
    plays: int | None = 0
    films: bool | None = False
    changes: bool | None = False

    def sent(self) -> dict[str, Any]:
        """The fields as the script reads them."""
        rows = [{name: value for name, value in vars(row).items() if value is not None} for row in self.rows]
        return vars(self) | {"rows": rows}


class About(TypedDict):
    """The origin that every picture and every file states."""

    checkpoint: str | None
    step: Annotated[int | None, "of its training"]
    text: str
    output: str | None
    merged: NotRequired[Mapping[str, Merged]]


class Pieces(TypedDict):
    """Labels of tokens with the marks that their tokenizers use."""

    queries: list[str]
    keys: list[str]
    makes: list[str] | None


class Near(TypedDict):
    """Layers whose self-attention has a window."""

    layers: list[int]
    size: Annotated[int, "tokens"]
    sees: NotRequired[Annotated[list[tuple[int, int]], "of words: each query's first key and the one after its last"]]


class OpenScale(TypedDict):
    """The range in which values are drawn that are no weights."""

    signed: bool
    most: float


class Ahead(TypedDict):
    """Labels of tokens that a decoder will read, and of what it predicts from each."""

    queries: list[str]
    keys: list[str]
    makes: list[str]


class AttentionKind(TypedDict):
    """One kind of attention: its size, its tokens, what may look at what, and how scores are made."""

    layers: int
    heads: int
    queries: list[str]
    keys: list[str]
    causal: bool
    pieces: NotRequired[Annotated[Pieces, "the exact labels, where they are others"]]
    sees: NotRequired[Annotated[list[int], "so many of the first keys, for each query"]]
    groups: NotRequired[Annotated[int, "heads of keys and values, where several heads share one"]]
    scale: NotRequired[Annotated[float, "of q.k, where it is not 1 / sqrt(D)"]]
    cap: NotRequired[Annotated[float, "a score becomes cap * tanh(score / cap)"]]
    makes: NotRequired[Annotated[list[str], "what is predicted from each query"]]
    merged: NotRequired[Merged]
    near: NotRequired[Near]
    rolls: NotRequired[Annotated[bool, "there is a rollout"]]
    numbers: NotRequired[Annotated["Numbers", "of layers and heads, where some are left out"]]
    open: NotRequired[OpenScale]
    rounded: NotRequired[Annotated[str, "the type of weights in half precision"]]
    cut: NotRequired[Annotated[bool, "rows go on beyond these tokens"]]
    first: NotRequired[Annotated[list[int], "the places of the first query and key of a part of a text"]]
    whole: NotRequired[Annotated[tuple[int, int], "queries and keys of the whole text"]]
    ahead: NotRequired[Ahead]


class Numbers(TypedDict, total=False):
    """The numbers of layers and heads, counted as their model does."""

    layers: Sequence[int]
    heads: Sequence[int]


class Changed(TypedDict):
    """A change in this pass."""

    number: int
    words: str
    off: Annotated[bool, "it switches heads off"]
    kind: NotRequired[Kind]
    layer: NotRequired[int]
    heads: NotRequired[list[int]]


class QueryNumber(TypedDict):
    """One number of a query or a key, taken apart: row · weights + bias, and what is done to that."""

    kind: NotRequired[Kind]
    layer: NotRequired[int]
    head: NotRequired[int]
    number: int
    side: Literal["q", "k"]
    position: int
    projected: float
    value: float
    changed: bool
    bias: NotRequired[float]
    clipped: NotRequired[float]
    clip: NotRequired[float]
    normed: NotRequired[float]
    partner: NotRequired[Annotated[int, "the number with which it is turned"]]
    partnerValue: NotRequired[float]
    cos: NotRequired[float]
    sin: NotRequired[float]
    turned: NotRequired[float]


class LogitStep(TypedDict, total=False):
    """Whose logit is taken apart, or why none is."""

    effectOf: str
    logit: float
    why: str


class Model(LogitStep):
    """The picture of the whole model."""

    stack: Literal["encoder", "decoder"]
    position: Annotated[int, "of the token that is followed, in the whole text"]
    token: str
    tree: NotRequired[Annotated[dict[str, Any], "the model's blocks, as `Block.to_json` has them"]]
    changes: NotRequired[list[Changed]]
    first: NotRequired[Annotated[dict[str, list[int]], "kind -> the first query and key of a part of a text"]]
    blocks: Annotated[dict[str, list[int]], "kind -> queries and keys to a cell of `small`"]
    parts: NotRequired[Annotated[dict[str, list[str]], "stack -> what is added to its residual, in order"]]
    number: NotRequired[QueryNumber]
    bars: NotRequired[Annotated[list[Bar], "classes, where no step view has them"]]
    steps: NotRequired[Annotated[list[LogitStep], "of a page that goes through steps"]]


class Path(TypedDict):
    """Every step on the way to the last one."""

    prompt: int
    source: list[str] | None
    target: list[str]
    unknown: list[int]
    outputs: Annotated[list[str], "the text that each step ends"]
    bars: Annotated[list[list[Bar]], "the candidates of each step"]


class Header(TypedDict):
    """The header of a message."""

    about: About
    selection: Selection
    kinds: dict[str, AttentionKind]
    block: Annotated[dict[str, tuple[int, int]], "kind -> queries and keys to a cell of a picture of all heads"]
    maps: Annotated[Sequence[str], "the orders of which `map` has a row"]
    window: NotRequired[Annotated[list[int] | None, "the first query and key of `layer`"]]
    every: NotRequired[Annotated[int, "queries from one that counts in `grid` to the next"]]
    modelled: NotRequired[Annotated[bool, "there is a picture of the whole model"]]
    newest: NotRequired[Annotated[bool, "the newest query is the last one drawn"]]
    standalone: NotRequired[Annotated[bool, "nobody can be asked for more"]]
    of: NotRequired[Annotated[tuple[int, int], "queries and keys of which a phone has some"]]
    path: NotRequired[Path]
    model: NotRequired[Model]
    step_view: NotRequired[StepView]
    answered: NotRequired[Annotated[int, "the number of the last selection that was answered"]]
    dark: NotRequired[bool]
    large: NotRequired[Annotated[bool, "larger, as when presented"]]
    zips: NotRequired[Annotated[bool, "several files can be kept as one"]]
    whole_pieces: NotRequired[Annotated[bool, "tokens can be merged into words"]]
    arrays: "dict[str, ArrayPlace]"


class ArrayPlace(TypedDict):
    """Where an array lies."""

    type: Literal["f4", "u1", "u2"]
    shape: list[int]
    at: Annotated[int, "its first byte after the header"]
    lower: Annotated[bool, "sent without what is above the diagonal"]
    most: NotRequired[Annotated[float, "the largest of numbers that are sent in three bytes"]]


class Array(NamedTuple):
    """What an array holds. shapes: the axes that it may have, by their letters."""

    type: str
    shapes: tuple[str, ...]
    unit: str


ROOTS = "square roots of weights in 0..255"
FINE = "square roots of weights in 0..65,535"
# By name, before a "/" and the kind or the stack that it is of.
ARRAYS = {
    "grid": Array("u1", ("L H rows columns",), ROOTS),
    "map": Array("u1", ("orders L H",), "in proportion, 0..255"),
    "places": Array("u2", ("tiles 2",), "layer and head"),
    "tiles": Array("u1", ("tiles rows columns",), ROOTS),
    "text": Array("u1", ("rows columns",), ROOTS),
    "cells": Array("u1", ("2 L H Tq Tk",), f"{FINE}, high bytes and low ones"),
    "values": Array("f4", ("L H Tq Tk",), "as they are"),
    "weights": Array("f4", ("Tq Tk",), "rows sum to 1"),
    "layer": Array("f4", ("H Tq Tk",), "rows sum to 1"),
    "fine": Array("u1", ("2 Tq Tk",), f"{FINE}, high bytes and low ones"),
    "faint": Array("u1", ("H Tq Tk",), f"{ROOTS}, without the faintest"),
    "q": Array("f4", ("Tq D", "L H Tq D"), "as they met their keys"),
    "k": Array("f4", ("Tk D", "L H Tk D"), "as they met their queries"),
    "v": Array("f4", ("Tk D", "L H Tk D"), "values"),
    "moved": Array("f4", ("Tk", "L H Tk"), "norms of values after the output projection"),
    "bias": Array("f4", ("Tq Tk", "L H Tq Tk"), "added to scores by positions; one layer where all have the same"),
    "film": Array("u1", ("bytes",), "a message with every head of every kind"),
    "seen": Array("u2", ("L H Tk",), f"of the followed query, {FINE}"),
    "small": Array("u1", ("L H rows columns",), ROOTS),
    "norms": Array("f4", ("P parts",), "of the residual after each part"),
    "added": Array("f4", ("P parts",), "norms of what each part adds"),
    "position": Array("f4", ("P", "P parts"), "norms of what positions add"),
    "headNorms": Array("f4", ("L P H", "L H P"), "norms of what each head adds"),
    "effects": Array("f4", ("L H", "F", "3", "steps L H", "steps F", "steps 3"), "logits"),
    "number": Array("f4", ("D",), "a row of numbers"),
}
