import numpy as np
import pytest

from ui.figures import attention_heatmap, describe_attention, describe_mask, mask_matrix
from ui.figures.attention import LABELLED

TOKENS = ["the", "<b>", "the", "$x$", "👩🏽‍🚀"]
CAUSAL = np.tril(np.ones((5, 5), dtype=bool))


@pytest.fixture
def weights():
    scores = np.random.default_rng(0).random((5, 5)).astype(np.float32) * CAUSAL
    return scores / scores.sum(axis=1, keepdims=True)


def traces(figure, kind):
    return [trace for trace in figure.data if trace.type == kind]


def cells(trace):
    return np.asarray(trace.z, dtype=np.float32)


@pytest.mark.parametrize("scale", ["sqrt", "linear"])
def test_equal_tokens_keep_their_own_rows_and_columns_and_hover_the_weights_as_they_are(weights, scale):
    figure = attention_heatmap(weights, TOKENS, TOKENS, title="x", scale=scale, newest=False)
    for axis in figure.layout.xaxis, figure.layout.yaxis:
        assert list(axis.tickvals) == [0, 1, 2, 3, 4]
        assert axis.ticktext == ("the", "&#60;b&#62;", "the", "&#36;x&#36;", "👩🏽‍🚀")
    assert np.array_equal(cells(figure.data[0]), weights)


def test_masked_cells_are_striped_and_hide_no_weight(weights):
    drawn, forbidden = traces(attention_heatmap(weights, TOKENS, TOKENS, title="x", mask=CAUSAL), "heatmap")
    assert np.array_equal(np.isnan(cells(drawn)), ~CAUSAL)
    assert np.array_equal(np.isnan(cells(forbidden)), CAUSAL)
    with pytest.raises(AssertionError, match="where the mask allows 0"):
        attention_heatmap(weights, TOKENS, TOKENS, title="x", mask=CAUSAL.T)
    padding = np.array([[True, True, False]])  # of one row, which holds for every query
    figure = attention_heatmap(np.array([[0.5, 0.5, 0], [1, 0, 0]], dtype=np.float32), ["a", "b"],
                               ["x", "y", "<pad>"], title="x", mask=padding)
    assert np.isnan(cells(figure.data[0])[:, 2]).all() and len(traces(figure, "bar")) == 1


def test_stripes_cover_just_the_forbidden_cells():
    mask = np.random.default_rng(1).random((9, 7)) > 0.4
    bars = traces(mask_matrix(mask, ["q"] * 9, ["k"] * 7, title="x"), "bar")
    stripes, = (bar for bar in bars if bar.marker.pattern.shape)
    covered = np.zeros((9, 7), dtype=int)
    for middle, height, base, width in zip(stripes.y, stripes.width, stripes.base, stripes.x, strict=True):
        first = round(middle - (height - 1) / 2)
        covered[first:first + round(height), round(base + 0.5):round(base + 0.5 + width)] += 1
    assert np.array_equal(covered, ~mask)


def test_the_newest_query_is_at_the_bottom_and_outlined_and_titles_and_sources_are_drawn_as_they_are_written(weights):
    layout = attention_heatmap(weights, TOKENS, TOKENS, title="<b>x</b>", source="me@<i>1</i> · step 3").layout
    assert layout.yaxis.range == (4.5, -0.5)
    outline, = layout.shapes
    assert (outline.y0, outline.y1, outline.x0, outline.x1) == (3.5, 4.5, -0.5, 4.5)
    assert not attention_heatmap(weights, TOKENS, TOKENS, title="x", newest=False).layout.shapes
    assert "<" not in layout.title.text + layout.title.subtitle.text
    assert "step 3" in layout.title.subtitle.text


def test_small_heads_have_their_numbers_written_in(weights):
    numbers, = traces(attention_heatmap(np.eye(5) * 0.82 + 0.001, TOKENS, TOKENS, title="x"), "scatter")
    assert list(numbers.text) == [".82"] * 5
    assert not traces(attention_heatmap(np.eye(20), ["a"] * 20, ["a"] * 20, title="x"), "scatter")


def test_long_inputs_name_every_few_tokens_and_keep_all_for_hover():
    n = LABELLED + 1
    queries, keys = [f"q{i}" for i in range(n)], [f"k{i}" for i in range(n)]
    figure = attention_heatmap(np.eye(n), queries, keys, title="x", newest=False)
    assert not figure.layout.xaxis.showticklabels
    assert figure.layout.xaxis.ticktext[-1] == f"k{n - 1}"
    assert {note.text for note in figure.layout.annotations} == {"0", "10", "20", "30", "40", "50", "60"}
    n = 50
    figure = attention_heatmap(np.eye(n), [f"q{i}" for i in range(n)], [f"<{i}>" for i in range(n)], title="x")
    assert not figure.layout.xaxis.showticklabels and not figure.layout.yaxis.showticklabels
    assert len(figure.layout.xaxis.ticktext) == n
    assert [note.text for note in figure.layout.annotations] == [
        *(f"&#60;{i}&#62; {i}" for i in [*range(0, 47, 3), 49]), *(f"q{i} {i}" for i in [*range(0, 47, 3), 49])]


@pytest.mark.parametrize("n", [6, 13, 24])
def test_up_to_a_line_of_tokens_all_are_named_flat_or_upright(n):
    axis = attention_heatmap(np.eye(n), ["␣query"] * n, ["␣key"] * n, title="x").layout.xaxis
    assert axis.showticklabels and len(axis.ticktext) == n
    assert axis.autotickangles == (0, -90)
    assert axis.ticklabeloverflow == "allow"


def test_the_zero_end_of_the_colours_is_near_the_page(weights):
    light, dark = (attention_heatmap(weights, TOKENS, TOKENS, title="x", dark=dark).data[0].colorscale
                   for dark in (False, True))
    assert light[0][1] == dark[-1][1] == "rgb(241, 249, 243)"


def test_the_description_names_the_strongest_pair_and_the_newest_query():
    weights = np.array([[0.9, 0.1], [0.4, 0.6]])
    assert describe_attention(weights, ["froid", "<s>"], ["cold", "."]) == (
        "Attention of 2 queries over 2 keys. Strongest: 'froid' (position 0) looks at 'cold' (position 0) with 0.90. "
        "The newest query, '<s>' (position 1), looks most at '.' (position 1) with 0.60.")
    assert "newest" not in describe_attention(weights, ["a", "b"], ["c", "d"], newest=False)
    broken = np.full((2, 2), np.nan)
    attention_heatmap(broken, ["a", "b"], ["a", "b"], title="x")
    assert "2 queries" in describe_attention(broken, ["a", "b"], ["a", "b"])


def test_a_mask_says_yes_with_a_tick_and_counts_itself():
    ticks, = traces(mask_matrix(CAUSAL, TOKENS, TOKENS, title="x"), "scatter")
    assert list(ticks.text) == ["✓"] * 15
    assert "15 of 25" in describe_mask(CAUSAL, TOKENS, TOKENS)
    figure = mask_matrix(np.ones((2, 3), dtype=bool), ["a", "b"], ["x", "y", "z"], title="x")
    assert [bar.name for bar in traces(figure, "bar")] == ["may look"]
