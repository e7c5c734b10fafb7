"""Hooks that somebody has put on a model: whether there are any where attention is, and whether they changed it."""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from transformer.inference.recompute import Kept, by_layer
from transformer.model.attention import AttentionOutput
from transformer.model.models import Transformer
from transformer.settings.config import KINDS

ALIKE = 1e-4  # of a weight; of a score, this share of the largest and as much


def hooked(model: Transformer) -> bool:
    """Whether anything stands between a stack, a layer or an attention and what calls it, which may change what it is
    given or returns. Hooks further inside change queries, keys and values, which are kept as they become."""
    for kind in model.config.stacks:
        stack = model.stack(kind)
        for part in (stack, *(part for layer in stack.layers for part in (layer, layer.attention, layer.cross))):
            if part is not None and (part._forward_pre_hooks or part._forward_hooks or "forward" in vars(part)):
                return True
    return False


def altered(kept: Kept, passes: Mapping[str, Sequence[AttentionOutput]]) -> bool:
    """Whether attention had other scores or weights than its own queries and keys make, which `kept` has. passes: what
    each layer's did, of the newest queries."""
    for kind in KINDS:
        for layer, did in enumerate(passes.get(kind, ())):
            if did.scores is None or did.weights is None:
                return True
            made = kept.projections(kind)
            assert made is not None
            newest = slice(made[0].shape[2] - did.weights.shape[2], None)
            (scores, weights), = by_layer(kept, kind, slice(layer, layer + 1), queries=newest)
            if not (_alike(did.scores[0], scores) and _alike(did.weights[0], weights)):
                return True
    return False


def _alike(one: Tensor, other: Tensor) -> bool:
    if one.shape != other.shape or not torch.equal(one.isneginf(), other.isneginf()):
        return False
    most = other.masked_fill(other.isneginf(), 0).abs().max()
    return torch.allclose(one, other, rtol=0, atol=ALIKE * (1 + float(most)))
