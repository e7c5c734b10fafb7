"""The steps of one head as exercises: what is given, what is to be worked out, and how near an answer has to be.

T words, d width of a word, d_k and d_v widths of a head. Of a wide matrix a window is shown; where a sum runs over more
numbers than that, what those outside add to it is given as a matrix of its own.
"""

from collections.abc import Callable
from math import isfinite
from typing import NamedTuple

import torch
from torch import Tensor

from transformer.basics.formatting import brief
from transformer.by_hand.stages import ByHand
from transformer.by_hand.window import window
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
    first: int = 0  # a number of the window that is shown

    @property
    def seen(self) -> tuple[range, range]:
        """The places of the rows and columns that are shown."""
        rows, columns = self.values.shape
        return window(rows, self.first), window(columns, self.first)

    __repr__ = brief


class Exercise(NamedTuple):
    """One step: a matrix whose row t is made of the matrices given."""

    step: int  # its number among the steps of By hand
    given: list[Matrix]
    answer: Matrix  # (T, C)
    rough: Tensor  # (T, C), worked out from the given numbers as they are written, with two decimals
    how: str

    __repr__ = brief

    @property
    def longest(self) -> int:
        """The most rows or columns that one of its matrices has."""
        return max(side for one in (*self.given, self.answer) for side in one.values.shape)

    def bounds(self) -> tuple[Tensor, Tensor]:
        """The least and the largest answer that is right, (T, C) each: the exact number or the one that the rounded
        numbers give, give or take NEAR. -inf has to be -inf."""
        low = torch.minimum(self.answer.values, self.rough) - NEAR - SLACK
        return low, torch.maximum(self.answer.values, self.rough) + NEAR + SLACK


def exercises(hand: ByHand, first: int = 0) -> dict[int, Exercise]:
    """The steps of the first head that can be worked out on paper, by number. first: a number of the window that is
    shown of wide matrices."""
    s, head, weights = hand.settings, hand.heads[0], hand.projections[0]
    words, sign = s.words, s.scaling.sign

    def matrix(name: str, values: Tensor, rows: list[str] = words, columns: list[str] | None = None) -> Matrix:
        return Matrix(name, values, rows, columns, first)

    def multiplied(left: Matrix, right: Matrix, *, turned: bool) -> tuple[list[Matrix], Callable[..., Tensor], str]:
        """What is given for left times right (turned: whose rows are multiplied), how it is computed, and the terms."""
        count = left.values.shape[1]
        seen = window(count, first)
        inside = slice(seen.start, seen.stop)

        def product(left: Tensor, right: Tensor, rest: Tensor | float = 0.0) -> Tensor:
            return left[:, inside] @ (right[:, inside].T if turned else right[inside]) + rest

        if len(seen) == count:
            return [left, right], product, f", {count} products, added up." if count > 1 else ", one product."
        others = count - len(seen)
        one, other = left.values.double(), right.values.double()
        rest = matrix(f"the other {others} products, added up",
                      one @ (other.T if turned else other) - product(one, other),
                      columns=right.rows if turned else None)
        return ([left, right, rest], product,
                f". Add up the {len(seen)} products of the numbers shown, and the sum of the other {others}, which is "
                "given.")

    q, k, v = (matrix(name, values) for name, values in
               (("q = x W_q", head.q), ("k = x W_k", head.k), ("v = x W_v", head.v)))
    products = matrix("q kᵀ", head.products, words, words)
    halves = [matrix(f"{name} / ⁴√d_k", values / s.root) for name, values in (("q", head.q), ("k", head.k))]
    scaled = matrix(s.scaling.quotient, head.scaled, words, words)
    scores = matrix("scores + mask", head.scores, words, words) if s.causal else scaled
    shares = matrix("weights", head.weights, words, words)
    x = matrix("x = embeddings + positions" if s.positions else "x = embeddings", hand.x)

    given, product, terms = multiplied(x, matrix("W_q", weights.q, list(map(str, range(s.d)))), turned=False)
    tasks = [(3, given, q, product, f"Each cell: a row of x times a column of W_q{terms}")]
    given, product, terms = multiplied(q, k, turned=True)
    tasks.append((4, given, products, product, f"Each cell: the query's row times the key's row{terms}"))
    if s.scaling.split:
        given, product, terms = multiplied(*halves, turned=True)
        tasks.append((5, given, scaled, product, "Queries and keys have each been divided by ⁴√d_k = "
                      f"{s.root:.2f}. Each cell: the query's row times the key's row{terms}"))
    else:
        tasks.append((5, [products], scaled, lambda products: products / s.divisor,
                      f"Each cell: the product divided by {sign} = {s.divisor:.2f}."))
    if (mask := s.mask) is not None:
        tasks.append((6, [scaled], scores, lambda scaled: scaled + additive(mask),
                      "Each cell: the score where the word may look, else −∞ (type -inf)."))
    tasks.append((7, [scores], shares, lambda scores: scores.softmax(dim=-1),
                  "Each cell: e to the power of the score, divided by the sum of these powers along the row."))
    given, product, terms = multiplied(shares, v, turned=False)
    tasks.append((8, given, matrix("context = weights v", head.context), product,
                  f"Each cell: weights times a column of values{terms}"))
    return {step: Exercise(step, given, answer, compute(*(_written(one.values) for one in given)), how)
            for step, given, answer, compute, how in tasks}


def written(value: float) -> str:
    """A number as it is written into a cell."""
    if not isfinite(value):
        return "−∞"
    text = f"{value:.{DECIMALS}f}"
    return text.removeprefix("-") if float(text) == 0 else text.replace("-", "−")


def _written(values: Tensor) -> Tensor:
    """The numbers as they stand on the page, in double precision."""
    return (values.double() * 10 ** DECIMALS).round().div(10 ** DECIMALS)
