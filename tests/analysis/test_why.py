"""Why this token: its facts are those of the analyses, and the rules by which they agree."""

from dataclasses import replace

import numpy as np
import pytest
import torch

import transformer
from tests.rows import each_row
from transformer.analysis import why as module
from transformer.analysis.ablation import Head, all_heads
from transformer.analysis.attribution import attribute
from transformer.analysis.direct import direct_effect
from transformer.analysis.lens import read_layers
from transformer.analysis.query import last_query
from transformer.analysis.token_inputs import inputs_of_step, inputs_of_text
from transformer.analysis.tuned_lens import TunedLens, read_tuned_lens
from transformer.analysis.why import (
    LEAST,
    Removal,
    Without,
    _compare_heads,
    _compare_lenses,
    _compare_tokens,
    first_from,
    why,
)
from transformer.model.changes import scale
from transformer.model.sites import label

TEXT = "I am cold."
MODELS = [
    {}, {"norm_position": "post"}, {"encoder_layers": 0, "positions": "rotary"}, {"encoder_layers": 0, "d_ff": 0},
    {"encoder_layers": 0, "decoder_layers": 1, "n_heads": 1, "norm_kind": "rms", "gated": True},
    {"encoder_layers": 0, "window": 3}, {"decoder_layers": 0, "pooling": "max", "n_classes": 3},
    {"decoder_layers": 0, "pooling": "mean", "n_classes": 2, "norm_position": "post"}]


def read_of(ckpt):
    """The inputs of a prediction in the middle of a text, and its token."""
    if not ckpt.config.decoder_layers:
        return inputs_of_text(ckpt, TEXT), None
    *_, step = transformer.steps(ckpt, TEXT, max_steps=4)
    return inputs_of_step(step), step.id


def logits_of(ckpt, read, change=None) -> torch.Tensor:
    """The last logits, by the model itself."""
    if ckpt.config.n_classes:
        return transformer.run(ckpt, TEXT, change=change).logits
    taps = replace(read, changes=transformer.inference.changed.Changes.of(ckpt, change)).taps
    memory = None if read.src is None else ckpt.model.encode(read.src, taps=taps).x
    return ckpt.model.project(ckpt.model.decode(read.tgt, memory, causal=True, taps=taps).x)[0, -1]


def test_every_fact_is_that_of_its_analysis(ckpt):
    read, token = read_of(ckpt)
    calls = []
    story = why(read, steps=8, watch=lambda done, of: calls.append((done, of)))
    logits = logits_of(ckpt, read)
    token = int(logits.argmax()) if token is None else token
    assert story.token == token
    probabilities = logits.softmax(-1)
    against = next(id for id in logits.argsort(descending=True).tolist() if id != token)
    assert story.predicted.against == against
    assert story.predicted.rank == int((logits > logits[token]).sum()) + 1
    assert [story.predicted.probability, story.predicted.other, story.predicted.margin] == pytest.approx(
        [float(probabilities[token]), float(probabilities[against]), float(logits[token] - logits[against])], abs=1e-5)
    ranks = read_layers(read, follow=token).rank[:, -1].tolist()
    assert (story.decided.layers, story.decided.logit, story.decided.tuned) == (
        len(ranks) - 1, next((at for at in range(len(ranks)) if set(ranks[at:]) == {1}), None), None)
    assert story.decided.best == (min(ranks), ranks.index(min(ranks)))
    effect = direct_effect(read, token, against=against)
    every = {Head(kind, layer, head): float(values[layer, head]) for kind, values in effect.heads.items()
             for layer, head in np.ndindex(*values.shape)}
    assert story.wrote.head == max(every, key=every.get)
    assert story.wrote.adds == pytest.approx(max(every.values()))
    if ckpt.config.d_ff:
        layer = int(effect.feed_forward.argmax())
        assert story.wrote.feed_forward == (layer, pytest.approx(float(effect.feed_forward[layer])))
    else:
        assert story.wrote.feed_forward is None
    kind, layer, head = story.wrote.head
    np.testing.assert_allclose(story.wrote.looks, last_query(read).weights[kind][layer, head], atol=1e-6)
    assert len(read.labels(story.wrote.side)) == len(story.wrote.looks)
    np.testing.assert_allclose(story.rests.integrated, attribute(read, token, steps=8).integrated, atol=1e-5)
    assert calls[-1] == (8 + len(story.without.tried),) * 2
    assert [done for done, _ in calls] == sorted(done for done, _ in calls)


