"""The norms of rows, and the linear map that every part of a model uses.

d_model width of a row, H heads, D width of a head.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from transformer.config import ModelConfig
from transformer.formatting import brief

FEW, AT_ONCE = 4, 1_000_000  # rows; weights that are widened together, which a core's cache holds


class Linear(nn.Linear):
    """A linear map whose weights may be kept in half precision while it computes in that of its rows."""

    def forward(self, x: Tensor) -> Tensor:
        if self.weight.dtype == x.dtype or torch.is_autocast_enabled(x.device.type):
            return F.linear(x, self.weight, self.bias)
        if x.is_cuda or x.numel() > FEW * x.shape[-1]:
            return F.linear(x, self.weight.to(x.dtype), self.bias)
        parts = self.weight.split(max(1, AT_ONCE // self.in_features))
        found = torch.cat([F.linear(x, part.to(x.dtype)) for part in parts], dim=-1)
        return found if self.bias is None else found + self.bias


def norm(config: ModelConfig, *, width: int | None = None) -> nn.Module:
    """The norm of rows (..., width), d_model unless given: LayerNorm (Ba et al. 2016), or RMS norm, which takes no mean
    off (Zhang and Sennrich 2019)."""
    width = width or config.d_model
    if config.norm_kind == "rms":
        return nn.RMSNorm(width, eps=config.norm_eps)
    return nn.LayerNorm(width, eps=config.norm_eps, bias="norm" in config.biases)


class Held(NamedTuple):
    """A norm of rows whose scale is held at what it was, which makes it linear: y = (x - mean) * factor + bias."""

    factor: Tensor  # (..., width)
    centred: bool  # whether the mean of a row is taken off
    bias: Tensor | None  # (width,)

    __repr__ = brief

    def parts(self, x: Tensor) -> Tensor:
        """What a part x (..., width) of the rows becomes; the bias is nobody's."""
        return (x - x.mean(dim=-1, keepdim=True) if self.centred else x) * self.factor

    def back(self, g: Tensor) -> Tensor:
        """What one more in each feature of the rows changes, where g (..., width) is what one more behind them does."""
        g = g * self.factor
        return g - g.mean(dim=-1, keepdim=True) if self.centred else g


def held(norm: nn.Module, rows: Tensor) -> Held:
    """A norm that `norm` made, held at its scale of each of these rows (..., width)."""
    if isinstance(norm, nn.LayerNorm):
        spread = rows.var(dim=-1, unbiased=False, keepdim=True)
    elif isinstance(norm, nn.RMSNorm):
        spread = rows.square().mean(dim=-1, keepdim=True)
    else:
        raise TypeError(f"how {type(norm).__name__} scales rows is not known; say it here")
    return Held((spread + norm.eps).rsqrt() * norm.weight, isinstance(norm, nn.LayerNorm), getattr(norm, "bias", None))


class HeadNorm(nn.Module):
    """The norm of queries or keys before they meet (Henry et al. 2020), (B, H, T, D) -> the same.

    "head": of each head's D features, with one set of weights; "heads": with each head's own; "row": of all heads'
    features as one row.
    """

    def __init__(self, config: ModelConfig, heads: int):
        super().__init__()
        shape = {"head": (config.width,), "heads": (heads, 1, config.width), "row": (heads, 1, config.width)}
        self.weight = nn.Parameter(torch.ones(shape[config.qk_norm]))
        biased = config.qk_norm_kind == "layer" and "norm" in config.biases
        self.bias = nn.Parameter(torch.zeros_like(self.weight)) if biased else None
        self.eps, self.centred = config.norm_eps, config.qk_norm_kind == "layer"
        self.over = (1, 3) if config.qk_norm == "row" else (3,)  # of (B, H, T, D)

    def forward(self, x: Tensor) -> Tensor:
        if self.centred:
            x = x - x.mean(self.over, keepdim=True)
        x = x * (x.square().mean(self.over, keepdim=True) + self.eps).rsqrt() * self.weight
        return x if self.bias is None else x + self.bias
