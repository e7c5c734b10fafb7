import numpy as np
import pytest

from ui.figures import describe_positions, position_curves

ENCODING = np.random.default_rng(0).random((3, 8))


def test_every_dimension_has_its_curve_with_the_values_of_the_encoding():
    values = position_curves(ENCODING, [0, 5])["data"]["values"]
    assert {(v["position"], v["dimension"]): v["value"] for v in values} == {
        (position, f"dim {dim}"): ENCODING[position, dim] for position in range(3) for dim in (0, 5)}


def test_equal_tokens_are_two_positions():
    spec = position_curves(ENCODING, [0], tokens=["the", "\"'<b>", "the"])
    assert [v["position"] for v in spec["data"]["values"]] == [0, 1, 2]
    assert spec["encoding"]["x"]["field"] == "position"
    assert spec["encoding"]["x"]["axis"]["labelExpr"] == '["the", "\\"\'<b>", "the"][datum.value]'


def test_more_dimensions_than_can_be_told_apart_are_refused_with_the_limit():
    with pytest.raises(ValueError, match="13 dimensions .* choose 12"):
        position_curves(np.zeros((2, 20)), range(13))


def test_curves_differ_in_colour_or_dash():
    encoding = position_curves(np.zeros((2, 20)), range(12))["encoding"]
    styles = zip(encoding["color"]["scale"]["range"], map(tuple, encoding["strokeDash"]["scale"]["range"]), strict=True)
    assert len(set(styles)) == 12


def test_the_source_is_under_the_title():
    assert position_curves(ENCODING, [0], source="me@12 · step 3")["title"]["subtitle"] == "me@12 · step 3"


def test_the_description_counts_positions():
    assert "3 positions" in describe_positions(ENCODING, [0, 5])