def test_every_removal_is_that_of_the_model_without_the_head(ckpt):
    read, _ = read_of(ckpt)
    story = why(read, steps=4)
    own = logits_of(ckpt, read).log_softmax(-1)
    assert {one.head for one in story.without.tried} == set(all_heads(ckpt.config))
    assert story.without.heads == len(all_heads(ckpt.config))
    for one in story.without.tried:
        logs = logits_of(ckpt, read, scale(label(*one.head), 0)).log_softmax(-1)
        assert one.log_probability == pytest.approx(float(logs[story.token]), abs=1e-5)
        assert one.leads == int(logs.argmax())
        assert one.lead == pytest.approx(float(logs.max().exp()), abs=1e-5)
        assert story.without.cost(one) == pytest.approx(float(own[story.token] - logs[story.token]), abs=1e-5)
    costs = [story.without.cost(one) for one in story.without.tried]
    assert costs == sorted(costs, reverse=True)
    assert story.without.needed == (story.without.tried[0].head if costs[0] > LEAST else None)


def test_earlier_tokens_that_would_be_others_are_known(writer):
    read = inputs_of_text(writer, "I am cold. He")
    without = why(read, steps=4).without
    for one in without.tried:
        likeliest = transformer.run(writer, "I am cold. He", change=scale(label(*one.head), 0)).logits.argmax(-1)
        assert one.earlier == tuple(at for at in range(len(read.ids) - 1) if int(likeliest[at]) != read.ids[at + 1])


def test_the_estimate_is_the_slope_of_switching_a_head_off(translator):
    read, token = read_of(translator)
    story = why(read, steps=4)
    for head in all_heads(translator.config):
        little = 1e-2
        ends = [float(logits_of(translator, read, scale(label(*head), 1 + side * little)).log_softmax(-1)[token])
                for side in (-1, 1)]
        assert float(story.without.estimates[head.kind][head.layer, head.head]) == pytest.approx(
            (ends[1] - ends[0]) / (2 * little), abs=2e-2)


def test_of_many_heads_those_with_the_largest_estimates_are_tried_and_the_one_that_adds_most(make_checkpoint,
                                                                                          monkeypatch):
    ckpt = make_checkpoint(encoder_layers=0, decoder_layers=4, n_heads=8)
    read, _ = read_of(ckpt)
    assert {one.head for one in why(read, steps=4).without.tried} == set(all_heads(ckpt.config))
    monkeypatch.setattr(module, "ALL", 31)
    story = why(read, steps=4)
    estimates = story.without.estimates["decoder"]
    largest = {Head("decoder", *divmod(at, 8)) for at in estimates.flatten().topk(module.TRIED).indices.tolist()}
    assert {one.head for one in story.without.tried} == largest | {story.wrote.head}
    assert story.without.heads == 32


def test_a_token_that_is_not_the_likeliest_is_behind_the_likeliest(writer):
    read, likeliest = read_of(writer)
    token = int(logits_of(writer, read).argsort(descending=True)[4])
    found = why(read, token, steps=4)
    assert (found.predicted.rank, found.predicted.against) == (5, likeliest)
    assert found.predicted.margin < 0
    assert found.decided.logit is None and found.lenses is None


def test_the_tuned_lens_is_followed_and_compared(writer):
    read, token = read_of(writer)
    generator = torch.Generator().manual_seed(0)
    tuned = TunedLens(torch.randn(2, 16, 16, generator=generator) / 4, torch.randn(2, 16, generator=generator))
    found = why(read, tuned=tuned, steps=4).decided
    assert found.tuned == first_from(read_layers(read, follow=token, through=tuned).rank[:, -1])
    assert why(read, steps=4).decided.tuned is None
    same = why(read, tuned=TunedLens(torch.zeros(2, 16, 16), torch.zeros(2, 16)), steps=4)
    assert same.decided.tuned == same.decided.logit and same.lenses.agrees


@each_row(("ranks", "depth"), [
    ([1, 1, 1], 0), ([3, 1, 1], 1), ([1, 2, 1], 2), ([1, 1, 2], None), ([1], 0), ([2], None)])
def test_the_lead_counts_from_where_it_is_kept(ranks, depth):
    assert first_from(torch.tensor(ranks)) == depth


