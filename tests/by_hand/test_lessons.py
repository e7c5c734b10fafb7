"""What is measured beside the steps, against numbers made another way."""

from math import log, sqrt

import numpy as np
import pytest
import torch

from transformer.by_hand.experiments import (
    entropy,
    folding,
    mask_after_softmax,
    padding_masked,
    scales,
    softmax_over_queries,
    spreads,
)
from transformer.by_hand.stages import SCALES, ByHand, Settings

WIDTHS = [1, 4, 64, 1024]


def test_entropy_is_0_for_one_key_and_log_n_for_all_equal():
    weights = torch.tensor([[1.0, 0.0, 0.0, 0.0], [0.25, 0.25, 0.25, 0.25], [0.5, 0.5, 0.0, 0.0]])
    assert entropy(weights).tolist() == pytest.approx([0, log(4), log(2)])


def test_the_spread_grows_as_the_root_and_the_softmax_freezes_unless_it_is_scaled():
    for row in spreads(WIDTHS, keys=7, seed=3):
        assert row.unscaled_deviation == pytest.approx(sqrt(row.d_k), rel=0.1)
        assert row.scaled_deviation == pytest.approx(1, rel=0.1)
    found = spreads(WIDTHS, keys=7, seed=3)
    unscaled = [row.unscaled_entropy for row in found]
    assert unscaled == sorted(unscaled, reverse=True)
    assert unscaled[-1] < 0.2
    assert all(1.4 < row.scaled_entropy < log(7) for row in found)
    assert found[0].scaled_entropy == pytest.approx(found[0].unscaled_entropy)
    assert spreads(WIDTHS, keys=5, seed=3) == spreads(WIDTHS, keys=5, seed=3) != spreads(WIDTHS, keys=5, seed=4)


@pytest.mark.parametrize("settings", [Settings(), Settings(heads=3, d_k=5, d_v=2, causal=True, scale="1"),
                                      Settings("one", heads=8), Settings(heads=2),
                                      Settings(heads=8, d=512, d_k=512, d_v=40, scale="split")])
def test_heads_in_the_batch_and_heads_in_a_loop_agree(settings):
    hand = ByHand(settings)
    found = folding(hand)
    torch.testing.assert_close(found.folded, found.looped, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(found.folded[0], hand.block.concatenated, atol=1e-5, rtol=1e-5)
    assert found.unturned.shape == found.folded.shape


def test_the_shapes_of_the_folding_and_the_numbers_without_its_transpose():
    found = folding(ByHand(Settings(heads=2)))
    assert (found.unturned - found.looped).abs().max() > 0.1
    one = folding(ByHand(Settings(heads=1)))
    torch.testing.assert_close(one.unturned, one.looped, atol=1e-5, rtol=1e-5)
    b, t, h, d, d_k, d_v = 2, 7, 3, 4, 3, 3
    assert [shape for _, _, shape in folding(ByHand(Settings(heads=h))).shapes] == [
        (b, t, d), (b, t, h * d_k), (b, t, h, d_k), (b, h, t, d_k), (b * h, t, d_k), (b * h, t, t), (b * h, t, t),
        (b * h, t, d_v), (b, h, t, d_v), (b, t, h, d_v), (b, t, h * d_v), (b, t, d)]


@pytest.mark.parametrize("causal", [False, True])
def test_softmax_over_queries_makes_columns_sum_to_1(causal):
    hand = ByHand(Settings(causal=causal))
    slip = softmax_over_queries(hand)
    powers = np.exp(hand.heads[0].scores.double().numpy())
    np.testing.assert_allclose(slip.wrong, powers / powers.sum(axis=0), atol=1e-5)
    np.testing.assert_allclose(slip.right, powers / powers.sum(axis=1, keepdims=True), atol=1e-5)
    assert not np.allclose(slip.wrong.sum(dim=1), 1, atol=0.05)


def test_a_mask_after_the_softmax_lets_rows_fall_below_1_and_the_future_leak():
    hand = ByHand(Settings())
    slip, leak = mask_after_softmax(hand)
    head = hand.heads[0]
    powers, seen = np.exp(head.scaled.double().numpy()), np.tri(7)
    np.testing.assert_allclose(slip.right, powers * seen / (powers * seen).sum(axis=1, keepdims=True), atol=1e-5)
    np.testing.assert_allclose(slip.wrong, powers / powers.sum(axis=1, keepdims=True) * seen, atol=1e-5)
    assert (slip.wrong.sum(dim=1)[:-1] < 1).all()
    turned = powers.copy()
    turned[:, -1] = 1 / turned[:, -1]
    late = turned / turned.sum(axis=1, keepdims=True) * seen
    assert leak == pytest.approx(np.abs(late - slip.wrong.numpy())[:-1].max(), abs=1e-5)
    assert leak > 0.01
    slip, leak = mask_after_softmax(ByHand(Settings("one")))
    assert leak == 0
    assert slip.right.item() == slip.wrong.item() == 1


def test_each_scale_is_measured_on_the_same_products():
    hand = ByHand(Settings(scale="1", d=8, d_k=24))
    products = hand.heads[0].products.double().numpy()
    found = {row.scale: row for row in scales(hand)}
    assert list(found) == list(SCALES)
    for scale, by in {"sqrt(d_k)": sqrt(24), "1": 1.0, "sqrt(d_model)": sqrt(8), "d_k": 24.0,
                      "split": sqrt(24)}.items():
        weights = np.exp(products / by)
        weights /= weights.sum(axis=1, keepdims=True)
        row = found[scale]
        assert row.divisor == pytest.approx(by)
        assert row.deviation == pytest.approx((products / by).std(), rel=1e-4)
        assert row.entropy == pytest.approx(-(weights * np.log(weights)).sum(axis=1).mean(), rel=1e-4)
        assert row.largest == pytest.approx(weights.max(axis=1).mean(), rel=1e-4)
        np.testing.assert_allclose(row.weights, weights, atol=1e-5)
        assert row.peak == pytest.approx(np.abs(products / (by if scale == "split" else 1)).max(), rel=1e-4)
    assert found["1"].entropy < found["sqrt(d_model)"].entropy < found["sqrt(d_k)"].entropy < found["d_k"].entropy


def test_only_the_keys_mask_keeps_words_off_padding_without_a_nan_which_reaches_every_word_one_layer_later():
    hand = ByHand(Settings(causal=True))
    found = {row.blocked: row for row in padding_masked(hand)}
    x = np.concatenate([hand.embedded.double().numpy(), np.zeros((2, 4))])
    q, k = (x @ weights.double().numpy() for weights in hand.projections[0][:2])
    powers = np.exp(q @ k.T / sqrt(3))
    np.testing.assert_allclose(found["nothing"].weights, powers / powers.sum(axis=1, keepdims=True), atol=1e-5)
    powers[:, 7:] = 0
    np.testing.assert_allclose(found["keys"].weights, powers / powers.sum(axis=1, keepdims=True), atol=1e-5)
    assert found["keys"].wasted == found["both"].wasted == 0
    assert found["queries"].wasted == pytest.approx(found["nothing"].wasted)
    assert found["queries"].wasted > 0.1
    assert found["keys"].broken == found["nothing"].broken == (0, 0)
    for settings in (Settings(), Settings("one"), Settings(heads=2, positions=True), Settings(numbers="torch")):
        found = {row.blocked: row.broken for row in padding_masked(ByHand(settings))}
        assert found["both"] == found["queries"] == (2, len(settings.words) + 2)
