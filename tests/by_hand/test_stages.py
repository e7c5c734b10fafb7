"""A sentence by hand: every matrix again in numpy, and the whole block in the models' own layer."""

import re
from itertools import product

import numpy as np
import pytest
import torch

from transformer.by_hand.stages import BOUNDS, SCALES, ByHand, Settings, look
from transformer.model.attention import dot_product_attention
from transformer.model.masks import causal_mask

CASES = [
    Settings(),
    Settings(causal=True, heads=3, seed=7),
    Settings("the cat sees the dog", d=5, d_k=9, d_v=4, heads=4, scale="1", positions=True),
    Settings("b a b", d_k=3, d_v=3, scale="sqrt(d_model)", causal=True),
    Settings("one", d=2, d_k=1, d_v=1, heads=1, scale="d_k"),
    Settings("a b a", d=40, d_k=7, d_v=33, heads=8, scale="split", causal=True),
    Settings("a b c", d=512, d_k=512, d_v=512, heads=8, seed=5),
]
CLOSE = {"atol": 1e-5, "rtol": 1e-5}


@pytest.fixture(params=CASES, ids=str)
def hand(request) -> ByHand:
    return ByHand(request.param)


def softmax(scores: np.ndarray) -> np.ndarray:
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def norm(x: np.ndarray) -> np.ndarray:
    return (x - x.mean(axis=-1, keepdims=True)) / np.sqrt(x.var(axis=-1, keepdims=True) + 1e-5)


def test_the_sentence_it_opens_with():
    hand = ByHand(Settings())
    assert hand.settings.vocabulary == ["Life", "bad", "coffee", "for", "is", "short", "too"]
    assert hand.ids == [0, 4, 6, 5, 3, 1, 2]
    assert hand.table.shape == hand.embedded.shape == (7, 4)
    head = hand.heads[0]
    assert (head.q.shape, head.k.shape, head.v.shape) == ((7, 3), (7, 3), (7, 3))
    assert head.products.shape == head.weights.shape == (7, 7)
    assert hand.block.concatenated.shape == (7, 3)
    assert hand.block.output.shape == (7, 4)


