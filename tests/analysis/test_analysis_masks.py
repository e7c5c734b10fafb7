"""The effect of masks: a batch gives what its sentences give, a leak shows, and additive masks differ from boolean
ones."""

from math import log

import pytest
import torch
from torch.nn import functional as F

from tests.rows import each_row
from transformer.analysis.masks import batch_masks, learn_digits, masked_softmax, read_forced
from transformer.inference.reading import attend
from transformer.text.batches import PairBatches

PAIRS = [("I am cold.", "He is tall."), ("Go on.", "I see a dog."), ("We can go home.", "Go on.")]
INF = float("inf")


@pytest.fixture(scope="module")
def rows(translator):
    return [tuple(map(translator.tokenizer.encode, pair)) for pair in PAIRS]


@pytest.fixture(scope="module")
def make(translator, rows):
    config = translator.config
    batches = PairBatches(rows, batch_tokens=10_000, pad_id=config.pad_id, start_id=config.start_id,
                          eos_id=config.eos_id, seed=0)
    return batches.make


@pytest.fixture(scope="module")
def batch(make, rows):
    return make(rows)


def test_the_masks_of_a_batch_follow_from_its_lengths(translator, batch, rows, make_checkpoint):
    masks = batch_masks(batch.src, batch.tgt, translator.config)
    for at, (source, target) in enumerate(rows):
        read, written = len(source) + 1, len(target) + 1
        for key in range(batch.src.shape[1]):
            assert (masks.source[at, :, key] == (key < read)).all()
            assert (masks.cross[at, :, key] == (key < read)).all()
        for query in range(batch.tgt.shape[1]):
            for key in range(batch.tgt.shape[1]):
                assert masks.target[at, query, key] == (key < written)
                assert masks.causal[at, query, key] == (key <= query)
                assert masks.decoder[at, query, key] == (key < written and key <= query)
    assert masks.cross.shape == (3, batch.tgt.shape[1], batch.src.shape[1])
    config = make_checkpoint().config.replace(start_id=0)
    masks = batch_masks(torch.tensor([[5, 3]]), torch.tensor([[0, 5, 0]]), config)
    assert masks.target[0, 0].tolist() == [True, True, False]


@pytest.mark.parametrize("off", ["causal", "padding"])
def test_a_rule_switched_off_is_gone_and_the_other_stays(translator, batch, off):
    both = batch_masks(batch.src, batch.tgt, translator.config)
    without = batch_masks(batch.src, batch.tgt, translator.config, **{off: False})
    kept = both.target if off == "causal" else both.causal
    assert torch.equal(without.decoder, kept)
    assert bool(without.cross.all()) == (off == "padding")


@pytest.mark.slow
def test_a_sentence_in_a_batch_is_read_as_if_it_were_alone(translator, batch, make, rows):
    together = read_forced(translator.model, batch.src, batch.tgt, batch.labels)
    for at, row in enumerate(rows):
        alone = read_forced(translator.model, *make([row])[:3])
        length = len(row[1]) + 1
        torch.testing.assert_close(together.nats[at, :length], alone.nats[0], atol=1e-5, rtol=1e-5)
        assert together.nats[at, length:].isnan().all()


def test_the_loss_and_the_weights_are_those_of_the_model_which_stays_as_it_was(translator, batch, rows):
    found = read_forced(translator.model, batch.src, batch.tgt, batch.labels)
    logits = translator.model(batch.src, batch.tgt)
    expected = F.cross_entropy(logits.flatten(0, 1), batch.labels.flatten(), ignore_index=translator.config.pad_id)
    assert found.loss == pytest.approx(expected.item(), rel=1e-5)
    reading = attend(translator, PAIRS[0][0], PAIRS[0][1])
    for kind, weights in reading.attentions.items():
        queries, keys = weights.shape[2:]
        torch.testing.assert_close(found.attentions[kind][:, 0, :, :queries, :keys], weights, atol=1e-5, rtol=1e-5)
        allowed = reading.masks[kind]
        torch.testing.assert_close(found.products[kind][:, 0, :, :queries, :keys][..., allowed],
                                   reading.scores[kind][..., allowed], atol=1e-5, rtol=1e-5)
    before = {name: weight.clone() for name, weight in translator.model.state_dict().items()}
    read_forced(translator.model, batch.src, batch.tgt, batch.labels, causal=False, padding=False)
    assert all(torch.equal(before[name], weight) for name, weight in translator.model.state_dict().items())


