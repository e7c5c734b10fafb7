"""What is drawn of models with windows, keys and values that heads share, and scores that are capped."""

import numpy as np
import pytest
import torch

import transformer
from tests.rows import each_row
from transformer.attention_view.heads import Pooled, one_head, weights
from transformer.attention_view.message import about_kind, live
from transformer.attention_view.message_fields import Selection
from transformer.attention_view.phone_message import small
from transformer.attention_view.window import SIDE, window
from transformer.model.masks import allowed_keys

TEXT = "I am cold. We can go home."
FIELDS = {"n_heads": 4, "kv_heads": 2, "window": 5, "score_cap": 3.0}


@pytest.fixture
def near(make_checkpoint):
    """A decoder whose second layer has a window."""
    return make_checkpoint(encoder_layers=0, positions="alibi", window_layers=(1,), **FIELDS)


def test_a_kind_says_its_window_its_shared_heads_and_its_scores_where_there_are_some(near, writer):
    found = about_kind(transformer.start(near, TEXT), "decoder")
    assert found["near"] == {"layers": [1], "size": 5}
    assert (found["groups"], found["cap"], found["causal"]) == (2, 3.0, True)
    assert not found.keys() & {"sees", "scale"}
    found = about_kind(transformer.start(writer, TEXT), "decoder")
    assert not found.keys() & {"near", "groups", "scale", "cap"}


@each_row("kind", ["decoder", "encoder"])
def test_a_window_in_every_layer_is_no_other_mask(make_checkpoint, kind):
    ckpt = make_checkpoint(**{"decoder_layers" if kind == "encoder" else "encoder_layers": 0}, **FIELDS,
                           **{"head": "none"} if kind == "encoder" else {})
    found = about_kind(transformer.attend(ckpt, TEXT), kind)
    assert found["near"] == {"layers": [0, 1], "size": 5}
    assert found["causal"] is (kind == "decoder") and "sees" not in found


def test_weights_outside_the_window_are_zero_and_those_of_the_model_and_words_say_which_it_leaves(near):
    step = transformer.start(near, TEXT)
    for layer in range(2):
        hidden = ~step.mask("decoder", layer)
        drawn = weights(step, "decoder", layers=slice(layer, layer + 1))[0]
        assert not drawn[:, hidden].any()
        torch.testing.assert_close(drawn, step.attentions["decoder"][layer], atol=1e-6, rtol=0)
        assert not one_head(step, "decoder", layer, 3).weights[hidden].any()
    words = step.words()
    found = about_kind(words, "decoder")["near"]
    keys = range(len(words.axes("decoder")[1]))
    seen = torch.tensor([[first <= key < end for key in keys] for first, end in found["sees"]])
    assert seen.equal(words.mask("decoder", 1)) and not seen.equal(words.mask("decoder", 0))
    assert not words.attentions["decoder"][1][:, ~seen].any()


def test_a_part_of_a_long_text_is_that_part_with_its_window_and_bias(make_checkpoint):
    ckpt = make_checkpoint(encoder_layers=0, positions="alibi", window_layers=(1,), max_len=500, **FIELDS)
    step = transformer.start(ckpt, "We can go home. " * 28)
    part = window(step, (100, 90))
    rows, columns = slice(100, 100 + SIDE), slice(90, 90 + SIDE)
    for layer in range(2):
        whole, cut = one_head(step, "decoder", layer, 1), one_head(part, "decoder", layer, 1)
        np.testing.assert_allclose(cut.weights, whole.weights[rows, columns], atol=1e-6)
        np.testing.assert_allclose(cut.bias, whole.bias[rows, columns], atol=1e-6)
        own = allowed_keys(ckpt.config, "decoder", range(*rows.indices(500)), range(columns.stop), layer=layer)
        assert part.mask("decoder", layer).equal(own[:, columns.start:])
    found = about_kind(part, "decoder")
    assert (found["near"], found["first"]) == ({"layers": [1], "size": 5}, [100, 90])
    selection, pooled = Selection("decoder", 1, 1), Pooled.of(step, "decoder")
    for message in (live(part, selection, pooled), small(part, selection, pooled, one_head(part, "decoder", 1, 1))):
        assert b'"near":{"layers":[1],"size":5}' in message


def test_padding_far_beyond_a_window_changes_nothing(make_checkpoint):
    model = make_checkpoint(decoder_layers=0, head="none", window=3).model
    short, padded = torch.tensor([[5, 6, 7, 8]]), torch.tensor([[5, 6, 7, 8, *[model.config.pad_id] * 9]])
    alone, beside = (model.encode(ids, readable=True).x[:, :4] for ids in (short, padded))
    torch.testing.assert_close(beside, alone, atol=1e-5, rtol=0)
    torch.testing.assert_close(model.encode(padded).x[:, :4], alone, atol=1e-5, rtol=0)
