"""The decoding tree: the step that is looked at, and the branches of the text.

Nothing here draws or keeps anything: a tree is a value, and every move returns a new one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import Generic, NamedTuple, Self, TypeVar

from transformer.basics.formatting import brief
from transformer.checkpoints.checkpoint import Checkpoint
from transformer.inference.changed import Given
from transformer.inference.decoding import GREEDY, AnyStep, Sampling, Step, start

MOST_OTHERS = 12  # branches kept besides the one looked at: each holds the key and value rows of its path
FORESEEN, PATIENCE = 200, 3.0  # steps, and seconds, that a page decodes ahead of where one stands
PORTION = 1.5  # seconds of a long way after which a picture is drawn
FARTHEST = 200  # steps that "last" goes at most
S = TypeVar("S", bound=AnyStep)


@dataclass(frozen=True)
class Branch(Generic[S]):
    """One way the text went on: its last step, and what is to be chosen at steps from there."""

    tip: S
    choices: Mapping[int, int] = field(default_factory=dict)

    __repr__ = brief

    @property
    def written(self) -> tuple[int, ...]:
        """All ids as far as the tip has read, and what it says."""
        return (*self.tip.tokens, self.tip.id)

    def settled(self, sampling: Sampling) -> Self:
        """The tip's choice made anew with this sampling; what the tip's forebears chose stays."""
        id = self.choices.get(self.tip.index)
        if id is None:
            id = sampling.choose(self.tip.allowed, self.tip.index)
        return self if id == self.tip.id else replace(self, tip=replace(self.tip, id=id))

    def departures(self, sampling: Sampling) -> dict[int, int]:
        """Where this branch says another token than this sampling would: step -> id."""
        taken = {}
        for step in self.tip.path():
            expected = sampling.choose(step.allowed, step.index) if sampling.temperature else step.likeliest
            if step.id != expected:
                taken[step.index] = step.id
        return taken | {index: id for index, id in self.choices.items() if index >= self.tip.index}


@dataclass(frozen=True)
class DecodingTree(Generic[S]):
    """A place in a decoding: the branch looked at, the step looked at, and the other branches."""

    branch: Branch[S]
    index: int = 0
    others: tuple[Branch[S], ...] = ()

    @property
    def steps(self) -> list[S]:
        return self.branch.tip.path()

    @property
    def step(self) -> S:
        return self.steps[self.index]

    @property
    def last(self) -> int | None:
        """The index of the last step there can be; None while the text has not ended."""
        return self.branch.tip.index if self.branch.tip.ended else None

    @property
    def picks(self) -> set[int]:
        """The steps of this branch at which the reader, or a link, chose another token than the model would have."""
        return {index for index, id in self.branch.choices.items()
                if index <= self.branch.tip.index and self.steps[index].id == id}

    @property
    def after(self) -> list[str]:
        """The tokens after the predicted one on this branch, known from having been there."""
        tip = self.branch.tip
        return [] if self.index == tip.index else [
            tip.label(id) for id in (*tip.tokens[len(self.step.tokens) + 1:], tip.id)]

    @property
    def coming(self) -> list[str]:
        """The tokens that the decoder will read after those of the step looked at, as far as this branch is known."""
        tip = self.branch.tip
        return [tip.label(id) for id in tip.tokens[len(self.step.tokens):]]

    def settled(self, sampling: Sampling) -> Self:
        return replace(self, branch=self.branch.settled(sampling))

    def anew(self, sampling: Sampling) -> Self:
        """The same place, with what comes after it still to be decided, by this sampling."""
        choices = {index: id for index, id in self.branch.choices.items() if index <= self.index}
        return replace(self, branch=Branch(self.step, choices).settled(sampling))

    def to(self, index: int, sampling: Sampling = GREEDY, *, seconds: float | None = None) -> Self:
        """Look at step `index`, decoding up to it where nobody was yet; stops at the first and at the text's last, and
        after so many seconds on the way."""
        branch, until = self.branch.settled(sampling), None if seconds is None else monotonic() + seconds
        target = max(0, index)
        while branch.tip.index < target and not branch.tip.ended:
            branch = replace(branch, tip=branch.tip.next(sampling=sampling))
            if branch.tip.index in branch.choices:  # else it was chosen with this sampling just now
                branch = branch.settled(sampling)
            if until is not None and monotonic() > until:
                break
        return replace(self, branch=branch, index=min(target, branch.tip.index))

    def foreseen(self, sampling: Sampling = GREEDY, *, most: int = FORESEEN, seconds: float = PATIENCE) -> Self:
        """The same place, with the branch decoded to its end, as far as that is not too much to wait for."""
        decoding, until = self, monotonic() + seconds
        while decoding.last is None and decoding.branch.tip.index < most and monotonic() < until:
            decoding = decoding.to(decoding.branch.tip.index + 1, sampling)
        return replace(decoding, index=self.index)

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

    def visit(self, step: S) -> Self:
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

    def switch(self, branch: Branch[S], index: int | None = None) -> Self:
        """Look at another branch, at the same step if it has one."""
        others = (self.branch, *(other for other in self.others if other is not branch))
        index = self.index if index is None else index
        return replace(self, branch=branch, others=others, index=min(index, branch.tip.index))


class Choice(NamedTuple):
    """A candidate that was pressed: its place among the candidates of a step. Numbers of presses only rise."""

    number: int
    at: int
    nth: int


@dataclass(frozen=True)
class Progress:
    """How far a move has come that takes more than one portion."""

    chosen: int = 0  # the number of the last candidate chosen
    farthest: int | None = None  # the step that the part of it under way ends at, at most


def go(tree: DecodingTree[S], index: int, choices: Sequence[Choice], sampling: Sampling,
       progress: Progress) -> tuple[DecodingTree[S], Progress | None]:
    """Choose candidates at their steps, in order, then go to step `index`; where that takes long, a portion of it, and
    how far that is."""
    for choice in choices:
        if choice.number > progress.chosen:
            tree, progress, there = _along(tree, choice.at, sampling, progress)
            if not there:
                return tree, progress
            candidates, _ = tree.step.candidates(sampling=sampling)
            if choice.nth < len(candidates):
                tree = tree.pick(candidates[choice.nth].id, sampling)
            progress = Progress(chosen=choice.number)
    tree, progress, there = _along(tree, index, sampling, progress)
    return tree, None if there else progress


def _along(tree: DecodingTree[S], index: int, sampling: Sampling,
           progress: Progress) -> tuple[DecodingTree[S], Progress, bool]:
    """A portion of the way to a step, how far that is, and whether it is all of the way."""
    farthest = tree.index + FARTHEST if progress.farthest is None else progress.farthest
    goal = min(index, farthest)
    tree = tree.to(goal, sampling, seconds=PORTION)
    return tree, replace(progress, farthest=farthest), tree.index >= goal or tree.last is not None


def begin(ckpt: Checkpoint, text: str, *, choices: Mapping[int, int] | None = None, index: int = 0,
          sampling: Sampling = GREEDY, change: Given = None) -> DecodingTree[Step]:
    """A decoding through a text, made the way a link says. Raises ValueError for a text the checkpoint cannot read, and
    for changes that do not fit it."""
    tip = start(ckpt, text, change=change)
    choices = {at: id for at, id in (choices or {}).items() if id < ckpt.config.vocab_size}
    return DecodingTree(Branch(tip, choices)).to(index, sampling)
