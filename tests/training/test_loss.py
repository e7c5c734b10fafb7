"""The loss of a training, term by term, against its definition."""

import pytest
import torch
from torch.nn import functional as F

from tests.rows import each_row
from transformer.evaluation.quality import IGNORED, cross_entropy, label_logits
from transformer.model.models import Transformer
from transformer.settings.config import ModelConfig, TrainConfig
from transformer.text.batches import Batch
from transformer.training import loss
from transformer.training.loss import LossSum, divergence

SIZES = {"d_model": 16, "n_heads": 2, "d_ff": 24, "vocab_size": 30, "max_len": 12}
SHAPES = {"translation": {"encoder_layers": 1, "decoder_layers": 1}, "text": {"encoder_layers": 0, "decoder_layers": 1},
          "classes": {"encoder_layers": 1, "decoder_layers": 0, "pooling": "max", "n_classes": 4,
                      "tie_embeddings": False}}
ROWS = torch.tensor([[5, 6, 7, 3], [8, 9, 3, 0]])
BATCHES = {"translation": Batch(ROWS, ROWS, ROWS, 7), "text": Batch(None, ROWS, ROWS, 7),
           "classes": Batch(ROWS, None, torch.tensor([1, IGNORED]), 1)}


def model(shape, seed=0, dropout=0.0):
    config = ModelConfig(**SIZES, **SHAPES[shape], dropout=dropout)
    return Transformer(config, generator=torch.Generator().manual_seed(seed)).train(bool(dropout))


def rows_of(shape, one):
    """The log-probabilities and labels of what counts."""
    batch = BATCHES[shape]
    logits = one(batch.src) if shape == "classes" else one(batch.src, batch.tgt)
    counts = batch.labels != (IGNORED if shape == "classes" else 0)
    return logits[counts].log_softmax(-1), batch.labels[counts]


@each_row("shape", SHAPES)
@each_row("settings", [{}, {"r_drop": 5.0}])
def test_alone_it_is_the_cross_entropy_and_without_dropout_two_passes_are_one(shape, settings):
    one = model(shape)
    found = LossSum(one, TrainConfig(label_smoothing=0.1, **settings))(BATCHES[shape]).nats
    torch.testing.assert_close(found, cross_entropy(*label_logits(one, BATCHES[shape]), label_smoothing=0.1))


@each_row("shape", SHAPES)
@each_row("settings", [{}, {"r_drop": 1.0}, {"distill_share": 0.3}])
def test_what_is_predicted_is_counted_once(shape, settings):
    one = model(shape)
    found = LossSum(one, TrainConfig(**settings), [one] if "distill_share" in settings else [])(BATCHES[shape]).right
    ours, labels = rows_of(shape, one)
    assert 0 <= found.item() == (ours.argmax(-1) == labels).sum().item()


@pytest.mark.parametrize("shape", ["translation", "text"])
@pytest.mark.parametrize("changes", [
    {}, {"tie_embeddings": False, "logits_bias": True}, {"embedding_dim": 8, "positions": "rotary"},
    {"logits_scale": 0.5, "logits_cap": 3.0}], ids=str)
def test_logits_of_a_part_of_the_rows_at_a_time_give_the_same_loss_and_gradients(shape, changes, monkeypatch):
    config = ModelConfig(**SIZES, **{**SHAPES[shape], **changes}, dropout=0.0)
    one = Transformer(config, generator=torch.Generator().manual_seed(1))
    settings = TrainConfig(label_smoothing=0.1)

    def gradients():
        one.zero_grad()
        total, right = LossSum(one, settings)(BATCHES[shape])
        (total / 7).backward()
        return total.detach(), right, [weight.grad.clone() for weight in one.parameters()]

    whole = gradients()
    monkeypatch.setattr(loss, "LARGE_VOCABULARY", 1)
    monkeypatch.setattr(loss, "PART", 3)
    used = []
    monkeypatch.setattr(loss.InParts, "apply", lambda *given, apply=loss.InParts.apply: used.append(1) or apply(*given))
    parts = gradients()
    assert used
    torch.testing.assert_close(parts, whole)


@pytest.mark.parametrize("shape", SHAPES)
def test_two_passes_that_differ_are_drawn_together(shape):
    one = model(shape, dropout=0.5)
    losses = []
    for weight in (0.0001, 2.0001):
        torch.manual_seed(3)
        losses.append(LossSum(one, TrainConfig(label_smoothing=0.0, r_drop=weight))(BATCHES[shape]).nats)
    assert (losses[1] - losses[0]).item() > 1e-3


def test_the_divergence_is_kullback_and_leiblers_in_both_directions():
    one, other = torch.randn(2, 5, 7, generator=torch.Generator().manual_seed(1)).log_softmax(-1)
    both = F.kl_div(one, other, log_target=True, reduction="sum") + F.kl_div(other, one, log_target=True,
                                                                           reduction="sum")
    torch.testing.assert_close(divergence(one, other), both)


@each_row("shape", SHAPES)
@each_row("r_drop", [0.0, 1.0])
def test_teachers_are_learned_from_by_the_mean_of_their_probabilities(shape, r_drop):
    one, teachers = model(shape), [model(shape, seed) for seed in (1, 2)]
    train = TrainConfig(label_smoothing=0.0, distill_share=0.3, r_drop=r_drop)
    found = LossSum(one, train, teachers)(BATCHES[shape]).nats
    ours, labels = rows_of(shape, one)
    mean = sum(rows_of(shape, teacher)[0].exp() for teacher in teachers) / 2
    expected = 0.7 * F.nll_loss(ours, labels, reduction="sum") - 0.3 * (mean * ours).sum()
    torch.testing.assert_close(found, expected)


def test_nothing_of_a_teacher_is_trained():
    loss = LossSum(model("text"), TrainConfig(), [model("text", 1)])
    assert {id(p) for p in loss.parameters()} == {id(p) for p in loss.model.parameters()}
    loss(BATCHES["text"]).nats.backward()
    assert all(p.grad is None for p in loss.teachers[0].parameters())
