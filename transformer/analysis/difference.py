"""Differences between two models: the attention of every head on one text, and the loss on many.

Tq queries, Tk keys, H heads.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from transformer.analysis.ablation import Measurement, loss_change, measure
from transformer.analysis.sample import Sentence
from transformer.basics.formatting import brief
from transformer.checkpoints.checkpoint import Checkpoint
from transformer.model.models import Transformer

Watch = Callable[[int, int], None]  # done, of


def attention_distance(one: Tensor, other: Tensor, mask: Tensor) -> Tensor:
    """The distance between two models' weights (layers, H, Tq, Tk) under mask (Tq, Tk) -> (layers, H).

    It is the total variation distance of each query's two distributions, half the sum of absolute differences, averaged
    over the queries that have a choice: 0 if all weights are equal, 1 if no key has weight in both. 0 if no query has a
    choice.
    """
    assert one.shape == other.shape, f"{tuple(one.shape)} and {tuple(other.shape)}"
    free = mask.sum(-1) > 1
    if not free.any():
        return one.new_zeros(one.shape[:2])
    return ((one - other).abs().sum(-1) / 2)[..., free].mean(-1)


def overlap(kind: str, first: tuple[int, int], second: tuple[int, int]) -> tuple[int, int] | None:
    """The number of leading queries and keys (Tq, Tk) that two heads' matrices share. None if their sources differ in
    length: then equal positions are different places of the sentences."""
    if kind == "decoder":
        return min(first[0], second[0]), min(first[1], second[1])
    if first[1] != second[1]:
        return None
    return min(first[0], second[0]), first[1]


def untrained_twin(ckpt: Checkpoint) -> Checkpoint:
    """The same architecture and tokenizer with the weights that its training began with; for a model that was not
    trained here, random weights of seed 0."""
    train = ckpt.description.train
    generator = torch.Generator().manual_seed(train.seed if train else 0)
    model = Transformer(ckpt.config, generator=generator).eval().requires_grad_(False)
    about = replace(ckpt.description, id=f"{ckpt.description.name}, untrained", meta={"step": 0})
    return replace(ckpt, description=about, model=model.to(ckpt.device))


@dataclass(frozen=True)
class QualityChange:
    """Two models on the same held-out sentences."""

    one: Measurement
    other: Measurement
    n: int
    change: float | None  # of the loss in nats per token, other less one; None if their pieces differ
    error: float | None  # its standard error over sentences

    __repr__ = brief


def compare_quality(one: Checkpoint, other: Checkpoint, sentences: Sequence[Sentence],
                    others: Sequence[Sentence], *, watch: Watch = lambda done, of: None) -> QualityChange:
    """Measures both models on the same texts, each with its own tokenizer. Raises ValueError if the texts differ.

    The change of the loss is None if they cut the text into different pieces: it would be per different tokens. BLEU
    and accuracy are of the text. watch is called after each batch, of both models.
    """
    if [sentence.text for sentence in sentences] != [sentence.text for sentence in others]:
        raise ValueError("the two checkpoints do not read the same sentences; choose sentences that fit both")
    first, second = (measure(ckpt, chosen, watch=lambda done, of, at=at: watch(at * of + done, 2 * of))
                     for at, (ckpt, chosen) in enumerate(((one, sentences), (other, others))))
    if not np.array_equal(first.tokens, second.tokens) or any(
            a.labels != b.labels for a, b in zip(sentences, others, strict=True)):
        return QualityChange(first, second, len(sentences), None, None)
    return QualityChange(first, second, len(sentences), *loss_change(second.nats, first.nats, first.tokens))
