"""Integrated gradients, compared with finite differences; and their sums."""

import copy
from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.switched import switched
from transformer.analysis.attribution import BASELINES, attribute, spearman
from transformer.analysis.pooling import pool
from transformer.analysis.rollout import rollout
from transformer.analysis.token_inputs import inputs_of_step, inputs_of_text, inputs_up_to
from transformer.inference.decoding import steps
from transformer.inference.reading import attend

MODELS = [{}, {"positions": "alibi"}, {"norm_position": "post", "positions": "learned"},
          {"encoder_layers": 0, "positions": "rotary"},
          {"decoder_layers": 0, "pooling": "first", "n_classes": 3},
          {"decoder_layers": 0, "pooling": "max", "n_classes": 3},
          {"decoder_layers": 0, "pooling": "mean", "n_classes": 3, "embedding_norm": True, "type_vocab": 2}]


def logs(model, read, table):
    """log p of every next token, when each token has its own row in the table (S, d_model). Puts it into the model."""
    embedding = model.tgt_embedding if read.src is None else model.src_embedding
    embedding.tokens = torch.nn.Embedding.from_pretrained(table.double())
    own = torch.arange(len(table))[None]
    if read.src is None:
        return model.project(model.decode(own, causal=True).x[0, -1]).log_softmax(-1)
    mask = torch.ones(1, 1, len(table), len(table), dtype=torch.bool)
    memory = model.encode(own, mask=mask).x
    if read.tgt is None:
        return model.classify(memory, own + 1)[0]  # no padding among them
    return model.project(model.decode(read.tgt, memory).x[0, -1]).log_softmax(-1)


@pytest.mark.parametrize("baseline", BASELINES)
def test_it_is_the_integral_of_the_gradient(ckpt, baseline, target_for):
    read = inputs_of_text(ckpt, "Go.", target_for(ckpt, "He"))
    found = attribute(read, 2, baseline=baseline, steps=4)
    embedding = ckpt.model.tgt_embedding if read.src is None else ckpt.model.src_embedding
    table, ids = embedding.tokens.weight.double(), (read.tgt if read.src is None else read.src)[0]
    end = table[ids]
    begin = {"padding": table[ckpt.config.pad_id], "zero": torch.zeros(16).double(),
             "mean": table.mean(0)}[baseline].expand_as(end)
    model = copy.deepcopy(ckpt.model).double()
    expected = np.zeros(len(ids))
    for share in (1 / 8, 3 / 8, 5 / 8, 7 / 8):  # the middles of four parts
        at = begin + share * (end - begin)
        for s in range(len(ids)):  # the derivative along each token's own way, by differences
            step = torch.zeros_like(at)
            step[s] = 1e-5 * (end - begin)[s]
            expected[s] += float(logs(model, read, at + step)[2] - logs(model, read, at - step)[2]) / 2e-5 / 4
    np.testing.assert_allclose(found.integrated, expected, rtol=5e-3, atol=5e-4)
    change = logs(model, read, end)[2] - logs(model, read, begin)[2]
    assert found.change == pytest.approx(float(change), abs=1e-4)
    assert found.log_probability == pytest.approx(float(logs(model, read, end)[2]), abs=1e-4)


def test_it_adds_up_with_enough_steps(ckpt, target_for):
    read = inputs_of_text(ckpt, "I am cold.", target_for(ckpt, "He is"))
    seen = []
    few, many = (attribute(read, steps=number, watch=lambda done, of: seen.append((done, of))) for number in (2, 512))
    assert abs(many.gap) <= 0.02 * max(1, abs(many.change))
    assert abs(many.gap) <= abs(few.gap) + 1e-3
    assert many.gap == pytest.approx(many.integrated.sum() - many.change)
    assert seen[-1] == (512, 512)


