"""Each norm is its paper's formula, and linear once its factors are frozen."""

from typing import get_args

import pytest
import torch

from transformer.model.norms import NORMS, build_norm
from transformer.settings.config import ModelConfig

EPS = 1e-3
FORMULAS = {
    "layer": lambda x, weight, bias: (
        (x - x.mean(-1, keepdim=True)) / (x.var(-1, unbiased=False, keepdim=True) + EPS).sqrt() * weight + bias),
    "rms": lambda x, weight, bias: x / ((x ** 2).mean(-1, keepdim=True) + EPS).sqrt() * weight,
    "scale": lambda x, weight, bias: weight * x / torch.linalg.vector_norm(x, dim=-1, keepdim=True).clamp_min(EPS)}


def test_every_kind_that_the_configuration_lists_is_a_norm_with_a_formula():
    kinds = set(get_args(ModelConfig.model_fields["norm_kind"].annotation))
    assert kinds == NORMS.keys() == FORMULAS.keys()
    assert len({norm.title for norm in NORMS.values()}) == len(kinds)


@pytest.mark.parametrize("kind", NORMS)
def test_a_norm_is_its_formula_and_linear_when_frozen(kind):
    generator = torch.Generator().manual_seed(3)
    norm = build_norm(ModelConfig(norm_kind=kind, norm_eps=EPS), width=12)
    for parameter in norm.parameters():
        parameter.data += 0.3 * torch.randn(parameter.shape, generator=generator)
    x = torch.randn(5, 12, generator=generator)
    y = norm(x)
    torch.testing.assert_close(y, FORMULAS[kind](x, *(getattr(norm, name, None) for name in ("weight", "bias"))))
    frozen = norm.frozen(x)
    constant = 0 if frozen.bias is None else frozen.bias
    torch.testing.assert_close(frozen.apply(x) + constant, y)
    torch.testing.assert_close(frozen.apply(x / 2) + frozen.apply(x / 2) + constant, y)
    part = x.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(frozen.apply(part).sum(), part)
    torch.testing.assert_close(frozen.pull_back(torch.ones_like(x)), gradient)
