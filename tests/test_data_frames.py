"""Tables have the numbers of their tensors, and refuse too many rows."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import transformer
from transformer.basics import data_frames

TEXT = "Go on."
COLUMNS = ["layer", "head", "query", "query_token", "key", "key_token", "weight", "score"]


@pytest.fixture(scope="module")
def step(translator):
    *_, last = transformer.steps(translator, TEXT, max_steps=5)
    return last


def assert_same(frame, scores, weights, axes) -> None:
    """Checks that every row is a cell of the tensors (layers, H, Tq, Tk), and no allowed cell is missing."""
    assert list(frame.columns) == COLUMNS
    places = tuple(frame[name].to_numpy() for name in ("layer", "head", "query", "key"))
    np.testing.assert_array_equal(frame.weight, weights.numpy()[places])
    np.testing.assert_array_equal(frame.score, scores.numpy()[places])
    assert len(frame) == len(set(zip(*places, strict=True))) == int(scores.isfinite().sum())
    assert [axes[0][at] for at in frame["query"]] == list(frame.query_token)
    assert [axes[1][at] for at in frame.key] == list(frame.key_token)


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_a_row_is_a_head_and_a_pair_of_tokens_that_the_mask_allows(translator, step, kind):
    assert_same(step.frame(kind), step.scores[kind], step.attentions[kind], step.axes(kind))
    reading = transformer.attend(translator, TEXT, "He is tall.")
    assert_same(reading.frame(kind), reading.scores[kind], reading.attentions[kind], reading.axes(kind))


def test_what_is_chosen_is_that_part_of_the_whole_table(step):
    whole = step.frame("decoder")
    for layer, head in ((1, 0), (None, 1), (0, None)):
        part = whole[((layer is None) | (whole.layer == layer)) & ((head is None) | (whole["head"] == head))]
        chosen = step.frame("decoder", layer=layer, head=head)
        assert chosen.equals(part.reset_index(drop=True))
        assert len(chosen) < len(whole)
    assert step.frame("decoder", layer=np.int64(1)).layer.unique().tolist() == [1]  # as it comes out of a table


def test_heads_that_were_switched_are_shown_as_they_looked(translator):
    step = transformer.start(translator, TEXT, change=transformer.uniform("E0H0"))
    keys = len(step.axes("encoder")[1])
    weights = step.frame("encoder").groupby(["layer", "head"]).weight.agg(lambda of: np.allclose(of, 1 / keys))
    assert weights[weights].index.tolist() == [(0, 0)]


def test_what_is_not_there_is_said(step):
    with pytest.raises(ValueError, match="there is no sideways attention here; choose from encoder, decoder, cross"):
        step.frame("sideways")
    with pytest.raises(ValueError, match="layer is 2; choose from 0 to 1, or leave it out for all 2"):
        step.frame("cross", layer=2)
    for head in (-1, "a", 0.5):
        with pytest.raises(ValueError, match=f"head is {head!r}; choose from 0 to 1"):
            step.frame("cross", head=head)


def test_a_table_that_is_too_long_says_how_long_and_a_head_of_it_fits():
    layers, heads, tokens = 12, 12, 1_024
    wide = SimpleNamespace(
        kinds=("decoder",), ckpt=SimpleNamespace(config=SimpleNamespace(layers=lambda kind: layers, n_heads=heads)),
        axes=lambda kind: (["a"] * tokens,) * 2, mask=lambda kind: torch.ones(tokens, tokens, dtype=torch.bool).tril(),
        attended=lambda kind, layers, heads: (torch.zeros(1, 1, tokens, tokens),) * 2)
    with pytest.raises(ValueError, match=r"12 layers of 12 heads with 524,800 pairs of tokens make 75,571,200 rows, "
                                         r"and a table has at most 10,000,000; choose one with layer= or head="):
        data_frames.attention(wide, "decoder")
    frame = data_frames.attention(wide, "decoder", layer=3, head=5)
    assert len(frame) == 524_800
    assert frame.memory_usage(index=False).sum() < 28 * len(frame)


def test_without_pandas_everything_else_works_and_a_table_says_what_to_install(monkeypatch, step):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ValueError, match="tables need the package pandas: pip install pandas"):
        step.frame("cross")
