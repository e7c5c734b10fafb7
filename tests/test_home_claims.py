"""What the front page says of its examples is so: measured on the weights that come with the app."""

from pathlib import Path

import numpy as np
import pytest

import transformer

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def translate():
    return transformer.load(ROOT / "checkpoints" / "translate")


def test_red_wine_is_said_the_other_way_round(translate):
    *_, step = transformer.steps(translate, "I like red wine.")
    queries, keys = step.axes("cross")
    weights = step.attentions["cross"][1, 3].numpy()
    for query, key in (("▁le", "▁wine"), ("▁vin", "▁red")):
        assert weights[queries.index(query), keys.index(key)] > 0.9


def test_the_head_of_the_question_looks_at_the_two_tokens_before(translate):
    step = transformer.start(translate, "Do you know where he lives?")
    weights = step.attentions["encoder"].numpy()
    later = np.arange(2, weights.shape[-1])
    back = weights[1, 0, later, later - 1] + weights[1, 0, later, later - 2]
    assert (back > 0.5).all()
    assert back.mean() > 0.8
    assert (weights[1, 0, :2, -1] > 0.8).all()  # the first two look at the end
    ahead = np.triu(weights, 1).sum(-1).mean(-1)
    behind = np.tril(weights, -1).sum(-1).mean(-1)
    assert (ahead > behind).any()  # there is one to find


def test_the_head_of_shakespeare_looks_at_spaces_and_line_ends():
    ckpt = transformer.load(ROOT / "checkpoints" / "write")
    *_, step = transformer.steps(ckpt, "ROMEO:\nO, she doth teach", max_steps=13)
    blank = np.array([piece in ("▁", " ", "\n") for piece in step.axes("decoder")[0]])
    assert blank.any()
    share = step.attentions["decoder"][2, 1].numpy()[:, blank].sum(-1)[5:].mean()
    even = (np.cumsum(blank) / np.arange(1, len(blank) + 1))[5:].mean()
    assert share > 2 * even
