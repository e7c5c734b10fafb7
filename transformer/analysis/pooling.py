"""What pooling makes of a text: which token each feature comes from, and what each token adds to each class.

T tokens. The rows that are pooled are the encoder's last ones: attention has already mixed other tokens into each, so
"what token t adds" is what its row adds, not what the word would add alone.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from transformer.brief import brief
from transformer.checkpoint import Checkpoint
from transformer.inference.reading import Reading


@dataclass(frozen=True)
class Pooling:
    """One text, pooled."""

    pooled: Tensor  # (d_model,), what the classes are told apart by
    winners: Tensor | None  # (d_model,), the position whose row is largest in each feature, the first if several are;
    #                         None with mean pooling, where every token has the share 1 / T of every feature, and with
    #                         first-token pooling, where the first token has all of them
    shares: Tensor  # (T,), each token's part of all features; they add up to 1
    contributions: Tensor  # (T, classes), what each token's row adds to each class's logit, beyond the average class
    bias: Tensor  # (classes,), what every text gets, beyond the average class

    __repr__ = brief


@torch.no_grad()
def pool(ckpt: Checkpoint, reading: Reading) -> Pooling:
    """Take the pooling of a classifier's reading apart; raises ValueError for a model that does not pool.

    The class scores are linear in the pooled features, so the contributions and the bias add up exactly to each class's
    log-probability less the mean of all classes' log-probabilities.
    """
    if reading.hidden is None or not ckpt.config.pooling:
        raise ValueError(f"{ckpt.id} does not pool; choose a checkpoint that classifies")
    rows, output = reading.hidden, ckpt.model.output  # (T, d_model)
    tokens, features = rows.shape
    weight = output.weight - output.weight.mean(dim=0)  # (classes, d_model); what all classes get decides nothing
    bias = output.bias - output.bias.mean()
    if ckpt.config.pooling == "mean":
        shares = rows.new_full((tokens,), 1 / tokens)
        return Pooling(rows.mean(dim=0), None, shares, rows @ weight.T / tokens, bias)
    if ckpt.config.pooling == "first":
        pooled = ckpt.model.pool(rows[None], rows.new_ones(1, tokens, dtype=torch.long))[0]  # through the pooler too
        only = (torch.arange(tokens, device=rows.device) == 0).to(rows)
        return Pooling(pooled, None, only, only[:, None] * (pooled @ weight.T), bias)
    winners = rows.argmax(dim=0)
    won = winners == torch.arange(tokens, device=rows.device)[:, None]  # (T, d_model)
    return Pooling(rows.amax(dim=0), winners, won.sum(dim=1) / features, (rows * won) @ weight.T, bias)
