"""Models of the transformers package with random weights."""

import pytest
import torch

transformers = pytest.importorskip("transformers")


def save_random(folder, name, config, settings, *, seed=7, spread=0.2):
    """Saves a model with this class and this configuration in a folder, and returns it. Norms and biases are random
    too: none of them are 0 or 1."""
    torch.manual_seed(seed)
    model = getattr(transformers, name)(getattr(transformers, config)(**settings)).eval().requires_grad_(False)
    for parameter in model.parameters():
        parameter.add_(spread * torch.randn_like(parameter))
    model.save_pretrained(folder)
    return model
