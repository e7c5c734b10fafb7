"""Multi-head attention, for a sequence looking at itself or at another one.

B batch, H heads, Tq queries, Tk keys, D width of one head.
"""

from math import sqrt
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from transformer.model.masks import causal_mask
from transformer.model.positions import rotate


class KeysValues(NamedTuple):
    """What attention looks up: keys and values, each (B, H, Tk, D)."""

    keys: Tensor
    values: Tensor


class Attended(NamedTuple):
    """What one attention did. The last two are None on the fast path."""

    output: Tensor  # (B, Tq, d_model)
    memory: KeysValues  # all the rows that were looked up, to pass in again next time
    queries: Tensor  # (B, H, Tq, D)
    scores: Tensor | None = None  # (B, H, Tq, Tk), scaled and masked: what the softmax saw
    weights: Tensor | None = None  # (B, H, Tq, Tk), rows sum to 1


def attend(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None, *, causal: bool = False, dropout: float = 0.0,
           heads: Tensor | None = None, readable: bool = False) -> tuple[Tensor, Tensor | None, Tensor | None]:
    """Scaled dot-product attention. Vaswani et al. 2017, equation 1.

    q (B, H, Tq, D), k and v (B, H, Tk, D), mask boolean and True where attending is allowed; causal says the same as
    the causal mask without one being made. heads (H,) or (B, H): 0 switches a head off, 1 leaves it, 2 makes it attend
    uniformly to all it may attend to. Returns the context (B, H, Tq, D), and scores and weights (B, H, Tq, Tk) where
    `readable` or `heads` ask for the path that has them.
    """
    assert not causal or q.shape[2] == k.shape[2], f"causal, but {q.shape[2]} queries and {k.shape[2]} keys"
    if not readable and heads is None:
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal, dropout_p=dropout), None, None
    scores = q @ k.transpose(-2, -1) / sqrt(q.shape[-1])
    if causal:
        mask = causal_mask(q.shape[2], k.shape[2], device=q.device)
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = scores.softmax(dim=-1)
    if heads is not None:
        uniform = torch.zeros_like(scores).masked_fill(scores.isneginf(), float("-inf")).softmax(dim=-1)
        weights = torch.where(heads[..., None, None] == 2, uniform, weights)
    context = F.dropout(weights, dropout) @ v
    if heads is not None:
        context = context * (heads != 0)[..., None, None]
    return context, scores, weights


class Attention(nn.Module):
    """Multi-head attention; without `memory` a sequence looks at itself. Vaswani et al. 2017, section 3.2.2."""

    def __init__(self, d_model: int, n_heads: int, *, head_dim: int, dropout: float = 0.0):
        super().__init__()
        self.n_heads, self.dropout = n_heads, dropout
        self.q_proj = nn.Linear(d_model, n_heads * head_dim)
        self.k_proj = nn.Linear(d_model, n_heads * head_dim)
        self.v_proj = nn.Linear(d_model, n_heads * head_dim)
        self.out_proj = nn.Linear(n_heads * head_dim, d_model)

    def split(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.n_heads, -1)).transpose(1, 2)  # (B, T, H * D) -> (B, H, T, D)

    def keys_values(self, x: Tensor, angles: Tensor | None = None) -> KeysValues:
        """Keys and values of x (B, Tk, d_model), keys turned by rotary angles (Tk, D / 2) where there are any."""
        k, v = self.split(self.k_proj(x)), self.split(self.v_proj(x))
        return KeysValues(k if angles is None else rotate(k, angles), v)

    def forward(self, x: Tensor, memory: Tensor | KeysValues | None = None, *, mask: Tensor | None = None,
                causal: bool = False, past: KeysValues | None = None, angles: Tensor | None = None,
                heads: Tensor | None = None, readable: bool = False) -> Attended:
        """Let x (B, Tq, d_model) look at memory (B, Tk, d_model), at rows of it projected before, or at itself.

        past: the rows of earlier calls, which x then looks at too. angles (Tq, D / 2): rotary positions of x. mask
        broadcasts to (B, H, Tq, Tk). causal, heads and readable: see `attend`.
        """
        q = self.split(self.q_proj(x))  # (B, H, Tq, D)
        if angles is not None:
            q = rotate(q, angles)
        if isinstance(memory, KeysValues):
            k, v = memory
        else:
            k, v = self.keys_values(x if memory is None else memory, angles)
        if past is not None:
            k, v = torch.cat([past.keys, k], dim=2), torch.cat([past.values, v], dim=2)  # (B, H, Tk, D)
        context, scores, weights = attend(q, k, v, mask, causal=causal, heads=heads, readable=readable,
                                          dropout=self.dropout if self.training else 0.0)
        output = self.out_proj(context.transpose(1, 2).flatten(2))  # (B, Tq, d_model)
        return Attended(output, KeysValues(k, v), q, scores, weights)
