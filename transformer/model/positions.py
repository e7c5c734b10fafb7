"""Where a token stands: each way to tell a model is one object, which says what it adds, turns or biases.

T positions, d_model or D features, H heads, Tq queries, Tk keys.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from transformer.brief import brief
from transformer.config import ModelConfig


class Placed(NamedTuple):
    """What positions do inside one self-attention; None where they do nothing there."""

    angles: Tensor | None = None  # (T, D / 2): how far queries and keys are turned
    bias: Tensor | None = None  # (H, Tq, Tk): added to the scores

    __repr__ = brief

    def turn(self, x: Tensor) -> Tensor:
        """Queries or keys (B, H, T, D) as they meet."""
        return x if self.angles is None else rotate(x, self.angles)


NOWHERE = Placed()


class Picture(NamedTuple):
    """What tells positions apart, to be looked at."""

    values: Tensor  # (T, columns)
    column: str  # what each of them is
    value: str  # what the numbers are
    title: str
    row: str = "position"
    angles: bool = False  # in radians, which come round

    __repr__ = brief


class Positions:
    """No positions; and what all others are made from: whatever one does not say, it does not do."""

    name = "none"
    title = "No positions"
    sentence = "The model has no positions: only the causal mask of a decoder tells its tokens apart."
    source = ""  # the formula's paper and section
    undone = ""  # what a model no longer does without them
    embedded = ""  # what a diagram says beside the embeddings
    attended = ""  # and beside self-attention
    learned = False  # a table (max_len, d_model) of weights is added to the embeddings
    compared = True  # rows of the first picture are vectors that can be compared

    def added(self, config: ModelConfig) -> Tensor | None:
        """What a formula adds to the embeddings -> (max_len, d_model)."""
        return None

    def angles(self, places: range, config: ModelConfig, *, device: torch.device | None = None) -> Tensor | None:
        """How far queries and keys at these places are turned in self-attention -> (T, D / 2)."""
        return None

    def bias(self, queries: range, keys: range, config: ModelConfig, *,
             device: torch.device | None = None) -> Tensor | None:
        """What is added to the scores of queries and keys at these places in self-attention -> (H, Tq, Tk)."""
        return None

    def pictures(self, count: int, config: ModelConfig, added: Tensor | None) -> list[Picture]:
        """The first `count` positions: what tells them apart, and what that may be held against. added (count, d_model)
        is what the model adds to its embeddings."""
        return [] if added is None else [Picture(added, "dimension", "value added to the vector", self.title)]

    def describe(self, config: ModelConfig) -> str:
        """What they do to this model, in a sentence or two, with the source."""
        return f"{self.sentence} ({self.source}.)" if self.source else self.sentence


class Sinusoidal(Positions):
    name = "sinusoidal"
    title = "Sinusoidal positions"
    sentence = ("Sines and cosines are added to the embeddings, by a formula and not learned: low dimensions "
                "oscillate fast and distinguish neighbours, high ones slowly and distinguish near from far.")
    source = "Vaswani et al. 2017, section 3.5"
    undone = "nothing is added to the embeddings"
    embedded = "+ sines of the positions"

    def added(self, config: ModelConfig) -> Tensor | None:
        return sinusoids(config.max_len, config.d_model, layout=config.sinusoid_layout)


class Learned(Positions):
    name = "learned"
    title = "Learned positions"
    sentence = "A learned vector per position is added to the embeddings."
    source = "Gehring et al. 2017, section 3.1"
    undone = "nothing is added to the embeddings"
    embedded = "+ learned positions"
    learned = True

    def pictures(self, count: int, config: ModelConfig, added: Tensor | None) -> list[Picture]:
        formula = Picture(sinusoids(count, config.d_model), "dimension", "value", "Sinusoids of the same size")
        return [*super().pictures(count, config, added), formula]


class Rotary(Positions):
    name = "rotary"
    title = "Rotary positions"
    sentence = ("Queries and keys are rotated, one pair of features at a time, and nothing is added to the "
                "embeddings. Shown: the cosine of each pair's angle, which is not learned.")
    source = "Su et al. 2021, section 3.2.2"
    undone = "queries and keys are not rotated"
    attended = "rotary"

    def angles(self, places: range, config: ModelConfig, *, device: torch.device | None = None) -> Tensor | None:
        return rotary_angles(torch.arange(places.start, places.stop, device=device), config.width)

    def pictures(self, count: int, config: ModelConfig, added: Tensor | None) -> list[Picture]:
        angles = rotary_angles(torch.arange(count), config.width)
        return [Picture(angles.cos(), "feature pair", "cosine of the angle", self.title),
                Picture(angles, "feature pair", "angle in radians", "The angles themselves", angles=True)]


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


def alibi_slopes(n_heads: int) -> Tensor:
    """By how much each head's scores fall with every position further away -> (H,). Press et al. 2022, section 3: the
    powers of 2^(-8/H); where H is no power of two, as in their code, those of the next smaller one, and then every
    other one of the next larger."""
    smaller = 2 ** (n_heads.bit_length() - 1)
    slopes = [2 ** (-8 * head / smaller) for head in range(1, smaller + 1)]
    between = [2 ** (-4 * head / smaller) for head in range(1, 2 * smaller + 1, 2)]
    return torch.tensor((slopes + between)[:n_heads])


class Alibi(Positions):
    name = "alibi"
    title = "ALiBi positions"
    sentence = ("Nothing is added to the embeddings: every score falls with the distance of its key, by the slope of "
                "its head, which is not learned.")
    source = "Press et al. 2022, section 3"
    undone = "no distance is taken off the scores"
    attended = "ALiBi"
    compared = False

    def bias(self, queries: range, keys: range, config: ModelConfig, *,
             device: torch.device | None = None) -> Tensor | None:
        query, key = (torch.arange(places.start, places.stop, device=device) for places in (queries, keys))
        return -alibi_slopes(config.n_heads).to(device)[:, None, None] * (query[:, None] - key).abs()

    def pictures(self, count: int, config: ModelConfig, added: Tensor | None) -> list[Picture]:
        by_distance = -torch.arange(count)[:, None] * alibi_slopes(config.n_heads)
        return [Picture(by_distance, "head", "added to the score", self.title, row="distance")]

    def describe(self, config: ModelConfig) -> str:
        slopes = ", ".join(f"{slope:.4g}" for slope in alibi_slopes(config.n_heads).tolist())
        sides = " An encoder sees how far a token stands, and not on which side." if config.encoder_layers else ""
        return f"{super().describe(config)}{sides} The slopes of heads 0 to {config.n_heads - 1}: {slopes}."


# By the name in `ModelConfig.positions`.
POSITIONS = {one.name: one for one in (Sinusoidal(), Learned(), Rotary(), Alibi(), Positions())}
