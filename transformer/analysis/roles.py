"""What a head does, in a few numbers: how widely it looks, and how much of it goes to some places.

These describe where weights lie and nothing else: attention is not explanation (Jain and Wallace 2019). Tq queries, Tk
keys.
"""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from transformer.config import KINDS

MEASURES = ("entropy", "entropy_share", "diagonal", "previous", "first")


def measure_heads(weights: Tensor | NDArray, *, kind: str) -> dict[str, NDArray]:
    """Attention weights (..., Tq, Tk) -> each of MEASURES as float32 (...), a mean over queries.

    kind is "encoder", "decoder" (query i sees the keys 0 to i) or "cross". A query with one possible key, such as the
    decoder's first, has all its weight there whatever the head does and is left out of every mean; where no query is
    left, the measure is NaN.

    entropy: -sum w ln w, in nats; 0 looks at one token, ln n at all n alike (Clark et al. 2019 measure BERT's so).
    entropy_share: the entropy divided by ln n, n the keys that the query may see; from 0 to 1.
    diagonal: the weight on the aligned key. In self-attention query i's is key i, the token itself; in
        cross-attention it is key floor((i + 1/2) Tk / Tq), the one as far into the source as the query is into the
        target.
    previous: the weight on the key before the aligned one; queries whose aligned key is the first are left out.
    first: the weight on key 0.

    The places can be the same key: key 0 is also query 1's previous one. Raises ValueError for another kind, and where
    self-attention has not as many queries as keys.
    """
    if kind not in KINDS:
        raise ValueError(f"there is no {kind} attention; kind is encoder, decoder or cross")
    weights = weights.detach().cpu().numpy() if isinstance(weights, Tensor) else np.asarray(weights)
    weights = weights.astype(np.float64, copy=False)
    queries, keys = weights.shape[-2:]
    if kind != "cross" and queries != keys:
        raise ValueError(f"{kind} attention looks at its own tokens, and these are {queries} queries over {keys} keys")
    at, possible = np.arange(queries), _possible(queries, keys, kind)
    diagonal = aligned(at, queries, keys) if kind == "cross" else at
    free = possible > 1
    nats = entropy(torch.from_numpy(np.require(weights, requirements="W"))).numpy()  # (..., Tq)
    return {
        "entropy": _mean(nats, free),
        "entropy_share": _mean(nats / np.log(np.maximum(possible, 2)), free),
        "diagonal": _mean(weights[..., at, diagonal], free),
        "previous": _mean(weights[..., at, np.maximum(diagonal - 1, 0)], free & (diagonal > 0)),
        "first": weight_on(weights, 0, kind=kind)}


def weight_on(weights: NDArray, key: int, *, kind: str) -> NDArray:
    """The weight on one key, of weights (..., Tq, Tk) -> float32 (...), a mean over the queries that `measure_heads`
    takes."""
    return _mean(weights[..., key], _possible(*weights.shape[-2:], kind) > 1)


def _possible(queries: int, keys: int, kind: str) -> NDArray:
    """How many keys each query may see."""
    return np.arange(1, queries + 1) if kind == "decoder" else np.full(queries, keys)


def entropy(weights: Tensor) -> Tensor:
    """Of each row of weights (..., Tq, Tk), -sum w ln w in nats: 0 where all weight is on one key, ln Tk where all are
    equal -> (..., Tq)."""
    return torch.special.entr(weights).sum(-1)


def aligned(at: Tensor | NDArray, queries: int | Tensor, keys: int | Tensor) -> Tensor | NDArray:
    """The key that is as far into its sentence as query `at` is into its own: floor((at + 1/2) Tk / Tq)."""
    return (2 * at + 1) * keys // (2 * queries)


def even_attention(queries: int, keys: int, *, kind: str) -> NDArray:
    """Weights (Tq, Tk) of a head that looks at everything it may see alike, to measure others against."""
    allowed = np.tri(queries, keys) if kind == "decoder" else np.ones((queries, keys))
    return allowed / allowed.sum(-1, keepdims=True)


def unrooted(cells: NDArray) -> NDArray:
    """Weights as they were recorded, uint8 = round(sqrt(w) * 255) -> float32 whose rows sum to 1."""
    weights = (cells.astype(np.float32) / 255) ** 2
    total = weights.sum(-1, keepdims=True)
    return np.divide(weights, total, out=np.zeros_like(weights), where=total > 0)


def _mean(values: NDArray, rows: NDArray) -> NDArray:
    kept = values[..., rows]
    return (kept.mean(-1) if rows.any() else np.full(kept.shape[:-1], np.nan)).astype(np.float32)
