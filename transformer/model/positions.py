"""Kinds of positions: one object for each, which says what it adds to embeddings, rotates or adds to scores.

T positions, d_model or D features, H heads, Tq queries, Tk keys.
"""

from math import log
from typing import NamedTuple

import torch
from torch import Tensor

from transformer.basics.formatting import brief
from transformer.model.rotary import PLAIN, rotary_angles, rotate
from transformer.settings.config import ModelConfig, Rotary


class PositionEffects(NamedTuple):
    """What positions do inside one self-attention; None for what they do not do."""

    angles: Tensor | None = None  # (T, R / 2): rotations of queries and keys
    bias: Tensor | None = None  # (H, Tq, Tk): added to the scores
    rotary: Rotary = PLAIN  # which features the angles rotate
    mask: Tensor | None = None  # (Tq, Tk): False where a key is outside the window
    rows: Tensor | None = None  # (R, d_model): a vector for each bucket of distances
    buckets: Tensor | None = None  # (Tq, Tk): the bucket of each query and key

    __repr__ = brief

    def turn(self, x: Tensor) -> Tensor:
        """Queries or keys (B, H, T, D), rotated if there are angles."""
        return x if self.angles is None else rotate(x, self.angles, rotary=self.rotary)


NO_EFFECTS = PositionEffects()


class Picture(NamedTuple):
    """A table that shows what distinguishes positions."""

    values: Tensor  # (T, columns)
    column: str  # what each of them is
    value: str  # what the numbers are
    title: str
    row: str = "position"
    angles: bool = False  # the values are angles in radians

    __repr__ = brief


class Positions:
    """No positions, and the base of all other kinds: each overrides what it does."""

    name = "none"
    title = "No positions"
    sentence = "The model has no positions: only the causal mask of a decoder tells its tokens apart."
    source = ""  # the formula's paper and section
    undone = ""  # what a model without them does not do
    embedded = ""  # what a diagram says beside the embeddings
    attended = ""  # and beside self-attention
    learned = False  # a table (max_len, d_model) of weights is added to the embeddings
    compared = True  # whether `rows_to_compare` has vectors
    likeness = ""  # what the product of two of those is, where only the distance counts
    bucketed = ""  # what each stack learns for every bucket of distances: "numbers", one a head, or "vectors"

    def added(self, config: ModelConfig) -> Tensor | None:
        """The formula's table that is added to the embeddings -> (max_len, d_model)."""
        return None

    def angles(self, places: range, config: ModelConfig, *, rotary: Rotary | None = None,
               device: torch.device | None = None) -> Tensor | None:
        """The angles that rotate queries and keys at these places in self-attention -> (T, R / 2)."""
        return None

    def bias(self, queries: range, keys: range, config: ModelConfig, *, learned: Tensor | None = None,
             causal: bool = True, device: torch.device | None = None) -> Tensor | None:
        """What is added to the scores of queries and keys at these places in self-attention -> (H, Tq, Tk). learned
        (buckets, H): the stack's learned numbers, if any; causal: in a decoder."""
        return None

    def buckets(self, queries: range, keys: range, config: ModelConfig, *,
                device: torch.device | None = None) -> Tensor | None:
        """The bucket whose vector queries and keys at these places meet -> (Tq, Tk)."""
        return None

    def pictures(self, count: int, config: ModelConfig, added: Tensor | None, *,
                 learned: Tensor | None = None, causal: bool = True) -> list[Picture]:
        """Pictures of the first `count` positions, and of what they can be compared with. added (count, d_model): what
        the model adds to its embeddings; learned: the weights of the stack's buckets."""
        return [] if added is None else [Picture(added, "dimension", "value added to the vector", self.title)]

    def rows_to_compare(self, pictures: list[Picture]) -> Tensor:
        """A row for each position (T, features); products of rows say how alike two positions are to attention."""
        return pictures[0].values

    def describe(self, config: ModelConfig) -> str:
        """What these positions do in this model, in a sentence or two, with the source."""
        return f"{self.sentence} ({self.source}.)" if self.source else self.sentence


