"""Spaces: the picture against the library, what is nearest to a point, links, and models with less to show."""

import json
import sys

import numpy as np
import pytest
import torch

import transformer
from tests.app.heads_checkpoints import WITHOUT_TOKENIZER, make_without_tokenizer
from transformer.analysis.spaces import neighbours, pca, queries_and_keys, scores, states
from transformer.checkpoint import Checkpoint
from transformer.held_out import held_out_sentences
from ui.views.heads.spaces import SAMPLE

from .page import bars, chips, options, press, put, rows_of, words

PAGE, OPENING = "heads", {"view": "spaces"}
TEXT = "I like red wine."


def drawn(at) -> list[dict]:
    """The points of the picture, in order."""
    (picture,) = at.get("vega_lite_chart")
    return rows_of(picture)


def title(at) -> str:
    (picture,) = at.get("vega_lite_chart")
    return json.loads(picture.proto.spec)["title"]["text"]


def places(rows: list[dict], own: bool) -> np.ndarray:
    return np.array([(row["x"], row["y"]) for row in rows if row["of"].startswith("your") == own])


def held(ckpt: Checkpoint):
    return held_out_sentences(ckpt, limit=SAMPLE)


def test_states_lie_on_the_axes_of_held_out_text_and_neighbours_are_those_of_all_numbers(open_page, shipped):
    ckpt = shipped("translate")
    at = open_page(text=TEXT, depth="2", point="own-2")
    assert not at.error
    others = states(ckpt, held(ckpt), "encoder.1.resid_post")
    own = transformer.run(ckpt, TEXT, capture="encoder.1.resid_post")["encoder.1.resid_post"]
    axes = pca(others.values)
    rows = drawn(at)
    np.testing.assert_allclose(places(rows, False), axes.points, atol=1e-4)
    np.testing.assert_allclose(places(rows, True), axes.of(own), atol=1e-4)
    assert [row["label"] for row in rows if row["of"] == "your text"][2] == "␣red"
    assert f"Encoder, after layer 1 · {sum(axes.variance):.0%}" in title(at)
    near = neighbours(others.values, own[2], 6)
    assert len(near) == 6
    for one in near:
        tokens, _ = others.context(one.at)
        assert chips(at, f"context at {one.similarity:.2f}") == [token.replace("▁", "␣") for token in tokens] or (
            sum(f"{one.similarity:.2f}" == f"{other.similarity:.2f}" for other in near) > 1)
    assert "␣red** (your text, position 2)" in words(at) and "not seen in training" in words(at)