@pytest.mark.slow
def test_evidence_on_the_shipped_translator_agrees_on_one_sentence_and_not_on_another(shipped):
    ckpt = shipped("translate")
    *_, step = transformer.steps(ckpt, "I like red wine.", max_steps=6)
    red = why(inputs_of_step(step), tuned=read_tuned_lens(ckpt))
    assert red.agrees
    assert red.heads.direct == red.heads.needed == Head("cross", 1, 1)
    tokens = red.read.pieces("src")
    assert {tokens[at] for by, at in red.tokens.first.items() if by != "input"} == {"▁red"}
    *_, step = transformer.steps(ckpt, "I am cold.", max_steps=4)
    cold = why(inputs_of_step(step), tuned=read_tuned_lens(ckpt))
    assert cold.agrees is False
    assert (cold.heads.direct, cold.heads.needed) == (Head("cross", 1, 0), Head("cross", 1, 3))
    assert cold.tokens.agrees and cold.lenses.agrees and not cold.heads.agrees


def test_one_head_and_one_token_can_but_agree(make_checkpoint):
    ckpt = make_checkpoint(encoder_layers=0, decoder_layers=1, n_heads=1)
    read = inputs_of_text(ckpt, "I")
    agreeing = [story for token in range(12) if (story := why(read, token, steps=32)).heads is not None
                and story.heads.needed is not None and story.rests.sound]
    assert agreeing
    for story in agreeing:
        assert story.agrees and story.heads.direct == story.heads.needed == Head("decoder", 0, 0)


def wrote_and_without(writer, adds: list[float], costs: list[float]):
    """Facts in which the four heads add and cost these."""
    read, _ = read_of(writer)
    story = why(read, steps=4)
    effect = replace(story.wrote.effect, heads={"decoder": torch.tensor(adds).view(2, 2)})
    heads = all_heads(writer.config)
    tried = sorted((Removal(head, -1.0 - cost, 0, 0.5, ()) for head, cost in zip(heads, costs, strict=True)),
                   key=lambda one: one.log_probability)
    wrote = replace(story.wrote, effect=effect, head=heads[int(np.argmax(adds))])
    return wrote, Without(-1.0, {"decoder": torch.zeros(2, 2)}, tuple(tried))


@each_row(("adds", "costs", "agrees"), [
    ([3, 1, 0, 0], [2, 1, 0, 0], True), ([3, 1, 0, 0], [1, 2, 0, 0], False),
    ([3, 1, 0, 0], [1.9, 2, 0, 0], True),     # within a tenth of the first
    ([3, 2.8, 0, 0], [1, 2, 0, 0], True),
    ([3, 2.6, 0, 0], [1, 2, 0, 0], False),
    ([3, 1, 0, 0], [LEAST / 2, 0, -1, 0], False),  # none is needed
    ([-1, -2, -3, -4], [2, 1, 0, 0], None)])  # none speaks for it
def test_heads_agree_if_one_is_first_in_both(writer, adds, costs, agrees):
    wrote, without = wrote_and_without(writer, adds, costs)
    found = _compare_heads(wrote, without)
    if agrees is None:
        assert found is None
        return
    assert found.agrees == agrees
    assert found.direct == wrote.head
    assert (found.needed is None) == (max(costs) <= LEAST)


@pytest.mark.parametrize(("looks", "integrated", "agrees"), [
    ([0.7, 0.2, 0.1], [2, 1, 0], True), ([0.7, 0.2, 0.1], [1, -2, 0], False), ([0.7, 0.2, 0.1], [-2, 1, 0], True),
    ([0.45, 0.42, 0.13], [1, 2, 0], True), ([0.45, 0.35, 0.2], [1, 2, 0], False)])
def test_tokens_agree_if_one_is_first_in_all(writer, looks, integrated, agrees):
    read = inputs_of_text(writer, "I a")
    story = why(read, steps=4)
    wrote = replace(wrote_and_without(writer, [1, 0, 0, 0], [1, 0, 0, 0])[0], looks=np.array(looks))
    rests = replace(story.rests, integrated=np.array(integrated, float), change=float(sum(integrated)), scatter=0.0)
    found = _compare_tokens(read, story.token, wrote, rests)
    assert found.agrees == agrees
    assert found.first == {"looks": int(np.argmax(looks)), "attribution": int(np.abs(integrated).argmax())}
    unsound = replace(rests, change=100.0)
    assert _compare_tokens(read, story.token, wrote, unsound) is None


