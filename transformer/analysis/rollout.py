"""Attention followed through the layers.

L layers, H heads, T tokens.
"""

import torch
from torch import Tensor


def rollout(attentions: Tensor) -> Tensor:
    """How much of each position reaches each other one if attention moved whole positions: (L, H, T, T) -> (L, T, T).

    Attention rollout, Abnar and Zuidema 2020, section 3: the heads of a layer are averaged, the residual connection
    counts as much as they do, and the layers are multiplied. Rows sum to 1. Raises ValueError if queries and keys are
    not the same tokens, as in cross-attention.
    """
    if attentions.shape[-1] != attentions.shape[-2]:
        raise ValueError(f"rollout needs tokens that look at themselves, and these are {attentions.shape[-2]} queries "
                         f"over {attentions.shape[-1]} keys")
    through = []
    for layer in attentions.mean(dim=1):  # (T, T)
        mixed = (layer + torch.eye(len(layer), dtype=layer.dtype, device=layer.device)) / 2
        through.append(mixed if not through else mixed @ through[-1])
    return torch.stack(through)
