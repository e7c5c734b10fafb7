"""Pages of models with windows, keys and values that heads share, and scores that are capped."""

from functools import partial

import numpy as np
import pytest

import transformer
from transformer.model.masks import window_mask

from .page import matrix, plain, table_of, words

TEXT = "I am cold."


@pytest.fixture
def kept(place):
    """kept(window=4, ...): a model whose heads share keys and values."""
    return partial(place, n_heads=4, kv_heads=2)


@pytest.mark.parametrize("layer", [0, 1])
def test_masks_of_a_head_have_the_window_of_its_layer(visit, kept, layer):
    ckpt = kept(window=3, window_layers=(1,))
    at = visit("masks", checkpoint=ckpt.id, source1=TEXT, target1=TEXT, source2="Go on.", target2="Go on.", pair="1",
               kind="decoder", layer=str(layer), head="3", mask="decoder", causal="on")
    hidden = np.isnan(matrix(at, "masks_changed").astype(float))
    places = range(len(hidden))
    seen = window_mask(places, places, 3 if layer else len(hidden), causal=True).numpy()
    assert np.array_equal(hidden, ~seen)  # this one is the longest, and has no padding
    assert "Some layers also have a window of 3 tokens" in words(at, "caption")


def test_one_mask_has_the_window_that_all_layers_have(visit, kept):
    ckpt = kept(window=3)
    at = visit("masks", checkpoint=ckpt.id, source1=TEXT, target1=TEXT, pair="1", mask="decoder")
    mask = matrix(at, "masks_decoder_mask")
    places = range(len(mask))
    assert np.array_equal(mask == 1, window_mask(places, places, 3, causal=True).numpy())


def test_a_trained_head_is_worked_out_with_its_window_cap_and_shared_keys(visit, kept):
    ckpt = kept(encoder_layers=0, positions="alibi", window=3, window_layers=(1,), attention_scale=0.3, score_cap=2.0)
    at = visit("by_hand", part="trained", checkpoint=ckpt.id, text=TEXT, kind="decoder", layer="1", head="3")
    assert not at.error
    captions = " ".join(plain(one.value) for one in at.caption)
    assert "key-value head 1, which serves heads 2 to 3" in captions
    assert "Layer 1 has a window" in captions and "2 · tanh(score / 2)" in captions
    weights = transformer.start(ckpt, TEXT).attentions["decoder"][1, 3]
    assert not weights.tril(-3).any()
    largest = captions.split("the largest difference is ")[1].split()[0].rstrip(".")
    assert float(largest) < 1e-5


def test_a_card_names_what_a_plain_transformer_lacks(visit, kept):
    ckpt = kept(gated=True, norm_kind="rms", activation="silu")
    facts = table_of(visit("checkpoints", checkpoint=ckpt.id), "Facts")
    for said in ("2, each for 2 heads", "gated", "pre, RMS"):
        assert said in facts
