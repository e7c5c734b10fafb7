"""What is measured beside a sentence written out by hand: the scale, heads folded into the batch, and four mistakes.

B sentences, T words, h heads, d_k and d_v widths of a head.
"""

from collections.abc import Sequence
from math import sqrt
from typing import NamedTuple

import torch
from torch import Tensor

from transformer.basics.formatting import brief
from transformer.by_hand.stages import SCALES, ByHand
from transformer.measures.catalogue import entropy
from transformer.model.attention import dot_product_attention
from transformer.model.masks import additive, causal_mask
from transformer.model.positions import sinusoids

SAMPLES = 256
PADS = 2
BLOCKED = {"nothing": (False, False), "keys": (True, False), "queries": (False, True), "both": (True, True)}


class Spread(NamedTuple):
    """Random queries and keys of one width: the standard deviation of q.k, and the mean entropy of the softmax."""

    d_k: int
    unscaled_deviation: float
    scaled_deviation: float
    unscaled_entropy: float
    scaled_entropy: float


def spreads(widths: Sequence[int], *, keys: int, seed: int, samples: int = SAMPLES) -> list[Spread]:
    """Components independent, of mean 0 and variance 1, as Vaswani et al. 2017 assume in section 3.2.1, footnote 4."""
    results = []
    for d_k in widths:
        generator = torch.Generator().manual_seed(seed * 1_000 + 500 + d_k)
        q = torch.randn(samples, 1, d_k, generator=generator)
        k = torch.randn(samples, keys, d_k, generator=generator)
        raw, (_, scaled, weights) = q @ k.transpose(-2, -1), dot_product_attention(q, k, k, readable=True)
        assert scaled is not None and weights is not None
        results.append(Spread(d_k, float(raw.std()), float(scaled.std()), float(entropy(raw.softmax(dim=-1)).mean()),
                            float(entropy(weights).mean())))
    return results


class Folding(NamedTuple):
    """Two sentences through all heads, folded into the batch and one by one."""

    shapes: list[tuple[str, str, tuple[int, ...]]]  # what it is, how it is written, its shape
    folded: Tensor  # (B, T, h d_v)
    looped: Tensor  # (B, T, h d_v)
    unturned: Tensor  # (B, T, h d_v), what a view without the transpose gives: the right shape, the wrong numbers

    __repr__ = brief


def folding(hand: ByHand) -> Folding:
    """The sentence and the sentence backwards, as a batch of two."""
    s = hand.settings
    x = torch.stack([hand.x, hand.x.flip(0)])  # (B, T, d)
    batch, words, heads = len(x), len(s.words), s.heads
    mask, factor = s.mask, sqrt(s.d_k) / s.divisor
    wq, wk, wv = (torch.cat(matrices, dim=1) for matrices in zip(*hand.projections, strict=True))
    q, k, v = factor * (x @ wq), x @ wk, x @ wv  # (B, T, h d_k), and (B, T, h d_v)

    def fold(rows: Tensor) -> Tensor:
        return rows.view(batch, words, heads, -1).transpose(1, 2).reshape(batch * heads, words, -1)

    def view(rows: Tensor) -> Tensor:
        return rows.view(batch * heads, words, -1)

    fq, fk, fv = map(fold, (q, k, v))
    context, scores, weights = dot_product_attention(fq, fk, fv, mask, readable=True)  # (B h, T, d_v)
    split = context.view(batch, heads, words, -1)
    folded = split.transpose(1, 2).flatten(2)
    wrong = dot_product_attention(view(q), view(k), view(v), mask, readable=True)[0]
    looped = torch.stack([torch.cat([s.look(sentence @ head.q, sentence @ head.k, sentence @ head.v, mask).context
                                     for head in hand.projections], dim=-1) for sentence in x])
    unfolded = q.view(batch, words, heads, -1)
    shapes = [
        ("the words of two sentences", "x", x),
        ("one matrix for all heads", "q = x @ W_q", q),
        ("cut each row into heads", "q.view(B, T, h, d_k)", unfolded),
        ("heads before words", "….transpose(1, 2)", unfolded.transpose(1, 2)),
        ("heads join the batch", "….reshape(B * h, T, d_k)", fq),
        ("one batched product", "torch.bmm(q, k.transpose(1, 2))", scores),
        ("softmax along the keys", "weights = softmax(scores / sqrt(d_k), dim=-1)", weights),
        ("one more batched product", "torch.bmm(weights, v)", context),
        ("heads leave the batch", "….view(B, h, T, d_v)", split),
        ("words before heads", "….transpose(1, 2)", split.transpose(1, 2)),
        ("the heads of a word side by side", "….flatten(2)", folded),
        ("back to the width of a word", "… @ W_o", folded @ hand.w_out),
    ]
    return Folding([(what, how, tuple(tensor.shape)) for what, how, tensor in shapes], folded, looped,
                   wrong.view(batch, heads, words, -1).transpose(1, 2).flatten(2))


