"""Where a token stands: sinusoidal, learned and rotary positions.

T positions, d_model or D features.
"""

import torch
from torch import Tensor


def sinusoids(positions: int, d_model: int, *, layout: str = "interleaved", base: float = 10_000.0) -> Tensor:
    """Sines and cosines with wavelengths from 2 pi to base * 2 pi -> (T, d_model). Vaswani et al. 2017, section 3.5.

    "interleaved" puts sin, cos, sin, cos as the paper writes it; "halves" all sines, then all cosines, as Marian does.
    """
    if layout not in ("interleaved", "halves"):
        raise ValueError(f"layout is {layout!r}; choose interleaved or halves")
    sines = (d_model + 1) // 2
    rates = base ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)  # (sines,)
    angles = torch.arange(positions, dtype=torch.float64)[:, None] * rates  # (T, sines)
    table = torch.empty(positions, d_model)
    if layout == "interleaved":
        table[:, 0::2], table[:, 1::2] = angles.sin(), angles.cos()[:, : d_model // 2]
    else:
        table[:, :sines], table[:, sines:] = angles.sin(), angles.cos()[:, : d_model // 2]
    return table


def rotary_angles(positions: Tensor, head_dim: int, *, base: float = 10_000.0) -> Tensor:
    """How far each pair of features is turned; positions (T,) -> (T, D / 2). Su et al. 2021, section 3.2.2."""
    rates = base ** (-torch.arange(0, head_dim, 2, dtype=torch.float64, device=positions.device) / head_dim)
    return (positions.double()[:, None] * rates).float()


def rotate(x: Tensor, angles: Tensor) -> Tensor:
    """Turn feature i and i + D/2 of queries or keys (B, H, T, D) by angles (T, D / 2); lengths stay, shapes stay."""
    first, second = x.chunk(2, dim=-1)
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    return torch.cat([first * cos - second * sin, first * sin + second * cos], dim=-1)
