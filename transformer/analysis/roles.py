"""What a head does, in a few numbers: how widely it looks, and how much of it goes to some places.

These describe where weights lie and nothing else: attention is not explanation (Jain and Wallace 2019). Tq queries, Tk
keys.
"""

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

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
    if kind not in ("encoder", "decoder", "cross"):
        raise ValueError(f"there is no {kind} attention; kind is encoder, decoder or cross")
    weights = weights.detach().cpu().numpy() if isinstance(weights, Tensor) else np.asarray(weights)
    weights = weights.astype(np.float64, copy=False)
    queries, keys = weights.shape[-2:]
    if kind != "cross" and queries != keys:
        raise ValueError(f"{kind} attention looks at its own tokens, and these are {queries} queries over {keys} keys")
    at = np.arange(queries)
    possible = at + 1 if kind == "decoder" else np.full(queries, keys)
    aligned = at if kind != "cross" else (2 * at + 1) * keys // (2 * queries)
    free = possible > 1
    surprise = -np.log(weights, out=np.zeros_like(weights), where=weights > 0)
    entropy = (weights * surprise).sum(-1)  # (..., Tq)
    return {
        "entropy": _mean(entropy, free),
        "entropy_share": _mean(entropy / np.log(np.maximum(possible, 2)), free),
        "diagonal": _mean(weights[..., at, aligned], free),
        "previous": _mean(weights[..., at, np.maximum(aligned - 1, 0)], free & (aligned > 0)),
        "first": _mean(weights[..., 0], free)}


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
