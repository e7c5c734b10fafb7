"""Exercises: answers made of what is given, and bounds that take rounded arithmetic and nothing else."""

import pytest
import torch

from transformer.by_hand.exercises import NEAR, exercises
from transformer.by_hand.stages import ByHand, Settings

CASES = [Settings(), Settings(causal=True, scale="1"), Settings("one", d=2, d_k=1, d_v=1),
         Settings(numbers="torch", d=16, d_k=24, d_v=28, positions=True)]


@pytest.fixture(params=CASES, ids=str)
def hand(request) -> ByHand:
    return ByHand(request.param)


def test_answers_are_those_of_the_steps_and_of_a_mask_where_there_is_one():
    assert list(exercises(ByHand(Settings()))) == [3, 4, 5, 7, 8]
    assert list(exercises(ByHand(Settings(causal=True)))) == [3, 4, 5, 6, 7, 8]
    hand = ByHand(Settings(causal=True))
    found, head = exercises(hand), hand.heads[0]
    for step, values in {3: head.q, 4: head.products, 5: head.scaled, 6: head.scores, 7: head.weights,
                         8: head.context}.items():
        assert torch.equal(found[step].answer.values, values)
        assert found[step].answer.rows == hand.settings.words


def test_the_exact_number_and_the_one_from_rounded_numbers_are_right(hand):
    for task in exercises(hand).values():
        low, high = task.bounds()
        for answer in (task.answer.values, task.rough):
            written = torch.where(answer.isfinite(), (answer.double() * 100).round() / 100, answer.double())
            assert ((written >= low) & (written <= high)).all(), task.step


def test_what_is_further_off_is_not(hand):
    for task in exercises(hand).values():
        low, high = task.bounds()
        finite = task.answer.values.isfinite()
        furthest = (task.answer.values - task.rough).abs()[finite] + 2.5 * NEAR
        assert (task.answer.values[finite] + furthest > high[finite]).all()
        assert (task.answer.values[finite] - furthest < low[finite]).all()
        assert (high[~finite] == -torch.inf).all()
