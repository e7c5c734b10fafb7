"""Layers, compared with PyTorch's, for every place of the norm."""

import pytest
import torch
from torch import nn

from tests.choices import choices
from tests.rows import each_row
from tests.switched import switched
from transformer.model.changes import Changed, Ready
from transformer.model.layers import ACTIVATIONS, Dropout, FeedForward, Layer, Stack
from transformer.model.masks import causal_mask, padding_mask
from transformer.settings.config import ModelConfig

D_MODEL, HEADS, D_FF = 16, 4, 24
CLOSE = {"atol": 1e-5, "rtol": 1e-5}
TGT = torch.tensor([[5, 6, 7, 8, 9], [5, 6, 7, 0, 0]])
SRC = torch.tensor([[5, 6, 7, 8, 9, 4, 4], [5, 6, 0, 0, 0, 0, 0]])


def config(**changes):
    settings = {"d_model": D_MODEL, "n_heads": HEADS, "d_ff": D_FF, "vocab_size": 30, "dropout": 0.0}
    return ModelConfig(**{**settings, **changes})


def inputs(ids):
    return torch.randn(*ids.shape, D_MODEL, generator=torch.Generator().manual_seed(ids.shape[1]))


def blur(module):
    """Moves weights, biases and norms away from their initial values, so that each matters."""
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=generator), alpha=0.3)
    return module.eval()


def copy_attention(theirs, ours):
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([ours.q_proj.weight, ours.k_proj.weight, ours.v_proj.weight]))
        theirs.in_proj_bias.copy_(torch.cat([ours.q_proj.bias, ours.k_proj.bias, ours.v_proj.bias]))
    theirs.out_proj.load_state_dict(ours.out_proj.state_dict())


def torchs(ours, settings):
    """PyTorch's layer with the same weights."""
    made = nn.TransformerEncoderLayer if ours.cross is None else nn.TransformerDecoderLayer
    theirs = made(D_MODEL, HEADS, D_FF, dropout=0.0, activation=settings.activation, batch_first=True,
                  norm_first=settings.norm_position == "pre", layer_norm_eps=settings.norm_eps)
    copy_attention(theirs.self_attn, ours.attention)
    pairs = [(theirs.linear1, ours.feed_forward.up), (theirs.linear2, ours.feed_forward.down),
             (theirs.norm1, ours.attention_norm)]
    if ours.cross is None:
        pairs.append((theirs.norm2, ours.feed_forward_norm))
    else:
        copy_attention(theirs.multihead_attn, ours.cross)
        pairs += [(theirs.norm2, ours.cross_norm), (theirs.norm3, ours.feed_forward_norm)]
    for their_part, our_part in pairs:
        their_part.load_state_dict(our_part.state_dict())
    return theirs.eval()


@each_row("readable", [False, True])
@each_row("activation", ["relu", "gelu"])
@each_row("norm", ["pre", "post"])
@each_row("cross", [False, True])
def test_a_layer_equals_torchs(cross, norm, activation, readable):
    settings = config(norm_position=norm, activation=activation, norm_eps=1e-3)
    ours, causal = blur(Layer(settings, cross=cross)), causal_mask(TGT.shape[1], TGT.shape[1])
    if cross:
        expected = torchs(ours, settings)(
            inputs(TGT), inputs(SRC), tgt_mask=~causal[0, 0], memory_key_padding_mask=SRC == 0)
        found = ours(inputs(TGT), inputs(SRC), mask=causal, memory_mask=padding_mask(SRC, 0), readable=readable)
    else:
        expected = torchs(ours, settings)(inputs(SRC), src_key_padding_mask=SRC == 0)
        found = ours(inputs(SRC), mask=padding_mask(SRC, 0), readable=readable)
    torch.testing.assert_close(found.x, expected, **CLOSE)
    assert (found.cross is None) != cross


@pytest.mark.parametrize("norm", choices(ModelConfig, "norm_position"))
def test_looking_alone_gives_the_attention_of_the_whole_layer(norm):
    layer = blur(Layer(config(norm_position=norm), cross=True))
    whole = layer(inputs(TGT), inputs(SRC), readable=True)
    looked = layer.attend(inputs(TGT), inputs(SRC), readable=True)
    assert torch.equal(looked.attention.weights, whole.attention.weights)
    assert torch.equal(looked.cross.weights, whole.cross.weights)
    assert not torch.equal(looked.x, whole.x)


@pytest.mark.parametrize(("name", "expected"), [
    ("relu", nn.ReLU()), ("gelu", nn.GELU()), ("gelu_tanh", nn.GELU(approximate="tanh")), ("silu", nn.SiLU()),
], ids=list(ACTIVATIONS))
def test_each_activation_is_the_one_it_names(name, expected):
    ours = blur(FeedForward(config(activation=name)))
    x = inputs(TGT)
    assert torch.equal(ours(x), ours.down(expected(ours.up(x))))


