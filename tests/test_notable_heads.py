"""The heads that a measure singles out."""

import numpy as np

from tests.rows import each_row
from ui.components.head_maps import picked_head
from ui.views.heads.roles import named_heads


def test_a_head_is_named_above_both_baselines_by_the_margin_largest_first():
    trained = np.array([[0.39, 0.41], [0.9, np.nan]])
    assert named_heads(trained, np.array([[0.25, 0.1], [0.2, 0.1]]), 0.1) == [(1, 0), (0, 1)]  # 0.25 + a fifth of 0.75
    assert named_heads(trained, np.array([[0.1, 0.1], [0.1, 0.1]]), 0.25) == [(1, 0), (0, 1)]
    assert named_heads(trained, np.array([[0.95, 0.1], [0.1, 0.1]]), 0.1) == []
    empty = np.full((1, 2), np.nan)
    assert named_heads(np.ones((1, 2)), empty, float("nan")) == []
    assert named_heads(empty, np.zeros((1, 2)), 0.1) == []


@each_row("result", [None, {}, {"pick": None}, {"pick": {"card": "x", "kind": "cross", "layer": -1,
                                    "head": 0}}, {"pick": {"card": 1, "kind": "cross", "layer": 0, "head": 0}},
                                    {"pick": [0]}])
def test_a_pick_has_its_head_and_what_is_no_head_is_none(result):
    assert picked_head(result) is None
    pick = {"card": "x", "kind": "cross", "layer": 1, "head": 0}
    assert picked_head({"pick": pick}) == pick
