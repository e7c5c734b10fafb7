"""Positions, without a browser."""

from math import cos, pi, sin

import numpy as np
import pytest
import torch

from transformer.analysis.positions import along_diagonals
from transformer.inference.beam_search import translate
from transformer.inference.reading import attend
from transformer.model.rotary import rotary_angles, rotate
from ui.figures.labels import markdown_text

from .page import matrix, plot, put, words

PAGE, TEXT = "positions", "The woman sees the man."


def formula(place: int, feature: int, d_model: int, base: float) -> float:
    """Vaswani et al. 2017, section 3.5."""
    angle = place / base ** (2 * (feature // 2) / d_model)
    return cos(angle) if feature % 2 else sin(angle)


def both_heads(at) -> list[np.ndarray]:
    """The weights drawn with positions and without, 0 where they are masked."""
    return [np.nan_to_num(matrix(at, f"positions_attention_{name}")) for name in ("trained", "bare")]


def test_it_opens_with_a_hundred_positions(open_page):
    at = open_page()
    table = matrix(at, "positions_matrix")
    assert table.shape == (100, 128)
    expected = [[formula(place, feature, 128, 10_000) for feature in range(128)] for place in range(100)]
    assert np.allclose(table, expected, atol=1e-6)
    assert {"view": "Sinusoidal", "count": "100", "d_model": "128", "dims": "4,5,20,21,60"}.items() <= (
        at.query_params.items())
    assert "checkpoint" not in at.query_params


@pytest.mark.parametrize("layout", ["interleaved", "halves"])
def test_size_base_layout_and_measure_decide_the_pictures(open_page, layout):
    at = open_page(count="30", d_model="6", base="100", layout=layout, dims="0", place="999")
    expected = np.array([[formula(place, feature, 6, 100) for feature in range(6)] for place in range(30)])
    if layout == "halves":
        expected = np.hstack([expected[:, 0::2], expected[:, 1::2]])
    assert np.allclose(matrix(at, "positions_matrix"), expected, atol=1e-6)
    assert np.allclose(matrix(at, "positions_similarity"), expected @ expected.T, atol=1e-5)
    assert f"From 2π = 6.28 positions to {2 * pi * 100 ** (4 / 6):,.0f}." in words(at, "caption")
    assert at.slider(key="positions_place").value == 29
    put(at, "positions_measure", "cosine")
    assert np.allclose(np.diagonal(matrix(at, "positions_similarity")), 1, atol=1e-5)


def test_without_dimensions_it_says_so_and_fewer_features_leave_some_out(open_page):
    at = open_page(dims="")
    assert "choose a dimension" in at.info[0].value
    assert plot(at, "positions_matrix")
    at = open_page()
    put(at, "positions_d_model", 16)
    assert at.query_params["dims"] == "4,5"


def test_rotary_products_depend_on_distance_alone(open_page):
    at = open_page(view="Rotary", count="40", width="16", seed="7")
    products = matrix(at, "positions_products")
    q, k = torch.randn(2, 1, 1, 1, 16, generator=torch.Generator().manual_seed(7), dtype=torch.float64)
    for query, key in ((0, 0), (3, 9), (39, 1)):
        turned = [rotate(x, rotary_angles(torch.tensor([place]), 16)) for x, place in ((q, query), (k, key))]
        assert products[query, key] == pytest.approx(float((turned[0] * turned[1]).sum()) / 4, abs=1e-5)
    assert np.ptp(np.diagonal(products, 5)) < 1e-5 < np.ptp(products[0])
    angles = plot(at, "positions_angles")["data"][0]["customdata"]
    assert np.allclose(angles, np.arange(40)[:, None] / 10_000 ** (np.arange(0, 16, 2) / 16), atol=1e-5)
    at = open_page(view="Rotary", count="40", width="16", seed="7", same="on")
    products = np.array(matrix(at, "positions_products"))
    assert (products.argmax(axis=1) == np.arange(40)).all()
    assert at.query_params["same"] == "on"
    at = open_page(view="Rotary", width="15")
    assert "choose an even width" in at.error[0].value


def test_the_shipped_checkpoints_say_which_kind_they_have(open_page, shipped):
    for name, kind in (("translate", "sinusoidal"), ("write", "rotary")):
        ckpt = shipped(name)
        at = open_page(view="Trained", checkpoint=ckpt.id, count="50")
        assert f"are **{kind}**" in words(at, "markdown")
        table = matrix(at, "positions_table")
        assert np.allclose(table, ckpt.model.position_pictures(50, side="tgt")[0].values.numpy(), atol=1e-6)
        assert at.query_params["checkpoint"] == ckpt.id


def test_learned_positions_stand_beside_the_sinusoids(open_page, place):
    ckpt = place(positions="learned")
    at = open_page(view="Trained", checkpoint=ckpt.id, side="tgt")
    assert "are **learned**" in words(at, "markdown")
    table = matrix(at, "positions_table")
    assert np.allclose(table, ckpt.model.tgt_embedding.positions.weight.numpy(), atol=1e-6)
    assert table.shape == (40, 16)  # as many as it has
    beside = matrix(at, "positions_beside")
    assert np.allclose(beside[3], [formula(3, feature, 16, 10_000) for feature in range(16)], atol=1e-6)
    put(at, "positions_side", "src")
    assert np.allclose(matrix(at, "positions_table"), ckpt.model.src_embedding.positions.weight.numpy(),
                       atol=1e-6)


@pytest.mark.parametrize("view", ["Trained", "Left out"])
def test_a_checkpoint_without_positions_says_so(open_page, place, view):
    at = open_page(view=view, checkpoint=place(positions="none").id)
    assert "no position" in at.info[0].value
    assert not at.get("plotly_chart")


def test_a_classifier_can_be_looked_at_too(open_page, place):
    id = place(decoder_layers=0, pooling="mean", n_classes=3).id
    assert plot(open_page(view="Trained", checkpoint=id, side="tgt"), "positions_table")
    assert plot(open_page(view="Left out", checkpoint=id, text="I am cold."), "positions_attention_bare")


@pytest.mark.parametrize(("kind", "layer", "head"), [("encoder", 1, 0), ("decoder", 1, 3), ("cross", 0, 1)])
def test_leaving_positions_out_shows_the_head_with_and_without(open_page, shipped, kind, layer, head):
    ckpt = shipped("translate")
    at = open_page(view="Left out", kind=kind, layer=str(layer), head=str(head))
    target = translate(ckpt, [TEXT])[0]
    expected = attend(ckpt, TEXT, target).attentions[kind][layer, head].numpy()
    one, other = both_heads(at)
    assert np.allclose(one, expected, atol=1e-5)
    assert np.allclose(other.sum(axis=1), 1, atol=1e-4)
    moved = np.abs(one - other).sum(axis=1).mean() / 2
    assert moved > 0.01
    assert f"**{moved:.1%}** of this head's attention moves without positions" in words(at, "markdown")
    assert target in [text.value for text in at.text]


def test_a_decoder_alone_loses_its_positions_too(open_page, shipped):
    ckpt = shipped("write")
    at = open_page(view="Left out", checkpoint=ckpt.id, text="ROMEO:\nO", kind="cross", layer="99", head="2")
    expected = attend(ckpt, "ROMEO:\nO").attentions["decoder"][3, 2].numpy()
    assert np.allclose(both_heads(at)[0], expected, atol=1e-5)
    assert at.query_params["kind"] == "decoder"
    assert at.query_params["layer"] == "3"


def test_an_empty_text_is_asked_for_and_one_too_long_refused_with_the_limit(open_page, place):
    at = open_page(view="Left out", checkpoint=place().id, text="   \n")
    assert "Type a text" in at.info[0].value
    for text, limit in (("a cat " * 40, "reads at most 40"), ("a" * 301, "301 characters; at most 300")):
        put(at, "positions_text", text)
        assert limit in at.error[0].value
    put(at, "positions_text", "")
    assert "Type a text" in at.info[0].value
    assert not at.error


def test_a_view_and_back_keeps_what_was_set(open_page):
    at = open_page(count="64", width="8", text="Go on.", seed="5")
    for view in ("Rotary", "Left out", "Trained", "Sinusoidal", "Rotary"):
        put(at, "positions_view", view)
    assert {"view": "Rotary", "count": "64", "width": "8", "seed": "5", "text": "Go on."}.items() <= (
        at.query_params.items())


def test_alibi_shows_its_slopes_and_what_each_head_takes_off(open_page, place):
    ckpt = place(positions="alibi")
    at = open_page(view="Trained", checkpoint=ckpt.id, count="10")
    assert any("are **alibi**" in text.value and markdown_text("heads 0 to 1: 0.0625, 0.003906") in text.value
               for text in at.markdown)
    table = matrix(at, "positions_table")
    assert np.allclose(table, -np.arange(10)[:, None] * [2**-4, 2**-8], atol=1e-6)
    at = open_page(view="Left out", checkpoint=ckpt.id, text="I am cold.", kind="decoder")
    assert "no distance is taken off the scores" in words(at, "caption")
    one, other = both_heads(at)
    assert not np.allclose(one, other, atol=1e-3)


def test_a_head_by_hand_shows_the_bias_and_adds_it_in_the_weight_spelled_out(visit, place):
    at = visit("by_hand", part="trained", checkpoint=place(positions="alibi", encoder_layers=0).id,
               sentence="I am cold.", row="3", column="1")
    pages = " ".join(html.value for html in at.get("html"))
    assert "bias of the positions" in pages
    assert "<dt>Positions</dt>" in pages
    assert "alibi positions" in words(at, "caption")


def test_rotary_positions_are_compared_by_their_distance_alone(open_page, place):
    at = open_page(view="Trained", checkpoint=place(positions="rotary").id, count="20")
    found = matrix(at, "positions_similarity")
    assert along_diagonals(torch.tensor(found)) < 1e-5
    assert np.allclose(np.diagonal(found), 1, atol=1e-5)
    angles = matrix(at, "positions_beside")
    assert found[3, 11] == pytest.approx(np.cos(angles[3] - angles[11]).mean(), abs=1e-4)
    assert at.multiselect(key="positions_pairs").value[:2] == [0, 2][:angles.shape[1]]
    assert "positions_measure" not in [one.key for one in at.segmented_control]
    assert "Only the distance counts" in words(at, "caption")


def test_the_curves_drawn_of_each_kind_of_positions_are_kept_apart(open_page, shipped):
    at = open_page(view="Trained", checkpoint=shipped("write").id, dims="4,5")
    put(at, "positions_checkpoint", shipped("translate").id)
    assert at.multiselect(key="positions_dims").value == [4, 5]
    put(at, "positions_checkpoint", shipped("write").id)
    assert at.multiselect(key="positions_pairs").value == [0, 2, 4, 8]
    assert not at.error