@pytest.mark.parametrize("where", ["output", "input"])
def test_cross_attention_may_name_the_token_where_it_is_written_or_where_it_is_read(translator, where):
    read, token = read_of(translator)
    story = why(read, steps=4)
    size = read.src.shape[1]
    after = replace(read, tgt=torch.cat([read.tgt, torch.tensor([[token]])], 1), next_id=None)
    reading = last_query(after).weights["cross"].mean((0, 1)).double().numpy()
    first = 0 if where == "output" else int(reading.argmax())
    one = np.eye(size)[first]
    wrote = replace(story.wrote, looks=one, side="src", effect=replace(story.wrote.effect, heads={
        "decoder": torch.zeros(2, 2), "cross": torch.ones(2, 2)}), head=Head("cross", 0, 0))
    elsewhere = np.eye(size)[(first + 1) % size]
    rests = replace(story.rests, integrated=one, change=1.0, scatter=0.0,
                    attention=one if where == "output" else elsewhere)
    found = _compare_tokens(read, token, wrote, rests)
    assert found.agrees and found.first["input"] == int(reading.argmax())
    assert not _compare_tokens(read, token, replace(wrote, looks=elsewhere), rests).agrees
    assert "looks" not in _compare_tokens(read, token, replace(wrote, side="tgt"), rests).first


@each_row(("layers", "logit", "tuned", "agrees"), [
    (2, 2, 1, True), (2, 2, 0, False), (12, 11, 6, True), (12, 11, 5, False), (4, 1, 3, False), (1, 1, 0, True),
    (4, None, 3, None), (4, 3, None, None)])
def test_lenses_agree_within_half_of_the_layers(layers, logit, tuned, agrees):
    found = _compare_lenses(module.Decided(layers, logit, tuned, (1, layers)))
    assert (None if found is None else found.agrees) == agrees


def test_a_masked_model_is_asked_at_a_position(make_checkpoint):
    ckpt = make_checkpoint(decoder_layers=0, head="masked")
    read = inputs_of_text(ckpt, TEXT)
    story = why(read, position=3)
    logits = transformer.run(ckpt, TEXT).logits[3]
    assert story.token == int(logits.argmax())
    assert story.predicted.probability == pytest.approx(float(logits.softmax(-1).max()), abs=1e-5)
    assert (story.wrote, story.rests, story.agrees) == ("masked", "masked", None)
    for one in story.without.tried:
        logs = transformer.run(ckpt, TEXT, change=scale(label(*one.head), 0)).logits[3].log_softmax(-1)
        assert one.log_probability == pytest.approx(float(logs[story.token]), abs=1e-5)
        assert one.earlier == ()
    for position in (None, -1, 10):
        with pytest.raises(ValueError, match=f"position is {position}; choose from 0 to 9"):
            why(read, position=position)


def test_capped_logits_have_no_direct_effect_but_all_else(make_checkpoint):
    ckpt = make_checkpoint(encoder_layers=0, logits_cap=30.0)
    read, _ = read_of(ckpt)
    story = why(read, steps=4)
    assert story.wrote == "capped" and story.heads is None
    assert story.rests.tokens and story.without.tried


def test_what_is_not_there_is_refused(make_checkpoint, writer):
    with pytest.raises(ValueError, match="predicts nothing, so there is no story to tell"):
        why(inputs_of_text(make_checkpoint(decoder_layers=0, head="none"), TEXT))
    with pytest.raises(ValueError, match="token 99999 is not one of"):
        why(inputs_of_text(writer, TEXT), 99999)
    with pytest.raises(ValueError, match="steps is 0"):
        why(inputs_of_text(writer, TEXT), steps=0)


def test_the_same_changes_are_made_throughout(writer):
    plain, changed = (inputs_of_text(writer, TEXT, change=change) for change in (None, scale("decoder.0.z", 0)))
    token = why(plain, steps=4).token
    story = why(changed, token, steps=4)
    logits = transformer.run(writer, TEXT, change=scale("decoder.0.z", 0)).logits[-1]
    assert story.predicted.probability == pytest.approx(float(logits.softmax(-1)[token]), abs=1e-5)
    both = transformer.run(writer, TEXT, change=[scale("decoder.0.z", 0), scale("D1H0", 0)]).logits[-1]
    assert story.without.of(Head("decoder", 1, 0)).log_probability == pytest.approx(
        float(both.log_softmax(-1)[token]), abs=1e-5)
