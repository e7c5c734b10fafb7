"""Attention rollout."""

import pytest
import torch

from transformer.analysis.rollout import rollout


def test_each_layer_mixes_half_of_itself_into_what_came_before():
    weights = torch.rand(3, 2, 5, 5, generator=torch.Generator().manual_seed(1)).softmax(dim=-1)
    expected, found = torch.eye(5), rollout(weights)
    for layer in range(3):
        expected = (0.5 * weights[layer].mean(dim=0) + 0.5 * torch.eye(5)) @ expected
        torch.testing.assert_close(found[layer], expected)
    torch.testing.assert_close(found.sum(dim=-1), torch.ones(3, 5))
    torch.testing.assert_close(rollout(torch.eye(4).expand(3, 2, 4, 4))[-1], torch.eye(4))
    with pytest.raises(ValueError, match="3 queries over 5 keys"):
        rollout(torch.rand(2, 2, 3, 5))
