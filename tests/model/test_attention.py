"""Attention, compared with PyTorch on both paths; and head switches."""

import pytest
import torch
from torch import nn

from tests.rows import each_row
from tests.switched import tap
from transformer.model.attention import Attention
from transformer.model.cache import Cache, KeysValues
from transformer.model.masks import causal_mask, padding_mask, target_mask
from transformer.model.positions import NO_EFFECTS, PositionEffects
from transformer.model.rotary import rotary_angles
from transformer.settings.config import ModelConfig

B, TQ, TK, D_MODEL, HEADS, WIDTH = 2, 5, 7, 16, 4, 4
SHAPE = ModelConfig(d_model=D_MODEL, n_heads=HEADS, head_dim=WIDTH, dropout=0.0)
CLOSE = {"atol": 1e-5, "rtol": 1e-5}
IDS = torch.tensor([[5, 6, 7, 8, 9, 4, 4], [5, 6, 7, 0, 0, 0, 0]])
MASKS = {
    "none": (TQ, None),
    "causal": (TQ, causal_mask(TQ, TQ)),
    "padding": (TK, padding_mask(IDS, 0)),
    "target": (TQ, target_mask(IDS[:, :TQ], 0)),
}


@pytest.fixture
def attention():
    torch.manual_seed(1)
    made = Attention(SHAPE).eval()
    for parameter in made.parameters():
        nn.init.normal_(parameter, std=0.5)  # biases too, and scores far enough from 0 to make a difference
    return made


def inputs(length=TQ):
    return torch.randn(B, length, D_MODEL, generator=torch.Generator().manual_seed(length))


def torchs(ours):
    """PyTorch's module with the same weights."""
    theirs = nn.MultiheadAttention(D_MODEL, HEADS, batch_first=True).eval()
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([ours.q_proj.weight, ours.k_proj.weight, ours.v_proj.weight]))
        theirs.in_proj_bias.copy_(torch.cat([ours.q_proj.bias, ours.k_proj.bias, ours.v_proj.bias]))
    theirs.out_proj.load_state_dict(ours.out_proj.state_dict())
    return theirs


def every(module):
    """All objects on a module and those inside it, by identity."""
    places = [place for part in module.modules() for place in (vars(part), *vars(part).values())]
    return [(key, id(value)) for place in places if isinstance(place, dict) for key, value in place.items()]


@each_row("readable", [False, True])
@each_row("name", MASKS)
def test_it_equals_torchs_attention(attention, name, readable):
    keys, mask = MASKS[name]
    x, memory = inputs(), None if keys == TQ else inputs(keys)
    blocked = None if mask is None else ~mask.expand(B, HEADS, TQ, keys).flatten(0, 1)  # theirs says what not to see
    expected, weights = torchs(attention)(x, x if memory is None else memory, x if memory is None else memory,
                                          attn_mask=blocked, average_attn_weights=False)
    found = attention(x, memory, mask=mask, readable=readable)
    torch.testing.assert_close(found.output, expected, **CLOSE)
    if readable:
        torch.testing.assert_close(found.weights, weights, **CLOSE)
    else:
        assert found.scores is found.weights is None


@each_row("rotary", [False, True])
@each_row("name", MASKS)
def test_the_fast_path_and_the_readable_path_agree_in_output_and_gradients(attention, name, rotary):
    keys, mask = MASKS[name]
    angles = rotary_angles(torch.arange(TQ), WIDTH) if rotary and keys == TQ else None
    attention.double()  # gradients add up many numbers, and only then do both ways round alike
    results = []
    for readable in (False, True):
        x = inputs().double().requires_grad_()
        memory = None if keys == TQ else inputs(keys).double().requires_grad_()
        output = attention(x, memory, mask=mask, placed=PositionEffects(angles), readable=readable).output
        leaves = [x, *([] if memory is None else [memory]), *attention.parameters()]
        results.append([output, *torch.autograd.grad((output * inputs()).sum(), leaves)])
    for fast, slow in zip(*results, strict=True):
        torch.testing.assert_close(fast, slow)


@each_row("readable", [False, True])
@each_row("rotary", [False, True])
@each_row("cut", [1, 3])
def test_rows_of_an_earlier_call_give_what_the_whole_gives(attention, cut, rotary, readable):
    x = inputs()
    angles = rotary_angles(torch.arange(TQ), WIDTH) if rotary else None
    whole = attention(x, mask=causal_mask(TQ, TQ), placed=PositionEffects(angles), readable=readable)
    before, after = (PositionEffects(angles[part]) if rotary else NO_EFFECTS for part in (slice(cut), slice(cut, None)))
    first = attention(x[:, :cut], mask=causal_mask(cut, cut), placed=before, readable=readable)
    rest = attention(x[:, cut:], past=first.memory, mask=causal_mask(TQ - cut, TQ), placed=after, readable=readable)
    torch.testing.assert_close(torch.cat([first.output, rest.output], 1), whole.output, **CLOSE)
    for ours, expected in zip(rest.memory, whole.memory, strict=True):
        torch.testing.assert_close(ours, expected, **CLOSE)
    if readable:
        torch.testing.assert_close(rest.weights, whole.weights[:, :, cut:], **CLOSE)


