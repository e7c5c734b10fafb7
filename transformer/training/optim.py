"""Optimizers, learning rates, and the average of weights over a training."""

from copy import deepcopy
from math import cos, pi
from typing import Any

import torch
from torch import Tensor, nn

from transformer.model.models import Transformer
from transformer.settings.config import TrainConfig

# Jordan et al. 2024: the steepest at 0 of the quintics whose iterates stay near 1
QUINTIC = (3.4445, -4.7750, 2.0315)
ITERATIONS = 5


class Muon(torch.optim.Optimizer):
    """Momentum whose steps have singular values near 1, for matrices. Jordan et al. 2024, scaled to the size of AdamW's
    steps (Liu et al. 2025, section 2.2) so that both share one learning rate.

    Matrices of one shape are orthogonalised together, in float32 on a CPU: torch.optim.Muon takes each alone and in
    bfloat16, which a CPU without it multiplies many times slower.
    """

    def __init__(self, matrices: list[nn.Parameter], *, lr: float, weight_decay: float, momentum: float = 0.95):
        super().__init__(matrices, {"lr": lr, "weight_decay": weight_decay, "momentum": momentum})

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]: none is called
        for group in self.param_groups:
            by_shape: dict[torch.Size, list[tuple[Tensor, Tensor]]] = {}
            for matrix in group["params"]:
                if matrix.grad is not None:
                    by_shape.setdefault(matrix.shape, []).append((matrix, matrix.grad))
            for (rows, columns), matrices in by_shape.items():
                lr, momentum = group["lr"], group["momentum"]
                steps = orthogonalise(torch.stack([self._nesterov(*one, momentum) for one in matrices]))
                for (matrix, _), step in zip(matrices, steps, strict=True):
                    matrix.mul_(1 - lr * group["weight_decay"])
                    matrix.add_(step, alpha=-lr * 0.2 * max(rows, columns) ** 0.5)

    def _nesterov(self, matrix: Tensor, gradient: Tensor, momentum: float) -> Tensor:
        state = self.state[matrix]
        if "momentum_buffer" not in state:
            state["momentum_buffer"] = torch.zeros_like(gradient)
        average = state["momentum_buffer"].lerp_(gradient, 1 - momentum)
        return gradient.lerp(average, momentum)


def orthogonalise(matrices: Tensor) -> Tensor:
    """Matrices (N, rows, columns) with the same singular vectors, and all singular values near 1; by Newton-Schulz
    iterations (Jordan et al. 2024)."""
    a, b, c = QUINTIC
    x = matrices.bfloat16() if matrices.is_cuda else matrices
    tall = x.shape[-2] > x.shape[-1]
    x = x.mT if tall else x
    x = x / x.norm(dim=(-2, -1), keepdim=True).clamp(min=1e-7)
    for _ in range(ITERATIONS):
        gram = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return (x.mT if tall else x).to(matrices.dtype)


class WeightAverage:
    """An exponential moving average of a model's weights: about that of the last tenth of the steps so far, and never
    of many more than 1 / (1 - decay)."""

    def __init__(self, model: Transformer, decay: float):
        self.model, self.decay = deepcopy(model), decay
        self._ours: list[Tensor] = [*self.model.parameters()]
        self._theirs: list[Tensor] = [*model.parameters()]

    @torch.no_grad()
    def update(self, step: int) -> None:
        """Take in the weights after optimizer step number `step` (from 1)."""
        weight = 1 - min(self.decay, step / (step + 9))
        torch._foreach_lerp_(self._ours, self._theirs, weight)  # pyright: ignore[reportPrivateImportUsage]


def make_optimizers(model: nn.Module, config: TrainConfig) -> list[torch.optim.Optimizer]:
    """The configured optimizer; "muon" is `Muon` for the layers' matrices beside AdamW for everything else.

    Weight decay is left off biases and norms.
    """
    parameters = {name: p for name, p in model.named_parameters() if p.requires_grad}
    # a list: optimizer state is saved by position, and the order of a set differs from process to process
    matrices = [name for name, p in parameters.items() if p.dim() == 2 and "layers" in name]
    muon = [parameters.pop(name) for name in matrices] if config.optimizer == "muon" else []
    groups = [{"params": [p for p in parameters.values() if p.dim() >= 2], "weight_decay": config.weight_decay},
              {"params": [p for p in parameters.values() if p.dim() < 2], "weight_decay": 0.0}]
    fused = {parameter.device.type for parameter in model.parameters()} <= {"cpu", "cuda"}  # one pass over memory
    common: dict[str, Any] = {"lr": config.lr, "eps": config.eps}
    match config.optimizer:
        case "rmsprop":
            return [torch.optim.RMSprop(groups, alpha=0.9, **common)]
        case "adam":
            return [torch.optim.Adam(groups, betas=config.betas, fused=fused, **common)]
    optimizers: list[torch.optim.Optimizer] = [torch.optim.AdamW(groups, betas=config.betas, fused=fused, **common)]
    if muon:
        optimizers.append(Muon(muon, lr=config.lr, weight_decay=config.weight_decay))
    return optimizers


def learning_rate(step: int, config: TrainConfig) -> float:
    """The learning rate of optimizer step `step` (from 0), before a plateau reduces it.

    "inverse_sqrt" is Vaswani et al. 2017, section 5.3, scaled so that its peak is lr.
    """
    step += 1
    if step < config.warmup:
        return config.lr * step / config.warmup
    done = min(1.0, (step - config.warmup) / max(1, config.steps - config.warmup))
    done = max(0.0, done - config.hold) / (1 - config.hold)
    match config.schedule:
        case "cosine":
            return config.lr * (config.final_lr + (1 - config.final_lr) * (1 + cos(pi * done)) / 2)
        case "linear":
            return config.lr * (config.final_lr + (1 - config.final_lr) * (1 - done))
        case "inverse_sqrt":
            return config.lr * (max(1, config.warmup) / step) ** 0.5
    return config.lr