class Sinusoidal(Positions):
    name = "sinusoidal"
    title = "Sinusoidal positions"
    sentence = ("Sines and cosines are added to the embeddings, by a formula and not learned: low dimensions "
                "change fast and separate neighbours, high ones change slowly and separate near from far.")
    source = "Vaswani et al. 2017, section 3.5"
    undone = "nothing is added to the embeddings"
    embedded = "+ positions (sine waves)"

    def added(self, config: ModelConfig) -> Tensor | None:
        first = 0
        if config.sinusoid_layout == "fairseq":  # fairseq counts positions from behind the padding id
            first = 0 if config.pad_id is None else config.pad_id + 1
        return sinusoids(first + config.max_len, config.d_model, layout=config.sinusoid_layout)[first:]


class Learned(Positions):
    name = "learned"
    title = "Learned positions"
    sentence = "A learned vector per position is added to the embeddings."
    source = "Gehring et al. 2017, section 3.1"
    undone = "nothing is added to the embeddings"
    embedded = "+ learned positions"
    learned = True

    def pictures(self, count: int, config: ModelConfig, added: Tensor | None, **options) -> list[Picture]:
        formula = Picture(sinusoids(count, config.d_model), "dimension", "value", "Sinusoids of the same size")
        return [*super().pictures(count, config, added), formula]


class RotaryPositions(Positions):
    name = "rotary"
    title = "Rotary positions"
    sentence = ("Queries and keys are rotated, one pair of features at a time, by angles that are not learned, and "
                "nothing is added to the embeddings.")
    source = "Su et al. 2021, section 3.2.2"
    undone = "queries and keys are not rotated"
    attended = "rotary"
    likeness = ("The mean cosine of the angle between two positions over all pairs of features: how much a query's "
                "product with an equal key shrinks with the distance, if all pairs have the same size. Only the "
                "distance counts, so it is constant along diagonals.")

    def angles(self, places: range, config: ModelConfig, *, rotary: Rotary | None = None,
               device: torch.device | None = None) -> Tensor:
        return rotary_angles(torch.arange(places.start, places.stop, device=device), config.width,
                             rotary=rotary or config.rotary, length=places.stop)

    def pictures(self, count: int, config: ModelConfig, added: Tensor | None, **options) -> list[Picture]:
        angles = self.angles(range(count), config)
        return [Picture(angles.cos(), "feature pair", "cosine of the angle", self.title),
                Picture(angles, "feature pair", "angle in radians", "The angles themselves", angles=True)]

    def rows_to_compare(self, pictures: list[Picture]) -> Tensor:
        angles = pictures[1].values
        return torch.cat([angles.cos(), angles.sin()], dim=1) / angles.shape[1] ** 0.5

    def describe(self, config: ModelConfig) -> str:
        sentences, rotary = [super().describe(config)], config.rotary
        if rotary.base != PLAIN.base:
            sentences.append(f"The base is {rotary.base:,.6g}.")
        if rotary.dim not in (None, config.width):
            sentences.append(f"Of the {config.width} features of a head {rotary.dim + rotary.dim % 2} are rotated.")
        if rotary.scaling:
            learned = f" than the {rotary.learned_len:,} tokens it learned from" if rotary.learned_len else ""
            sentences.append(f"The angles are scaled for texts longer{learned} ({rotary.scaling}).")
        return " ".join(sentences)


