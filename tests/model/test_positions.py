"""Positions: the sinusoids of the paper, and rotations that keep lengths and depend only on distances."""

from math import cos, sin
from typing import get_args

import pytest
import torch

from tests.rows import each_row
from transformer.model.models import Transformer
from transformer.model.positions import POSITIONS, sinusoids
from transformer.model.rotary import rotary_angles, rotate
from transformer.settings.config import ModelConfig


def formula(position: int, feature: int, d_model: int, base: float = 10_000) -> float:
    """Vaswani et al. 2017, section 3.5, feature by feature."""
    angle = position / base ** (2 * (feature // 2) / d_model)
    return cos(angle) if feature % 2 else sin(angle)


@each_row("d_model", [1, 2, 7, 16])
@each_row("layout", ["interleaved", "halves"])
def test_sinusoids_follow_the_papers_formula(layout, d_model):
    expected = torch.tensor([[formula(place, feature, d_model) for feature in range(d_model)] for place in range(50)])
    if layout == "halves":  # the same numbers, all sines first
        expected = torch.cat([expected[:, 0::2], expected[:, 1::2]], dim=1)
    found = sinusoids(50, d_model, layout=layout)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found, expected, atol=1e-6, rtol=0)
    far = torch.tensor([formula(60_000, feature, 4) for feature in range(4)])  # which keep their precision
    torch.testing.assert_close(sinusoids(60_001, 4)[60_000], far, atol=1e-6, rtol=0)
    with pytest.raises(ValueError, match="'thirds'; choose interleaved, halves or fairseq"):
        sinusoids(4, 4, layout="thirds")


def test_each_pair_turns_at_its_own_rate_and_another_base_stretches_sinusoids_and_rotations_alike():
    expected = torch.tensor([[formula(place, feature, 6, base=100) for feature in range(6)] for place in range(30)])
    torch.testing.assert_close(sinusoids(30, 6, base=100.0), expected, atol=1e-6, rtol=0)
    sines = rotary_angles(torch.arange(30), 6, base=100.0).sin()
    torch.testing.assert_close(sines, expected[:, 0::2], atol=1e-5, rtol=0)
    angles = rotary_angles(torch.tensor([0, 1, 5]), 4)
    torch.testing.assert_close(angles, torch.tensor([[0.0, 0.0], [1.0, 0.01], [5.0, 0.05]]))


@each_row("width", [2, 8, 16])
def test_rotating_keeps_every_length_and_its_precision_and_leaves_position_0_alone(width):
    x = torch.randn(2, 3, 10, width, generator=torch.Generator().manual_seed(1))
    turned = rotate(x, rotary_angles(torch.arange(10), width))
    assert turned.shape == x.shape
    torch.testing.assert_close(turned.norm(dim=-1), x.norm(dim=-1))
    assert torch.equal(turned[:, :, 0], x[:, :, 0])
    assert not torch.allclose(turned[:, :, 1:], x[:, :, 1:])
    assert rotate(x.bfloat16(), rotary_angles(torch.arange(10), width)).dtype == torch.bfloat16


@pytest.mark.parametrize("width", [2, 8])
def test_a_rotated_query_and_key_know_only_how_far_apart_they_are(width):
    q, k = torch.randn(2, width, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    places = torch.arange(30)
    angles = rotary_angles(places, width).double()
    products = rotate(q.expand(30, -1), angles) @ rotate(k.expand(30, -1), angles).T  # [query's place, key's place]
    for distance in range(-29, 30):
        along = products.diagonal(distance)
        torch.testing.assert_close(along, along[:1].expand_as(along), atol=1e-5, rtol=1e-5)
    assert products[0].std() > 0.01  # and the distance does matter


def test_every_kind_of_positions_that_can_be_configured_is_described():
    names = get_args(ModelConfig.model_fields["positions"].annotation)
    assert set(POSITIONS) == set(names)
    for name, positions in POSITIONS.items():
        assert positions.name == name
        assert positions.title.endswith("positions")
        assert positions.describe(ModelConfig(positions=name))


@each_row("name", POSITIONS)
def test_what_is_shown_is_what_the_model_adds_or_turns_by(name):
    model = Transformer(ModelConfig(positions=name, d_model=16, n_heads=2, max_len=12, vocab_size=9))
    pictures = model.position_pictures(7)
    assert all(picture.values.shape[0] == 7 for picture in pictures)
    added, placed = model.tgt_embedding.encoding(0, 7), model.placed("decoder", range(7))[0]
    if added is not None:
        assert torch.equal(pictures[0].values, added)
    elif placed.angles is not None:
        assert torch.equal(pictures[0].values, placed.angles.cos())
    assert bool(pictures) == (name != "none")
