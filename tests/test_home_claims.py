"""What the front page says of its examples is so: measured on the weights that come with the app."""

import transformer
from transformer.checkpoints.openings import OPENINGS

MODEL = "translate"


def test_red_wine_is_said_the_other_way_round(ckpt):
    *_, step = transformer.steps(ckpt, "I like red wine.")
    queries, keys = step.axes("cross")
    weights = step.attentions["cross"][OPENINGS["translation"].layer, OPENINGS["translation"].head].numpy()
    for query, key in (("▁le", "▁wine"), ("▁vin", "▁red")):
        assert weights[queries.index(query), keys.index(key)] > 0.9
