"""Pooling taken apart, compared with sums by hand."""

from typing import get_args

import pytest
import torch

from tests.choices import choices
from tests.rows import each_row
from transformer.analysis.pooling import pool
from transformer.config import ModelConfig
from transformer.inference.reading import attend

TEXT = "We can go home."
CLOSE = {"rtol": 1e-4, "atol": 1e-5}


@pytest.fixture(params=["max", "mean"])
def classifier(request, make_checkpoint):
    return make_checkpoint(decoder_layers=0, pooling=request.param, n_classes=3)


def final_rows(ckpt, text):
    """The rows that are pooled, from the fast path: (T, d_model)."""
    return ckpt.model.encode(torch.tensor([ckpt.tokenizer.encode(text)])).x[0]


def test_the_contributions_and_the_bias_add_up_to_what_the_classifier_said(classifier):
    reading = attend(classifier, TEXT)
    found = pool(classifier, reading)
    expected = reading.logits - reading.logits.mean()
    assert expected.abs().max() > 0.05
    torch.testing.assert_close(found.contributions.sum(dim=0) + found.bias, expected, **CLOSE)


def test_the_pooled_features_make_the_prediction(classifier):
    reading = attend(classifier, TEXT)
    said = classifier.model.output(pool(classifier, reading).pooled).log_softmax(dim=-1)
    torch.testing.assert_close(said, reading.logits, **CLOSE)


def test_each_token_adds_what_the_logits_lose_without_its_part(classifier):
    """Computed one feature at a time: its pooled value, its token, and its weight for each class."""
    rows, weight = final_rows(classifier, TEXT), classifier.model.output.weight
    found = pool(classifier, attend(classifier, TEXT))
    expected = torch.zeros(len(rows), 3)
    for feature in range(rows.shape[1]):
        column = rows[:, feature].tolist()
        for token, value in enumerate(column):
            if classifier.config.pooling == "mean":
                part = value / len(column)
            else:
                part = value if token == column.index(max(column)) else 0.0
            expected[token] += part * weight[:, feature]
    torch.testing.assert_close(found.contributions, expected - expected.mean(dim=1, keepdim=True), **CLOSE)


def test_max_pooling_names_the_winner_of_every_feature(make_checkpoint):
    ckpt = make_checkpoint(decoder_layers=0, pooling="max", n_classes=3)
    rows = final_rows(ckpt, TEXT)
    found = pool(ckpt, attend(ckpt, TEXT))
    columns = [rows[:, feature].tolist() for feature in range(rows.shape[1])]
    assert found.winners.tolist() == [column.index(max(column)) for column in columns]
    assert len(set(found.winners.tolist())) > 1
    counted = [found.winners.tolist().count(token) / len(columns) for token in range(len(rows))]
    assert found.shares.tolist() == pytest.approx(counted)
    torch.testing.assert_close(found.pooled, rows.amax(dim=0), **CLOSE)


def test_the_first_of_equal_tokens_wins(make_checkpoint):
    ckpt = make_checkpoint(decoder_layers=0, pooling="max", n_classes=3, positions="none")
    found = pool(ckpt, attend(ckpt, "aaaa"))
    rows = final_rows(ckpt, "aaaa")
    torch.testing.assert_close(rows[0], rows[3], **CLOSE)
    assert found.shares.sum() == pytest.approx(1)


def test_mean_pooling_has_no_winners_and_equal_shares(make_checkpoint):
    ckpt = make_checkpoint(decoder_layers=0, pooling="mean", n_classes=3)
    found = pool(ckpt, attend(ckpt, TEXT))
    assert found.winners is None
    assert found.shares.tolist() == pytest.approx([1 / len(TEXT)] * len(TEXT))


@pytest.mark.parametrize("pooler", [None, "tanh", "relu"])
def test_first_token_pooling_gives_all_to_the_first_token(make_checkpoint, pooler):
    ckpt = make_checkpoint(decoder_layers=0, pooling="first", pooler=pooler, n_classes=3)
    reading = attend(ckpt, TEXT)
    found = pool(ckpt, reading)
    first = final_rows(ckpt, TEXT)[0]
    expected = first if pooler is None else getattr(torch, pooler)(ckpt.model.pooler(first))
    torch.testing.assert_close(found.pooled, expected, **CLOSE)
    torch.testing.assert_close(ckpt.model.output(expected).log_softmax(dim=-1), reading.logits, **CLOSE)
    assert found.shares.tolist() == [1.0, *[0.0] * (len(TEXT) - 1)]
    assert found.contributions[1:].abs().max() == 0
    torch.testing.assert_close(found.contributions[0] + found.bias, reading.logits - reading.logits.mean(), **CLOSE)


@each_row("kind", choices(ModelConfig, "pooler"))
@each_row(("pooling", "norm"), [("mean", True), ("mean", False), ("max", True)])
def test_what_bends_the_pooled_features_is_held_and_all_still_adds_up(make_checkpoint, pooling, kind, norm):
    ckpt = make_checkpoint(decoder_layers=0, pooling=pooling, pooler=kind, pooler_norm=norm, n_classes=3)
    for parameter in ckpt.model.parameters():
        parameter.data += 0.1 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(1))
    reading = attend(ckpt, TEXT)
    found = pool(ckpt, reading)
    torch.testing.assert_close(ckpt.model.output(found.pooled).log_softmax(dim=-1), reading.logits, **CLOSE)
    expected = reading.logits - reading.logits.mean()
    torch.testing.assert_close(found.contributions.sum(dim=0) + found.bias, expected, **CLOSE)
    assert (found.contributions.abs().amax(dim=1) > 0).sum() > 1


@pytest.mark.parametrize("kind", get_args(ModelConfig.model_fields["norm_kind"].annotation))
def test_all_adds_up_past_every_norm_after_pooling(make_checkpoint, kind):
    ckpt = make_checkpoint(decoder_layers=0, pooling="mean", pooler="gelu", pooler_norm=True, n_classes=3,
                           norm_kind=kind)
    for parameter in ckpt.model.parameters():
        parameter.data += 0.1 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(1))
    reading = attend(ckpt, TEXT)
    found = pool(ckpt, reading)
    expected = reading.logits - reading.logits.mean()
    torch.testing.assert_close(found.contributions.sum(dim=0) + found.bias, expected, **CLOSE)


def test_a_model_that_writes_does_not_pool(writer, translator):
    for ckpt in (writer, translator):
        with pytest.raises(ValueError, match="does not pool"):
            pool(ckpt, attend(ckpt, TEXT))
