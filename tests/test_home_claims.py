"""What the front page says of its examples is so: measured on the weights that come with the app."""

from pathlib import Path

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
