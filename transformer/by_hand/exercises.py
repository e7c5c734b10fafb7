"""The steps of one head as exercises: what is given, what is to be worked out, and how near an answer has to be.

T words, d width of a word, d_k and d_v widths of a head.
"""

from collections.abc import Callable
from math import isfinite
from typing import NamedTuple

import torch
from torch import Tensor

from transformer.by_hand.stages import ByHand
from transformer.formatting import brief
from transformer.model.masks import additive

DECIMALS = 2
NEAR = 10 ** -DECIMALS  # what an answer may be off by
SLACK = 1e-4  # of a number computed in single precision


class Matrix(NamedTuple):
    """A matrix of the sentence. Its rows are the words, but for weights: there they are numbers."""

    name: str
    values: Tensor  # (R, C)
    rows: list[str]
    columns: list[str] | None = None  # numbers, without names

    __repr__ = brief


class Exercise(NamedTuple):
    """One step: a matrix whose row t is made of the matrices given."""

    step: int  # its number among the steps of By hand
    given: list[Matrix]
    answer: Matrix  # (T, C)
    rough: Tensor  # (T, C), worked out from the given numbers as they are written, with two decimals
    how: str

    __repr__ = brief

    def bounds(self) -> tuple[Tensor, Tensor]:
        """The least and the largest answer that is right, (T, C) each: the exact number or the one that the rounded
        numbers give, give or take NEAR. -inf has to be -inf."""
        low = torch.minimum(self.answer.values, self.rough) - NEAR - SLACK
        return low, torch.maximum(self.answer.values, self.rough) + NEAR + SLACK


def exercises(hand: ByHand, divided_by: str) -> dict[int, Exercise]:
    """The steps of the first head that can be worked out on paper, by number."""
    s, head, weights = hand.settings, hand.heads[0], hand.projections[0]
    words = s.words
    places = list(map(str, range(s.d)))
    q, k, v = (Matrix(name, values, words) for name, values in
               (("q = x W_q", head.q), ("k = x W_k", head.k), ("v = x W_v", head.v)))
    products = Matrix("q kᵀ", head.products, words, words)
    scaled = Matrix(f"q kᵀ / {divided_by}", head.scaled, words, words)
    scores = Matrix("scores + mask", head.scores, words, words) if s.causal else scaled
    shares = Matrix("weights", head.weights, words, words)
    x = Matrix("x = embeddings + positions" if s.positions else "x = embeddings", hand.x, words)

    tasks: list[tuple[int, list[Matrix], Matrix, Callable[..., Tensor], str]] = [
        (3, [x, Matrix("W_q", weights.q, places)], q, torch.matmul,
         f"Each cell: a row of x times a column of W_q, {_terms(s.d)}."),
        (4, [q, k], products, lambda q, k: q @ k.T,
         f"Each cell: the query's row times the key's row, {_terms(s.d_k)}."),
        (5, [products], scaled, lambda products: products / s.divisor,
         f"Each cell: the product divided by {divided_by} = {s.divisor:.2f}."),
        (7, [scores], shares, lambda scores: scores.softmax(dim=-1),
         "Each cell: e to the power of the score, divided by the sum of these powers along the row."),
        (8, [shares, v], Matrix("context = weights v", head.context, words), torch.matmul,
         f"Each cell: weights times a column of values, {_terms(len(words))}."),
    ]
    if s.causal:
        tasks.insert(3, (6, [scaled], scores, lambda scaled: scaled + additive(s.mask),
                         "Each cell: the score where the word may look, else −∞ (type -inf)."))
    return {step: Exercise(step, given, answer, compute(*(_written(one.values) for one in given)), how)
            for step, given, answer, compute, how in tasks}


def written(value: float) -> str:
    """A number as it is written into a cell."""
    if not isfinite(value):
        return "−∞"
    text = f"{value:.{DECIMALS}f}"
    return text.removeprefix("-") if float(text) == 0 else text.replace("-", "−")


def _terms(count: int) -> str:
    return f"{count} products, added up" if count > 1 else "one product"


def _written(values: Tensor) -> Tensor:
    """The numbers as they stand on the page."""
    return (values.double() * 10 ** DECIMALS).round().div(10 ** DECIMALS).to(values.dtype)
