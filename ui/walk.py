"""Walking through a decoding: where one stands, which branches there are, and the link that leads back to it.

Nothing here draws or keeps anything: a walk is a value, and every move returns a new one.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Self
from urllib.parse import quote

from transformer.checkpoint import Checkpoint
from transformer.inference.decoding import GREEDY, Sampling, Step, next_step, start

LONGEST_LINK = 1_500
LOOK = ("kind", "layer", "head", "view", "of", "stage", "scale", "pair", "lit")
MOST_OTHERS = 12  # branches kept besides the one looked at: each holds the key and value rows of its path
HOTTEST, WIDEST, LAST_SEED = 2.0, 50, 999_999  # the most that temperature, top-k and seed are set to


@dataclass(frozen=True)
class Branch:
    """One way the text went on: its last step, and what is to be chosen at steps from there."""

    tip: Step
    choices: Mapping[int, int] = field(default_factory=dict)

    @property
    def written(self) -> tuple[int, ...]:
        """All ids as far as the tip has read, and what it says."""
        return (*self.tip.tokens, self.tip.id)

    def settled(self, sampling: Sampling) -> Self:
        """The tip's choice made anew with this sampling; what the tip's forebears chose stays."""
        id = self.choices.get(self.tip.index)
        if id is None:
            id = sampling.choose(self.tip.logits, self.tip.index)
        return self if id == self.tip.id else replace(self, tip=replace(self.tip, id=id))

    def departures(self, sampling: Sampling) -> dict[int, int]:
        """Where this branch says another token than this sampling would: step -> id."""
        taken = {}
        for step in self.tip.path():
            expected = sampling.choose(step.logits, step.index) if sampling.temperature else step.likeliest
            if step.id != expected:
                taken[step.index] = step.id
        return taken | {index: id for index, id in self.choices.items() if index >= self.tip.index}


@dataclass(frozen=True)
class Walk:
    """A place in a decoding: the branch looked at, the step looked at, and the other branches."""

    branch: Branch
    index: int = 0
    others: tuple[Branch, ...] = ()

    @property
    def steps(self) -> list[Step]:
        return self.branch.tip.path()

    @property
    def step(self) -> Step:
        return self.steps[self.index]

    @property
    def last(self) -> int | None:
        """The index of the last step there can be; None while the text has not ended."""
        return self.branch.tip.index if self.branch.tip.ended else None

    def settled(self, sampling: Sampling) -> Self:
        return replace(self, branch=self.branch.settled(sampling))

    def to(self, index: int, sampling: Sampling = GREEDY) -> Self:
        """Look at step `index`, decoding up to it where nobody was yet; stops at the first and at the text's last."""
        branch = self.branch.settled(sampling)
        target = max(0, index)
        while branch.tip.index < target and not branch.tip.ended:
            branch = replace(branch, tip=next_step(branch.tip.ckpt, branch.tip, sampling=sampling)).settled(sampling)
        return replace(self, branch=branch, index=min(target, branch.tip.index))

    def pick(self, id: int, sampling: Sampling = GREEDY) -> Self:
        """Choose `id` at the step looked at and continue from there; a branch that already has it is returned to. The
        earlier version stays among the others, of which the oldest go."""
        here, prefix = self.step, (*self.step.tokens, id)
        if here.id == id:
            return self.to(self.index + 1, sampling)
        for branch in self.others:
            if branch.written[: len(prefix)] == prefix:
                return self.switch(branch, self.index + 1)
        choices = {index: old for index, old in self.branch.choices.items() if index < self.index} | {self.index: id}
        new = Branch(replace(here, id=id), choices)
        others = (self.branch, *self.others)[:MOST_OTHERS]
        return replace(self, branch=new, others=others).to(self.index + 1, sampling)

    def visit(self, step: Step) -> Self:
        """Look at a step that was made elsewhere, on the path that leads to it.

        A branch that has been that way is gone back to, and one that ends on the way is made longer.
        """
        way = (*step.tokens, step.id)
        for branch in (self.branch, *self.others):
            if branch.written[: len(way)] == way:
                return replace(self if branch is self.branch else self.switch(branch), index=step.index)
        left = [branch for branch in (self.branch, *self.others) if branch.written != way[: len(branch.written)]]
        return replace(self, branch=Branch(step, {step.index: step.id}), others=tuple(left[:MOST_OTHERS]),
                       index=step.index)

    def switch(self, branch: Branch, index: int | None = None) -> Self:
        """Look at another branch, at the same step if it has one."""
        others = (self.branch, *(other for other in self.others if other is not branch))
        index = self.index if index is None else index
        return replace(self, branch=branch, others=others, index=min(index, branch.tip.index))


