"""Which heads a measure names, and the shelf that results are kept on."""

import threading

import numpy as np
import pytest

from ui.head_maps import picked_head
from ui.heads.named import named_heads
from ui.resources import Shelf


def test_a_head_is_named_above_both_baselines_by_the_margin_largest_first():
    trained = np.array([[0.39, 0.41], [0.9, np.nan]])
    assert named_heads(trained, np.array([[0.25, 0.1], [0.2, 0.1]]), 0.1) == [(1, 0), (0, 1)]  # 0.25 + a fifth of 0.75
    assert named_heads(trained, np.array([[0.1, 0.1], [0.1, 0.1]]), 0.25) == [(1, 0), (0, 1)]
    assert named_heads(trained, np.array([[0.95, 0.1], [0.1, 0.1]]), 0.1) == []


def test_without_a_baseline_nothing_is_named():
    empty = np.full((1, 2), np.nan)
    assert named_heads(np.ones((1, 2)), empty, float("nan")) == []
    assert named_heads(empty, np.zeros((1, 2)), 0.1) == []


@pytest.mark.parametrize("result", [None, {}, {"pick": None}, {"pick": {"card": "x", "kind": "cross", "layer": -1,
                                    "head": 0}}, {"pick": {"card": 1, "kind": "cross", "layer": 0, "head": 0}},
                                    {"pick": [0]}])
def test_what_is_no_head_is_no_pick(result):
    assert picked_head(result) is None


def test_a_pick_has_its_head():
    pick = {"card": "x", "kind": "cross", "layer": 1, "head": 0}
    assert picked_head({"pick": pick}) == pick


def test_two_who_ask_at_once_get_what_was_made_once():
    shelf, begun, go_on, made, waited = Shelf(4), threading.Event(), threading.Event(), [], threading.Event()

    def make():
        made.append(1)
        begun.set()
        assert go_on.wait(30)
        return "found"

    found = []
    first = threading.Thread(target=lambda: found.append(shelf.make(("a",), make, lambda: None)))
    first.start()
    assert begun.wait(30)
    second = threading.Thread(target=lambda: found.append(shelf.make(("a",), make, waited.set)))
    second.start()
    assert waited.wait(30)
    go_on.set()
    first.join(30)
    second.join(30)
    assert found == ["found", "found"] and made == [1]


def test_one_who_leaves_stops_waiting_and_one_who_fails_lets_others_in():
    shelf = Shelf(1, at_once=1)

    def fail():
        with pytest.raises(KeyboardInterrupt):
            shelf.make(("b",), list, leave)
        raise ValueError("no")

    def leave():
        raise KeyboardInterrupt

    with pytest.raises(ValueError, match="no"):
        shelf.make(("a",), fail, lambda: None)
    assert shelf.make(("a",), lambda: 1, lambda: None) == 1
    assert shelf.make(("b",), lambda: 2, lambda: None) == 2
    assert shelf.find(("a",)) is None  # only one is kept
