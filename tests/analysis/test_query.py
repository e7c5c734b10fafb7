"""The last query's rows and logits, compared with a reading of the whole text."""

import pytest
import torch

from tests.choices import choices
from tests.rows import each_row
from transformer.analysis.attribution import attribute
from transformer.analysis.direct import direct_effect
from transformer.analysis.lens import read_layers
from transformer.analysis.query import last_query
from transformer.analysis.sample import sentence_with_class
from transformer.analysis.token_inputs import inputs_of_text, inputs_up_to
from transformer.analysis.trial import try_sentences
from transformer.inference.reading import attend
from transformer.settings.config import ModelConfig


@pytest.mark.parametrize("settings", [{}, {"norm_position": "post"}, {"encoder_layers": 0, "positions": "rotary"},
                                      {"positions": "alibi"}])
def test_rows_and_logits_are_those_of_the_whole_text(make_checkpoint, settings, target_for):
    ckpt = make_checkpoint(**settings)
    texts = "I am cold.", target_for(ckpt, "He is")
    whole, reading = inputs_of_text(ckpt, *texts), attend(ckpt, *texts)
    found = last_query(inputs_up_to(whole, 3))
    assert found.weights.keys() == set(ckpt.config.kinds) - {"encoder"}
    for kind, weights in found.weights.items():
        keys = 4 if kind == "decoder" else weights.shape[-1]
        torch.testing.assert_close(weights, reading.attentions[kind][:, :, 3, :keys])
    expected = ckpt.model(whole.src, whole.tgt)[0, 3]
    torch.testing.assert_close(found.logits, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("pooling", choices(ModelConfig, "pooling"))
def test_a_classifiers_rows_count_by_their_share_of_the_pool(make_checkpoint, pooling):
    ckpt = make_checkpoint(decoder_layers=0, pooling=pooling, n_classes=3)
    read, reading = inputs_of_text(ckpt, "Go on."), attend(ckpt, "Go on.")
    x = ckpt.model.encode(read.src).x[0]
    share = {"mean": torch.full((len(x),), 1 / len(x)), "first": torch.eye(len(x))[0],
             "max": torch.bincount(x.argmax(0), minlength=len(x)) / x.shape[1]}[pooling]
    found = last_query(read)
    torch.testing.assert_close(found.weights["encoder"],
                               torch.einsum("q,lhqk->lhk", share, reading.attentions["encoder"]))
    torch.testing.assert_close(found.logits.log_softmax(-1), reading.logits, rtol=1e-4, atol=1e-5)


@each_row("head", ["masked", "none"])
def test_where_a_class_is_needed_an_encoder_without_classes_is_refused(make_checkpoint, head):
    ckpt = make_checkpoint(decoder_layers=0, head=head)
    read = inputs_of_text(ckpt, "Go on.")
    for reading in (direct_effect, attribute, *[read_layers, last_query] * (head == "none")):
        with pytest.raises(ValueError, match="encoder without classes"):
            reading(read)
    with pytest.raises(ValueError, match="encoder without classes"):
        try_sentences(ckpt, [sentence_with_class(ckpt, "go on")])