def begin(ckpt: Checkpoint, text: str, *, choices: Mapping[int, int] | None = None, index: int = 0,
          sampling: Sampling = GREEDY) -> Walk:
    """A walk through a text, made the way a link says. Raises ValueError for a text the checkpoint cannot read."""
    tip = start(ckpt, text)
    choices = {at: id for at, id in (choices or {}).items() if id < ckpt.config.vocab_size}
    return Walk(Branch(tip, choices)).to(index, sampling)


def read_choices(text: str) -> dict[int, int]:
    """"3:17,5:9", as a query string holds it, to {3: 17, 5: 9}; what cannot be read is left out."""
    choices = {}
    for pair in text.split(",")[:2_000]:
        index, _, id = pair.partition(":")
        if index.isascii() and index.isdigit() and id.isascii() and id.isdigit() and len(pair) < 20:
            choices[int(index)] = int(id)
    return choices


def write_choices(choices: Mapping[int, int]) -> str:
    return ",".join(f"{index}:{id}" for index, id in sorted(choices.items()))


def fits_a_link(params: Mapping[str, str]) -> bool:
    """Whether query parameters are short enough to be sent around."""
    return sum(len(quote(name + value, safe="")) + 2 for name, value in params.items()) <= LONGEST_LINK


@dataclass(frozen=True)
class Link:
    """All that decides the picture, as a query string holds it. What cannot be read falls back to the default."""

    checkpoint: str | None = None
    text: str | None = None
    choices: Mapping[int, int] = field(default_factory=dict)
    temperature: float | None = None
    top_k: int | None = None
    seed: int = 0
    step: int = 0
    look: Mapping[str, str] = field(default_factory=dict)  # what of the attention is looked at, as words
    more: Mapping[str, str] = field(default_factory=dict)  # what else a page has to say; whoever put it in reads it
    model: bool = False    # the diagram of the model is open
    present: bool = False  # shown on a projector

    @classmethod
    def read(cls, params: Mapping[str, str]) -> Self:
        def number(name: str, most: float) -> float | None:
            try:
                return max(0.0, min(float(params[name]), most))  # nan compares as false and ends up as 0
            except (KeyError, ValueError):
                return None

        def whole(name: str, most: int = 1_000_000) -> int:
            return int(number(name, most) or 0)

        return cls(params.get("checkpoint"), params.get("text"), read_choices(params.get("choices", "")),
                   number("temperature", HOTTEST), whole("top_k", WIDEST) or None, whole("seed", LAST_SEED),
                   whole("step"), {name: params[name][:100] for name in LOOK if name in params},
                   model=params.get("model") == "open", present=params.get("present") == "1")

    def params(self) -> tuple[dict[str, str], bool]:
        """The query parameters, and whether the text fits in: a link too long for that leaves it out."""
        values = {
            "checkpoint": self.checkpoint, "text": self.text,
            "choices": write_choices(self.choices) or None,
            "temperature": None if self.temperature is None else f"{self.temperature:g}",
            "top_k": self.top_k or None, "seed": self.seed or None, "step": self.step,
            **self.look, "model": "open" if self.model else None, "present": "1" if self.present else None}
        found = {name: str(value) for name, value in values.items() if value is not None} | dict(self.more)
        if fits_a_link(found):
            return found, True
        gone = {"text", "choices", "step", *self.more}
        return {name: value for name, value in found.items() if name not in gone}, False

