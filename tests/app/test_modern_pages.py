"""Pages of models with windows, keys and values that heads share, and scores that are capped."""

import numpy as np
import pytest

import transformer
from transformer.checkpoint import Checkpoint, load, save
from transformer.model.masks import window_mask

TEXT = "I am cold."


@pytest.fixture
def kept(home, make_checkpoint):
    """kept(window=4, ...): that model, where the pages find it."""
    def keep(**changes: object) -> Checkpoint:
        ckpt = make_checkpoint(n_heads=4, kv_heads=2, **changes)
        save(home / "checkpoints" / "modern", ckpt.model, tokenizer=ckpt.tokenizer, meta={"step": 7})
        return load(home / "checkpoints" / "modern")

    return keep


@pytest.mark.parametrize("layer", [0, 1])
def test_masks_of_a_head_have_the_window_of_its_layer(visit, kept, drawn, layer):
    ckpt = kept(window=3, window_layers=(1,))
    at = visit("masks", checkpoint=ckpt.id, source1=TEXT, target1=TEXT, source2="Go on.", target2="Go on.", pair="1",
               kind="decoder", layer=str(layer), head="3", mask="decoder", causal="on")
    assert not at.error
    hidden = np.isnan(drawn(at, "masks_changed")["data"][0]["z"].astype(float))
    places = range(len(hidden))
    seen = window_mask(places, places, 3 if layer else len(hidden), causal=True).numpy()
    assert np.array_equal(hidden, ~seen)  # this one is the longest, and has no padding
    assert any("Some layers also have a window of 3 tokens" in one.value for one in at.caption)


def test_one_mask_has_the_window_that_all_layers_have(visit, kept, drawn):
    ckpt = kept(window=3)
    at = visit("masks", checkpoint=ckpt.id, source1=TEXT, target1=TEXT, pair="1", mask="decoder")
    mask = drawn(at, "masks_decoder_mask")["data"][0]["z"]
    places = range(len(mask))
    assert np.array_equal(mask == 1, window_mask(places, places, 3, causal=True).numpy())


def test_a_trained_head_is_worked_out_with_its_window_cap_and_shared_keys(visit, kept, plain):
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
    (facts,) = [one.value for one in visit("checkpoints", checkpoint=ckpt.id).get("html")
                if 'aria-label="Facts"' in one.value]
    for said in ("2, each for 2 heads", "gated", "pre, RMS"):
        assert said in facts
