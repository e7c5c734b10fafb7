"""Multi-head attention, for a sequence looking at itself or at another one.

B batch, H heads, G heads of keys and values (H unless they are grouped), Tq queries, Tk keys, D width of one head.
"""

from math import sqrt
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from transformer.basics.formatting import brief
from transformer.model.cache import Cache, KeysValues
from transformer.model.masks import apply_window, causal_mask
from transformer.model.norms import HeadNorm, Linear
from transformer.model.positions import NO_EFFECTS, PositionEffects
from transformer.model.sites import NO_TAP, Tap
from transformer.settings.config import ModelConfig


class Scoring(NamedTuple):
    """How q.k becomes a score, apart from bias and mask."""

    scale: float | None = None  # factor of q.k; None: 1 / sqrt(D)
    cap: float | None = None  # scores become cap * tanh(score / cap): Gemma 2, 2024, section 2

    def of_width(self, width: int) -> float:
        """The factor of q.k in heads of a width."""
        return 1 / sqrt(width) if self.scale is None else self.scale


PLAIN = Scoring()


class AttentionOutput(NamedTuple):
    """The result of one attention. Scores and weights are None on the fast path."""

    output: Tensor  # (B, Tq, d_model)
    memory: KeysValues  # all keys and values, to pass in as `past` next time
    queries: Tensor  # (B, H, Tq, D)
    scores: Tensor | None = None  # (B, H, Tq, Tk), scaled and masked: what the softmax saw
    weights: Tensor | None = None  # (B, H, Tq, Tk), rows sum to 1
    bias: Tensor | None = None  # (H, Tq, Tk) or (B, H, Tq, Tk), added to the scores by positions
    mask: Tensor | None = None  # (Tq, Tk), the window of its positions
    scoring: Scoring = PLAIN

    __repr__ = brief

    @property
    def seen(self) -> tuple[Tensor, Tensor]:
        """Scores and weights, which the fast path does not make."""
        assert self.scores is not None and self.weights is not None
        return self.scores, self.weights

    def recompute(self, rows: slice = slice(None), *, causal: bool = False,
                  tap: Tap = NO_TAP) -> tuple[Tensor, Tensor, Tensor]:
        """Computes context, scores and weights of some queries again, from the queries, keys and values: (B, H, Tq, D)
        and (B, H, Tq, Tk). A padding mask is not remembered; the tap is of those queries."""
        context, scores, weights = dot_product_attention(
            self.queries[:, :, rows], *self.memory, None if self.mask is None else self.mask[rows],
            bias=None if self.bias is None else self.bias[..., rows, :], causal=causal, tap=tap,
            scoring=self.scoring, readable=True)
        assert scores is not None and weights is not None, "what is readable has both"
        return context, scores, weights


