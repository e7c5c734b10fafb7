import numpy as np
import pytest

from ui.figures import describe_positions, position_curves, with_positions

ENCODING = np.random.default_rng(0).random((3, 8)).astype(np.float32)


def rows(spec):
    return spec["datasets"][spec["data"]["name"]].to_dict("records")


def test_every_dimension_has_its_curve_and_no_more_than_can_be_told_apart():
    spec = with_positions(position_curves([0, 5]).to_dict(), ENCODING, [0, 5])
    assert {(row["position"], row["dimension"]): row["value"] for row in rows(spec)} == {
        (position, f"dim {dim}"): ENCODING[position, dim] for position in range(3) for dim in (0, 5)}
    dims = list(range(1_000, 1_012))
    spec = with_positions(position_curves(dims).to_dict(), np.eye(512, 1_024), dims)
    assert len(rows(spec)) == 12 * 512
    encoding = position_curves(range(12)).to_dict()["encoding"]
    styles = zip(encoding["color"]["scale"]["range"], map(tuple, encoding["strokeDash"]["scale"]["range"]), strict=True)
    assert len(set(styles)) == 12
    with pytest.raises(ValueError, match="13 dimensions .* choose 12"):
        position_curves(range(13))
    assert "3 positions" in describe_positions(ENCODING, [0, 5])


def test_equal_tokens_are_two_positions_and_stay_text():
    tokens = ["the", "\"'<b>", "the"]
    spec = with_positions(position_curves([0, 2], tokens=True).to_dict(), ENCODING, [0, 2], tokens=tokens)
    assert [(row["position"], row["token"]) for row in rows(spec)] == [*enumerate(tokens)] * 2
    assert spec["encoding"]["x"]["field"] == "position"
    (labels,) = [param["value"] for param in spec["params"] if param["name"] == "tokens"]
    assert labels == tokens
    assert spec["encoding"]["x"]["axis"]["labelExpr"] == "tokens[datum.value]"


def test_a_step_changes_the_rows_and_not_the_chart():
    chart = position_curves([0], tokens=True).to_dict()
    before, after = (with_positions(chart, ENCODING[:count], [0], tokens="abc"[:count]) for count in (2, 3))
    assert (len(rows(before)), len(rows(after))) == (2, 3)
    assert "datasets" not in chart and chart["params"][0]["value"] == []
