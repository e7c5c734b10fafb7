"""ALiBi: slopes as in the paper's code, and the bias in every place that shows a score."""

from math import log2

import numpy as np
import pytest
import torch

import transformer
from transformer.attention_view.heads import one_head, weights
from transformer.model.models import Transformer
from transformer.model.positions import POSITIONS, alibi_slopes
from transformer.settings.config import ModelConfig

CLOSE = {"atol": 1e-5, "rtol": 1e-5}
TEXT = "I am cold."


def slopes_of_the_paper(n):
    """github.com/ofirpress/attention_with_linear_biases, `get_slopes`."""
    if log2(n).is_integer():
        start = 2 ** (-(2 ** -(log2(n) - 3)))
        return [start * start**i for i in range(n)]
    closest = 2 ** int(log2(n))
    return slopes_of_the_paper(closest) + slopes_of_the_paper(2 * closest)[0::2][: n - closest]


def test_a_score_falls_by_the_slope_of_the_papers_code_with_every_position():
    for heads in (1, 2, 3, 4, 6, 8, 12, 16, 25, 128):
        np.testing.assert_allclose(alibi_slopes(heads), slopes_of_the_paper(heads), rtol=1e-6)
    bias = POSITIONS["alibi"].bias(range(3, 5), range(5), ModelConfig(n_heads=8))
    assert bias.shape == (8, 2, 5)
    assert bias[0].tolist() == [[-1.5, -1, -0.5, 0, -0.5], [-2, -1.5, -1, -0.5, 0]]  # the first slope of 8 is 1/2
    assert torch.equal(bias[1], bias[0] / 2)


def tiny(**changes):
    config = ModelConfig(**{"d_model": 16, "n_heads": 3, "head_dim": 4, "d_ff": 32, "vocab_size": 11, "max_len": 12,
                            "dropout": 0.0, "positions": "alibi", **changes})
    return Transformer(config, generator=torch.Generator().manual_seed(1)).eval()


def test_scores_are_products_and_the_distance_on_both_sides_of_an_encoder_and_back_in_a_decoder():
    model, src, tgt = tiny(), torch.tensor([[5, 6, 7, 8, 9]]), torch.tensor([[2, 5, 6, 7]])
    encoded = model.encode(src, readable=True)
    decoded = model.decode(tgt, encoded.x, readable=True)
    for seen, causal, falls in ((encoded.attention[0], False, True), (decoded.attention[0], True, True),
                                (decoded.cross[0], False, False)):
        products = seen.queries @ seen.memory.keys.transpose(-2, -1) / 4**0.5
        queries, keys = products.shape[-2:]
        distance = (torch.arange(queries)[:, None] - torch.arange(keys)).abs()
        expected = products - (alibi_slopes(3)[:, None, None] * distance if falls else 0)
        if causal:
            expected = expected.masked_fill(torch.ones(queries, keys, dtype=torch.bool).triu(1), -torch.inf)
        torch.testing.assert_close(seen.scores, expected, **CLOSE)


def test_an_encoder_sees_how_far_a_token_stands_and_not_on_which_side():
    model = tiny(decoder_layers=0, pooling="mean", n_classes=3)
    src = torch.tensor([[5, 6, 7, 8]])
    there, back, swapped = (model(src[:, order]) for order in ([0, 1, 2, 3], [3, 2, 1, 0], [1, 0, 2, 3]))
    torch.testing.assert_close(there, back, **CLOSE)
    assert not torch.allclose(there, swapped, atol=1e-4)


@pytest.mark.parametrize("shape", [{}, {"encoder_layers": 0}])
def test_steps_readings_and_the_picture_show_the_same_scores(make_checkpoint, shape):
    ckpt = make_checkpoint(positions="alibi", **shape)
    *_, step = transformer.steps(ckpt, TEXT, max_steps=6)
    for kind in ckpt.config.kinds:
        head = one_head(step, kind, 1, 1)
        assert (head.bias is None) == (kind == "cross")
        scores = head.q @ head.k.T / np.sqrt(head.q.shape[1]) + (0 if head.bias is None else head.bias)
        allowed = step.mask(kind).numpy()
        np.testing.assert_allclose(scores[allowed], step.scores[kind][1, 1].numpy()[allowed], atol=1e-5)
        torch.testing.assert_close(weights(step, kind, heads=slice(1, 2), queries=slice(2, 4)),
                                   step.attentions[kind][:, 1:2, 2:4], **CLOSE)
