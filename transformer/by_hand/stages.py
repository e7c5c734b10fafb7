"""Attention on a sentence short enough to check by hand: every matrix from the ids to the output of a whole block.

T words, V different words, d width of a word, h heads, d_k and d_v widths of a head. Vaswani et al. 2017, section 3.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from math import sqrt
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from transformer.basics.formatting import brief
from transformer.by_hand.random_numbers import GENERATORS, Drawn, Projections, draw
from transformer.model.attention import Scoring, dot_product_attention, score
from transformer.model.layers import Layer
from transformer.model.masks import causal_mask
from transformer.model.positions import sinusoids
from transformer.settings.config import ModelConfig

SENTENCE = "Life is too short for bad coffee"
WORDS, LETTERS = 12, 200  # of a sentence, at most
BOUNDS = {"seed": (0, 999_999), "d": (2, 512), "d_k": (1, 512), "d_v": (1, 512), "heads": (1, 8)}
NORM_EPS = 1e-5


class Scale(NamedTuple):
    """A way to make the products q k^T smaller: all of them divided by a power of a width, which `split` does in two
    halves, to queries and to keys, before they are multiplied."""

    sign: str  # of the divisor
    said: str  # in words, after "divided by"
    width: str | None  # of the settings
    power: float = 1.0
    split: bool = False

    @property
    def quotient(self) -> str:
        """The scaled products, as they are written."""
        return "(q / ⁴√d_k) (k / ⁴√d_k)ᵀ" if self.split else f"q kᵀ / {self.sign}"


SCALES = {
    "sqrt(d_k)": Scale("√d_k", "√d_k", "d_k", 0.5), "1": Scale("1", "nothing", None),
    "sqrt(d_model)": Scale("√d_model", "√d_model", "d", 0.5), "d_k": Scale("d_k", "d_k", "d_k"),
    "split": Scale("√d_k", "⁴√d_k for q and for k", "d_k", 0.5, split=True)}


@dataclass(frozen=True)
class Settings:
    """What decides every number. Raises ValueError for what is out of bounds."""

    sentence: str = SENTENCE
    seed: int = 123
    d: int = 4
    d_k: int = 3  # of queries and keys, whose products need the same width
    d_v: int = 3
    heads: int = 1
    scale: str = next(iter(SCALES))  # how the products are made smaller
    causal: bool = False
    positions: bool = False
    numbers: str = GENERATORS[0]  # how they are drawn from the seed

    def __post_init__(self) -> None:
        for name, (least, most) in BOUNDS.items():
            if not least <= getattr(self, name) <= most:
                raise ValueError(f"{name} is {getattr(self, name):,}; choose one from {least} to {most:,}")
        if self.scale not in SCALES:
            raise ValueError(f"scale is {self.scale!r}; choose one of {', '.join(SCALES)}")
        if self.numbers not in GENERATORS:
            raise ValueError(f"numbers is {self.numbers!r}; choose one of {', '.join(GENERATORS)}")
        if not self.words:
            raise ValueError("there is no word in the sentence; type at least one")
        if len(self.sentence) > LETTERS:
            raise ValueError(f"the sentence has {len(self.sentence):,} characters; at most {LETTERS} can be written "
                             "out. Please shorten it")
        if len(self.words) > WORDS:
            raise ValueError(f"the sentence has {len(self.words):,} words; at most {WORDS} can be written out. Please "
                             "shorten it")

    @property
    def words(self) -> list[str]:
        """What stands between spaces, as typed; without commas where a notebook takes them out."""
        return (self.sentence if self.numbers == "ours" else self.sentence.replace(",", "")).split()

    @property
    def vocabulary(self) -> list[str]:
        return sorted(set(self.words))

    @property
    def scaling(self) -> Scale:
        return SCALES[self.scale]

    @property
    def divisor(self) -> float:
        """What the products are divided by: for `split`, by queries and keys together."""
        return 1.0 if self.scaling.width is None else float(getattr(self, self.scaling.width) ** self.scaling.power)

    @property
    def root(self) -> float:
        """What `split` divides queries by, and keys: the fourth root of d_k."""
        return sqrt(self.divisor)

    @property
    def mask(self) -> Tensor | None:
        """(T, T), True where a word may look; None where it may look everywhere."""
        return causal_mask(len(self.words), len(self.words))[0, 0] if self.causal else None

    def look(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> "Head":
        """One head with these queries, keys and values under the chosen scale."""
        if not self.scaling.split:
            return look(q, k, v, mask, divisor=self.divisor)
        halves = look(q / self.root, k / self.root, v, mask, divisor=1.0)
        return halves._replace(q=q, k=k, products=q @ k.T)

    def scaled_by(self, scale: str) -> "Settings":
        """The same numbers under another scale."""
        return replace(self, scale=scale)


class Head(NamedTuple):
    """One head, every step of it. Vaswani et al. 2017, section 3.2.1."""

    q: Tensor  # (T, d_k)
    k: Tensor  # (T, d_k)
    v: Tensor  # (T, d_v)
    products: Tensor  # (T, T), q k^T
    scaled: Tensor  # (T, T), divided
    scores: Tensor  # (T, T), the bias added, -inf where the mask forbids
    weights: Tensor  # (T, T), rows sum to 1
    context: Tensor  # (T, d_v)
    bias: Tensor | None = None  # (T, T), of positions that add one

    __repr__ = brief


class Block(NamedTuple):
    """A whole block: attention and feed-forward, each added to its input and normalised. Sections 3.1 to 3.3."""

    concatenated: Tensor  # (T, h d_v)
    attended: Tensor  # (T, d)
    added: Tensor  # (T, d)
    normed: Tensor  # (T, d)
    up: Tensor  # (T, 4 d), before the ReLU
    hidden: Tensor  # (T, 4 d)
    down: Tensor  # (T, d)
    added_again: Tensor  # (T, d)
    output: Tensor  # (T, d)

    __repr__ = brief


def look(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None, *, bias: Tensor | None = None,
         divisor: float | None = None, cap: float | None = None) -> Head:
    """Every step of one head, by the function that the models use; mask (Tq, Tk) is True where a query may look, bias
    (Tq, Tk) what positions add.

    divisor: what the products q k^T are divided by; sqrt(d_k) without it. cap: of the scores, see `Scoring`.
    """
    scoring = Scoring(None if divisor is None else 1 / divisor, cap)
    context, scores, weights = dot_product_attention(q, k, v, mask, bias=bias, scoring=scoring, readable=True)
    assert scores is not None and weights is not None
    scaled = score(q, k, scoring=scoring._replace(cap=None))
    return Head(q, k, v, q @ k.transpose(-2, -1), scaled, scores, weights, context, bias)


@dataclass(frozen=True)
class ByHand:
    """A sentence and all that is computed from it, each matrix when it is first read."""

    settings: Settings

    @cached_property
    def matrices(self) -> Drawn:
        """Every number that the seed decides."""
        s = self.settings
        return draw(s.numbers, s.seed, vocabulary=len(s.vocabulary), d=s.d, d_k=s.d_k, d_v=s.d_v, heads=s.heads)

    @cached_property
    def ids(self) -> list[int]:
        return [self.settings.vocabulary.index(word) for word in self.settings.words]

    @property
    def table(self) -> Tensor:
        """One row a word of the vocabulary (V, d)."""
        return self.matrices.table

    @cached_property
    def embedded(self) -> Tensor:
        """The rows of the sentence's words (T, d)."""
        return self.table[self.ids]

    @cached_property
    def positions(self) -> Tensor:
        return sinusoids(len(self.ids), self.settings.d)  # (T, d)

    @cached_property
    def x(self) -> Tensor:
        """What attention reads (T, d)."""
        return self.embedded + self.positions if self.settings.positions else self.embedded

    @property
    def projections(self) -> list[Projections]:
        return self.matrices.projections

    @cached_property
    def heads(self) -> list[Head]:
        s = self.settings
        return [s.look(self.x @ head.q, self.x @ head.k, self.x @ head.v, s.mask) for head in self.projections]

    @property
    def w_out(self) -> Tensor:
        return self.matrices.out  # (h d_v, d)

    @property
    def w_up(self) -> Tensor:
        return self.matrices.up  # (d, 4 d)

    @property
    def w_down(self) -> Tensor:
        return self.matrices.down  # (4 d, d)

    @cached_property
    def block(self) -> Block:
        concatenated = torch.cat([head.context for head in self.heads], dim=-1)
        attended = concatenated @ self.w_out
        added = self.x + attended
        normed = F.layer_norm(added, added.shape[-1:], eps=NORM_EPS)
        up = normed @ self.w_up
        hidden = up.relu()
        down = hidden @ self.w_down
        again = normed + down
        output = F.layer_norm(again, again.shape[-1:], eps=NORM_EPS)
        return Block(concatenated, attended, added, normed, up, hidden, down, again, output)

    @torch.no_grad()
    def layer(self) -> Layer:
        """A layer of our models with these weights: `layer(x[None], mask=mask)` equals `block`.

        Its heads have one width for keys and values, so the narrower are filled up with zeros; and it divides by the
        square root of that width, which the queries make up for.
        """
        s = self.settings
        width = max(s.d_k, s.d_v)
        layer = Layer(ModelConfig(d_model=s.d, n_heads=s.heads, head_dim=width, encoder_layers=0, decoder_layers=1,
                                  d_ff=4 * s.d, dropout=0.0, norm_position="post", norm_eps=NORM_EPS)).eval()
        for parameter in layer.parameters():
            parameter.fill_(0.0)
        for part in ("attention", "feed_forward"):
            layer.norm_of(part).get_parameter("weight").fill_(1.0)
        for name, factor in (("q", sqrt(width) / s.divisor), ("k", 1.0), ("v", 1.0)):
            wide = [F.pad(getattr(head, name), (0, width - getattr(head, name).shape[1])) for head in self.projections]
            getattr(layer.attention, f"{name}_proj").weight.copy_(factor * torch.cat(wide, dim=1).T)
        layer.attention.out_proj.weight.copy_(
            F.pad(self.w_out.view(s.heads, s.d_v, s.d), (0, 0, 0, width - s.d_v)).flatten(0, 1).T)
        assert layer.feed_forward is not None
        layer.feed_forward.up.weight.copy_(self.w_up.T)
        layer.feed_forward.down.weight.copy_(self.w_down.T)
        return layer
