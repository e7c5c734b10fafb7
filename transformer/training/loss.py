"""The loss that a model is trained by: against labels, against its own second pass, and against teachers.

N labels that count or are ignored, V pieces or classes.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from transformer.config import TrainConfig
from transformer.evaluation import IGNORED, label_logits
from transformer.model.models import Transformer
from transformer.text.batches import Batch


class LossSum(nn.Module):
    """A model and its training loss, summed over labels, as one module that can be compiled and spread over
    processes."""

    def __init__(self, model: Transformer, train: TrainConfig, teachers: Sequence[Transformer] = ()):
        super().__init__()
        self.model, self.label_smoothing, self.r_drop = model, train.label_smoothing, train.r_drop
        self.share = train.distill_share if teachers else 0.0
        self.teachers = tuple(teachers)  # no submodules: nothing of theirs is trained

    def forward(self, batch: Batch) -> Tensor:
        logits, labels = label_logits(self.model, twice(batch) if self.r_drop else batch)
        loss = (1 - self.share) * F.cross_entropy(logits, labels, label_smoothing=self.label_smoothing,
                                                  ignore_index=IGNORED, reduction="sum")
        if not self.share and not self.r_drop:
            return loss
        log_probabilities = logits.log_softmax(-1).masked_fill((labels == IGNORED)[:, None], 0.0)  # (N, V)
        if self.share:
            taught = teaching(self.teachers, batch)
            loss = loss - self.share * (taught.repeat(1 + bool(self.r_drop), 1) * log_probabilities).sum()
        if not self.r_drop:
            return loss
        return loss / 2 + self.r_drop * divergence(*log_probabilities.chunk(2)) / 4


def twice(batch: Batch) -> Batch:
    """A batch with every row once more after all of them."""
    return Batch(*(None if x is None else torch.cat([x, x]) for x in batch[:3]), batch.tokens)


def divergence(one: Tensor, other: Tensor) -> Tensor:
    """KL divergences in nats of two lots of log-probabilities (N, V) from each other, summed. R-Drop: Wu et al. 2021,
    equation 2."""
    return ((one.exp() - other.exp()) * (one - other)).sum()


@torch.no_grad()
def teaching(teachers: Sequence[Transformer], batch: Batch) -> Tensor:
    """The mean of the teachers' probabilities (N, V) for the labels of a batch. Hinton et al. 2015, section 2."""
    return torch.stack([label_logits(teacher, batch)[0].softmax(-1) for teacher in teachers]).mean(0)
