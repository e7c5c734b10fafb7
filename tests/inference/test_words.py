"""Attention between words is that between pieces, added over keys and averaged over queries, and what is left out is
told."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

import transformer
from tests.rows import each_row
from transformer.attention_view.external_weights import ExternalWeights
from transformer.attention_view.heads import Pooled, combined, one_head, weights
from transformer.inference.word_attention import Words, sinks, words
from transformer.model.sites import NO_TAPS
from transformer.text.word_pieces import BEGINS

TEXT = "We can go home."


class Vocabulary:
    word_mark, special = BEGINS, {0, 9}
    names = ("<s>", "▁rou", "ge", "▁vin", ".", "▁I", "▁am", "x", "y", "</s>")

    def piece(self, id):
        return self.names[id]


def made(weights, src, tgt, next_id=3):
    """What has attention, of given weights: kind -> (L, H, Tq, Tk)."""
    sides = {"encoder": ("src", "src"), "decoder": ("tgt", "tgt"), "cross": ("tgt", "src")}
    ids = {"src": src, "tgt": tgt}
    vocabulary = Vocabulary()
    config = SimpleNamespace(layers=lambda kind: len(weights[kind]), n_heads=next(iter(weights.values())).shape[1])
    ckpt = SimpleNamespace(id="made", config=config, tokenizer=vocabulary, source_tokenizer=vocabulary, meta={})

    def mask(kind, layer=None):
        square = torch.ones(weights[kind].shape[-2:], dtype=torch.bool)
        return square.tril() if kind == "decoder" else square

    return SimpleNamespace(
        ckpt=ckpt, text="text", taps=NO_TAPS, kinds=tuple(weights), ids=ids, next_id=next_id, mask=mask,
        axes=lambda kind: tuple([vocabulary.piece(id) for id in ids[side]] for side in sides[kind]),
        attended=lambda kind, layers=slice(None), heads=slice(None): (None, weights[kind][layers, heads]))


@pytest.fixture(scope="module")
def step(translator):
    *_, last = transformer.steps(translator, TEXT, max_steps=9)
    return last


CROSS = torch.tensor([[[[0.5, 0.25, 0.25, 0.0], [0.1, 0.2, 0.3, 0.4], [0.3, 0.2, 0.1, 0.4]]]])


def test_weights_of_pieces_are_added_over_keys_and_averaged_over_queries():
    of = made({"cross": CROSS}, [1, 2, 4, 9], [0, 1, 2])
    found = words(of)
    assert found.axes("cross") == (["<s>", "rouge"], ["rouge", ".", "</s>"])
    assert found.pieces("cross") == ([(0,), (1, 2)], [(0, 1), (2,), (3,)])
    torch.testing.assert_close(found.attentions["cross"][0, 0], torch.tensor([[0.75, 0.25, 0.0], [0.4, 0.2, 0.4]]))
    assert found.predicted("cross") == ["rouge", "vin"]
    assert found.hidden("cross").abs().max() < 1e-6


def test_what_is_left_out_is_told_and_nothing_is_scaled_up():
    of = made({"cross": CROSS}, [1, 2, 4, 9], [0, 1, 2], next_id=2)
    found = words(of, leave_out="special")
    assert found.axes("cross") == (["<s>", "rouge"], ["rouge", "."])
    torch.testing.assert_close(found.attentions["cross"][0, 0], torch.tensor([[0.75, 0.25], [0.4, 0.2]]))
    torch.testing.assert_close(found.hidden("cross")[0, 0], torch.tensor([0.0, 0.4]))
    assert found.left_out("cross") == {"special": ["</s>"], "sinks": []}
    assert words(of, merge=False, leave_out="special").axes("cross") == (["<s>", "▁rou", "ge"], ["▁rou", "ge", "."])


def test_a_mask_between_words_allows_what_any_pair_of_pieces_may_and_special_tokens_stay_where_nothing_else_is():
    weights = torch.eye(5)[None, None]
    of = made({"decoder": weights}, [], [0, 1, 2, 3, 4])
    found = words(of)
    assert found.mask("decoder").equal(torch.ones(4, 4, dtype=torch.bool).tril())
    without = words(of, leave_out="special")
    assert without.mask("decoder").equal(torch.ones(4, 4, dtype=torch.bool).tril()[:, 1:])
    assert without.axes("decoder")[0][0] == "<s>"  # the first word is predicted from it
    of = made({"decoder": torch.ones(1, 1, 1, 1)}, [5, 9], [0])
    assert words(of, leave_out="special").axes("decoder") == (["<s>"], ["<s>"])


def drawing(key, share, queries=8, heads=4, of=4):
    """Weights of which some heads give a key a share, and which are even otherwise."""
    every = torch.full((1, heads, queries, queries), 1 / queries)
    every[:, :of] = (1 - share) / (queries - 1)
    every[:, :of, :, key] = share
    return every


@each_row(("weights", "found"), [
    (drawing(2, 0.8), [2]), (drawing(2, 0.8, of=2), [2]), (drawing(2, 0.8, of=1), []), (drawing(2, 0.29), []),
    (drawing(0, 0.9, queries=3), []),           # of three keys an even share is more than 0.3
    (torch.eye(8).expand(1, 4, 8, 8), [])])     # a token that looks at itself
def test_a_sink_draws_weight_from_most_queries_in_half_of_the_heads(weights, found):
    assert sinks(made({"encoder": weights}, [1] * weights.shape[-1], []), "encoder") == found


def test_sinks_are_left_out_as_keys_and_stay_as_queries():
    of = made({"encoder": drawing(2, 0.8)}, [5, 6, 3, 5, 6, 3, 4, 9], [])
    found = words(of, leave_out=("sinks", "special"))
    assert found.axes("encoder") == (["I", "am", "vin", "I", "am", "vin", "."], ["I", "am", "I", "am", "vin", "."])
    assert found.left_out("encoder") == {"special": ["</s>"], "sinks": ["vin"]}
    torch.testing.assert_close(found.hidden("encoder"), torch.full((1, 4, 7), 0.8 + 0.2 / 7))


@each_row("kind", ["encoder", "decoder", "cross"])
@each_row("leave_out", [(), ("special", "sinks")])
def test_what_is_drawn_is_what_the_library_computed(translator, kind, leave_out):
    reading = transformer.attend(translator, TEXT, "He is tall.")
    for of in (reading, list(transformer.steps(translator, TEXT, max_steps=9))[-1]):
        found = of.words(leave_out=leave_out)
        queries, keys = found.axes(kind)
        assert found.attentions[kind].shape == (2, 2, len(queries), len(keys))
        torch.testing.assert_close(found.attentions[kind].sum(-1) + found.hidden(kind),
                                   torch.ones(2, 2, len(queries)))
        torch.testing.assert_close(weights(found, kind), found.attentions[kind], atol=1e-6, rtol=0)
        torch.testing.assert_close(weights(found, kind, queries=slice(1, 3)), found.attentions[kind][:, :, 1:3],
                                   atol=1e-6, rtol=0)
        np.testing.assert_allclose(one_head(found, kind, 1, 0).weights, found.attentions[kind][1, 0], atol=1e-6)
        np.testing.assert_allclose(combined(found, kind, "mean_heads", 1).weights,
                                   found.attentions[kind][1].mean(0), atol=1e-6)
        assert Pooled.of(found, kind).cells.shape == (2, 2, len(queries), len(keys))
        assert not found.attentions[kind][..., ~found.mask(kind)].any()


def test_what_comes_after_each_token_is_what_it_is_read_to_predict(translator, step):
    tokens = step.axes("decoder")[0]
    assert step.predicted("decoder") == step.predicted("cross") == [*tokens[1:], step.piece]
    assert step.predicted("encoder") is None
    reading = transformer.attend(translator, TEXT, "He is tall.")
    assert reading.predicted("cross") == [*reading.tokens["tgt"][1:],
                                          translator.tokenizer.piece(int(reading.logits[-1].argmax()))]
    assert transformer.attend(translator, TEXT, "He is").words().predicted("cross")[:2] == ["He", "is"]
    assert ExternalWeights([torch.ones(1, 1, 2, 2) / 2], ["a", "b"]).tensors().predicted("encoder") is None


def test_a_table_of_words_has_words_and_no_scores_and_what_cannot_be_left_out_is_said(translator, step):
    found = transformer.attend(translator, TEXT, "He is").words(leave_out="special")
    frame = found.frame("cross", layer=0)
    assert "score" not in frame.columns
    assert [*frame.key_token.unique()] == ["We", "can", "go", "home", "."]
    assert frame.groupby(["head", "query"]).weight.sum().to_numpy() == pytest.approx(
        1 - found.hidden("cross")[0].numpy().ravel(), abs=1e-6)
    with pytest.raises(ValueError, match="leave_out has 'verbs'; choose from special, sinks"):
        step.words(leave_out="verbs")
    assert repr(step.words(leave_out="special")).startswith("Words without special of 'We can go home.'")
    assert isinstance(step.words(), Words)
