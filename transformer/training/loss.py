"""The loss that a model is trained by: against labels, against its own second pass, and against teachers. Beside it,
how many labels are predicted.

N labels that count or are ignored, V pieces or classes.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from transformer.evaluation.quality import IGNORED, cross_entropy, label_logits, label_rows, right_labels
from transformer.model.models import Transformer
from transformer.settings.config import TrainConfig
from transformer.text.batches import Batch

LARGE_VOCABULARY = 2_000
PART = 500  # rows


class Loss(NamedTuple):
    """The loss of a batch in nats, summed over its labels, and how many labels are predicted: scalars."""

    nats: Tensor
    right: Tensor  # labels that are the likeliest prediction, of the first of two passes


class LossSum(nn.Module):
    """A model and its training loss, summed over labels, as one module that can be compiled and spread over
    processes."""

    def __init__(self, model: Transformer, train: TrainConfig, teachers: Sequence[Transformer] = ()):
        super().__init__()
        self.model, self.label_smoothing = model, train.label_smoothing
        self.r_drop, self.passes = train.r_drop, train.passes
        self.share = train.distill_share if teachers else 0.0
        self.teachers = tuple(teachers)  # no submodules: nothing of theirs is trained

    def forward(self, batch: Batch) -> Loss:
        if not self.share and not self.r_drop:
            return self.against_labels(batch)
        logits, labels = label_logits(self.model, twice(batch) if self.r_drop else batch)
        right = right_labels(logits, labels).chunk(self.passes)[0].sum()
        loss = (1 - self.share) * self.cross_entropy(logits, labels)
        log_probabilities = logits.log_softmax(-1).masked_fill((labels == IGNORED)[:, None], 0.0)  # (N, V)
        if self.share:
            taught = teaching(self.teachers, batch)
            loss = loss - self.share * (taught.repeat(self.passes, 1) * log_probabilities).sum()
        if not self.r_drop:
            return Loss(loss, right)
        return Loss(loss / 2 + self.r_drop * divergence(*log_probabilities.chunk(2)) / 4, right)

    def cross_entropy(self, logits: Tensor, labels: Tensor) -> Tensor:
        return cross_entropy(logits, labels, label_smoothing=self.label_smoothing)

    def against_labels(self, batch: Batch) -> Loss:
        """The loss of a batch against its labels alone."""
        model = self.model
        if batch.tgt is None or batch.tgt.device.type != "cpu" or model.config.vocab_size < LARGE_VOCABULARY:
            return self.of_logits(*label_logits(model, batch))
        rows, labels = label_rows(model, batch.src, batch.tgt, batch.labels)
        return Loss(*InParts.apply(rows, labels,
                                   lambda rows, labels: self.of_logits(model.project(rows).float(), labels),
                                   *model.narrow.parameters(), *model.output.parameters()))

    def of_logits(self, logits: Tensor, labels: Tensor) -> Loss:
        """The loss of logits (N, V) against labels (N,)."""
        return Loss(self.cross_entropy(logits, labels), right_labels(logits, labels).sum())


class InParts(torch.autograd.Function):
    """A loss of rows (N, d_model) and its gradients, computed at once for a part of the rows after the other.

    The logits of a large vocabulary, all at once, are far larger than a processor's caches: with 8,000 pieces this
    takes seven tenths of the time. loss_of: rows and labels (N,) to their loss; weights: all that it uses.
    """

    @staticmethod
    def forward(ctx: Any, rows: Tensor, labels: Tensor, loss_of: Callable[[Tensor, Tensor], Loss],
                *weights: Tensor) -> tuple[Tensor, Tensor]:
        total, right = rows.new_zeros(()), torch.zeros((), dtype=torch.long)
        of_rows, of_weights = [], [torch.zeros_like(weight) for weight in weights]
        with torch.enable_grad():
            for part, wanted in zip(rows.detach().split(PART), labels.split(PART), strict=True):
                loss = loss_of(part.requires_grad_(), wanted)
                of_part, *more = torch.autograd.grad(loss.nats, (part, *weights))
                of_rows.append(of_part)
                for gradient, one in zip(of_weights, more, strict=True):
                    gradient += one
                total += loss.nats.detach()
                right += loss.right
        ctx.save_for_backward(torch.cat(of_rows), *of_weights)
        ctx.mark_non_differentiable(right)
        return total, right

    @staticmethod
    def backward(ctx: Any, *outer: Tensor) -> tuple[Tensor | None, ...]:
        of_rows, *of_weights = (gradient * outer[0] for gradient in ctx.saved_tensors)
        return of_rows, None, None, *of_weights


def twice(batch: Batch) -> Batch:
    """A batch with every row once more after all of them."""
    return batch.each(lambda x: torch.cat([x, x]))


def divergence(one: Tensor, other: Tensor) -> Tensor:
    """KL divergences in nats of two lots of log-probabilities (N, V) from each other, summed. R-Drop: Wu et al. 2021,
    equation 2."""
    return ((one.exp() - other.exp()) * (one - other)).sum()


@torch.no_grad()
def teaching(teachers: Sequence[Transformer], batch: Batch) -> Tensor:
    """The mean of the teachers' probabilities (N, V) for the labels of a batch. Hinton et al. 2015, section 2."""
    return torch.stack([label_logits(teacher, batch)[0].softmax(-1) for teacher in teachers]).mean(0)