class Slip(NamedTuple):
    """Weights as they should be beside those of a mistake, both (T, T)."""

    right: Tensor
    wrong: Tensor

    __repr__ = brief


def softmax_over_queries(hand: ByHand) -> Slip:
    """dim=0 where dim=-1 is meant: each column sums to 1, and no row has to."""
    head = hand.heads[0]
    return Slip(head.weights, head.scores.softmax(dim=-2))


def mask_after_softmax(hand: ByHand) -> tuple[Slip, float]:
    """Weights of the future set to 0 after the softmax, under the causal mask whatever the settings say.

    Also how much weights before the last word change, at most, when the last word's key is turned round: it should be
    0, for none of them may look there.
    """
    s, head = hand.settings, hand.heads[0]
    mask = causal_mask(len(s.words), len(s.words))[0, 0]

    def late(k: Tensor) -> Tensor:
        return s.look(head.q, k, head.v).weights * mask

    turned = head.k.clone()
    turned[-1] = -turned[-1]
    right = s.look(head.q, head.k, head.v, mask).weights
    leaks = (late(head.k) - late(turned))[:-1].abs()
    return Slip(right, late(head.k)), float(leaks.max()) if leaks.numel() else 0.0


class Padded(NamedTuple):
    """A sentence of T words with P words of padding behind it, under one way to mask the padding."""

    blocked: str  # whose padding the mask hides, of BLOCKED
    mask: Tensor  # (T + P, T + P), True where a query may look
    weights: Tensor  # (T + P, T + P), nan in the rows that may look nowhere
    wasted: float  # of the words' attention, the share that goes to padding
    broken: tuple[int, int]  # rows of nan after one layer of attention, and after two

    __repr__ = brief


def padding_masked(hand: ByHand) -> list[Padded]:
    """Every way of BLOCKED to mask padding, whatever mask the settings say. Padding is embedded as zeros, as by
    torch.nn.Embedding(padding_idx=...), and a mask is added to the scores as 0 and -inf."""
    s = hand.settings
    words, length = len(s.words), len(s.words) + PADS
    x = torch.cat([hand.embedded, hand.embedded.new_zeros(PADS, s.d)])  # (T + P, d)
    x = x + sinusoids(length, s.d) if s.positions else x
    real, results = torch.arange(length) < words, []
    for blocked, (keys, queries) in BLOCKED.items():
        mask = (real | (not keys)) & (real | (not queries))[:, None]
        weights = _weights(hand, x, mask)[0]
        once = _attended(hand, x, mask)
        first, second = (int(after.isnan().any(dim=-1).sum()) for after in (once, _attended(hand, once, mask)))
        results.append(Padded(blocked, mask, weights, float(weights[:words, words:].sum(dim=-1).mean()),
                              (first, second)))
    return results


def _weights(hand: ByHand, x: Tensor, mask: Tensor) -> list[Tensor]:
    """The weights of every head by the plain formula: our own attention refuses a query that may look nowhere."""
    s = hand.settings
    return [((x @ head.q) @ (x @ head.k).T / s.divisor + additive(mask)).softmax(dim=-1) for head in hand.projections]


def _attended(hand: ByHand, x: Tensor, mask: Tensor) -> Tensor:
    """What a layer of attention makes of x (T, d), which it is added to."""
    results = [weights @ x @ head.v for weights, head in zip(_weights(hand, x, mask), hand.projections, strict=True)]
    return x + torch.cat(results, dim=-1) @ hand.w_out


class Scaled(NamedTuple):
    """One choice of what to divide by, measured on the sentence's first head."""

    scale: str
    divisor: float
    peak: float  # the largest product, without its sign, that is computed on the way
    deviation: float  # of the scaled products
    entropy: float  # mean over the words, nats
    largest: float  # mean over the words of the largest weight
    weights: Tensor  # (T, T)

    __repr__ = brief


def scales(hand: ByHand) -> list[Scaled]:
    """The same queries and keys scaled in each of the ways that `SCALES` has, under the mask of the settings."""
    head, results = hand.heads[0], []
    for scale in SCALES:
        s = hand.settings.scaled_by(scale)
        seen = s.look(head.q, head.k, head.v, s.mask)
        products = seen.scaled if s.scaling.split else seen.products
        results.append(Scaled(
            scale, s.divisor, float(products.abs().max()), float(seen.scaled.std(correction=0)),
            float(entropy(seen.weights).mean()), float(seen.weights.max(dim=-1).values.mean()), seen.weights))
    return results