@pytest.mark.slow
def test_attention_beside_it_is_what_the_reading_shows_and_the_shared_model_is_left_as_it_was(ckpt, target_for):
    from scipy import stats

    before = copy.deepcopy(ckpt.model.state_dict())
    read = inputs_of_text(ckpt, "I am cold.", target_for(ckpt, "He is"))
    with torch.no_grad():  # as a page may have it
        found, reading = attribute(read), attend(ckpt, "I am cold.", target_for(ckpt, "He is"))
    for name, parameter in ckpt.model.named_parameters():
        assert not parameter.requires_grad and parameter.grad is None, name
        assert torch.equal(parameter, before[name])
    assert not ckpt.model.training
    if read.tgt is None:
        share, weights = pool(ckpt, reading).shares, reading.attentions["encoder"]
        expected = [share @ weights.mean((0, 1)), share @ rollout(weights)[-1]]
    elif read.src is None:
        expected = [reading.attentions["decoder"].mean((0, 1))[-1], rollout(reading.attentions["decoder"])[-1, -1]]
    else:
        cross = reading.attentions["cross"].mean((0, 1))[-1]
        expected = [cross, cross @ rollout(reading.attentions["encoder"])[-1]]
    for ours, theirs in zip((found.attention, found.rollout), expected, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-5)
        assert ours.sum() == pytest.approx(1, abs=1e-5)
    assert found.tokens == reading.tokens["tgt" if read.src is None else "src"]
    parts = {"integrated": np.abs(found.integrated), "attention": found.attention, "rollout": found.rollout}
    assert len(found.correlations) == 3
    for (one, other), value in found.correlations.items():
        assert value == pytest.approx(stats.spearmanr(parts[one], parts[other]).statistic)


def test_a_chosen_token_of_a_path_is_attributed(translator, writer):
    for ckpt in translator, writer:
        *_, step = steps(ckpt, "I am cold.", max_steps=4, change=switched({"decoder": [[0, 1], [1, 2]]}))
        read = inputs_of_step(step)
        found = attribute(read, steps=2)
        assert found.token == step.id and found.label == step.piece
        assert found.log_probability == pytest.approx(float(step.logits.log_softmax(-1)[step.id]), abs=1e-4)
        earlier = attribute(inputs_up_to(read, len(step.tokens) - 2), steps=2)
        assert earlier.token == step.tokens[-1]
        assert len(earlier.tokens) == len(found.tokens) - (ckpt is writer)


def test_ranks_are_those_of_scipy():
    from scipy import stats

    random = np.random.default_rng(3)
    for _ in range(5):
        one, other = random.integers(0, 6, (2, 12))
        assert spearman(one, other) == pytest.approx(stats.spearmanr(one, other).statistic)
    assert np.isnan(spearman(np.ones(3), np.arange(3))) and np.isnan(spearman(np.ones(1), np.ones(1)))


def test_what_is_not_there_is_refused(translator, make_checkpoint):
    read = inputs_of_text(translator, "Go on.")
    for options, message in (({"baseline": "noise"}, "choose padding, zero, mean"), ({"steps": 0}, "choose 1 to 1,024"),
                             ({"token": 999}, "token 999 is not one of")):
        with pytest.raises(ValueError, match=message):
            attribute(read, **options)
    assert attribute(replace(read, next_id=5), steps=1).token == 5
    with pytest.raises(ValueError, match="no padding to begin from"):
        attribute(inputs_of_text(make_checkpoint(encoder_layers=0, pad_id=None), "Go on."), baseline="padding")


def test_what_does_not_add_up_says_so(translator):
    found = attribute(inputs_of_text(translator, "Go on."))
    assert found.adds_up
    assert found.sound and found.scatter < 0.5
    assert not replace(found, scatter=0.7).sound
    off = replace(found, integrated=found.integrated + abs(found.change) + 1)
    assert not off.adds_up and not off.sound
    small = replace(found, change=0.01, integrated=np.full(len(found.tokens), 0.05 / len(found.tokens)))
    assert small.adds_up  # 0.04 nats are little, however little there is to share out
