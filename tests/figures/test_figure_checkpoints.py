"""The figures of the page of checkpoints: the numbers in them are those that went in."""

import numpy as np
import pytest

from ui import figures

from .altair_rows import drawn_rows
from .as_text import as_text


def test_a_histogram_has_a_bar_for_each_bin():
    chart = figures.tensor_histogram([1, 5, 2], [-1.0, 0.0, 1.0, 2.0], title="<b>", source="x@1", dark=True)
    assert [row["count"] for row in drawn_rows(chart)] == [1, 5, 2]
    assert drawn_rows(chart)[1] == {"from": 0.0, "to": 1.0, "count": 5}
    said = figures.describe_histogram([1, 5, 2], [-1.0, 0.0, 1.0, 2.0])
    assert "8 elements from -1 to 2" in said and "5, between 0 and 1" in said


def test_a_spectrum_puts_one_head_in_front_of_the_others():
    chart = figures.spectrum([3.0, 1.0], name="head 0", others={"head 1": [2.0, 2.0]}, title="t", dark=False)
    assert {row["name"] for row in drawn_rows(chart, 0)} == {"head 1"}
    assert [(row["at"], row["value"]) for row in drawn_rows(chart, 1)] == [(1, 3.0), (2, 1.0)]
    alone = figures.spectrum([3.0, 1.0], name="head 0", others={}, title="t")
    assert [row["name"] for row in drawn_rows(alone, 0)] == ["head 0", "head 0"]


def test_a_named_matrix_shows_each_number_and_leaves_out_what_is_not_there(accepted):
    values = np.array([[0.5, np.nan], [1.25, 0.0]])
    accepted("named_matrix", as_text(*(
        figures.named_matrix(values, ["<i>one", "two"], ["W_q", "W_k"], label="change", caption="a@1", dark=dark)
        for dark in (True, False))))


def test_difference_tiles_lay_every_head_side_by_side():
    rng = np.random.default_rng(0)
    first, second = rng.random((2, 2, 3, 4, 5), dtype=np.float32)
    figure = figures.difference_tiles(first, second, list("abcd"), ["<b>", *"wxyz"], layers=[0, 1], names=("A", "B"),
                                      chosen=(1, 2), title="t", dark=False)
    z = np.array(figure.data[0].z)
    assert z.shape == (2 * 5 - 1, 3 * 6 - 1)
    for layer in range(2):
        for head in range(3):
            np.testing.assert_allclose(z[layer * 5:layer * 5 + 4, head * 6:head * 6 + 5],
                                       first[layer, head] - second[layer, head], atol=1e-6)
    assert np.isnan(z[4]).all() and np.isnan(z[:, 5]).all()
    assert figure.data[0].text[5][6] == ("layer 1, head 1<br><b>a</b> looks at <b>&#60;b&#62;</b>")
    (frame,) = figure.layout.shapes
    assert frame.y0 < 5 < 8 < frame.y1 and frame.x0 < 12 < 16 < frame.x1


def test_a_part_of_a_matrix_keeps_its_numbers_and_a_pooled_one_those_farthest_from_zero():
    values = np.zeros((6, 4))
    values[0, 1], values[1, 0], values[5, 3] = -3, 2, 1
    shown, block = figures.strongest(values, most=3)
    assert block == (2, 2) and shown.shape == (3, 2)
    assert shown.tolist() == [[-3, 0], [0, 0], [0, 1]]
    same, one = figures.strongest(values, most=6)
    assert one == (1, 1) and (same == values).all()
    figure = figures.number_heatmap(np.eye(4), across="column", down="row", value="weight", title="t", first=(100, 7),
                                    step=(5, 2))
    assert (figure.data[0].y0, figure.data[0].dy, figure.data[0].x0, figure.data[0].dx) == (100, 5, 7, 2)
    assert min(figure.layout.yaxis.range) == pytest.approx(97.5) and set(figure.layout.yaxis.tickvals) <= set(
        range(100, 120))
