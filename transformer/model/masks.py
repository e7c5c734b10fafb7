"""Boolean masks: True means "may attend", broadcastable to (B, H, Tq, Tk).

B batch, Tq queries, Tk keys. Vaswani et al. 2017, section 3.2.3.
"""


import torch
from torch import Tensor

from transformer.settings.config import Kind, ModelConfig


def is_token(ids: Tensor, pad_id: int | None) -> Tensor:
    """True for ids that are not padding, of any shape; with pad_id None, for all."""
    return torch.ones_like(ids, dtype=torch.bool) if pad_id is None else ids != pad_id


def padding_mask(ids: Tensor, pad_id: int | None) -> Tensor:
    """Masks padding among the keys; ids (B, Tk) -> (B, 1, 1, Tk). Raises ValueError for a row that is all padding."""
    mask = is_token(ids, pad_id)
    if not mask.any(dim=-1).all():
        raise ValueError("a sequence is all padding, so nothing in it can be attended to; leave empty texts out")
    return mask[:, None, None, :]


def causal_mask(queries: int, keys: int, *, device: torch.device | None = None) -> Tensor:
    """Lets each query see itself and what came before -> (1, 1, Tq, Tk). The last query is at the place of the last
    key."""
    if queries > keys:
        raise ValueError(f"{queries} queries but {keys} keys: the first queries would have nothing to attend to")
    mask = torch.ones(queries, keys, dtype=torch.bool, device=device)
    return mask.tril(keys - queries)[None, None]


def target_mask(ids: Tensor, pad_id: int | None, *, start_id: int | None = None, queries: int | None = None) -> Tensor:
    """The causal and the padding mask together; ids (B, Tk) -> (B, 1, Tq, Tk). Tq is all of them, or the last
    `queries`.

    If targets start with the padding id (start_id says so, as for Marian), that first token is read like any other.
    Else raises ValueError for a row that starts with padding: its first query would have nothing to attend to.
    """
    mask = is_token(ids, pad_id)
    if start_id != pad_id and not mask[:, 0].all():
        raise ValueError("a target starts with padding; pad on the right")
    mask[:, 0] = True
    return mask[:, None, None, :] & causal_mask(queries or ids.shape[1], ids.shape[1], device=ids.device)


def window_mask(queries: range, keys: range, window: int, *, causal: bool,
                device: torch.device | None = None) -> Tensor:
    """The keys less than `window` places away from each query -> (Tq, Tk), only earlier ones if `causal`. Beltagy et
    al. 2020, section 3.1."""
    query, key = (torch.arange(places.start, places.stop, device=device) for places in (queries, keys))
    apart = query[:, None] - key
    return (apart < window) & (apart >= 0 if causal else apart > -window)


def apply_window(mask: Tensor | None, window: Tensor) -> Tensor:
    """Combines a mask (..., Tq, Tk) and a window (Tq, Tk). A query of padding may be too far from its text to see any
    of it; nothing reads its row, so it sees the window as it is, because an empty row has no softmax."""
    if mask is None:
        return window
    both = mask & window
    return both | (window & ~both.any(dim=-1, keepdim=True))


def allowed_keys(config: ModelConfig, kind: Kind, queries: range, keys: range, *, layer: int | None = None) -> Tensor:
    """The keys that the queries at these places may attend to in a layer, or in any layer, of a text without padding ->
    (Tq, Tk)."""
    if kind == "cross":
        return torch.ones(len(queries), len(keys), dtype=torch.bool)
    window, layers = config.window, range(config.layers(kind)) if layer is None else [layer]
    if window is None or not all(map(config.has_window, layers)):
        window = keys.stop + queries.stop  # all keys
    return window_mask(queries, keys, window, causal=kind == "decoder")


def additive(mask: Tensor, *, blocked: float = float("-inf"), dtype: torch.dtype = torch.float32) -> Tensor:
    """The mask as numbers to add to scores: 0 where attending is allowed, `blocked` where not."""
    return torch.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill(~mask, blocked)
