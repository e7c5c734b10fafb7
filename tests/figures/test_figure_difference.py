import numpy as np
import pytest

from ui.figures import describe_difference, difference_heatmap, measures_table, paired
from ui.figures.palette import diverging, diverging_scale

from .as_text import as_text

FIRST = np.array([[0.75, 0.25], [0.5, 0.5]], np.float32)
SECOND = np.array([[0.25, 0.75], [0.5, 0.5]], np.float32)
LABELS = ["▁the", "<b>"]


def draw(first=FIRST, second=SECOND, **options):
    return difference_heatmap(first, second, LABELS, LABELS, title="t", **options)


@pytest.mark.parametrize("dark", [True, False])
def test_the_scale_is_centred_at_no_difference(dark):
    heatmap = draw(dark=dark).data[0]
    assert np.array_equal(heatmap.z, FIRST - SECOND)
    assert -heatmap.zmin == heatmap.zmax == 0.5
    assert heatmap.zmid == 0
    middle = diverging(257, dark=dark)[128].astype(int)
    assert middle.max() - middle.min() < 15  # grey: neither more nor less
    assert (middle.mean() < 60) == dark
    assert len(diverging_scale(dark=dark)) == 33


def test_cells_say_their_difference_and_hover_both_numbers_exactly():
    heatmap = draw(names=("this", "other")).data[0]
    assert np.array_equal(heatmap.customdata[..., 0], FIRST)
    assert np.array_equal(heatmap.customdata[..., 1], SECOND)
    assert "this %{customdata[0]" in heatmap.hovertemplate
    numbers = draw().data[1]
    assert list(numbers.text) == ["+.50", "−.50"]
    assert list(zip(numbers.x, numbers.y, strict=True)) == [(0, 0), (1, 0)]
    assert draw().layout.yaxis.ticktext == ("the", "&#60;b&#62;")


def test_there_is_no_difference_of_masked_cells_other_shapes_or_rounding():
    mask = np.tril(np.ones((2, 2), bool))
    heatmap = draw(np.tril(FIRST), np.tril(SECOND), mask=mask).data[0]
    assert np.isnan(heatmap.z[0, 1])
    assert np.isfinite(heatmap.z[mask]).all()
    with pytest.raises(AssertionError, match=r"\(2, 2\) and \(1, 2\)"):
        draw(FIRST, SECOND[:1])
    heatmap = draw(FIRST, FIRST + 1e-7).data[0]
    assert heatmap.zmax == 0.01


def test_words_name_both_tokens_of_a_position_and_say_where_they_differ_most():
    assert paired(["▁a", "▁cold", "."], ["▁a", "▁tall"]) == ["▁a", "cold≠tall"]
    assert paired(["▁extraordinarily"], ["b"]) == ["extrao…≠b"]
    assert "'the' looks at 'the', +0.50" in describe_difference(FIRST, SECOND, LABELS, LABELS)
    assert describe_difference(FIRST, FIRST, LABELS, LABELS).endswith("0 everywhere.")


def test_measures_stand_side_by_side_and_the_chosen_head_is_marked(accepted):
    accepted("measures", as_text(measures_table(
        {"entropy": np.array([1.5, np.nan])}, {"entropy": np.array([0.25, 0.5])}, chosen=1, names=("this", "other"),
        caption="<of>")))
