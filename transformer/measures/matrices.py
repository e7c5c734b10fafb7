"""Measures of weights that are matrices of one sentence, of a picture or a recording.

Tq queries, Tk keys.
"""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from transformer.measures.catalogue import BY_NAME
from transformer.measures.measure import BatchMeasures
from transformer.measures.tokens import Tokens
from transformer.settings.config import KINDS, Kind

PLACES = ("entropy", "evenness", "diagonal", "previous", "first")  # these need no more than the weights


def measure_heads(weights: Tensor | NDArray, names: Sequence[str] = PLACES, *, kind: Kind,
                  keys: Sequence[int] | None = None, end_id: int | None = None) -> dict[str, NDArray]:
    """Attention weights (..., Tq, Tk) of one whole sentence -> each of some measures as float32 (...), a mean over
    queries; NaN where no query counts, and where the measure asks for what is not given.

    keys: the ids of the keys; end_id: that of the token that ends a text. Raises ValueError for another kind, and where
    self-attention has not as many queries as keys.
    """
    if kind not in KINDS:
        raise ValueError(f"there is no {kind} attention; kind is encoder, decoder or cross")
    weights = torch.as_tensor(weights).detach().cpu().double()
    *heads, query_count, key_count = weights.shape
    if kind != "cross" and query_count != key_count:
        raise ValueError(f"{kind} attention looks at its own tokens, and these are {query_count} queries over "
                         f"{key_count} keys")
    ids = None if keys is None else torch.tensor([keys])
    batch = BatchMeasures([BY_NAME[name] for name in names],
                          Tokens.places(kind, query_count, key_count, key_ids=ids, end_id=end_id))
    answers = batch.answers(weights.reshape(1, -1, query_count, key_count))[0]  # (Tq, heads, M)
    counts = batch.counts[0]  # (Tq, M)
    means = (answers * counts[:, None]).sum(0) / counts.sum(0)
    by_name = dict(zip(batch.names, means.T.float().numpy(), strict=True))
    nothing = np.full(means.shape[0], np.nan, np.float32)
    return {name: by_name.get(name, nothing).reshape(heads) for name in names}


def even_attention(queries: int, keys: int, *, kind: Kind) -> NDArray:
    """Weights (Tq, Tk) of uniform attention, to compare measures with."""
    return Tokens.places(kind, queries, keys).even[0, 0].numpy()


def encode_weights(weights: Tensor) -> Tensor:
    """Weights as they are recorded, uint8 = round(sqrt(w) * 255), on the CPU."""
    return (weights.sqrt() * 255).round().byte().cpu()


def decode_weights(cells: NDArray) -> NDArray:
    """Weights that `encode_weights` recorded -> float32 whose rows sum to 1."""
    weights = (cells.astype(np.float32) / 255) ** 2
    total = weights.sum(-1, keepdims=True)
    return np.divide(weights, total, out=np.zeros_like(weights), where=total > 0)
