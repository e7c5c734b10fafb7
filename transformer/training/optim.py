"""Optimizers and learning rates."""

from math import cos, pi

import torch
from torch import nn

from transformer.config import TrainConfig


def make_optimizers(model: nn.Module, config: TrainConfig) -> list[torch.optim.Optimizer]:
    """The configured optimizer; "muon" is Muon for the layers' matrices beside AdamW for everything else.

    Weight decay is left off biases and norms. Muon: Jordan et al. 2024, with its update scaled to the size of AdamW's
    (Liu et al. 2025, section 2.2) so that both share one learning rate.
    """
    parameters = {name: p for name, p in model.named_parameters() if p.requires_grad}
    # a list: optimizer state is saved by position, and the order of a set differs from process to process
    matrices = [name for name, p in parameters.items() if p.dim() == 2 and "layers" in name]
    muon = [parameters.pop(name) for name in matrices] if config.optimizer == "muon" else []
    groups = [{"params": [p for p in parameters.values() if p.dim() >= 2], "weight_decay": config.weight_decay},
              {"params": [p for p in parameters.values() if p.dim() < 2], "weight_decay": 0.0}]
    fused = {parameter.device.type for parameter in model.parameters()} <= {"cpu", "cuda"}  # one pass over memory
    common = {"lr": config.lr, "eps": config.eps}
    match config.optimizer:
        case "rmsprop":
            return [torch.optim.RMSprop(groups, alpha=0.9, **common)]
        case "adam":
            return [torch.optim.Adam(groups, betas=config.betas, fused=fused, **common)]
    optimizers: list[torch.optim.Optimizer] = [torch.optim.AdamW(groups, betas=config.betas, fused=fused,
                                                                        **common)]
    if muon:
        optimizers.append(torch.optim.Muon(muon, lr=config.lr, weight_decay=config.weight_decay,
                                           adjust_lr_fn="match_rms_adamw"))
    return optimizers


def learning_rate(step: int, config: TrainConfig) -> float:
    """The learning rate of optimizer step `step` (from 0), before a plateau reduces it.

    "inverse_sqrt" is Vaswani et al. 2017, section 5.3, scaled so that its peak is lr.
    """
    step += 1
    if step < config.warmup:
        return config.lr * step / config.warmup
    done = min(1.0, (step - config.warmup) / max(1, config.steps - config.warmup))
    match config.schedule:
        case "cosine":
            return config.lr * (config.final_lr + (1 - config.final_lr) * (1 + cos(pi * done)) / 2)
        case "linear":
            return config.lr * (config.final_lr + (1 - config.final_lr) * (1 - done))
        case "inverse_sqrt":
            return config.lr * (max(1, config.warmup) / step) ** 0.5
    return config.lr