def repeat_for_queries(rows: Tensor, n_heads: int) -> Tensor:
    """Repeats keys or values (..., G, T, D) for the heads of queries (..., H, T, D): each serves H / G neighbouring
    heads. Ainslie et al. 2023, section 2.2."""
    return rows if rows.shape[-3] == n_heads else rows.repeat_interleave(n_heads // rows.shape[-3], dim=-3)


def score(q: Tensor, k: Tensor, *, bias: Tensor | None = None, mask: Tensor | None = None,
          scoring: Scoring = PLAIN) -> Tensor:
    """Scores of q (..., Tq, D) and k (..., Tk, D): q.k / sqrt(D) plus the bias of the positions, -inf where the mask
    forbids -> (..., Tq, Tk). Vaswani et al. 2017, equation 1."""
    scores = q @ k.transpose(-2, -1) * scoring.of_width(q.shape[-1])
    if bias is not None:
        scores = scores + bias
    if scoring.cap is not None:
        scores = scoring.cap * (scores / scoring.cap).tanh()
    return scores if mask is None else scores.masked_fill(~mask, float("-inf"))


def dot_product_attention(
        q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None, *, bias: Tensor | None = None,
        causal: bool = False, dropout: float = 0.0, tap: Tap = NO_TAP, scoring: Scoring = PLAIN,
        readable: bool = False) -> tuple[Tensor, Tensor | None, Tensor | None]:
    """Scaled dot-product attention. Vaswani et al. 2017, equation 1.

    q is (B, H, Tq, D); k and v are (B, G, Tk, D), where G divides H; or all come without the first axes. mask is
    boolean, True where attending is allowed. bias (H, Tq, Tk) is added to the scores. causal: each query sees itself
    and what came before; the last query is at the place of the last key. tap: what stands at the sites scores, pattern
    and z. Returns the context (B, H, Tq, D), and, if `readable`, scores and weights (B, H, Tq, Tk). Raises ValueError
    for a mask of another shape or type, and for a query with nothing to attend to.
    """
    if q.dim() > 2:
        k, v = repeat_for_queries(k, q.shape[-3]), repeat_for_queries(v, q.shape[-3])
    readable = readable or tap.readable or scoring.cap is not None  # the fast path has no cap
    # the fast path has this rule built in
    alone = causal and mask is None and bias is None and q.shape[-2] == k.shape[-2]
    if readable or not alone:
        mask = combine_masks(mask, (*q.shape[:-1], k.shape[-2]), causal=causal, device=q.device)
    scores = weights = None
    if readable:
        scores = tap("scores", score(q, k, bias=bias, mask=mask, scoring=scoring))
        weights = tap("pattern", scores.softmax(dim=-1), scores)
        context = F.dropout(weights, dropout) @ v
    else:
        if bias is not None:
            mask = bias.to(q.dtype) if mask is None else torch.where(mask, bias, float("-inf")).to(q.dtype)
        context = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=alone, dropout_p=dropout,
                                                 scale=scoring.scale)
    return tap("z", context), scores, weights


def combine_masks(mask: Tensor | None, shape: tuple[int, ...], *, causal: bool, device: torch.device) -> Tensor | None:
    """Combines the mask and the causal rule into one mask that broadcasts to shape (..., Tq, Tk), with as many
    dimensions; None if all is allowed."""
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
    # compiled code (training) cannot raise here; its masks come from `padding_mask`, which has checked them
    if mask is not None and not torch.compiler.is_compiling() and not mask.any(dim=-1).all():
        raise ValueError("a query has no key to attend to; leave it at least one")
    return mask


