"""Pooling taken apart, compared with sums by hand."""

from itertools import product

import pytest
import torch

from tests.analysis.test_direct import blurred
from tests.choices import choices
from tests.rows import each_row
from transformer.analysis.pooling import pool
from transformer.inference.reading import attend
from transformer.settings.config import ModelConfig

TEXT = "We can go home."
CLOSE = {"rtol": 1e-4, "atol": 1e-5}


def final_rows(ckpt, text):
    """The rows that are pooled, from the fast path: (T, d_model)."""
    return ckpt.model.encode(torch.tensor([ckpt.tokenizer.encode(text)])).x[0]


@each_row("pooling", ["max", "mean"])
def test_each_token_adds_what_the_logits_lose_without_its_part(make_checkpoint, pooling):
    """Computed one feature at a time: its pooled value, its token, and its weight for each class."""
    ckpt = make_checkpoint(decoder_layers=0, pooling=pooling, n_classes=3)
    rows, weight = final_rows(ckpt, TEXT), ckpt.model.output.weight
    found = pool(ckpt, attend(ckpt, TEXT))
    expected = torch.zeros(len(rows), 3)
    for feature in range(rows.shape[1]):
        column = rows[:, feature].tolist()
        for token, value in enumerate(column):
            share = 1 / len(column) if pooling == "mean" else float(token == column.index(max(column)))
            expected[token] += share * value * weight[:, feature]
    torch.testing.assert_close(found.contributions, expected - expected.mean(dim=1, keepdim=True), **CLOSE)
    if pooling == "mean":
        assert found.winners is None
        assert found.shares.tolist() == pytest.approx([1 / len(TEXT)] * len(TEXT))


def test_max_pooling_names_the_winner_of_every_feature_the_first_of_equal_tokens(make_checkpoint):
    ckpt = make_checkpoint(decoder_layers=0, pooling="max", n_classes=3)
    rows = final_rows(ckpt, TEXT)
    found = pool(ckpt, attend(ckpt, TEXT))
    columns = [rows[:, feature].tolist() for feature in range(rows.shape[1])]
    assert found.winners.tolist() == [column.index(max(column)) for column in columns]
    assert len(set(found.winners.tolist())) > 1
    counted = [found.winners.tolist().count(token) / len(columns) for token in range(len(rows))]
    assert found.shares.tolist() == pytest.approx(counted)
    torch.testing.assert_close(found.pooled, rows.amax(dim=0), **CLOSE)
    ckpt = make_checkpoint(decoder_layers=0, pooling="max", n_classes=3, positions="none")
    rows = final_rows(ckpt, "aaaa")
    torch.testing.assert_close(rows[0], rows[3], **CLOSE)
    assert pool(ckpt, attend(ckpt, "aaaa")).shares.sum() == pytest.approx(1)


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


@pytest.mark.slow
@each_row(("pooling", "kind", "norm"), [
    *product(["max", "mean"], [None], [False]),
    *product(["mean"], choices(ModelConfig, "pooler"), [None, *choices(ModelConfig, "norm_kind")]),
    *product(["max"], choices(ModelConfig, "pooler"), ["layer"])])
def test_the_pooled_features_make_the_prediction_and_what_tokens_add_is_all_of_it(make_checkpoint, pooling, kind, norm):
    ckpt = make_checkpoint(decoder_layers=0, pooling=pooling, pooler=kind, pooler_norm=bool(norm), n_classes=3,
                           norm_kind=norm or "layer")
    ckpt = blurred(ckpt)
    reading = attend(ckpt, TEXT)
    found = pool(ckpt, reading)
    torch.testing.assert_close(ckpt.model.output(found.pooled).log_softmax(dim=-1), reading.logits, **CLOSE)
    expected = reading.logits - reading.logits.mean()
    assert expected.abs().max() > 0.05
    torch.testing.assert_close(found.contributions.sum(dim=0) + found.bias, expected, **CLOSE)
    assert (found.contributions.abs().amax(dim=1) > 0).sum() > 1


def test_a_model_that_writes_does_not_pool(writer, translator):
    for ckpt in (writer, translator):
        with pytest.raises(ValueError, match="does not pool"):
            pool(ckpt, attend(ckpt, TEXT))
