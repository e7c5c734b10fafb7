"""Measures of matrices with known answers."""

from math import log

import numpy as np
import pytest
import torch

from transformer.measures.matrices import PLACES, decode_weights, even_attention, measure_heads


def found(matrix, kind):
    return {name: value.item() for name, value in measure_heads(np.array(matrix, float), kind=kind).items()}


def test_matrices_with_known_answers():
    assert found(np.eye(4), "encoder") == {"entropy": 0, "evenness": 0, "diagonal": 1, "previous": 0,
                                           "first": 0.25}
    assert found([[1, 0, 0], [1, 0, 0], [0, 1, 0]], "decoder") == {
        "entropy": 0, "evenness": 0, "diagonal": 0, "previous": 1, "first": 0.5}  # query 0 is left out
    measures = found(even_attention(5, 5, kind="encoder"), "encoder")
    assert measures == pytest.approx({"entropy": log(5), "evenness": 1, "diagonal": 0.2, "previous": 0.2,
                                      "first": 0.2})
    measures = found([[1, 0, 0], [1 / 2, 1 / 2, 0], [1 / 3, 1 / 3, 1 / 3]], "decoder")
    assert measures == pytest.approx({"entropy": (log(2) + log(3)) / 2, "evenness": 1,
                                      **dict.fromkeys(("diagonal", "previous", "first"), (1 / 2 + 1 / 3) / 2)})
    np.testing.assert_allclose(even_attention(3, 3, kind="decoder"), [[1, 0, 0], [1 / 2, 1 / 2, 0], [1 / 3] * 3])
    row = [0.5, 0.25, 0.25]
    expected = -(0.5 * log(0.5) + 2 * 0.25 * log(0.25))
    measures = found([row] * 3, "encoder")
    assert measures == pytest.approx({"entropy": expected, "evenness": expected / log(3), "diagonal": 1 / 3,
                                      "previous": (0.5 + 0.25) / 2, "first": 0.5})


@pytest.mark.parametrize(("queries", "keys", "aligned"), [
    (4, 4, [0, 1, 2, 3]), (2, 6, [1, 4]), (6, 2, [0, 0, 0, 1, 1, 1]), (3, 5, [0, 2, 4]), (1, 3, [1])])
def test_the_diagonal_of_cross_attention_is_as_far_into_the_source(queries, keys, aligned):
    weights = np.zeros((queries, keys))
    weights[range(queries), aligned] = 1
    assert found(weights, "cross")["diagonal"] == 1
    before = np.zeros((queries, keys))
    before[range(queries), np.maximum(np.array(aligned) - 1, 0)] = 1
    assert found(before, "cross")["previous"] == 1


def test_rows_with_a_single_possible_key_are_left_out():
    first = [[1, 0], [0.3, 0.7]]
    assert found(first, "decoder") == pytest.approx({
        "entropy": -(0.3 * log(0.3) + 0.7 * log(0.7)), "evenness": -(0.3 * log(0.3) + 0.7 * log(0.7)) / log(2),
        "diagonal": 0.7, "previous": 0.3, "first": 0.3})
    for only, kind in ([[1.0]], "decoder"), ([[1.0], [1.0]], "cross"):
        assert all(np.isnan(value) for value in found(only, kind).values())


def test_every_head_is_measured_by_itself_whatever_holds_the_weights():
    weights = torch.softmax(torch.randn(2, 3, 5, 7, generator=torch.Generator().manual_seed(1)), -1)
    together = measure_heads(weights, kind="cross")
    assert tuple(together) == PLACES
    for layer in range(2):
        for head in range(3):
            alone = measure_heads(weights[layer, head].numpy(), kind="cross")
            assert {name: value[layer, head] for name, value in together.items()} == alone
    assert together["entropy"].shape == (2, 3)


def test_recorded_square_roots_become_weights_again():
    weights = torch.softmax(3 * torch.randn(4, 9, 9, generator=torch.Generator().manual_seed(2)), -1)
    recorded = (weights.sqrt() * 255).round().byte().numpy()
    back = decode_weights(recorded)
    np.testing.assert_allclose(back.sum(-1), 1, rtol=1e-6)
    np.testing.assert_allclose(back, weights.numpy(), atol=0.02)
    assert not decode_weights(np.zeros((2, 2), np.uint8)).any()


def test_what_cannot_be_measured_is_said():
    with pytest.raises(ValueError, match="2 queries over 3 keys"):
        measure_heads(np.ones((2, 3)) / 3, kind="encoder")
    with pytest.raises(ValueError, match="no memory attention"):
        measure_heads(np.eye(2), kind="memory")


def test_a_measure_that_asks_for_tokens_has_a_value_where_they_are_given():
    weights = np.array([[0.1, 0.2, 0.7], [0.3, 0.4, 0.3]])
    values = measure_heads(weights, ["end", "first"], kind="cross", keys=[5, 6, 3], end_id=3)
    assert {name: value.item() for name, value in values.items()} == pytest.approx({"end": 0.5, "first": 0.2})
    assert np.isnan(measure_heads(weights, ["end"], kind="cross")["end"])