def test_every_matrix_of_every_head_is_what_numpy_computes(hand):
    s, words = hand.settings, hand.settings.words
    x = np.stack([hand.table.double().numpy()[sorted(set(words)).index(word)] for word in words])
    if s.positions:
        angles = np.arange(len(words))[:, None] / 10_000 ** (2 * (np.arange(s.d) // 2) / s.d)
        x = x + np.where(np.arange(s.d) % 2, np.cos(angles), np.sin(angles))
    np.testing.assert_allclose(hand.x, x, **CLOSE)
    by = {"sqrt(d_k)": s.d_k**0.5, "1": 1, "sqrt(d_model)": s.d**0.5, "d_k": s.d_k, "split": s.d_k**0.5}[s.scale]
    assert len(hand.heads) == s.heads
    for head, projections in zip(hand.heads, hand.projections, strict=True):
        q, k, v = (x @ w.double().numpy() for w in projections)
        products = np.einsum("id,jd->ij", q, k)
        scores = np.where(np.tri(len(words), dtype=bool) | (not s.causal), products / by, -np.inf)
        expected = (q, k, v, products, products / by, scores, softmax(scores), softmax(scores) @ v)
        assert head.bias is None
        for name, ours, theirs in zip(head._fields[:-1], head[:-1], expected, strict=True):
            np.testing.assert_allclose(ours, theirs, **CLOSE, err_msg=name)


def test_the_block_is_what_numpy_computes(hand):
    block, x = hand.block, hand.x.double().numpy()
    concatenated = np.concatenate([head.context.double().numpy() for head in hand.heads], axis=1)
    attended = concatenated @ hand.w_out.double().numpy()
    y = norm(x + attended)
    up = y @ hand.w_up.double().numpy()
    down = np.maximum(up, 0) @ hand.w_down.double().numpy()
    expected = (concatenated, attended, x + attended, y, up, np.maximum(up, 0), down, y + down, norm(y + down))
    for name, ours, theirs in zip(block._fields, block, expected, strict=True):
        # two widths normalise to almost +1 and -1, which magnifies what float32 leaves out
        np.testing.assert_allclose(ours, theirs, atol=1e-4, rtol=1e-4, err_msg=name)


def test_the_models_layer_with_these_weights_puts_out_the_same(hand):
    with torch.no_grad():
        output = hand.layer()(hand.x[None], mask=hand.settings.mask, readable=True)
    torch.testing.assert_close(output.x[0], hand.block.output, atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(output.attention.weights[0], torch.stack([h.weights for h in hand.heads]), **CLOSE)


@pytest.mark.parametrize("bias", [None, torch.arange(16.0).view(4, 4)])
def test_looking_is_what_the_models_attention_does(bias):
    q, k, v = torch.randn(3, 4, 6, generator=torch.Generator().manual_seed(0))
    mask = causal_mask(4, 4)[0, 0]
    context, scores, weights = dot_product_attention(q, k, v, mask, bias=bias, readable=True)
    head = look(q, k, v, mask, bias=bias)
    added = 0 if bias is None else bias
    torch.testing.assert_close(head.scores, (head.scaled + added).masked_fill(~mask, -torch.inf))
    assert torch.equal(head.context, context)
    assert torch.equal(head.scores, scores)
    assert torch.equal(head.weights, weights)


def test_moving_a_word_moves_its_row_and_without_positions_nothing_else():
    one, other = ByHand(Settings("a b c d")), ByHand(Settings("a c b d"))
    moved = [0, 2, 1, 3]
    torch.testing.assert_close(other.heads[0].context, one.heads[0].context[moved], **CLOSE)
    torch.testing.assert_close(other.block.output, one.block.output[moved], atol=1e-4, rtol=1e-4)
    one, other = ByHand(Settings("a b c d", positions=True)), ByHand(Settings("a c b d", positions=True))
    assert (other.heads[0].context - one.heads[0].context[moved]).abs().max() > 1e-2
    hand = ByHand(Settings("so so good"))
    assert hand.settings.vocabulary == ["good", "so"]
    assert torch.equal(hand.block.output[0], hand.block.output[1])


def test_a_seed_draws_the_same_numbers_again_with_their_spread_whatever_is_changed_after_them():
    assert torch.equal(ByHand(Settings()).block.output, ByHand(Settings()).block.output)
    assert not torch.allclose(ByHand(Settings()).block.output, ByHand(Settings(seed=124)).block.output)
    for change in ({"heads": 8}, {"d_v": 5}, {"d_v": 512}):  # what comes before it stays
        before, after = ByHand(Settings()), ByHand(Settings(**change))
        assert torch.equal(before.embedded, after.embedded)
        assert torch.equal(before.heads[0].weights, after.heads[0].weights)
    hand = ByHand(Settings(d=32, d_k=64, d_v=64))
    assert float(hand.heads[0].q.std()) == pytest.approx(1, abs=0.15)
    assert float(hand.heads[0].v.std()) == pytest.approx(1, abs=0.15)


def test_a_link_keeps_its_numbers():
    """They have been in worksheets and on slides."""
    head = ByHand(Settings()).heads[0]
    torch.testing.assert_close(head.q[0], torch.tensor([-0.4116, -0.1480, 1.2149]), atol=1e-4, rtol=0)
    torch.testing.assert_close(head.weights[6, :3], torch.tensor([0.1332, 0.0568, 0.2189]), atol=1e-4, rtol=0)
    wide = ByHand(Settings(seed=7, d=32, d_k=64, d_v=64, heads=4, scale="sqrt(d_model)", positions=True, causal=True))
    torch.testing.assert_close(wide.block.output[6, :3], torch.tensor([-2.8053, 1.2938, -0.4511]), atol=1e-3, rtol=0)


@pytest.mark.parametrize("settings", [Settings(), Settings(d=64, d_k=512, causal=True), Settings(d_k=1),
                                      Settings(numbers="torch", d=16, d_k=24)], ids=str)
def test_the_split_scale_divides_queries_and_keys_and_gives_the_same_scores(settings):
    usual, split = ByHand(settings.scaled_by("sqrt(d_k)")), ByHand(settings.scaled_by("split"))
    assert split.settings.root**4 == pytest.approx(settings.d_k)
    assert split.settings.divisor == usual.settings.divisor
    for one, other in zip(usual.heads[0][:-1], split.heads[0][:-1], strict=True):
        torch.testing.assert_close(other, one, atol=1e-5, rtol=1e-5)
    q, k = (rows.double().numpy() / settings.d_k**0.25 for rows in split.heads[0][:2])
    np.testing.assert_allclose(split.heads[0].scaled, q @ k.T, atol=1e-5, rtol=1e-5)


def test_what_cannot_be_written_out_is_refused_with_what_can_be():
    for (name, bounds), end in product(BOUNDS.items(), (0, 1)):
        value = bounds[end] + (1 if end else -1)
        with pytest.raises(ValueError, match=rf"{name} is {value:,}; choose one from {bounds[0]} to"):
            Settings(**{name: value})
    for sentence, why in (("  ", "no word"), ("a " * 13, "13 words; at most 12"), ("a" * 201, "201 characters; at")):
        with pytest.raises(ValueError, match=why):
            Settings(sentence)
    for name, value, those in (("scale", "sqrt", SCALES), ("numbers", "numpy", ("ours", "torch", "torch-once"))):
        with pytest.raises(ValueError, match=re.escape("choose one of " + ", ".join(those))):
            Settings(**{name: value})
