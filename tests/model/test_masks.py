"""Masks: True means "may attend", and a row with nothing to attend to is refused."""

import pytest
import torch

from transformer.model.masks import additive, causal_mask, padding_mask, target_mask

IDS = torch.tensor([[5, 6, 7, 8], [5, 6, 0, 0]])


def test_a_padding_mask_is_true_on_what_is_real():
    mask = padding_mask(IDS, 0)
    assert mask.dtype == torch.bool
    assert mask.shape == (2, 1, 1, 4)
    assert mask[:, 0, 0].tolist() == [[True] * 4, [True, True, False, False]]
    assert padding_mask(IDS, 8)[:, 0, 0].tolist() == [[True, True, True, False], [True] * 4]


@pytest.mark.parametrize(("queries", "keys"), [(1, 1), (4, 4), (1, 6), (2, 5)])
def test_a_causal_mask_lets_each_query_see_itself_and_what_came_before(queries, keys):
    mask = causal_mask(queries, keys)
    assert mask.dtype == torch.bool
    assert mask.shape == (1, 1, queries, keys)
    for query in range(queries):
        place = keys - queries + query  # the last query is the last key
        assert mask[0, 0, query].tolist() == [key <= place for key in range(keys)]


def test_a_target_mask_is_causal_and_leaves_padding_out():
    mask = target_mask(IDS, 0)
    assert mask.shape == (2, 1, 4, 4)
    assert torch.equal(mask, padding_mask(IDS, 0) & causal_mask(4, 4))
    assert mask[1, 0].int().tolist() == [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 0, 0], [1, 1, 0, 0]]
    for queries in (1, 2, 4):  # the last ones alone
        assert torch.equal(target_mask(IDS, 0, queries=queries), mask[:, :, -queries:])


@pytest.mark.parametrize(("build", "message"), [
    (lambda: padding_mask(torch.tensor([[5, 6], [0, 0]]), 0), "all padding.*leave empty texts out"),
    (lambda: padding_mask(torch.empty(1, 0, dtype=torch.long), 0), "all padding"),
    (lambda: target_mask(torch.tensor([[5, 6], [0, 6]]), 0), "starts with padding; pad on the right"),
    (lambda: causal_mask(4, 3), "4 queries but 3 keys"),
], ids=["padding", "empty", "left-padded", "more queries than keys"])
def test_a_row_with_nothing_to_attend_to_cannot_be_built(build, message):
    with pytest.raises(ValueError, match=message):
        build()


def test_an_additive_mask_adds_nothing_where_attending_is_allowed():
    mask = causal_mask(2, 2)
    assert additive(mask)[0, 0].tolist() == [[0.0, float("-inf")], [0.0, 0.0]]
    assert additive(mask, blocked=-1e4, dtype=torch.float16)[0, 0].tolist() == [[0.0, -1e4], [0.0, 0.0]]
    assert additive(mask, dtype=torch.float16).dtype == torch.float16
    scores = torch.tensor([[0.5, 2.0], [-1.0, 1.0]])
    assert torch.equal(scores + additive(mask), scores.masked_fill(~mask, float("-inf")))
