"""Where the numbers of By hand come from: drawn our own way, or just as a notebook draws them after torch.manual_seed.

T words, V different words, d width of a word, h heads, d_k and d_v widths of a head.
"""

from math import sqrt
from typing import NamedTuple

import torch
from torch import Tensor

from transformer.basics.formatting import brief

# "torch" sets the seed before the embedding and again before the weights, "torch-once" before the embedding alone
GENERATORS = ("ours", "torch", "torch-once")


class Projections(NamedTuple):
    """The weights of one head."""

    q: Tensor  # (d, d_k)
    k: Tensor  # (d, d_k)
    v: Tensor  # (d, d_v)

    __repr__ = brief


class Drawn(NamedTuple):
    """Everything that a seed decides."""

    table: Tensor  # (V, d)
    projections: list[Projections]
    out: Tensor  # (h d_v, d)
    up: Tensor  # (d, 4 d)
    down: Tensor  # (4 d, d)

    __repr__ = brief


def draw(source: str, seed: int, *, vocabulary: int, d: int, d_k: int, d_v: int, heads: int) -> Drawn:
    """All the numbers of a seed, from one of GENERATORS."""
    widths = (d_k, d_k, d_v)
    if source == "ours":
        return _ours(seed, vocabulary, d, widths, heads)
    return _torch(seed, vocabulary, d, widths, heads, again=source == "torch")


def _ours(seed: int, vocabulary: int, d: int, widths: tuple[int, int, int], heads: int) -> Drawn:
    """Normal numbers, each matrix from a stream of its own: another width elsewhere leaves it as it is. Weights have
    spread 1 / sqrt(rows): what goes in with spread 1 comes out with about spread 1."""
    def normal(stream: int, rows: int, columns: int) -> Tensor:
        return torch.randn(rows, columns, generator=torch.Generator().manual_seed(seed * 1_000 + stream))

    def weight(stream: int, rows: int, columns: int) -> Tensor:
        return normal(stream, rows, columns) / sqrt(rows)

    projections = [Projections(*(weight(10 + 3 * head + at, d, width) for at, width in enumerate(widths)))
                   for head in range(heads)]
    return Drawn(normal(0, vocabulary, d), projections, weight(1, heads * widths[2], d), weight(2, d, 4 * d),
                 weight(3, 4 * d, d))


def _torch(seed: int, vocabulary: int, d: int, widths: tuple[int, int, int], heads: int, *, again: bool) -> Drawn:
    """In the order of the lines of `notebook.lines`. A notebook keeps its weights as (out, in): turned here."""
    generator = torch.Generator().manual_seed(seed)
    table = torch.randn(vocabulary, d, generator=generator)  # as torch.nn.Embedding starts
    if again:
        generator.manual_seed(seed)

    def uniform(outside: int, inside: int) -> Tensor:
        return torch.rand(outside, inside, generator=generator).T

    projections = [Projections(*(uniform(width, d) for width in widths)) for _ in range(heads)]
    return Drawn(table, projections, uniform(d, heads * widths[2]), uniform(4 * d, d), uniform(d, 4 * d))
