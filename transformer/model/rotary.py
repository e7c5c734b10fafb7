"""Rotary positions: the angles that rotate pairs of features, and how they are scaled for longer texts.

T tokens, R features of a head that are rotated, D width of a head.
"""

from math import ceil, floor, log, pi

import torch
from torch import Tensor

from transformer.settings.config import ModelConfig, Rotary

PLAIN = Rotary()


def rotary_angles(positions: Tensor, head_dim: int, *, base: float = 10_000.0, rotary: Rotary | None = None,
                  length: int = 0) -> Tensor:
    """Angles of each pair of features; positions (T,) -> (T, R / 2). Su et al. 2021, section 3.2.2.

    rotary: all settings, in place of base; length: tokens of the text so far, which some scalings depend on.
    """
    rotary = rotary or Rotary(base=base)
    return (positions.double()[:, None] * rates(rotary, head_dim, length).to(positions.device)).float()


def rates(rotary: Rotary, head_dim: int, length: int = 0) -> Tensor:
    """The angle of each pair from one position to the next, in radians (R / 2,), in a text of `length` tokens."""
    width = rotary.dim or head_dim
    plain = _rates(rotary.base, width)
    if rotary.scaling is None:
        return plain
    return SCALINGS[rotary.scaling](plain, rotary, width, length)


def _rates(base: float, width: int) -> Tensor:
    return base ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)


def _learned_len(rotary: Rotary) -> int:
    """The tokens of the longest text of the training, without which no scaling but the linear one is allowed."""
    assert rotary.learned_len is not None
    return rotary.learned_len


def _linear(plain: Tensor, rotary: Rotary, width: int, length: int) -> Tensor:
    """Position interpolation: Chen et al. 2023, section 2.3."""
    return plain / rotary.factor


def _dynamic(plain: Tensor, rotary: Rotary, width: int, length: int) -> Tensor:
    """A base that grows with the text once it is longer than those of the training (NTK-aware scaling; Peng et al.
    2023, sections 3.1 and 3.3)."""
    longer = max(length, _learned_len(rotary)) / _learned_len(rotary)
    grown = (rotary.factor * longer - (rotary.factor - 1)) ** (width / (width - 2)) if width > 2 else 1.0
    return _rates(rotary.base * grown, width)


def _llama3(plain: Tensor, rotary: Rotary, width: int, length: int) -> Tensor:
    """Long waves are stretched, short ones are not, those between by their length. Grattafiori et al. 2024, section
    3.4.2."""
    waves = 2 * pi / plain
    low, high = rotary.low_freq_factor, rotary.high_freq_factor
    share = ((_learned_len(rotary) / waves - low) / (high - low)).clamp(0, 1)  # 1: not stretched
    return (1 - share) * plain / rotary.factor + share * plain


def _yarn(plain: Tensor, rotary: Rotary, width: int, length: int) -> Tensor:
    """Peng et al. 2023, section 3.2: pairs that turn often are not stretched, pairs that turn seldom are."""
    def pair(turns: float) -> float:  # that turns so often in learned_len tokens
        return width * log(_learned_len(rotary) / (turns * 2 * pi)) / (2 * log(rotary.base))

    first, last = pair(rotary.beta_fast), pair(rotary.beta_slow)
    if rotary.truncate:
        first, last = floor(first), ceil(last)
    first, last = max(first, 0), min(last, width - 1)
    share = ((torch.arange(width // 2, dtype=torch.float64) - first) / ((last - first) or 0.001)).clamp(0, 1)
    return share * plain / rotary.factor + (1 - share) * plain


def _longrope(plain: Tensor, rotary: Rotary, width: int, length: int) -> Tensor:
    """A factor for each pair, one list for short texts and one for long texts. Ding et al. 2024, section 3."""
    factors = rotary.long_factors if length > _learned_len(rotary) else rotary.short_factors
    return plain / torch.tensor(factors, dtype=torch.float64)


SCALINGS = {"linear": _linear, "dynamic": _dynamic, "llama3": _llama3, "yarn": _yarn, "longrope": _longrope}


def rotation_state(config: ModelConfig, length: int) -> tuple[int, ...]:
    """Equal for two lengths of a text if its rows are rotated by the same angles. If it changes as a text grows, cached
    rows are invalid and the whole text is read again."""
    if config.positions != "rotary":
        return ()
    return tuple(_turned_as(rotary, length) for rotary in (config.rotary, config.window_rotary) if rotary)


def _turned_as(rotary: Rotary, length: int) -> int:
    longer = rotary.learned_len is not None and length > rotary.learned_len
    if rotary.scaling == "dynamic":
        return length if longer else 0
    return int(longer and rotary.scaling == "longrope")


def rotate(x: Tensor, angles: Tensor, *, rotary: Rotary = PLAIN) -> Tensor:
    """Rotates pairs of features of queries or keys (B, H, T, D) by angles (T, R / 2); the other D - R features stay."""
    turned = 2 * angles.shape[-1]
    x, rest = x[..., :turned], x[..., turned:]
    first, second = (x[..., 0::2], x[..., 1::2]) if rotary.layout == "interleaved" else x.chunk(2, dim=-1)
    cos, sin = ((part * rotary.attention_factor).to(x.dtype) for part in (angles.cos(), angles.sin()))
    pairs = first * cos - second * sin, first * sin + second * cos
    if rotary.layout == "interleaved":
        return torch.cat([torch.stack(pairs, dim=-1).flatten(-2), rest], dim=-1)
    return torch.cat([*pairs, rest], dim=-1)
