"""Many heads and long texts: what is sent stays small, and says what the model did."""

import numpy as np
import pytest
import torch

import transformer
from tests.messages import unpacked
from transformer.attention_view import heads as module
from transformer.attention_view.head_order import ROLES, apart
from transformer.attention_view.heads import Pooled, combined, one_head, weights
from transformer.attention_view.message import MOST_TILES, head_of, live, newest_row
from transformer.attention_view.message_fields import Selection
from transformer.attention_view.phone_message import MOST_CELLS, small
from transformer.attention_view.shared import FEW_HEADS, ORDERS
from transformer.attention_view.window import SIDE, Window, window
from transformer.measures.matrices import measure_heads

TEXT = "We can go home. I see a dog."


@pytest.fixture(scope="session")
def many(make_checkpoint):
    """A decoder of more heads than are all drawn."""
    return make_checkpoint(encoder_layers=0, decoder_layers=12, n_heads=16, head_dim=4, positions="rotary",
                           max_len=640)


@pytest.fixture(scope="module")
def long(many):
    """Its first step on a text nearly as long as it reads."""
    return transformer.start(many, (TEXT * 30)[:600])


def sent(message):
    """The header of a message, and the sizes of its arrays."""
    header, arrays = unpacked(message)
    return header, {name: array.shape for name, array in arrays.items()}


def test_heads_are_ordered_by_what_they_look_at_and_by_how_few_others_do(many):
    rows = torch.tensor([[[1.0, 0, 0]], [[1.0, 0, 0]], [[0, 0.5, 0.5]]])  # (H, R, Tk)
    assert apart(rows)[:, 0].tolist() == pytest.approx([0.5, 0.5, 1])
    assert apart(rows[:1]).tolist() == [[0]]
    assert apart(rows[:2]).tolist() == [[0], [0]]
    step = transformer.start(many, TEXT)
    numbers = Pooled.of(step, "decoder").numbers
    ids = list(step.tokens)
    full = step.attentions["decoder"]
    asked = measure_heads(full, [name for name in ROLES if name != "same"], kind="decoder", keys=ids)
    for name, expected in asked.items():
        np.testing.assert_allclose(numbers.of(name), expected, atol=1e-5)
    np.testing.assert_allclose(numbers.of("apart"), apart(full)[..., 1:].mean(-1), atol=1e-5)
    for order in ORDERS[1:]:
        first = numbers.first(order, 0, FEW_HEADS)
        values = [numbers.of(order)[at] for at in first]
        assert values == sorted(values, reverse=True)
        assert len(set(first)) == FEW_HEADS
    layers = {layer for layer, _ in numbers.first("layers", 11, FEW_HEADS)}
    assert layers == {10, 11}  # whole layers, ten at a time


def test_numbers_go_on_from_an_earlier_step(many):
    steps = list(transformer.steps(many, TEXT, max_steps=4))
    before = None
    for step in steps:
        before = Pooled.of(step, "decoder", before)
    anew = Pooled.of(steps[-1], "decoder")
    assert np.array_equal(before.cells, anew.cells)
    np.testing.assert_allclose(before.numbers.sums, anew.numbers.sums, atol=1e-4)


def test_too_many_weights_are_those_of_some_queries_the_last_among_them(many, monkeypatch):
    step = transformer.start(many, (TEXT * 4)[:100])
    exact = Pooled.of(step, "decoder")
    monkeypatch.setattr(module, "MOST_COMPUTED", 400_000)
    some = Pooled.of(step, "decoder")
    assert (exact.every, some.every) == (1, 8)
    assert some.block[0] == 8
    same = exact.cells if exact.block == some.block else module._repool(
        exact.cells, *(b // a for a, b in zip(exact.block, some.block, strict=True)))
    assert (some.cells <= same).all()
    rows = module.quantise(weights(step, "decoder", queries=slice(-1, None))[:, :, 0].numpy())
    assert (some.cells[:, :, -1].max(-1) >= rows.max(-1)).all()


def test_of_many_heads_a_map_and_some_are_sent(many):
    step = transformer.start(many, TEXT)
    selection = Selection("decoder", layer=11, head=3, order="apart")
    pooled = Pooled.of(step, "decoder")
    header, shapes = sent(live(step, selection, pooled))
    assert shapes["map/decoder"] == (1, 12, 16)
    assert shapes["places/decoder"] == (FEW_HEADS, 2)
    assert np.prod(shapes["tiles/decoder"]) <= MOST_TILES
    assert "grid/decoder" not in shapes
    assert header["maps"] == ["apart"]
    arrays, _ = pooled.drawn("decoder", "apart", 11, cells=MOST_TILES)
    for (layer, head), tile in zip(arrays["places/decoder"], arrays["tiles/decoder"], strict=True):
        assert np.array_equal(tile, pooled.cells[layer, head])
    _, phone = sent(small(step, selection, pooled, head_of(step, selection)))
    assert np.prod(phone["tiles/decoder"]) <= MOST_CELLS


@pytest.mark.slow
@pytest.mark.parametrize(("view", "most"), [("matrix", 600_000), ("lines", 1_600_000)])
def test_a_message_of_a_long_text_stays_short(long, view, most):
    selection = Selection("decoder", view=view)
    drawn = window(long)
    assert len(live(drawn, selection, Pooled.of(long, "decoder"), head=head_of(drawn, selection))) < most


@pytest.mark.slow
def test_a_window_at_the_end_or_elsewhere_has_the_weights_that_its_tokens_have_in_the_whole(long, many):
    whole = one_head(long, "decoder", 2, 3)
    drawn = window(long, (200, 40))
    part = one_head(drawn, "decoder", 2, 3)
    rows, columns = slice(200, 200 + SIDE), slice(40, 40 + SIDE)
    np.testing.assert_allclose(part.weights, whole.weights[rows, columns], atol=1e-6)
    np.testing.assert_allclose(part.q, whole.q[rows])
    np.testing.assert_allclose(part.moved, whole.moved[columns])
    assert drawn.axes("decoder")[0] == long.axes("decoder")[0][rows]
    mean = combined(drawn, "decoder", "mean_heads", 1).weights
    np.testing.assert_allclose(mean, long.attentions["decoder"][1].mean(0)[rows, columns], atol=1e-6)
    rolled = combined(long, "decoder", "rollout", 2).weights
    np.testing.assert_allclose(combined(drawn, "decoder", "rollout", 2).weights, rolled[rows, columns], atol=1e-6)
    selection = Selection("decoder", layer=2, head=3)
    np.testing.assert_allclose(newest_row(long, selection, part), whole.weights[-1], atol=1e-6)
    header, shapes = sent(live(drawn, selection, Pooled.of(long, "decoder"), head=part))
    assert header["kinds"]["decoder"]["whole"] == [600, 600]
    assert header["kinds"]["decoder"]["first"] == [200, 40]
    assert shapes["weights"] == (SIDE, SIDE)
    assert window(long).places["decoder"] == (slice(344, 600), slice(344, 600))
    assert window(long, last=False).places["decoder"] == (slice(0, 256), slice(0, 256))
    assert window(long, (900, 0)).places["decoder"] == (slice(344, 600), slice(0, 256))
    assert not isinstance(window(transformer.start(many, TEXT)), Window)