def test_without_the_causal_mask_later_tokens_change_earlier_answers(translator, batch):
    other = batch.tgt.clone()
    other[0, 4] = (other[0, 4] + 1) % translator.config.vocab_size
    for causal in (True, False):
        first, second = (read_forced(translator.model, batch.src, tgt, batch.labels, causal=causal)
                         for tgt in (batch.tgt, other))
        same = torch.allclose(first.nats[0, :4], second.nats[0, :4], atol=1e-6)
        assert same == causal


def test_on_the_target_side_padding_is_hidden_by_the_causal_mask_already(translator, make, rows):
    source = rows[0][0]
    batch = make([(source, rows[0][1]), (source, rows[2][1])])  # sources of one length: padding in the targets alone
    assert (batch.tgt == translator.config.pad_id).any()
    with_it, without = (read_forced(translator.model, *batch[:3], padding=padding) for padding in (True, False))
    torch.testing.assert_close(with_it.nats, without.nats, equal_nan=True)


SCORES, ALLOWED = torch.tensor([2.0, 1.0, 0.5, 5.0]), torch.tensor([True, True, False, False])


@each_row("dtype", [torch.float32, torch.float16])
@each_row("blocked", [None, -INF, -1e9, -1e4])
def test_small_scores_get_the_same_weights_from_every_form(blocked, dtype):
    found = masked_softmax(SCORES, ALLOWED, blocked=blocked, dtype=dtype)
    assert found.dtype == dtype
    first = 1 / (1 + 2.718281828 ** -1)
    torch.testing.assert_close(found.float(), torch.tensor([first, 1 - first, 0, 0]), atol=1e-3, rtol=0)
    assert found[2:].tolist() == [0, 0]


@each_row(("blocked", "dtype", "expected"), [
    (None, torch.float32, [0] * 4), (None, torch.float16, [0] * 4),
    (-1e9, torch.float32, [0.25] * 4),  # scores are lost in steps of 64
    (-1e4, torch.float32, SCORES.softmax(0).tolist()),  # steps of 0.001: as if there were no mask
    (-1e4, torch.float16, torch.tensor([0.0, 0.0, 0.0, 8.0]).softmax(0).tolist()),  # steps of 8
    *((blocked, dtype, [float("nan")] * 4) for blocked, dtype in (
        (-INF, torch.float32), (-INF, torch.float16), (-1e9, torch.float16)))])
def test_a_row_that_is_all_masked(blocked, dtype, expected):
    found = masked_softmax(SCORES, ALLOWED & False, blocked=blocked, dtype=dtype)
    assert found.tolist() == pytest.approx(expected, abs=1e-3, nan_ok=True)


def test_ten_thousand_leaks_where_scores_are_further_apart():
    kept = masked_softmax(SCORES * 3_000, ALLOWED, blocked=-1e4, dtype=torch.float32)
    leaked = masked_softmax(SCORES * 5_000, ALLOWED, blocked=-1e4, dtype=torch.float32)
    assert kept.tolist() == [1, 0, 0, 0]
    assert leaked.tolist() == [0, 0, 0, 1]


@pytest.mark.slow
def test_a_decoder_trained_without_the_mask_copies_the_next_digit():
    honest, cheat = learn_digits(causal=True), learn_digits(causal=False)
    assert sum(honest.losses[-20:]) / 20 > log(10) - 0.02
    assert log(10) / 12 - 0.02 < sum(cheat.losses[-20:]) / 20 < 0.3
    assert cheat.weights.diagonal(1).mean() > 0.8
    assert honest.weights.triu(1).sum() == 0
    assert learn_digits(causal=False, steps=3).losses == cheat.losses[:3]
