"""Direct effects add up to the logit, and each is what the residual stream loses without its part."""

import copy
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest
import torch
from torch import nn

from tests.choices import choices
from tests.rows import each_row
from tests.switched import switched
from transformer.analysis.direct import direct_effect, strongest
from transformer.analysis.token_inputs import inputs_of_step, inputs_of_text, inputs_up_to
from transformer.checkpoints.checkpoint import Checkpoint, Description
from transformer.inference.decoding import steps
from transformer.model.models import Transformer
from transformer.model.norms import LayerNorm
from transformer.settings.config import ModelConfig

TINY = {"d_model": 16, "n_heads": 2, "decoder_layers": 2, "d_ff": 24, "max_len": 40}

SHAPES = [
    {}, {"norm_position": "post"}, {"positions": "alibi"}, {"encoder_layers": 0, "positions": "alibi"},
    {"encoder_layers": 0, "positions": "rotary"}, {"encoder_layers": 0, "positions": "learned"},
    {"norm_position": "post", "embedding_norm": True, "type_vocab": 2, "activation": "gelu", "head_dim": 5},
    {"decoder_layers": 0, "pooling": "max", "n_classes": 3, "embedding_norm": True},
    {"decoder_layers": 0, "pooling": "mean", "n_classes": 3, "norm_position": "post", "positions": "learned"},
    {"decoder_layers": 0, "pooling": "max", "n_classes": 3, "norm_position": "post"},
    {"decoder_layers": 0, "pooling": "first", "n_classes": 3}]


def blurred(ckpt):
    """A copy whose parameters are all moved a little, so that no bias is 0 and no norm's weight is 1."""
    ckpt = replace(ckpt, model=copy.deepcopy(ckpt.model))
    for parameter in ckpt.model.parameters():
        parameter += 0.1 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(parameter.numel()))
    return ckpt


@pytest.fixture(params=SHAPES, ids=str)
def ckpt(request, make_checkpoint):
    return blurred(make_checkpoint(**request.param))


def by_parts(ckpt, read, token):
    """The same effects computed forwards: every part as a vector of its own, (parts, T, d_model), through every norm
    with its actual factor."""
    model, config = ckpt.model, ckpt.config
    alone = read.tgt is None
    stack, ids = (model.encoder, read.src) if alone else (model.decoder, read.tgt)
    embedding = model.src_embedding if alone else model.tgt_embedding
    memory = None if alone or read.src is None else model.encode(read.src).x
    kind = "encoder" if alone else "decoder"
    length = ids.shape[1]
    mask = torch.ones(length, length, dtype=torch.bool)
    mask = mask if alone else mask.tril()
    parts = {"embedding": embedding.tokens(ids)[0] * embedding.scale,
             "positions": torch.zeros(length, config.d_model), "biases": torch.zeros(length, config.d_model)}
    if (table := embedding.encoding(0, length)) is not None:
        parts["positions"] = table
    if embedding.types is not None:
        parts["biases"] = parts["biases"] + embedding.types.weight[0]

    def norm_all(norm):
        if isinstance(norm, nn.Identity):
            return
        assert type(norm) is LayerNorm
        x = sum(parts.values())
        scale = (x.var(-1, unbiased=False, keepdim=True) + norm.eps).sqrt()
        for name, part in parts.items():
            parts[name] = norm.weight * (part - part.mean(-1, keepdim=True)) / scale
        parts["biases"] = parts["biases"] + norm.bias

    def added(layer, at):
        for name, part in (("attention", layer.attention), ("cross", layer.cross)):
            if part is None:
                continue
            x = sum(parts.values())[None]
            options = {"memory": memory}
            if name == "attention":
                options = {"mask": mask, "placed": model.placed(kind, range(length))[at]}
            seen = part(layer.part_input(x, name), readable=True, **options)
            for head in range(config.n_heads):
                columns = slice(head * config.width, (head + 1) * config.width)
                context = seen.weights[0, head] @ seen.memory.values[0, head]
                parts[kind if name == "attention" else "cross", at, head] = context @ part.out_proj.weight[:, columns].T
            parts["biases"] = parts["biases"] + part.out_proj.bias
            if layer.is_post:
                norm_all(layer.norm_of(name))
        change = layer.feed_forward(layer.part_input(sum(parts.values()), "feed_forward"))
        parts["feed_forward", at] = change - layer.feed_forward.down.bias
        parts["biases"] = parts["biases"] + layer.feed_forward.down.bias
        if layer.is_post:
            norm_all(layer.feed_forward_norm)

    norm_all(embedding.norm)
    for at, layer in enumerate(stack.layers):
        added(layer, at)
    norm_all(stack.norm)
    x = sum(parts.values())
    if not alone:
        pool = lambda part: part[-1]  # noqa: E731
    elif config.pooling == "mean":
        pool = lambda part: part.mean(0)  # noqa: E731
    elif config.pooling == "first":
        pool = lambda part: part[0]  # noqa: E731
    else:
        pool = lambda part: part.gather(0, x.argmax(0)[None])[0]  # noqa: E731
    found = {name: float(pool(part) @ model.output.weight[token]) for name, part in parts.items()}
    found["biases"] += float(model.output.bias[token])
    return found


