"""What positions do: products that depend on distance alone, and the same model without positions.

T positions, D features.
"""

from dataclasses import replace

import torch
from torch import Tensor

from transformer.checkpoints.checkpoint import Checkpoint
from transformer.model.models import Transformer
from transformer.model.rotary import rotary_angles, rotate


def without_positions(ckpt: Checkpoint) -> Checkpoint:
    """A model with the same weights, shared and not copied, that neither adds positions nor rotates by them."""
    config = ckpt.config.replace(positions="none")
    model = Transformer.laid_out(config)
    has = model.state_dict().keys()  # no table of positions or of distances
    weights = {name: weight for name, weight in ckpt.model.state_dict().items() if name in has}
    model.load_state_dict(weights, assign=True)
    return replace(ckpt, description=replace(ckpt.description, config=config),
                   model=model.eval().requires_grad_(False))


def rotary_products(positions: int, width: int, *, base: float = 10_000.0, seed: int = 0,
                    same: bool = False) -> Tensor:
    """q.k / sqrt(D) of one random query and one random key of D = width features, turned to every pair of positions
    -> (T, T), [query's position, key's position]. Su et al. 2021, section 3.2.2: it depends on their distance alone.
    same: the key is the query, so the product is largest at distance 0 and decays (section 3.3)."""
    q, k = torch.randn(2, 1, 1, 1, width, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    k = q if same else k
    angles = rotary_angles(torch.arange(positions), width, base=base).double()
    turned_q, turned_k = (rotate(x.expand(1, 1, positions, width), angles)[0, 0] for x in (q, k))  # (T, D)
    return turned_q @ turned_k.T / width ** 0.5


def along_diagonals(products: Tensor) -> float:
    """The largest difference between entries of (T, T) that are equally far from the diagonal; 0 or rounding where
    only the distance counts."""
    rows = range(1 - len(products), len(products))
    return max(float(line.max() - line.min()) for line in (products.diagonal(offset) for offset in rows))


def similarity(table: Tensor, *, cosine: bool = False) -> Tensor:
    """The product of every two rows of a table of positions (T, d_model) -> (T, T), or the cosine between them."""
    if cosine:
        table = table / table.norm(dim=-1, keepdim=True).clamp_min(1e-12)
    return table @ table.T


def moved_share(weights: Tensor, other: Tensor) -> Tensor:
    """The share of attention that lies elsewhere in `other`, 0 to 1: half the absolute difference of each row, averaged
    over queries; (..., Tq, Tk) -> (...). The total variation distance of Levin and Peres 2017, section 4.1."""
    return (weights - other).abs().sum(dim=-1).mean(dim=-1) / 2