def test_the_width_of_a_head_is_free_of_d_model_and_rows_projected_before_give_what_the_memory_itself_gives(attention):
    projected = attention.keys_values(inputs(TK))
    assert projected.keys.shape == projected.values.shape == (B, HEADS, TK, WIDTH)
    assert torch.equal(attention(inputs(), projected).output, attention(inputs(), inputs(TK)).output)
    attention = Attention(SHAPE.replace(n_heads=3, head_dim=6))
    found = attention(inputs(), inputs(TK), readable=True)
    assert found.output.shape == (B, TQ, D_MODEL)
    assert found.weights.shape == (B, 3, TQ, TK)
    assert found.queries.shape == (B, 3, TQ, 6)
    assert isinstance(found.memory, KeysValues)


@each_row("readable", [False, True])
@each_row("name", MASKS)
@each_row("scale", [0, 0.5, 2, 3])
@each_row("head", range(HEADS))
def test_a_scale_multiplies_what_a_head_contributes(attention, head, scale, name, readable):
    keys, mask = MASKS[name]
    memory = None if keys == TQ else inputs(keys)
    scaled = tap([scale if at == head else 1 for at in range(HEADS)])
    found = attention(inputs(), memory, mask=mask, tap=scaled, readable=readable)
    plain = attention(inputs(), memory, mask=mask, readable=True)
    with torch.no_grad():
        attention.out_proj.weight[:, head * WIDTH : (head + 1) * WIDTH] *= scale  # the same, one map later
    torch.testing.assert_close(found.output, attention(inputs(), memory, mask=mask).output, **CLOSE)
    assert not readable or torch.equal(found.weights, plain.weights)  # it still looks where it looked


@each_row("readable", [False, True])
@each_row("name", MASKS)
def test_a_scale_of_1_changes_no_bit(attention, name, readable):
    keys, mask = MASKS[name]
    memory = None if keys == TQ else inputs(keys)
    plain = attention(inputs(), memory, mask=mask, readable=readable)
    found = attention(inputs(), memory, mask=mask, tap=tap([1] * HEADS), readable=readable)
    assert torch.equal(found.output, plain.output)
    assert not readable or (torch.equal(found.scores, plain.scores) and torch.equal(found.weights, plain.weights))


def test_looking_leaves_nothing_on_the_module(attention):
    before = every(attention)
    for options in ({}, {"readable": True}, {"tap": tap([0, 1, 2, 1])}):
        past = attention(inputs(), **options).memory
        attention(inputs(), past=past, **options)
        attention(inputs(), inputs(TK), **options)
    assert every(attention) == before


@pytest.mark.parametrize("options", [{}, {"readable": True}, {"tap": tap([1] * HEADS)}], ids=list)
def test_dropout_acts_in_training_only_and_shown_weights_are_free_of_it(attention, options):
    quiet = attention(inputs(), **options)
    attention.dropout = 0.5
    assert torch.equal(attention(inputs(), **options).output, quiet.output)
    attention.train()
    noisy = attention(inputs(), **options)
    assert not torch.allclose(noisy.output, quiet.output)
    assert quiet.weights is None or torch.equal(noisy.weights, quiet.weights)


@pytest.mark.parametrize("tokens", [1, 3])
@torch.no_grad()
def test_a_cache_with_room_holds_what_a_copy_at_every_token_would(attention, tokens):
    found = attention(inputs(tokens))
    copied, kept = found.memory, Cache(found.memory)
    for step in range(40):
        x = inputs(1) + step
        one, other = attention(x, past=copied), attention(x, past=kept)
        torch.testing.assert_close(other.output, one.output, **CLOSE)
        assert all(torch.equal(a, b) for a, b in zip(other.memory, one.memory, strict=True))
        copied = one.memory
        if step % 7 == 0:  # the texts change places, as in a beam search; one goes on twice
            texts = torch.tensor([B - 1, 0, *range(1, B - 1)]) if step % 14 else torch.zeros(B, dtype=torch.long)
            copied = KeysValues(*(rows[texts] for rows in copied))
            kept.choose(texts)


def test_a_cache_goes_on_with_fewer_texts():
    first = KeysValues(torch.randn(3, 2, 4, 5), torch.randn(3, 2, 4, 5))
    kept, new = Cache(first), torch.randn(1, 2, 1, 5)
    for texts in ([2, 0], [1]):
        kept.choose(torch.tensor(texts))
    keys, values = kept.followed_by(new, new)
    assert torch.equal(keys, torch.cat([first.keys[:1], new], dim=2))
    assert torch.equal(values, torch.cat([first.values[:1], new], dim=2))
