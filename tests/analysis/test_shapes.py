"""Analyses of the architectures of imported models: no padding, first-token pooling, poolers, other heads."""

import pytest
import torch

from transformer.analysis.attribution import attribute
from transformer.analysis.direct import direct_effect
from transformer.analysis.lens import read_layers
from transformer.analysis.roles import measure_roles
from transformer.analysis.sample import read_texts
from transformer.analysis.token_inputs import inputs_of_text
from transformer.checkpoint import Checkpoint, Description
from transformer.config import ModelConfig
from transformer.model.models import Transformer
from transformer.text.tokenizer import train

TEXTS = ["one two three four", "two two one", "four three two one three"]
TOKENIZER = train(TEXTS * 3, kind="word", vocab_size=20)


def made(**fields):
    base = {"d_model": 16, "n_heads": 2, "encoder_layers": 2, "decoder_layers": 0, "d_ff": 16, "max_len": 16,
            "vocab_size": TOKENIZER.vocab_size, "tie_embeddings": False}
    config = ModelConfig(**{**base, **fields})
    model = Transformer(config, generator=torch.Generator().manual_seed(0)).eval().requires_grad_(False)
    return Checkpoint(Description(None, "made up", config, None, None), model, TOKENIZER, TOKENIZER)


def test_the_first_token_alone_is_pooled_and_its_parts_add_up():
    ckpt = made(pooling="first", n_classes=3)
    found = direct_effect(inputs_of_text(ckpt, TEXTS[0]), 1)
    logits = ckpt.model.project(ckpt.model.encode(inputs_of_text(ckpt, TEXTS[0]).src).x[0, 0])
    assert found.total == pytest.approx(float(logits[1]), abs=1e-4)
    attribute(inputs_of_text(ckpt, TEXTS[0]), 1, steps=4)
    ckpt = made(pooling="first", pooler="tanh", n_classes=3)
    found = direct_effect(inputs_of_text(ckpt, TEXTS[0]), 1)
    assert found.total == pytest.approx(found.logit, abs=1e-4)


@pytest.mark.parametrize("head", ["masked", "none"])
def test_an_encoder_without_classes_is_refused_where_a_class_is_needed_and_has_roles(head):
    ckpt = made(head=head)
    read = inputs_of_text(ckpt, TEXTS[0])
    for reading in (direct_effect, attribute, *[read_layers] * (head == "none")):
        with pytest.raises(ValueError, match="is an encoder without classes"):
            reading(read)
    roles = measure_roles(ckpt, read_texts(ckpt, TEXTS), seed=1)
    assert roles.values["encoder"]["entropy"].shape == (2, 2)


def test_a_model_without_padding_is_read_text_by_text():
    ckpt = made(encoder_layers=0, decoder_layers=2, pad_id=None)
    alone = [measure_roles(ckpt, read_texts(ckpt, [text]), seed=1) for text in TEXTS[:1]]
    assert alone[0].values["decoder"]["first"].shape == (2, 2)
    measure_roles(ckpt, read_texts(ckpt, TEXTS), seed=1)
    with pytest.raises(ValueError, match="no padding to begin from"):
        attribute(inputs_of_text(ckpt, TEXTS[0]), baseline="padding")
