"""Where each weight of a model of ours lies in somebody else's file."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError
from torch import Tensor

from transformer.basics.formatting import brief
from transformer.checkpoints.weights import expected_tensors
from transformer.huggingface.folder import Refused
from transformer.settings.config import ModelConfig

Names = Mapping[str, object]  # of the weights that a folder has
Take = Callable[..., Tensor]
Modules = Mapping[str, str] | Mapping[str | tuple[str, ...], str]  # our name, or several -> theirs


@dataclass(frozen=True)
class Part:
    """The place of one of our weights: a tensor of theirs, or several of one shape or of a shape each, and what to take
    of it."""

    name: str | tuple[str, ...]
    shape: tuple[int, ...] | tuple[tuple[int, ...], ...]
    take: Take = lambda tensor: tensor

    @property
    def theirs(self) -> tuple[str, ...]:
        return (self.name,) if isinstance(self.name, str) else self.name

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of each of their tensors."""
        each = [one for one in self.shape if isinstance(one, tuple)]
        whole = tuple(one for one in self.shape if isinstance(one, int))
        return {name: each[at] if each else whole for at, name in enumerate(self.theirs)}

    __repr__ = brief


@dataclass(frozen=True)
class Plan:
    """How a folder becomes a model of ours. No weight is tied yet: which are equal shows when they are read."""

    config: ModelConfig
    parts: dict[str, Part]  # our parameter -> theirs
    spare: re.Pattern[str]  # names of weights that may be there and are not needed
    constants: dict[str, Tensor] = field(default_factory=dict)  # our parameters that theirs lack: a norm's ones
    positions: dict[str, Part] = field(default_factory=dict)  # tables that are sinusoids unless they turn out not to be
    classes: list[str] | None = None
    left_out: str | None = None  # a part of the model that is not imported, in words

    __repr__ = brief


def checked(**settings: Any) -> ModelConfig:
    """A configuration of ours. Raises Refused with the first thing that is wrong."""
    try:
        return ModelConfig(tie_embeddings=False, unk_id=None, **settings)
    except ValidationError as error:
        raise Refused(wrong(error)) from None


def wrong(error: ValidationError) -> str:
    """The first thing that ours found wrong with a folder's settings."""
    first = error.errors()[0]
    where = f"{'.'.join(map(str, first['loc']))}: " if first["loc"] else ""
    return f"config.json: {where}{first['msg'].removeprefix('Value error, ')}"


def shapes_of(config: ModelConfig) -> dict[str, tuple[int, ...]]:
    """The parameters of our model, and their shapes."""
    return {name: shape for names, shape in expected_tensors(config) for name in names}


def rows(start: int, count: int) -> Take:
    """Takes some of the outputs of a linear map, weight or bias."""
    return lambda tensor: tensor[start:start + count]


def one_after_another(at: int, outputs: Sequence[int]) -> Take:
    """Takes one of several linear maps that are one matrix, their outputs one after another."""
    return rows(sum(outputs[:at]), outputs[at])


def parts_of(config: ModelConfig, modules: Modules, *,
             joined: Callable[[int, Sequence[int]], Take] = one_after_another,
             is_transposed: bool = False) -> dict[str, Part]:
    """Weights and biases of linear maps, norms and tables that both models have, with the shapes of ours.

    modules: our name -> theirs, both with {} for the number of a layer. A key of several names means that theirs are
    one matrix, of which `joined` takes each. is_transposed: their matrices are (inputs, outputs). Modules that our
    model lacks are left out.
    """
    shapes, parts = shapes_of(config), {}
    for ours, theirs in modules.items():
        group = (ours,) if isinstance(ours, str) else ours
        for layer in range(max(config.stacks.values()) if "{}" in group[0] else 1):
            for leaf in ("weight", "bias"):
                names = [f"{name.format(layer)}.{leaf}" for name in group]
                if not shapes.keys() >= {*names}:
                    continue
                outputs = [shapes[name][0] for name in names]
                shape = (sum(outputs), *shapes[names[0]][1:])
                for at, name in enumerate(names):
                    take = joined(at, outputs) if len(names) > 1 else Part.take
                    parts[name] = Part(f"{theirs.format(layer)}.{leaf}", shape[::-1] if is_transposed else shape,
                                       _transposed(take) if is_transposed else take)
    return parts


def _transposed(take: Take) -> Take:
    return lambda tensor: take(tensor.t())


def in_layers(stack: str, block: str, modules: Modules) -> dict[str | tuple[str, ...], str]:
    """Modules of every layer of a stack, for `parts_of`; block: their name of a layer, with {} for its number."""
    def full(ours: str) -> str:
        return f"{stack}.layers.{{}}.{ours}"

    return {full(ours) if isinstance(ours, str) else tuple(map(full, ours)): f"{block}.{theirs}"
            for ours, theirs in modules.items()}


def inside(names: Names, prefix: str) -> str:
    """The prefix of all names, if they have it: a model may be saved without its head."""
    return prefix if not names or any(name.startswith(prefix) for name in names) else ""


def present(names: Names, *candidates: str) -> str:
    """The first candidate that is there, else the first."""
    return next((name for name in candidates if name in names), candidates[0])
