"""Any mask, causal or not, gives the same numbers or the same refusal on both paths."""

import pytest
import torch

from tests.rows import each_row
from tests.switched import tap
from transformer.model.attention import dot_product_attention, score
from transformer.model.masks import causal_mask
from transformer.model.sites import NO_TAP

CASES = range(150)
CLOSE = {"atol": 1e-6, "rtol": 0}


def made_up(seed):
    """Queries, keys, values, a mask that broadcasts to (B, H, Tq, Tk) or None, and whether the causal rule applies too;
    every query may attend to key 0."""
    generator = torch.Generator().manual_seed(seed)

    def whole(low, high):
        return int(torch.randint(low, high + 1, (), generator=generator))

    causal, batch, heads, queries, width = bool(whole(0, 1)), whole(1, 3), whole(1, 3), whole(1, 6), whole(1, 8)
    keys = whole(queries, 8) if causal else whole(1, 8)
    q, k, v = (torch.randn(batch, heads, length, width, generator=generator, dtype=torch.float64)
               for length in (queries, keys, keys))
    if not whole(0, 5):
        return q, k, v, None, causal
    shape = [size if whole(0, 1) else 1 for size in (batch, heads, queries, keys)][whole(0, 3):]
    mask = torch.rand(shape, generator=generator) < 0.6
    mask[..., 0] = True
    return q, k, v, mask, causal


def by_definition(q, k, v, mask, causal, bias=None):
    """softmax(q k^T / sqrt(D) + bias) v, query by query, over the allowed keys."""
    bias = q.new_zeros(q.shape[1], q.shape[2], k.shape[2]) if bias is None else bias
    allowed = torch.ones(*q.shape[:3], k.shape[2], dtype=torch.bool) if mask is None else mask.expand(
        *q.shape[:3], k.shape[2])
    if causal:
        allowed = allowed & causal_mask(q.shape[2], k.shape[2])
    out, weights = torch.zeros(*q.shape[:3], v.shape[3]).to(q), torch.zeros(allowed.shape).to(q)
    for at in torch.cartesian_prod(*map(torch.arange, q.shape[:3])).tolist():
        row, head = tuple(at), tuple(at[:2])
        scores = k[head][allowed[row]] @ q[row] / q.shape[3] ** 0.5 + bias[at[1], at[2]][allowed[row]]
        weights[row][allowed[row]] = scores.softmax(0)
        out[row] = weights[row] @ v[head]
    return out, weights


@each_row(("seed", "biased", "switched"), [
    *((seed, False, False) for seed in CASES),
    *((seed, *what) for seed in CASES[:40] for what in ((True, False), (True, True), (False, True)))])
def test_both_paths_do_what_masks_a_bias_and_switches_say(seed, biased, switched):
    q, k, v, mask, causal = made_up(seed)
    generator = torch.Generator().manual_seed(seed)
    bias = torch.randn(q.shape[1], q.shape[2], k.shape[2], generator=generator, dtype=q.dtype) if biased else None
    scale = 3 * torch.rand(q.shape[1], generator=generator) if switched else torch.ones(q.shape[1])
    uniform = torch.rand(q.shape[1], generator=generator) < 0.5 * switched
    options = {"bias": bias, "causal": causal, "tap": tap(scale, uniform) if switched else NO_TAP}
    fast, _, _ = dot_product_attention(q, k, v, mask, **options)
    slow, scores, found = dot_product_attention(q, k, v, mask, readable=True, **options)
    even = uniform[:, None, None]  # no query and no bias, no preference
    expected, weights = by_definition(torch.where(even, 0.0, q), k, v, mask, causal,
                                      None if bias is None else torch.where(even, 0.0, bias))
    for output in (fast, slow):
        torch.testing.assert_close(output, expected * scale[:, None, None].double(), **CLOSE)
    torch.testing.assert_close(found, weights, **CLOSE)
    assert (scores.isneginf() == (weights == 0)).all()
    learned = score(q, k) + (0 if bias is None else bias)
    torch.testing.assert_close(scores[weights > 0], learned[weights > 0], **CLOSE)


@each_row("readable", [False, True])
@each_row(("mask", "causal"), [
    (torch.tensor([[True, True, True], [False, False, False], [True, True, True]]), False),
    (torch.tensor([[False, True, True], [True, True, True], [True, True, True]]), True),  # all that is left is ahead
    (torch.tensor(False), False), (torch.tensor([[[[True]], [[False]]]]), False),
])
def test_a_query_with_nothing_to_attend_to_is_refused(mask, causal, readable):
    q = torch.randn(1, 2, 3, 4)
    with pytest.raises(ValueError, match="a query has no key to attend to; leave it at least one"):
        dot_product_attention(q, q, q, mask, causal=causal, readable=readable)


@each_row("readable", [False, True])
@each_row(("mask", "message"), [
    (torch.ones(3, 3), "the mask is of torch.float32; give booleans, True where attending is allowed"),
    (torch.ones(3, 3, dtype=torch.long), "the mask is of torch.int64; give booleans"),
    (torch.ones(3, 4, dtype=torch.bool), r"the mask is \(3, 4\), which does not broadcast to \(1, 2, 3, 3\)"),
    (torch.ones(2, 2, 3, 3, dtype=torch.bool), r"does not broadcast to \(1, 2, 3, 3\)"),
])
def test_what_is_no_mask_and_more_queries_than_keys_are_refused(mask, message, readable):
    q = torch.randn(1, 2, 3, 4)
    with pytest.raises(ValueError, match=message):
        dot_product_attention(q, q, q, mask, readable=readable)
    with pytest.raises(ValueError, match="3 queries but 2 keys"):
        dot_product_attention(q, q[:, :, :2], q[:, :, :2], causal=True, readable=readable)


@each_row("readable", [False, True])
def test_a_decoder_takes_a_mask_and_the_causal_rule_together(writer, readable):
    model, ids = writer.model, torch.tensor([writer.tokenizer.encode("I am cold.")])
    cut = torch.ones(1, 1, 10, 10, dtype=torch.bool)
    cut[..., 9, 3] = False  # the last token does not see the fourth
    plain = model.decode(ids, causal=True, readable=readable).x
    found = model.decode(ids, causal=True, mask=cut, readable=readable)
    torch.testing.assert_close(found.x, model.decode(ids, mask=cut & causal_mask(10, 10)).x)
    assert (found.x - plain)[0, -1].abs().max() > 1e-3
    torch.testing.assert_close(found.x[:, :-1], plain[:, :-1])  # no other row reads it
    if readable:
        assert all((layer.weights[..., 9, 3] == 0).all() for layer in found.attention)


@each_row("readable", [False, True])
def test_tokens_after_those_that_were_read_before_can_be_causal_too(writer, readable):
    model, ids = writer.model, torch.tensor([writer.tokenizer.encode("I am cold.")])
    whole = model.decode(ids, causal=True)
    first = model.decode(ids[:, :4], causal=True)
    rest = model.decode(ids[:, 4:], causal=True, past=[layer.memory for layer in first.attention], readable=readable)
    torch.testing.assert_close(rest.x, whole.x[:, 4:], atol=1e-5, rtol=1e-5)