def test_a_stack_ends_with_one_norm_more_where_the_norm_is_before_each_part_and_with_none_where_it_is_after():
    stack = blur(Stack(config(norm_position="pre"), 2))
    found = stack(inputs(SRC))
    assert torch.equal(found.x, stack.norm(found.inputs[-1]))
    plain = (found.x - stack.norm.bias) / stack.norm.weight
    torch.testing.assert_close(plain.mean(-1), torch.zeros(SRC.shape), **CLOSE)
    torch.testing.assert_close(plain.std(-1, correction=0), torch.ones(SRC.shape), **CLOSE)
    stack = blur(Stack(config(norm_position="post"), 2))
    found = stack(inputs(SRC))
    assert torch.equal(found.x, found.inputs[-1]) and not list(stack.norm.parameters())


@pytest.mark.parametrize("norm", choices(ModelConfig, "norm_position"))
def test_a_stack_hands_each_layer_what_is_its_own(norm):
    stack = blur(Stack(config(norm_position=norm), 3, cross=True))
    memory = [layer.cross.keys_values(inputs(SRC)) for layer in stack.layers]
    generator = torch.Generator().manual_seed(2)
    kinds = "decoder", "cross"
    changes = switched({kind: 2 * torch.rand(3, HEADS, generator=generator) for kind in kinds},
                       {kind: torch.rand(3, HEADS, generator=generator) < 0.5 for kind in kinds})
    both = config(norm_position=norm, n_heads=HEADS, encoder_layers=1, decoder_layers=3)
    taps = Changed([Ready(one, place) for one in changes for place in one.places(both)])
    found = stack(inputs(TGT), memory, taps=taps, readable=True)
    assert [len(part) for part in found[1:]] == [4, 3, 3]
    assert torch.equal(found.inputs[0], inputs(TGT))
    for i, layer in enumerate(stack.layers):
        alone = layer(found.inputs[i], memory[i], tap=taps.of("decoder", i), cross_tap=taps.of("cross", i),
                      readable=True)
        assert torch.equal(alone.x, found.inputs[i + 1])
        assert torch.equal(alone.attention.weights, found.attention[i].weights)
        assert torch.equal(alone.cross.weights, found.cross[i].weights)
    unprojected = stack(inputs(TGT), inputs(SRC), taps=taps)
    torch.testing.assert_close(unprojected.x, found.x, **CLOSE)


@each_row("share", [0.1, 0.3, 0.5, 0.9])
@each_row("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_dropout_zeroes_its_share_and_keeps_the_mean_and_the_gradient_passes_where_the_number_did(share, dtype):
    torch.manual_seed(1)
    x = torch.ones(499, 501, dtype=dtype, requires_grad=True)
    out = Dropout(share)(x)
    assert out.dtype == dtype and out.mean(dtype=torch.float64).item() == pytest.approx(1, abs=0.02)
    assert (out == 0).double().mean().item() == pytest.approx(share, abs=0.004)
    assert out.unique().numel() == 2  # zero, or scaled
    out.sum().backward()
    assert torch.equal(x.grad, out)
    rows, columns = (out == 0).double().mean(0), (out == 0).double().mean(1)
    assert (rows - share).abs().max() < 0.1 and (columns - share).abs().max() < 0.1  # evenly over all places


def test_dropout_of_a_seed_is_the_same_and_outside_training_it_does_nothing_and_weights_may_have_one_of_their_own():
    x, dropout = torch.ones(50, 50), Dropout(0.2)
    torch.manual_seed(1)
    one, two = dropout(x), dropout(x)
    torch.manual_seed(1)
    assert torch.equal(dropout(x), one) and not torch.equal(one, two)
    assert torch.equal(dropout.eval()(x), x)
    assert Dropout(0.001)(x).count_nonzero() > 2_400  # less than a byte can say: as PyTorch does it
    assert Dropout(1.0)(x).count_nonzero() == 0 and Dropout(0.0)(x) is not None and Dropout(0.2)(x[:0]).shape == (0, 50)
    assert Layer(config(dropout=0.3)).attention.dropout == 0.3
    layer = Layer(config(dropout=0.3, attention_dropout=0.0), cross=True)
    assert (layer.attention.dropout, layer.cross.dropout, layer.dropout.p) == (0.0, 0.0, 0.3)


@pytest.mark.parametrize("norm_position", choices(ModelConfig, "norm_position"))
def test_without_a_feed_forward_part_a_layer_is_its_attention(norm_position):
    config = ModelConfig(d_model=16, n_heads=2, d_ff=0, encoder_layers=1, decoder_layers=1, vocab_size=30, dropout=0.0,
                         norm_position=norm_position)
    layer = Layer(config, cross=True).eval()
    x, memory = torch.randn(2, 5, 16), torch.randn(2, 4, 16)
    assert not [name for name, _ in layer.named_parameters() if name.startswith("feed_forward")]
    torch.testing.assert_close(layer(x, memory, causal=True).x, layer.attend(x, memory, causal=True).x)
    with pytest.raises(ValueError, match="need both parts"):
        config.replace(encoder_layers=0, norm_position="pre", parallel="one")