class Attention(nn.Module):
    """Multi-head attention; without `memory` a sequence looks at itself. Vaswani et al. 2017, section 3.2.2."""

    def __init__(self, config: ModelConfig):
        super().__init__()
        rows, shared = config.n_heads * config.width, config.groups * config.width
        self.n_heads, self.groups = config.n_heads, config.groups
        self.dropout = config.dropout if config.attention_dropout is None else config.attention_dropout
        self.scoring, self.qkv_clip = Scoring(config.attention_scale, config.score_cap), config.qkv_clip
        self.q_proj = Linear(config.d_model, rows, bias="q" in config.biases)
        self.k_proj = Linear(config.d_model, shared, bias="k" in config.biases)
        self.v_proj = Linear(config.d_model, shared, bias="v" in config.biases)
        self.out_proj = Linear(rows, config.d_model, bias="out" in config.biases)
        self.q_norm, self.k_norm = (HeadNorm(config, heads) if config.qk_norm else nn.Identity()
                                    for heads in (self.n_heads, self.groups))

    def queries(self, x: Tensor, placed: PositionEffects = NO_EFFECTS) -> Tensor:
        """Queries of x (B, Tq, d_model) -> (B, H, Tq, D), rotated if its positions do that."""
        return placed.turn(self.q_norm(_split(self._clip(self.q_proj(x)), self.n_heads)))

    def keys_values(self, x: Tensor, placed: PositionEffects = NO_EFFECTS, *, tap: Tap = NO_TAP) -> KeysValues:
        """Keys and values of x (B, Tk, d_model), the keys rotated if its positions do that."""
        k = placed.turn(self.k_norm(_split(self._clip(self.k_proj(x)), self.groups)))
        return KeysValues(tap("k", k), tap("v", _split(self._clip(self.v_proj(x)), self.groups)))

    def by_head(self, z: Tensor) -> Tensor:
        """What each head writes to the rows, of its output z (B, H, T, D) -> (B, T, H, d_model); their sum and the bias
        are the output. Elhage et al. 2021, "attention heads are independent and additive"."""
        return torch.einsum("bhtd,ohd->btho", z, self.out_proj.weight.to(z.dtype).unflatten(1, (self.n_heads, -1)))

    def joined(self, z: Tensor, tap: Tap = NO_TAP) -> Tensor:
        """The output of all heads, of z (B, H, T, D) -> (B, T, d_model)."""
        output = self.out_proj(z.transpose(1, 2).flatten(2))
        if not tap.by_head:
            return output
        rows = self.by_head(z)
        return output if (changed := tap("result", rows)) is rows else output + (changed - rows).sum(2)

    def _clip(self, x: Tensor) -> Tensor:
        """Projected rows, no number further from 0 than `qkv_clip`."""
        return x if self.qkv_clip is None else x.clamp(-self.qkv_clip, self.qkv_clip)

    def forward(self, x: Tensor, memory: Tensor | KeysValues | None = None, *, mask: Tensor | None = None,
                causal: bool = False, past: KeysValues | Cache | None = None, placed: PositionEffects = NO_EFFECTS,
                tap: Tap = NO_TAP, readable: bool = False) -> AttentionOutput:
        """Lets x (B, Tq, d_model) attend to memory (B, Tk, d_model), to its projected keys and values, or to itself.

        past: keys and values of earlier calls, to which x attends too. placed: the effects of the positions of x. mask
        broadcasts to (B, H, Tq, Tk). causal, tap and readable: see `dot_product_attention`.
        """
        q = tap("q", self.queries(x, placed))  # (B, H, Tq, D)
        if isinstance(memory, KeysValues):
            k, v = memory
        else:
            k, v = self.keys_values(x if memory is None else memory, placed, tap=tap)
        if past is not None:
            k, v = past.followed_by(k, v)  # (B, G, Tk, D)
        bias = placed.bias
        if placed.rows is not None and placed.buckets is not None:
            bias = self.distance_bias(q, k, placed.rows, placed.buckets)
        if placed.mask is not None:
            mask = apply_window(mask, placed.mask)
        context, scores, weights = dot_product_attention(
            q, k, v, mask, bias=bias, causal=causal, tap=tap, scoring=self.scoring, readable=readable,
            dropout=self.dropout if self.training else 0.0)
        return AttentionOutput(self.joined(context, tap), KeysValues(k, v), q, scores, weights, bias, placed.mask,
                               self.scoring)

    def distance_bias(self, q: Tensor, k: Tensor, rows: Tensor, buckets: Tensor) -> Tensor:
        """What learned vectors of distances add to the scores -> (B, H, Tq, Tk). He et al. 2021, equation 4.

        rows (R, d_model) has a vector for each bucket, and buckets (Tq, Tk) says which one a query and a key have. It
        is projected as tokens are: each query q (B, H, Tq, D) meets its key, and each key k (B, G, Tk, D) its query.
        """
        keys, queries = (_split(one(rows[None]), heads).transpose(-2, -1)
                         for one, heads in ((self.k_proj, self.groups), (self.q_proj, self.n_heads)))  # (1, H, D, R)
        places = buckets.expand(*q.shape[:2], *buckets.shape)
        to_key = (q @ repeat_for_queries(keys, self.n_heads)).gather(-1, places)
        from_key = (repeat_for_queries(k, self.n_heads) @ queries).gather(-1, places.mT).mT
        return (to_key + from_key) * self.scoring.of_width(q.shape[-1])


def _split(x: Tensor, heads: int) -> Tensor:
    return x.unflatten(-1, (heads, -1)).transpose(1, 2)  # (B, T, H * D) -> (B, H, T, D)