def sinusoids(positions: int, d_model: int, *, layout: str = "interleaved", base: float = 10_000.0) -> Tensor:
    """Sines and cosines with wavelengths from 2 pi to base * 2 pi -> (T, d_model). Vaswani et al. 2017, section 3.5.

    "interleaved": sin, cos, sin, cos as in the paper; "halves": all sines, then all cosines, as in Marian; "fairseq":
    as "halves" with wavelengths that reach base * 2 pi, and a last zero if d_model is odd.
    """
    if layout not in ("interleaved", "halves", "fairseq"):
        raise ValueError(f"layout is {layout!r}; choose interleaved, halves or fairseq")
    table = torch.empty(positions, d_model)
    if table.is_meta:  # of which only the size is wanted, see `Transformer.laid_out`
        return table
    if layout == "fairseq":
        half = d_model // 2
        rates = base ** (-torch.arange(half, dtype=torch.float64) / max(half - 1, 1))
        angles = torch.arange(positions, dtype=torch.float64)[:, None] * rates
        return torch.nn.functional.pad(torch.cat([angles.sin(), angles.cos()], dim=1).float(), (0, d_model % 2))
    sines = (d_model + 1) // 2
    rates = base ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)  # (sines,)
    angles = torch.arange(positions, dtype=torch.float64)[:, None] * rates  # (T, sines)
    if layout == "interleaved":
        table[:, 0::2], table[:, 1::2] = angles.sin(), angles.cos()[:, : d_model // 2]
    else:
        table[:, :sines], table[:, sines:] = angles.sin(), angles.cos()[:, : d_model // 2]
    return table


def alibi_slopes(n_heads: int, *, most: float = 8.0) -> Tensor:
    """How much each head's scores fall with every position of distance -> (H,). Press et al. 2022, section 3: the
    powers of 2^(-8/H). If H is no power of two, as in their code, those of the next smaller one, then every other one
    of the next larger. most: replaces the 8 (MPT)."""
    smaller = 2 ** (n_heads.bit_length() - 1)
    slopes = [2 ** (-most * head / smaller) for head in range(1, smaller + 1)]
    between = [2 ** (-most / 2 * head / smaller) for head in range(1, 2 * smaller + 1, 2)]
    return torch.tensor((slopes + between)[:n_heads])


def _apart(queries: range, keys: range, device: torch.device | None) -> Tensor:
    """How far each query is behind each key (Tq, Tk); negative if it is before it."""
    query, key = (torch.arange(places.start, places.stop, device=device) for places in (queries, keys))
    return query[:, None] - key


class Alibi(Positions):
    name = "alibi"
    title = "ALiBi positions"
    sentence = ("Nothing is added to the embeddings: every score falls with the distance of its key, by the slope of "
                "its head, which is not learned.")
    source = "Press et al. 2022, section 3"
    undone = "no distance is taken off the scores"
    attended = "ALiBi"
    compared = False

    def slopes(self, config: ModelConfig) -> Tensor:
        """Slopes of the heads, (H,)."""
        return alibi_slopes(config.n_heads, most=config.alibi_max) * config.alibi_scale

    def bias(self, queries: range, keys: range, config: ModelConfig, *, learned: Tensor | None = None,
             causal: bool = True, device: torch.device | None = None) -> Tensor:
        if config.alibi_rounded:
            steep = alibi_slopes(config.n_heads, most=config.alibi_max).to(device).bfloat16()
            gained = (steep[:, None] * torch.arange(keys.stop, device=device)).float() * config.alibi_scale  # (H, T)
            return -(gained[:, queries.start:queries.stop, None] - gained[:, None, keys.start:]).abs()
        return -self.slopes(config).to(device)[:, None, None] * _apart(queries, keys, device).abs()

    def pictures(self, count: int, config: ModelConfig, added: Tensor | None, **options) -> list[Picture]:
        by_distance = self.bias(range(count - 1, count), range(count), config)[:, 0].flip(1).T
        return [Picture(by_distance, "head", "added to the score", self.title, row="distance")]

    def describe(self, config: ModelConfig) -> str:
        slopes = ", ".join(f"{slope:.4g}" for slope in self.slopes(config).tolist())
        sides = " An encoder sees how far away a token is, but not on which side." if config.encoder_layers else ""
        return f"{super().describe(config)}{sides} The slopes of heads 0 to {config.n_heads - 1}: {slopes}."


def buckets_of(apart: Tensor, buckets: int, furthest: int, *, causal: bool) -> Tensor:
    """The bucket of each distance (query's place less key's), from 0. Near distances have one each, further ones share
    by their logarithm. Raffel et al. 2020, section 2.1. Without `causal`, half of the buckets are for later keys."""
    bucket = torch.zeros_like(apart)
    if causal:
        apart = apart.clamp(min=0)
    else:
        buckets //= 2
        bucket, apart = bucket + (apart < 0) * buckets, apart.abs()
    exact = buckets // 2
    share = (apart.clamp(min=1).float() / exact).log() / log(furthest / exact)
    far = (exact + (share * (buckets - exact)).long()).clamp(max=buckets - 1)
    return bucket + torch.where(apart < exact, apart, far)


class Relative(Positions):
    name = "relative"
    title = "Relative positions"
    sentence = ("Nothing is added to the embeddings: every head has learned a number for each distance, which is "
                "added to its scores in all layers; large distances share one.")
    source = "Raffel et al. 2020, section 2.1"
    undone = "nothing is added to the scores"
    attended = "relative bias"
    compared = False
    bucketed = "numbers"

    def bias(self, queries: range, keys: range, config: ModelConfig, *, learned: Tensor | None = None,
             causal: bool = True, device: torch.device | None = None) -> Tensor:
        assert learned is not None, "relative positions are learned"
        places = buckets_of(_apart(queries, keys, device), config.relative_buckets, config.relative_distance,
                            causal=causal)
        return learned[places].permute(2, 0, 1)

    def pictures(self, count: int, config: ModelConfig, added: Tensor | None, *, learned: Tensor | None = None,
                 causal: bool = True) -> list[Picture]:
        bias = self.bias(range(count - 1, count), range(count), config, causal=causal,
                          learned=None if learned is None else learned.cpu())
        by_distance = bias[:, 0].flip(1).T
        return [Picture(by_distance, "head", "added to the score", self.title, row="distance")]


class Disentangled(Positions):
    name = "disentangled"
    title = "Disentangled positions"
    sentence = ("Nothing is added to the embeddings: a learned vector for every distance is projected as tokens are, "
                "and meets the query and the key of every pair at that distance.")
    source = "He et al. 2021, section 3.1"
    undone = "no distance meets queries and keys"
    attended = "distances"
    bucketed = "vectors"

    def buckets(self, queries: range, keys: range, config: ModelConfig, *,
                device: torch.device | None = None) -> Tensor:
        """One bucket for each distance in half of the span, and shared ones by logarithm beyond, alike on both sides;
        as in the code of He et al. 2023, DeBERTaV3."""
        span, furthest = config.relative_buckets, config.relative_distance
        apart = _apart(queries, keys, device)
        if span != furthest:
            middle = span // 2
            last = torch.tensor((furthest - 1) / middle, device=device).log()  # rounded as in their code
            share = (apart.abs().clamp(min=middle).float() / middle).log() / last
            far = ((share * (middle - 1)).ceil() + middle).long() * apart.sign()
            apart = torch.where(apart.abs() <= middle, apart, far)
        return (apart + span).clamp(0, 2 * span - 1)

    def pictures(self, count: int, config: ModelConfig, added: Tensor | None, *, learned: Tensor | None = None,
                 causal: bool = True) -> list[Picture]:
        assert learned is not None, "the vectors of distances are learned"
        places = self.buckets(range(count), range(1), config)[:, 0]
        return [Picture(learned.cpu()[places], "dimension", "value of the vector", self.title, row="distance")]


# By the name in `ModelConfig.positions`.
POSITIONS = {one.name: one for one in (Sinusoidal(), Learned(), RotaryPositions(), Alibi(), Relative(), Disentangled(),
                                       Positions())}