def test_every_part_is_worth_what_it_adds_and_all_add_up_to_the_logit(ckpt, target_for):
    read = inputs_of_text(ckpt, "I am cold.", target_for(ckpt, "He is tall"))
    if read.tgt is None:
        logits = ckpt.model.project(ckpt.model.pool(ckpt.model.encode(read.src).x, read.src))[0]
    else:
        logits = ckpt.model(read.src, read.tgt)[0, -1]
    for token in 0, 2:
        found, expected = direct_effect(read, token), by_parts(ckpt, read, token)
        assert found.embedding == pytest.approx(expected.pop("embedding"), abs=1e-4)
        assert (found.positions or 0.0) == pytest.approx(expected.pop("positions"), abs=1e-4)
        assert (found.positions is None) == (ckpt.config.positions not in ("sinusoidal", "learned"))
        assert found.biases == pytest.approx(expected.pop("biases"), abs=1e-4)
        for name, value in expected.items():
            ours = found.feed_forward[name[1]] if name[0] == "feed_forward" else found.heads[name[0]][name[1:]]
            assert float(ours) == pytest.approx(value, abs=1e-4), name
        assert len(expected) == len(found.feed_forward) + sum(x.numel() for x in found.heads.values())
        assert found.logit == pytest.approx(float(logits[token]), abs=1e-5)
        assert found.total == pytest.approx(found.logit, abs=1e-4)
    pair = direct_effect(read, 2, against=1)
    assert pair.logit == pytest.approx(float(logits[2] - logits[1]), abs=1e-5)
    assert pair.total == pytest.approx(pair.logit, abs=1e-4)
    assert direct_effect(read).token == int(logits.argmax())


def test_a_head_that_is_off_adds_nothing(translator, writer):
    for ckpt in translator, writer:
        kind = ckpt.config.kinds[-1]
        change = switched({kind: [[1, 0], [2.5, 1]]}, {kind: [[False, False], [True, False]]})
        *_, step = steps(ckpt, "I am cold.", max_steps=5, change=change)
        found = direct_effect(inputs_of_step(step))
        assert found.token == step.id
        assert found.logit == pytest.approx(float(step.logits[step.id]), abs=1e-4)
        assert found.total == pytest.approx(found.logit, abs=1e-4)
        assert found.heads[kind][0, 1] == 0 and (found.heads[kind][1] != 0).all()
        at = len(step.tokens) - 2
        earlier = direct_effect(inputs_up_to(inputs_of_step(step), at))
        assert earlier.token == step.tokens[-1]


def test_the_strongest_come_first_whatever_their_sign(translator):
    found = direct_effect(inputs_of_text(translator, "Go on.", "He"))
    ordered = [abs(value) for *_, value in strongest(found, 100)]
    assert ordered == sorted(ordered, reverse=True) and len(ordered) == 8
    kind, layer, head, value = strongest(found, 1)[0]
    assert found.heads[kind][layer, head] == value
    assert set(found.heads) == {"decoder", "cross"}  # the encoder's heads are not in it


