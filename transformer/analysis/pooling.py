"""Pooling taken apart: which token each feature comes from, and what each token adds to each class.

T tokens. The pooled rows are the encoder's last ones: attention has already mixed other tokens into each, so "what
token t adds" is what its row adds, not what the word would add alone.
"""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from transformer.basics.formatting import brief
from transformer.checkpoints.checkpoint import Checkpoint
from transformer.inference.reading import Reading
from transformer.model.models import POOLERS, Transformer
from transformer.model.norms import Norm


@dataclass(frozen=True)
class Pooling:
    """The pooling of one text."""

    pooled: Tensor  # (d_model,), the features from which the class is predicted
    winners: Tensor | None  # (d_model,), the position whose row is largest in each feature, the first if several are;
    #                         None with mean pooling, where every token has the share 1 / T of every feature, and with
    #                         first-token pooling, where the first token has all of them
    shares: Tensor  # (T,), each token's part of all features; they add up to 1
    contributions: Tensor  # (T, classes), what each token's row adds to each class's logit, beyond the average class
    bias: Tensor  # (classes,), the same for every text, beyond the average class

    __repr__ = brief


@torch.no_grad()
def pool(ckpt: Checkpoint, reading: Reading) -> Pooling:
    """Takes the pooling of a classifier's reading apart. Raises ValueError for a model that does not pool.

    The class scores are linear in the pooled features, so the contributions and the bias add up exactly to each class's
    log-probability less the mean over all classes. A layer after pooling (ModernBERT) is made linear too: its
    activation and norm are frozen at their factors for this text, as is usual for norms (Elhage et al. 2021, "A
    mathematical framework for transformer circuits").
    """
    if reading.hidden is None or not ckpt.config.pooling:
        raise ValueError(f"{ckpt.id} does not pool; choose a checkpoint that classifies")
    rows, model = reading.hidden, ckpt.model  # (T, d_model)
    tokens, features = rows.shape
    weight = model.output.weight - model.output.weight.mean(dim=0)  # (classes, d_model), without the mean
    bias = model.output.bias - model.output.bias.mean()
    pooled = model.pool(rows[None], torch.tensor([reading.ids["src"]], device=rows.device))[0]
    places = torch.arange(tokens, device=rows.device)
    if ckpt.config.pooling == "first":  # through the pooler too
        only = (places == 0).to(rows)
        return Pooling(pooled, None, only, only[:, None] * (pooled @ weight.T), bias)
    if ckpt.config.pooling == "mean":
        winners, shares, parts = None, rows.new_full((tokens,), 1 / tokens), rows / tokens
    else:
        winners = rows.argmax(dim=0)
        won = winners == places[:, None]  # (T, d_model)
        shares, parts = won.sum(dim=1) / features, rows * won
    if ckpt.config.pooler:
        parts, rest = _freeze_pooler(model, parts)
        bias = bias + rest @ weight.T
    return Pooling(pooled, winners, shares, parts @ weight.T, bias)


def pooler_slope(model: Transformer, pooled: Tensor) -> tuple[Tensor, Tensor]:
    """The input of the activation of the layer after pooling, of pooled rows (..., d_model), and the factor by which
    the activation multiplies each feature."""
    before = model.pooler(pooled)
    before = torch.where(before.abs() < 1e-4, 1e-4, before)
    assert model.config.pooler is not None
    return before, POOLERS[model.config.pooler](before) / before


def _freeze_pooler(model: Transformer, parts: Tensor) -> tuple[Tensor, Tensor]:
    """What becomes of each token's part (T, d_model) of the pooled features in the layer after them, and what every
    text gets there (d_model,), with activation and norm frozen."""
    _, slope = pooler_slope(model, parts.sum(dim=0))
    rest = torch.zeros_like(slope) if model.pooler.bias is None else model.pooler.bias * slope
    parts = F.linear(parts, model.pooler.weight) * slope
    if not isinstance(model.pooler_norm, Norm):
        return parts, rest
    norm = model.pooler_norm.frozen(parts.sum(dim=0) + rest)
    return norm.apply(parts), norm.apply(rest) + (0.0 if norm.bias is None else norm.bias)
