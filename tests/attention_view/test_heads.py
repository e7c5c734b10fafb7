"""What the attention view draws is what the model did."""

import numpy as np
import pytest
import torch

import transformer
from tests.rows import each_row
from transformer.analysis.rollout import rollout
from transformer.attention_view.heads import POOLED, Pooled, combined, in_proportion, one_head, quantise, weights

TEXT = "We can go home."


def path(ckpt, text=TEXT, count=12):
    return list(transformer.steps(ckpt, text, max_steps=count))


def largest(step, kind, block):
    """All heads pooled, from the whole of the weights."""
    full = quantise(step.attentions[kind].numpy())
    queries, keys = full.shape[2:]
    return np.array([[[[head[q : q + block[0], k : k + block[1]].max() for k in range(0, keys, block[1])]
                       for q in range(0, queries, block[0])] for head in layer] for layer in full])


@each_row("kind", ["encoder", "decoder", "cross"])
def test_one_head_is_that_head(translator, kind):
    step = path(translator)[5]
    found = one_head(step, kind, 1, 1)
    np.testing.assert_allclose(found.weights, step.attentions[kind][1, 1], atol=1e-6)
    scores = found.q @ found.k.T / np.sqrt(found.q.shape[1])
    open_ = step.masks[kind].numpy()
    np.testing.assert_allclose(scores[open_], step.scores[kind][1, 1].numpy()[open_], atol=1e-5)


@each_row("kind", ["encoder", "decoder", "cross"])
def test_what_heads_move_adds_up_to_the_output_of_the_attention(translator, kind):
    """Kobayashi et al. 2020, equation 3: the output is the sum over keys, and over heads, of what is moved."""
    read = transformer.attend(translator, TEXT, "Go on.")
    v = read.projections(kind)[2]
    module = translator.model.attention(kind, 1)
    width = v.shape[-1]
    total = module.out_proj.bias.clone()
    for head in range(v.shape[1]):
        vectors = v[1, head] @ module.out_proj.weight[:, head * width : (head + 1) * width].T  # (Tk, d_model)
        np.testing.assert_allclose(one_head(read, kind, 1, head).moved, vectors.norm(dim=-1), rtol=1e-5)
        total = total + read.attentions[kind][1, head] @ vectors
    context = (read.attentions[kind][1] @ v[1]).transpose(0, 1).flatten(1)
    torch.testing.assert_close(total, module.out_proj(context), atol=1e-5, rtol=1e-4)


def test_means_are_means_and_rollout_is_rollout(translator):
    step = path(translator)[6]
    full = step.attentions["decoder"]
    np.testing.assert_allclose(combined(step, "decoder", "mean_heads", 1).weights, full[1].mean(dim=0), atol=1e-6)
    np.testing.assert_allclose(combined(step, "decoder", "mean_all", 0).weights, full.mean(dim=(0, 1)), atol=1e-6)
    for layer in range(2):
        np.testing.assert_allclose(combined(step, "decoder", "rollout", layer).weights, rollout(full)[layer], atol=1e-6)


@each_row("most", [4, 8, POOLED])
def test_pooling_keeps_the_largest_weight_of_each_block(translator, most):
    step = path(translator)[-1]
    for kind in step.kinds:
        pooled = Pooled.of(step, kind, most=most)
        assert max(pooled.cells.shape[2:]) <= most
        assert np.array_equal(pooled.cells, largest(step, kind, pooled.block))


@each_row("most", [4, POOLED])
def test_pooling_goes_on_from_an_earlier_step(writer, monkeypatch, most):
    steps, before, computed = path(writer, count=20), None, []
    real = weights

    def counting(shown, kind, **slices):
        computed.append(slices["queries"].start)
        return real(shown, kind, **slices)

    monkeypatch.setattr("transformer.attention_view.heads.weights", counting)
    for step in steps:
        before = Pooled.of(step, "decoder", before, most=most)
        assert np.array_equal(before.cells, largest(step, "decoder", before.block))
    first = len(steps[0].tokens)
    assert computed == [0, *range(first, first + len(steps) - 1)]  # one new row a step


def test_a_mask_that_all_layers_share_is_made_once(writer, monkeypatch):
    step, made, real = path(writer)[5], [], type(path(writer)[5]).mask
    monkeypatch.setattr(type(step), "mask", lambda *given: made.append(given[2:]) or real(*given))
    found = weights(step, "decoder", queries=slice(2, None))
    assert len(made) == 1 < writer.config.decoder_layers
    np.testing.assert_allclose(found, step.attentions["decoder"][:, :, 2:], atol=1e-6)


def test_pooling_of_another_branch_or_text_starts_anew(writer):
    steps = path(writer)
    other = transformer.next_step(writer, steps[4], id=(steps[4].id + 1) % writer.config.vocab_size)
    pooled = Pooled.of(steps[8], "decoder")
    assert not other.follows(steps[8])
    assert other.follows(steps[4])
    assert np.array_equal(Pooled.of(other, "decoder", pooled).cells, Pooled.of(other, "decoder").cells)
    again = transformer.start(writer, TEXT)
    assert not again.follows(steps[0])
    assert np.array_equal(Pooled.of(again, "decoder", pooled).cells, Pooled.of(again, "decoder").cells)


def test_switched_heads_are_shown_switched(translator):
    step = transformer.start(translator, TEXT, change=transformer.uniform("E0H1"))
    assert np.ptp(one_head(step, "encoder", 0, 1).weights) == pytest.approx(0, abs=1e-7)
    np.testing.assert_allclose(one_head(step, "encoder", 1, 0).weights, step.attentions["encoder"][1, 0], atol=1e-6)


@pytest.mark.filterwarnings("error")
def test_in_a_picture_what_is_no_number_is_0():
    numbers = np.array([np.nan, -0.5, 0, 0.25, 1, 2], np.float32)
    assert quantise(numbers).tolist() == [0, 0, 0, 128, 255, 255]
    assert in_proportion(numbers).tolist() == [0, 0, 0, 64, 255, 255]
