"""Multi-head attention, for a sequence looking at itself or at another one.

B batch, H heads, Tq queries, Tk keys, D width of one head.
"""

from math import sqrt
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from transformer.brief import brief
from transformer.model.masks import causal_mask
from transformer.model.positions import NOWHERE, Placed
from transformer.model.switches import Switch


class KeysValues(NamedTuple):
    """What attention looks up: keys and values, each (B, H, Tk, D)."""

    keys: Tensor
    values: Tensor

    __repr__ = brief


class Attended(NamedTuple):
    """What one attention did. The last two are None on the fast path."""

    output: Tensor  # (B, Tq, d_model)
    memory: KeysValues  # all the rows that were looked up, to pass in again next time
    queries: Tensor  # (B, H, Tq, D)
    scores: Tensor | None = None  # (B, H, Tq, Tk), scaled and masked: what the softmax saw
    weights: Tensor | None = None  # (B, H, Tq, Tk), rows sum to 1
    bias: Tensor | None = None  # (H, Tq, Tk), what positions add to the scores

    __repr__ = brief


def score(q: Tensor, k: Tensor, *, bias: Tensor | None = None, mask: Tensor | None = None) -> Tensor:
    """What the softmax sees of q (..., Tq, D) and k (..., Tk, D): q.k / sqrt(D), plus the bias of the positions, -inf
    where the mask forbids -> (..., Tq, Tk). Vaswani et al. 2017, equation 1."""
    scores = q @ k.transpose(-2, -1) / sqrt(q.shape[-1])
    if bias is not None:
        scores = scores + bias
    return scores if mask is None else scores.masked_fill(~mask, float("-inf"))


def dot_product_attention(
        q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None, *, bias: Tensor | None = None,
        causal: bool = False, dropout: float = 0.0, heads: Switch | None = None,
        readable: bool = False) -> tuple[Tensor, Tensor | None, Tensor | None]:
    """Scaled dot-product attention. Vaswani et al. 2017, equation 1.

    q (B, H, Tq, D), k and v (B, H, Tk, D), or all without the first axes; mask boolean and True where attending is
    allowed; bias (H, Tq, Tk) added to the scores; causal: and each query sees itself and what came before, the last
    query lining up with the last key. heads: switches (H,) or (B, H), which leave the scores as they are. Returns the
    context (B, H, Tq, D), and where `readable` asks for them scores and weights (B, H, Tq, Tk). Raises ValueError for a
    mask of another shape or type, and for a query that is left with nothing to attend to.
    """
    # the fast path knows that rule without a mask
    alone = causal and mask is None and bias is None and q.shape[-2] == k.shape[-2]
    if readable or not alone:
        mask = combined(mask, (*q.shape[:-1], k.shape[-2]), causal=causal, device=q.device)
    scores = weights = None
    if readable:
        scores = score(q, k, bias=bias, mask=mask)
        preferences = scores if heads is None else torch.where(
            heads.uniform[..., None, None] & ~scores.isneginf(), 0.0, scores)
        weights = preferences.softmax(dim=-1)
        context = F.dropout(weights, dropout) @ v
    else:
        if heads is not None:
            uniform = heads.uniform[..., None, None]
            q = q.masked_fill(uniform, 0.0)  # a query of zeros prefers no key
            bias = None if bias is None else torch.where(uniform, 0.0, bias)
        if bias is not None:
            mask = bias.to(q.dtype) if mask is None else torch.where(mask, bias, float("-inf")).to(q.dtype)
        context = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=alone, dropout_p=dropout)
    if heads is not None:
        context = context * heads.scale.to(context.dtype)[..., None, None]
    return context, scores, weights


def combined(mask: Tensor | None, shape: tuple[int, ...], *, causal: bool, device: torch.device) -> Tensor | None:
    """The mask and the causal rule as one mask of as many dimensions as shape (..., Tq, Tk), to which it broadcasts;
    None where all is allowed."""
    if mask is not None and mask.dtype != torch.bool:
        raise ValueError(f"the mask is of {mask.dtype}; give booleans, True where attending is allowed")
    if mask is not None and (mask.dim() > len(shape) or any(
            size not in (1, full) for size, full in zip(reversed(mask.shape), reversed(shape), strict=False))):
        raise ValueError(f"the mask is {tuple(mask.shape)}, which does not broadcast to {shape}, that is (texts, "
                         "heads, queries, keys)")
    if mask is not None:
        mask = mask[(None,) * (len(shape) - mask.dim())]
    if causal and shape[-2] != 1:
        before = causal_mask(*shape[-2:], device=device).view(*(1,) * (len(shape) - 2), *shape[-2:])
        mask = before if mask is None else mask & before
    # traced code cannot stop on a number; training, which is, makes its masks with `padding_mask`, which has looked
    if mask is not None and not torch.compiler.is_compiling() and not mask.any(dim=-1).all():
        raise ValueError("a query has no key to attend to; leave it at least one")
    return mask


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

    def keys_values(self, x: Tensor, placed: Placed = NOWHERE) -> KeysValues:
        """Keys and values of x (B, Tk, d_model), keys turned where its positions do that."""
        return KeysValues(placed.turn(self.split(self.k_proj(x))), self.split(self.v_proj(x)))

    def forward(self, x: Tensor, memory: Tensor | KeysValues | None = None, *, mask: Tensor | None = None,
                causal: bool = False, past: KeysValues | None = None, placed: Placed = NOWHERE,
                heads: Switch | None = None, readable: bool = False) -> Attended:
        """Let x (B, Tq, d_model) look at memory (B, Tk, d_model), at rows of it projected before, or at itself.

        past: the rows of earlier calls, which x then looks at too. placed: what the positions of x do here. mask
        broadcasts to (B, H, Tq, Tk). causal, heads (H,) and readable: see `dot_product_attention`.
        """
        q = placed.turn(self.split(self.q_proj(x)))  # (B, H, Tq, D)
        if isinstance(memory, KeysValues):
            k, v = memory
        else:
            k, v = self.keys_values(x if memory is None else memory, placed)
        if past is not None:
            k, v = torch.cat([past.keys, k], dim=2), torch.cat([past.values, v], dim=2)  # (B, H, Tk, D)
        context, scores, weights = dot_product_attention(
            q, k, v, mask, bias=placed.bias, causal=causal, heads=heads, readable=readable,
            dropout=self.dropout if self.training else 0.0)
        output = self.out_proj(context.transpose(1, 2).flatten(2))  # (B, Tq, d_model)
        return Attended(output, KeysValues(k, v), q, scores, weights, placed.bias)
