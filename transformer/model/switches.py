"""Heads that are scaled, switched off, or made to attend uniformly.

L layers of a kind, H heads.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from transformer.config import KINDS, ModelConfig
from transformer.formatting import brief


@dataclass(frozen=True, eq=False)
class Switch:
    """Switches of the heads of one kind (L, H), or of one layer (H,)."""

    scale: Tensor  # multiplies a head's output: 0 is off, 1 as trained
    uniform: Tensor  # True for a head that attends equally to all that it may

    __repr__ = brief

    def __getitem__(self, places: Any) -> "Switch":
        return Switch(self.scale[places], self.uniform[places])


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Switches:
    """Switches of heads, by attention kind; kinds that are not named stay as trained.

    scale: kind -> numbers (layers of that kind, n_heads) from 0 up that multiply a head's output (Michel et al. 2019,
    equation 2): 0 is off, 1 as trained, 0.5 half. uniform: kind -> booleans of the same shape, True for a head that
    attends equally to all that it may attend to. Tensors, arrays or lists; they are copied. Raises ValueError for
    anything else.
    """

    scale: Mapping[str, Tensor] = field(default_factory=dict)
    uniform: Mapping[str, Tensor] = field(default_factory=dict)

    def __post_init__(self) -> None:
        scale, uniform = _by_kind(self.scale, _scales), _by_kind(self.uniform, _choices)
        for kind in uniform.keys() - scale.keys():
            scale[kind] = torch.ones_like(uniform[kind], dtype=torch.float)
        for kind in scale:
            uniform.setdefault(kind, torch.zeros_like(scale[kind], dtype=torch.bool))
            if scale[kind].shape != uniform[kind].shape:
                raise ValueError(f"scale of {kind} is {tuple(scale[kind].shape)} and uniform "
                                 f"{tuple(uniform[kind].shape)}; give both as (layers, heads)")
        object.__setattr__(self, "scale", scale)
        object.__setattr__(self, "uniform", uniform)

    @classmethod
    def of(cls, heads: "Heads | None", config: ModelConfig, device: torch.device) -> "Switches":
        """Switches checked against a model and on its device; None switches nothing. Takes switches, or only the scales
        by kind.

        Raises ValueError for a kind that the model does not have, and a shape that is not its layers and heads.
        """
        if heads is None:
            return AS_TRAINED
        heads = heads if isinstance(heads, Switches) else cls(scale=heads)
        for kind, scale in heads.scale.items():
            if kind not in config.kinds:
                raise ValueError(f"heads of {kind} attention are switched, and this model has only "
                                 f"{' and '.join(config.kinds)} attention; leave {kind} out")
            needed = config.layers(kind), config.n_heads
            if scale.shape != needed:
                raise ValueError(f"the switches of {kind} attention are of shape {tuple(scale.shape)}; give {needed}, "
                                 f"{needed[0]} layers of {needed[1]} heads")
        if all(scale.device == device for scale in heads.scale.values()):
            return heads
        return cls(**{name: {kind: values.to(device) for kind, values in getattr(heads, name).items()}
                      for name in ("scale", "uniform")})

    def get(self, kind: str) -> Switch | None:
        """The switches of a kind (L, H); None if its heads are as trained."""
        return Switch(self.scale[kind], self.uniform[kind]) if kind in self.scale else None

    def __bool__(self) -> bool:
        return bool(self.scale)

    def __repr__(self) -> str:
        parts = []
        for kind, scale in self.scale.items():
            scaled, uniform = int((scale != 1).sum()), int(self.uniform[kind].sum())
            parts.append(f"{kind} {scaled} scaled, {uniform} uniform of {scale.numel()}")
        return f"Switches({'; '.join(parts)})"


def _by_kind(given: object, read: Callable[[str, object], Tensor]) -> dict[str, Tensor]:
    if not isinstance(given, Mapping):
        raise ValueError(f"heads are given as {type(given).__name__}; give {{kind: numbers (layers, heads)}}, or "
                         "transformer.Switches(scale=..., uniform=...)")
    if unknown := [kind for kind in given if kind not in KINDS]:
        raise ValueError(f"heads of {unknown[0]!r} attention are switched; choose {', '.join(KINDS)}")
    return {kind: read(kind, values) for kind, values in given.items()}


def _scales(kind: str, values: object) -> Tensor:
    scales = _tensor(kind, values)
    scales = scales if scales.is_floating_point() else scales.float()
    wrong = ~(scales.isfinite() & (scales >= 0))
    if wrong.any():
        layer, head = wrong.nonzero()[0].tolist()
        raise ValueError(f"the {kind} head {head} of layer {layer} is scaled by {float(scales[layer, head]):g}; give a "
                         "number from 0 (off) up, 1 is as trained")
    return scales


def _choices(kind: str, values: object) -> Tensor:
    choices = _tensor(kind, values)
    if choices.dtype != torch.bool:
        raise ValueError(f"uniform of {kind} is of {choices.dtype}; give booleans, True for a head with uniform "
                         f"attention")
    return choices


def _tensor(kind: str, values: object) -> Tensor:
    """A copy, so that later changes by the caller have no effect."""
    try:
        tensor = torch.as_tensor(values).clone()
    except (TypeError, ValueError, RuntimeError):
        tensor = None
    if tensor is None or tensor.is_complex():
        raise ValueError(f"the switches of {kind} are not numbers; give a tensor, an array or a list (layers, heads)")
    if tensor.dim() != 2:
        raise ValueError(f"the switches of {kind} attention are of shape {tuple(tensor.shape)}; give (layers, heads)")
    return tensor


AS_TRAINED = Switches()
Heads = Switches | Mapping[str, Tensor]  # what a call takes: switches, or only the scales by kind
