"""A trained head by hand: computed again to the model's own weights, and its query and keys in a plane."""

import pytest
import torch

from tests.rows import each_row
from transformer.by_hand.trained import in_plane, trained_head
from transformer.inference.decoding import start, steps

MODELS = [{}, {"positions": "rotary"}, {"positions": "alibi"}, {"positions": "relative"}, {"score_cap": 2.0},
          {"attention_scale": 0.3}, {"n_heads": 4, "kv_heads": 2}]


@each_row("changes", MODELS)
def test_a_head_computed_again_has_the_weights_of_the_models_own_pass(make_checkpoint, changes):
    *_, step = steps(make_checkpoint(**changes), "I am cold.", max_steps=8)
    for kind in step.kinds:
        one = trained_head(step, kind, 1, 1, longest=32)
        assert one.weights.shape == one.mask.shape == (len(one.queries), len(one.keys))
        torch.testing.assert_close(one.numbers.weights, one.weights, atol=1e-5, rtol=1e-4)


def test_a_decoder_s_later_tokens_are_left_out_and_an_encoder_s_refused(translator, writer):
    one = trained_head(start(writer, "I am cold."), "decoder", 0, 0, longest=4)
    assert len(one.queries) == len(one.keys) == len(one.numbers.q) == 4
    torch.testing.assert_close(one.numbers.weights, one.weights, atol=1e-5, rtol=1e-4)
    with pytest.raises(ValueError, match="tokens long for this model; at most 4"):
        trained_head(start(translator, "I am cold."), "encoder", 0, 0, longest=4)


@each_row(("count", "width"), [(1, 1), (3, 1), (1, 5), (2, 2), (7, 3), (5, 64)])
def test_products_and_the_direction_with_most_of_the_rest_are_in_the_plane(count, width):
    drawn = torch.Generator().manual_seed(count * width)
    query, keys = torch.randn(width, generator=drawn), torch.randn(count, width, generator=drawn)
    plane = in_plane(query, keys)
    torch.testing.assert_close(plane.query, torch.tensor([query.norm(), 0.0]))
    torch.testing.assert_close(plane.keys @ plane.query, keys @ query, atol=1e-5, rtol=1e-5)
    rest = keys - (keys @ query)[:, None] * query / query.square().sum()
    most = torch.linalg.svdvals(rest.double())[0] if rest.numel() else 0.0
    torch.testing.assert_close(plane.keys[:, 1].norm().double(), most, atol=1e-5, rtol=1e-5)
    assert plane.keys[plane.keys[:, 1].abs().argmax(), 1] >= 0
    assert bool((plane.kept <= 1 + 1e-5).all())
    torch.testing.assert_close(plane.kept, plane.keys.square().sum(1) / keys.square().sum(1), atol=1e-5, rtol=1e-5)


def test_a_query_and_keys_of_zeros_have_a_plane():
    plane = in_plane(torch.zeros(3), torch.zeros(2, 3))
    assert not plane.query.any() and not plane.keys.any() and plane.kept.tolist() == [1, 1]
    plane = in_plane(torch.zeros(3), torch.eye(3))
    assert not (plane.keys @ plane.query).any()
