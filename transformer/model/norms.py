"""The norms, each a class of its own, and the linear map that every part of a model uses.

d_model width of a row, H heads, D width of a head.
"""

from math import sqrt
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from transformer.basics.formatting import brief
from transformer.settings.config import ModelConfig

FEW, AT_ONCE = 4, 1_000_000  # rows; weights that are widened together, which fit a core's cache


class Linear(nn.Linear):
    """A linear map that computes in the precision of its rows, also with weights stored in half precision."""

    def forward(self, input: Tensor) -> Tensor:
        x = input
        if self.weight.dtype == x.dtype or torch.is_autocast_enabled(x.device.type):
            return F.linear(x, self.weight, self.bias)
        if x.is_cuda or x.numel() > FEW * x.shape[-1]:
            return F.linear(x, self.weight.to(x.dtype), self.bias)
        parts = self.weight.split(max(1, AT_ONCE // self.in_features))
        y = torch.cat([F.linear(x, part.to(x.dtype)) for part in parts], dim=-1)
        return y if self.bias is None else y + self.bias


class FrozenNorm(NamedTuple):
    """A norm whose factors are frozen at those of some rows, which makes it linear: y = (x - mean(x)) * factor + bias.

    Elhage et al. 2021, "A mathematical framework for transformer circuits": how norms are treated where a logit is
    taken apart into a sum.
    """

    factor: Tensor  # (..., width) or (..., 1)
    is_centred: bool  # whether the mean of a row is taken off
    bias: Tensor | None  # (width,)

    __repr__ = brief

    def apply(self, part: Tensor) -> Tensor:
        """What becomes of a part (..., width) of the rows. The bias is left out: it belongs to no part."""
        return (part - part.mean(dim=-1, keepdim=True) if self.is_centred else part) * self.factor

    def pull_back(self, gradient: Tensor) -> Tensor:
        """The gradient at the rows, from the gradient (..., width) at the output of the norm."""
        gradient = gradient * self.factor
        return gradient - gradient.mean(dim=-1, keepdim=True) if self.is_centred else gradient


class Norm(nn.Module):
    """A norm of rows x (..., width). A subclass is one kind: it names itself and says by which factor it multiplies."""

    kind: ClassVar[str]  # its value of `ModelConfig.norm_kind`
    title: ClassVar[str]  # its name for readers
    is_centred: ClassVar[bool] = False  # whether the mean of a row is taken off first

    def factor(self, x: Tensor) -> Tensor:
        """The factor of the rows x (..., width), or of their distance from their mean: (..., width or 1)."""
        raise NotImplementedError

    def frozen(self, x: Tensor) -> FrozenNorm:
        """This norm with its factors frozen at those of the rows x (..., width)."""
        return FrozenNorm(self.factor(x), self.is_centred, getattr(self, "bias", None))


class LayerNorm(Norm, nn.LayerNorm):
    """Takes the mean off and divides by the standard deviation. Ba et al. 2016, section 3."""

    kind, title, is_centred = "layer", "layer norm", True

    def __init__(self, config: ModelConfig, width: int):
        super().__init__(width, eps=config.norm_eps, bias="norm" in config.biases)

    def factor(self, x: Tensor) -> Tensor:
        return (x.var(dim=-1, unbiased=False, keepdim=True) + self.eps).rsqrt() * self.weight


class RMSNorm(Norm, nn.RMSNorm):
    """Divides by the root of the mean square. Zhang and Sennrich 2019, section 3."""

    kind, title = "rms", "RMS norm"

    def __init__(self, config: ModelConfig, width: int):
        super().__init__(width, eps=config.norm_eps)

    def factor(self, x: Tensor) -> Tensor:
        assert self.eps is not None
        return (x.square().mean(dim=-1, keepdim=True) + self.eps).rsqrt() * self.weight


class ScaleNorm(Norm):
    """Gives all rows one length, which is learned. Nguyen and Salazar 2019, equation 5."""

    kind, title = "scale", "ScaleNorm"

    def __init__(self, config: ModelConfig, width: int):
        super().__init__()
        self.eps, self.weight = config.norm_eps, nn.Parameter(torch.tensor([sqrt(width)]))

    def factor(self, x: Tensor) -> Tensor:
        return self.weight / x.norm(dim=-1, keepdim=True).clamp_min(self.eps)

    def forward(self, x: Tensor) -> Tensor:
        return x * self.factor(x)


NORMS: dict[str, type[Norm]] = {norm.kind: norm for norm in (LayerNorm, RMSNorm, ScaleNorm)}


def build_norm(config: ModelConfig, *, width: int | None = None) -> Norm:
    """The norm that a configuration names, of rows (..., width); d_model wide unless given."""
    return NORMS[config.norm_kind](config, width or config.d_model)


class HeadNorm(nn.Module):
    """Normalises queries or keys before they meet (Henry et al. 2020), (B, H, T, D) -> the same shape.

    "head": the D features of each head, with the same weights for all heads; "heads": with weights for each head;
    "row": the features of all heads as one row.
    """

    def __init__(self, config: ModelConfig, heads: int):
        super().__init__()
        shape = (config.width,) if config.qk_norm == "head" else (heads, 1, config.width)
        self.weight = nn.Parameter(torch.ones(shape))
        biased = config.qk_norm_kind == "layer" and "norm" in config.biases
        self.bias = nn.Parameter(torch.zeros_like(self.weight)) if biased else None
        self.eps, self.centred = config.norm_eps, config.qk_norm_kind == "layer"
        self.over = (1, 3) if config.qk_norm == "row" else (3,)  # of (B, H, T, D)

    def forward(self, x: Tensor) -> Tensor:
        if self.centred:
            x = x - x.mean(self.over, keepdim=True)
        x = x * (x.square().mean(self.over, keepdim=True) + self.eps).rsqrt() * self.weight
        return x if self.bias is None else x + self.bias
