import numpy as np
import pytest

from ui.figures import batch_table, describe_lines, describe_numbers, number_heatmap, number_table

from .as_text import as_text

VALUES = np.array([[-2.0, 0.5], [1.0, 0.0], [0.25, 1.5]])
WORDS = {"across": "dimension", "down": "position", "value": "value"}


def test_a_heatmap_has_the_numbers_and_colours_for_their_range():
    heat = number_heatmap(VALUES, title="t", source="me@12", **WORDS).data[0]
    assert np.allclose(heat.z, VALUES)
    assert (heat.zmin, heat.zmax) == (-2, 2)
    heat = number_heatmap(VALUES + 3, title="t", **WORDS).data[0]
    assert (heat.zmin, heat.zmax) == (1, 4.5)
    angles = np.array([[0.0, 7.0, 100.0]])
    heat = number_heatmap(angles, title="t", angle=True, **WORDS).data[0]
    assert np.allclose(heat.z, angles % (2 * np.pi), atol=1e-4)
    assert np.allclose(heat.customdata, angles)
    assert heat.colorscale[0][1] == heat.colorscale[-1][1]
    assert describe_numbers(VALUES, **WORDS) == "Value as colours, 3 by 2 (position by dimension), from -2 to 1.5."
    described = describe_lines({"a": [1.0, 2.0], "b": [3.0, 4.0]}, across="step", up="loss")
    assert described == "loss over step: a from 1 to 2; b from 3 to 4."


@pytest.mark.parametrize("dark", [True, False])
def test_zero_is_drawn_near_the_page(dark):
    middle = number_heatmap(VALUES, title="t", dark=dark, **WORDS).data[0].colorscale[1][1]
    light = sum(int(middle[i:i + 2], 16) for i in (1, 3, 5))
    assert light < 200 if dark else light > 700


def test_a_table_says_numbers_exactly_and_marks_the_ones_meant_and_padding(accepted):
    html = number_table(["x", "y"], [("<i>", [np.float16(0.1), np.float32(0.1)]), ("sum", ["nan", 2])], label="l",
                        marked={(1, 0)}, groups=[("g", 2)], totals=1)
    assert '<td data-row="0" data-column="1">0.1</td>' in html
    accepted("tables", as_text(html, batch_table(["1", "2"], [["a", "<b>"], ["c", "<pad>"]], [2, 1], label="batch")))
    with pytest.raises(AssertionError, match="1 cells for 2 columns in row a"):
        number_table(["x", "y"], [("a", [1])], label="l")