def test_a_token_that_is_not_there_and_capped_logits_are_refused(translator, make_checkpoint):
    read = inputs_of_text(translator, "Go on.")
    for options in {"token": 1_000}, {"against": -1}:
        with pytest.raises(ValueError, match="is not one of"):
            direct_effect(read, **options)
    with pytest.raises(ValueError, match="caps its logits"):
        direct_effect(inputs_of_text(make_checkpoint(encoder_layers=0, logits_cap=30.0), "O gentle"))


MODERN = {
    "llama": {"norm_kind": "rms", "gated": True, "activation": "silu", "biases": (), "n_heads": 4, "kv_heads": 2,
              "positions": "rotary"},
    "norms of what comes out": {"norm_position": "output", "norm_kind": "rms", "qk_norm": "row"},
    "norms around": {"norm_position": "both", "norm_kind": "rms", "score_cap": 5.0, "attention_scale": 0.4},
    "one norm, parallel": {"parallel": "one"}, "two norms, parallel": {"parallel": "two", "residual_scale": 0.5},
    "scaled": {"logits_scale": 0.3, "embedding_scale": 2.5, "residual_scale": 0.7},
    "narrow embeddings": {"embedding_dim": 8, "positions": "learned"},
    "wide embeddings": {"embedding_dim": 24, "positions": "learned", "final_norm": False},
    "attention alone": {"d_ff": 0, "logits_bias": True, "norm_kind": "rms"},
    "attention alone, post": {"d_ff": 0, "norm_position": "post"},
    "windows": {"window": 3, "window_layers": (1,), "positions": "alibi"}}


@each_row("shape", [*({"encoder_layers": 0, **shape} for shape in MODERN.values()), *(
    {"decoder_layers": 0, "n_classes": 3, **shape} for shape in (
        {"pooling": "first", "pooler": "tanh"}, {"pooling": "mean", "pooler": "gelu", "pooler_norm": True},
        {"pooling": "max", "pooler": "relu", "biases": ("q", "norm")},
        {"pooling": "first", "pooler": "gelu", "pooler_norm": True, "norm_kind": "rms", "norm_position": "post"}))])
def test_parts_add_up_in_models_of_other_families_and_past_the_layer_after_pooling(make_checkpoint, shape):
    ckpt = blurred(make_checkpoint(tie_embeddings=False, **shape))
    for options in {}, {"token": 1, "against": 2}:
        found = direct_effect(inputs_of_text(ckpt, "O gentle Romeo, where"), **options)
        assert found.total == pytest.approx(found.logit, abs=2e-4)
        assert all(values.abs().sum() > 0 for values in found.heads.values())


FIELDS = ("norm_position", "positions", "norm_kind", "activation", "gated")
EVERY = [*product(*(choices(ModelConfig, field) for field in FIELDS[:-1]), (False, True))]


@pytest.mark.parametrize("some", [
    pytest.param(slice(0, None, 11), id="each two values"),
    *(pytest.param(slice(at, None, 11), marks=pytest.mark.rare("more combinations; each two values are in make test"))
      for at in range(1, 11))])
def test_parts_add_up_whatever_the_architecture(tiny_tokenizer, some):
    for combination in EVERY[some]:
        config = ModelConfig(**TINY, encoder_layers=0, vocab_size=tiny_tokenizer.vocab_size, embedding_norm=True,
                             **dict(zip(FIELDS, combination, strict=True)))
        model = Transformer(config, generator=torch.Generator().manual_seed(29)).eval().requires_grad_(False)
        description = Description(Path(), "tiny@0", config, None, {})
        ckpt = blurred(Checkpoint(description, model, tiny_tokenizer, tiny_tokenizer))
        effect = direct_effect(inputs_of_text(ckpt, "O gentle Romeo, where"), against=5)
        assert effect.total == pytest.approx(effect.logit, abs=2e-4), config
