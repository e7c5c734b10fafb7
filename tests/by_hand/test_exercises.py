"""Exercises: answers made of what is given, and bounds that take rounded arithmetic and nothing else."""

import numpy as np
import pytest
import torch

from tests.rows import each_row
from transformer.by_hand.exercises import NEAR, exercises
from transformer.by_hand.stages import ByHand, Settings
from transformer.by_hand.window import WHOLE

CASES = [Settings(), Settings(causal=True, scale="1"), Settings("one", d=2, d_k=1, d_v=1),
         Settings(numbers="torch", d=16, d_k=24, d_v=28, positions=True), Settings(scale="split", causal=True),
         Settings(d=512, d_k=100, d_v=40, heads=8, scale="split"), Settings(d=64, d_k=512, d_v=512, numbers="torch")]
FIRSTS = [0, 40, 10_000]


@pytest.fixture(params=CASES, ids=str)
def hand(request) -> ByHand:
    return ByHand(request.param)


def test_answers_are_those_of_the_steps_and_of_a_mask_or_a_split_scale_where_there_is_one():
    assert list(exercises(ByHand(Settings()))) == [3, 4, 5, 7, 8]
    assert list(exercises(ByHand(Settings(causal=True)))) == [3, 4, 5, 6, 7, 8]
    hand = ByHand(Settings(causal=True))
    found, head = exercises(hand), hand.heads[0]
    for step, values in {3: head.q, 4: head.products, 5: head.scaled, 6: head.scores, 7: head.weights,
                         8: head.context}.items():
        assert torch.equal(found[step].answer.values, values)
        assert found[step].answer.rows == hand.settings.words
    hand = ByHand(Settings(scale="split"))
    task = exercises(hand)[5]
    assert [one.name for one in task.given] == ["q / ⁴√d_k", "k / ⁴√d_k"]
    torch.testing.assert_close(task.given[0].values, hand.heads[0].q / 3**0.25)
    assert task.answer.name == "(q / ⁴√d_k) (k / ⁴√d_k)ᵀ" and "⁴√d_k = 1.32" in task.how


def test_the_exact_number_and_the_one_from_rounded_numbers_are_right_and_what_is_further_off_is_not(hand):
    for task in exercises(hand).values():
        low, high = task.bounds()
        for answer in (task.answer.values, task.rough):
            written = torch.where(answer.isfinite(), (answer.double() * 100).round() / 100, answer.double())
            assert ((written >= low) & (written <= high)).all(), task.step
        finite = task.answer.values.isfinite()
        furthest = (task.answer.values - task.rough).abs()[finite] + 2.5 * NEAR
        assert (task.answer.values[finite] + furthest > high[finite]).all()
        assert (task.answer.values[finite] - furthest < low[finite]).all()
        assert (high[~finite] == -torch.inf).all()


@each_row("first", FIRSTS)
def test_what_is_shown_is_enough_to_work_out_each_cell_that_is_shown(hand, first):
    """With numpy, from the parts on the screen alone."""
    for step, task in exercises(hand, first).items():
        given = [one.values.double().numpy()[np.ix_(*one.seen)] for one in task.given]
        expected = task.answer.values.double().numpy()[np.ix_(*task.answer.seen)]
        multiplied = {3: "x w", 4: "q k", 8: "w v", **({5: "q k"} if hand.settings.scaling.split else {})}
        if step not in multiplied:
            continue
        left, right, *rest = given
        result = left @ (right.T if multiplied[step] == "q k" else right) + sum(rest)
        np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-3 if hand.settings.numbers == "ours" else 0.1)
        many = task.given[0].values.shape[1] > WHOLE
        assert bool(rest) == many
        assert ("the sum of the other" in task.how) == many
        assert all(side <= WHOLE for one in (*task.given, task.answer) for side in map(len, one.seen))
