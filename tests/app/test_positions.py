"""Positions, without a browser."""

import shutil
from collections.abc import Callable
from math import cos, pi, sin

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

from transformer.analysis.positions import along_diagonals
from transformer.inference.reading import attend
from transformer.inference.search import translate
from transformer.model.rotary import rotary_angles, rotate
from ui.figures.labels import markdown_text

PAGE, TEXT = "positions", "My mother likes my father."


@pytest.fixture
def open_positions(visit) -> Callable[..., AppTest]:
    return lambda **params: visit(PAGE, **params)


@pytest.fixture
def uploaded(make_checkpoint, home) -> Callable[..., str]:
    """A tiny checkpoint among the uploads: its id."""

    def upload(**changes: object) -> str:
        ckpt = make_checkpoint(**changes)
        shutil.copytree(ckpt.description.folder, home / "uploads" / "tiny")
        return ckpt.id

    return upload


def formula(place: int, feature: int, d_model: int, base: float) -> float:
    """Vaswani et al. 2017, section 3.5."""
    angle = place / base ** (2 * (feature // 2) / d_model)
    return cos(angle) if feature % 2 else sin(angle)


def test_it_opens_with_a_hundred_positions(open_positions, drawn):
    at = open_positions()
    assert at.title[0].value == "Positions"
    table = drawn(at, "positions_matrix")["data"][0]["z"]
    assert table.shape == (100, 128)
    expected = [[formula(place, feature, 128, 10_000) for feature in range(128)] for place in range(100)]
    assert np.allclose(table, expected, atol=1e-6)
    alts = [chart.proto.alt for chart in at.get("vega_lite_chart")]
    assert any("dimensions 4, 5, 20, 21, 60 of 128" in alt for alt in alts)
    assert {"view": "Sinusoidal", "count": "100", "d_model": "128", "dims": "4,5,20,21,60"}.items() <= (
        at.query_params.items())
    assert "checkpoint" not in at.query_params


@pytest.mark.parametrize("layout", ["interleaved", "halves"])
def test_size_base_and_layout_decide_the_matrix(open_positions, drawn, layout):
    at = open_positions(count="30", d_model="6", base="100", layout=layout, dims="0")
    expected = np.array([[formula(place, feature, 6, 100) for feature in range(6)] for place in range(30)])
    if layout == "halves":
        expected = np.hstack([expected[:, 0::2], expected[:, 1::2]])
    assert np.allclose(drawn(at, "positions_matrix")["data"][0]["z"], expected, atol=1e-6)
    assert np.allclose(drawn(at, "positions_similarity")["data"][0]["z"], expected @ expected.T, atol=1e-5)


def test_wavelengths_go_from_two_pi_to_nearly_the_base(open_positions):
    at = open_positions(d_model="64", base="1000")
    longest = 2 * pi * 1_000 ** (62 / 64)
    assert any(f"From 2π = 6.28 positions to {longest:,.0f}." in caption.value for caption in at.caption)


def test_cosine_is_one_on_the_diagonal(open_positions, drawn):
    at = open_positions(measure="cosine", place="999")
    found = drawn(at, "positions_similarity")["data"][0]["z"]
    assert np.allclose(np.diagonal(found), 1, atol=1e-5)
    assert at.slider(key="positions_place").value == 99


def test_a_multiselect_without_dimensions_says_so(open_positions, drawn):
    at = open_positions(dims="")
    assert "Choose a dimension" in at.info[0].value
    assert drawn(at, "positions_matrix")


def test_fewer_features_leave_out_the_dimensions_that_are_gone(open_positions):
    at = open_positions()
    at.number_input(key="positions_d_model").set_value(16).run()
    assert not at.exception
    assert at.query_params["dims"] == "4,5"


def test_rotary_products_depend_on_distance_alone(open_positions, drawn):
    at = open_positions(view="Rotary", count="40", width="16", seed="7")
    products = drawn(at, "positions_products")["data"][0]["z"]
    q, k = torch.randn(2, 1, 1, 1, 16, generator=torch.Generator().manual_seed(7), dtype=torch.float64)
    for query, key in ((0, 0), (3, 9), (39, 1)):
        turned = [rotate(x, rotary_angles(torch.tensor([place]), 16)) for x, place in ((q, query), (k, key))]
        assert products[query, key] == pytest.approx(float((turned[0] * turned[1]).sum()) / 4, abs=1e-5)
    assert np.ptp(np.diagonal(products, 5)) < 1e-5 < np.ptp(products[0])
    angles = drawn(at, "positions_angles")["data"][0]["customdata"]
    assert np.allclose(angles, np.arange(40)[:, None] / 10_000 ** (np.arange(0, 16, 2) / 16), atol=1e-5)


def test_an_odd_head_is_refused_with_the_remedy(open_positions):
    at = open_positions(view="Rotary", width="15")
    assert "choose an even width" in at.error[0].value


def test_the_shipped_checkpoints_say_which_kind_they_have(open_positions, shipped, drawn):
    for name, kind in (("translate", "sinusoidal"), ("write", "rotary")):
        ckpt = shipped(name)
        at = open_positions(view="Trained", checkpoint=ckpt.id, count="50")
        assert any(f"are **{kind}**" in text.value for text in at.markdown)
        table = drawn(at, "positions_table")["data"][0]["z"]
        assert np.allclose(table, ckpt.model.position_pictures(50, side="tgt")[0].values.numpy(), atol=1e-6)
        assert at.query_params["checkpoint"] == ckpt.id


def test_learned_positions_stand_beside_the_sinusoids(open_positions, uploaded, make_checkpoint, drawn):
    ckpt = make_checkpoint(positions="learned")
    at = open_positions(view="Trained", checkpoint=uploaded(positions="learned"), side="tgt")
    assert any("are **learned**" in text.value for text in at.markdown)
    table = drawn(at, "positions_table")["data"][0]["z"]
    assert np.allclose(table, ckpt.model.tgt_embedding.positions.weight.numpy(), atol=1e-6)
    assert table.shape == (40, 16)  # as many as it has
    beside = drawn(at, "positions_beside")["data"][0]["z"]
    assert np.allclose(beside[3], [formula(3, feature, 16, 10_000) for feature in range(16)], atol=1e-6)
    at.button_group(key="positions_side").set_value("src").run()
    assert np.allclose(drawn(at, "positions_table")["data"][0]["z"], ckpt.model.src_embedding.positions.weight.numpy(),
                       atol=1e-6)


@pytest.mark.parametrize("view", ["Trained", "Left out"])
def test_a_checkpoint_without_positions_says_so(open_positions, uploaded, view):
    at = open_positions(view=view, checkpoint=uploaded(positions="none"))
    assert "no position" in at.info[0].value
    assert not at.get("plotly_chart")


def test_a_classifier_can_be_looked_at_too(open_positions, uploaded, drawn):
    id = uploaded(decoder_layers=0, pooling="mean", n_classes=3)
    assert drawn(open_positions(view="Trained", checkpoint=id, side="tgt"), "positions_table")
    assert drawn(open_positions(view="Left out", checkpoint=id, text="I am cold."), "positions_attention_bare")


@pytest.mark.parametrize(("kind", "layer", "head"), [("encoder", 1, 0), ("decoder", 2, 3), ("cross", 0, 1)])
def test_leaving_positions_out_shows_the_head_with_and_without(open_positions, shipped, drawn, kind, layer, head):
    ckpt = shipped("translate")
    at = open_positions(view="Left out", kind=kind, layer=str(layer), head=str(head))
    target = translate(ckpt, [TEXT])[0]
    expected = attend(ckpt, TEXT, target).attentions[kind][layer, head].numpy()
    one, other = (np.nan_to_num(drawn(at, f"positions_attention_{name}")["data"][0]["z"])
                  for name in ("trained", "bare"))
    assert np.allclose(one, expected, atol=1e-5)
    assert np.allclose(other.sum(axis=1), 1, atol=1e-4)
    moved = np.abs(one - other).sum(axis=1).mean() / 2
    assert moved > 0.01
    said = f"**{moved:.1%}** of this head's attention moves without positions"
    assert any(said in text.value for text in at.markdown)
    assert target in [text.value for text in at.text]


def test_a_decoder_alone_loses_its_positions_too(open_positions, shipped, drawn):
    ckpt = shipped("write")
    at = open_positions(view="Left out", checkpoint=ckpt.id, text="ROMEO:\nO", kind="cross", layer="99", head="2")
    expected = attend(ckpt, "ROMEO:\nO").attentions["decoder"][3, 2].numpy()
    assert np.allclose(np.nan_to_num(drawn(at, "positions_attention_trained")["data"][0]["z"]), expected, atol=1e-5)
    assert at.query_params["kind"] == "decoder"
    assert at.query_params["layer"] == "3"


@pytest.mark.parametrize("text", ["", "   \n"])
def test_an_empty_text_is_asked_for(open_positions, text):
    at = open_positions(view="Left out", text=text)
    assert "Type a text" in at.info[0].value
    assert not at.error


def test_a_text_the_model_cannot_read_is_refused_with_the_limit(open_positions, uploaded):
    at = open_positions(view="Left out", checkpoint=uploaded(), text="a cat " * 40)
    assert "reads at most 40" in at.error[0].value


def test_hostile_values_in_a_link_are_brought_into_range(open_positions):
    at = open_positions(view="Up", count="-5", d_model="1e9", base="3", layout="x", dims="7,7,-2,99999,abc",
                        place="nan", measure="?", width="inf", seed="-1", checkpoint="nobody@0")
    expected = {"view": "Sinusoidal", "count": "2", "d_model": "512", "base": "10000", "layout": "interleaved",
                "place": "1", "measure": "product"}
    assert not at.error
    assert expected.items() <= at.query_params.items()
    many = open_positions(dims=",".join(map(str, range(100))), d_model="64")
    assert many.query_params["dims"] == ",".join(map(str, range(12)))


def test_an_unknown_checkpoint_is_said_and_not_replaced(open_positions):
    at = open_positions(view="Trained", checkpoint="nobody@00000000")
    assert "is not on this server" in at.error[0].value


def test_a_view_and_back_keeps_what_was_set(open_positions):
    at = open_positions(count="64", width="8", text="Go on.", seed="5")
    for view in ("Rotary", "Left out", "Trained", "Sinusoidal", "Rotary"):
        at.button_group(key="positions_view").set_value(view).run()
        assert not at.exception
    assert {"view": "Rotary", "count": "64", "width": "8", "seed": "5", "text": "Go on."}.items() <= (
        at.query_params.items())


@pytest.mark.parametrize("view", ["Sinusoidal", "Rotary", "Trained", "Left out"])
def test_every_figure_has_words_for_who_cannot_see_it(open_positions, view):
    at = open_positions(view=view)
    charts = [*at.get("plotly_chart"), *at.get("vega_lite_chart")]
    assert len(charts) >= 2
    assert all(chart.proto.alt for chart in charts)


def test_a_vector_turned_against_itself_is_largest_at_distance_0(open_positions, drawn):
    at = open_positions(view="Rotary", count="40", width="16", seed="7", same="on")
    products = np.array(drawn(at, "positions_products")["data"][0]["z"])
    assert (products.argmax(axis=1) == np.arange(40)).all()
    assert at.query_params["same"] == "on"


def test_a_text_too_long_is_refused_with_the_number_and_the_limit(open_positions):
    at = open_positions(view="Left out")
    at.text_area(key="positions_text").set_value("a" * 301).run()
    assert "301 characters; at most 300" in at.error[0].value


def test_alibi_shows_its_slopes_and_what_each_head_takes_off(open_positions, uploaded, drawn):
    at = open_positions(view="Trained", checkpoint=uploaded(positions="alibi"), count="10")
    assert any("are **alibi**" in text.value and markdown_text("heads 0 to 1: 0.0625, 0.003906") in text.value
               for text in at.markdown)
    table = drawn(at, "positions_table")["data"][0]["z"]
    assert np.allclose(table, -np.arange(10)[:, None] * [2**-4, 2**-8], atol=1e-6)


def test_alibi_can_be_left_out_too(open_positions, uploaded, drawn):
    at = open_positions(view="Left out", checkpoint=uploaded(positions="alibi"), text="I am cold.", kind="decoder")
    assert any("no distance is taken off the scores" in caption.value for caption in at.caption)
    one, other = (np.nan_to_num(drawn(at, f"positions_attention_{name}")["data"][0]["z"])
                  for name in ("trained", "bare"))
    assert not np.allclose(one, other, atol=1e-3)


def test_a_head_by_hand_shows_the_bias_and_adds_it_in_the_weight_spelled_out(visit, uploaded):
    at = visit("by_hand", part="trained", checkpoint=uploaded(positions="alibi", encoder_layers=0),
               sentence="I am cold.", row="3", column="1")
    pages = " ".join(html.value for html in at.get("html"))
    assert "bias of the positions" in pages
    assert "<dt>Positions</dt>" in pages
    assert any("alibi positions" in caption.value for caption in at.caption)


def test_rotary_positions_are_compared_by_their_distance_alone(open_positions, uploaded, drawn):
    at = open_positions(view="Trained", checkpoint=uploaded(positions="rotary"), count="20")
    found = drawn(at, "positions_similarity")["data"][0]["z"]
    assert along_diagonals(torch.tensor(found)) < 1e-5
    assert np.allclose(np.diagonal(found), 1, atol=1e-5)
    angles = drawn(at, "positions_beside")["data"][0]["z"]
    assert found[3, 11] == pytest.approx(np.cos(angles[3] - angles[11]).mean(), abs=1e-4)
    assert at.multiselect(key="positions_pairs").value[:2] == [0, 2][:angles.shape[1]]
    assert "positions_measure" not in [one.key for one in at.segmented_control]
    assert any("Only the distance counts" in caption.value for caption in at.caption)


def test_the_curves_drawn_of_each_kind_of_positions_are_kept_apart(open_positions, shipped):
    at = open_positions(view="Trained", checkpoint=shipped("write").id, dims="4,5")
    at.selectbox(key="positions_checkpoint").set_value(shipped("translate").id).run()
    assert at.multiselect(key="positions_dims").value == [4, 5]
    at.selectbox(key="positions_checkpoint").set_value(shipped("write").id).run()
    assert at.multiselect(key="positions_pairs").value == [0, 2, 4, 8]
    assert not at.error
