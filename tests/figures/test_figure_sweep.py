"""Sweeps as small multiples: a panel and a cell for each run, whatever it has."""

import numpy as np

from ui.figures import Panel, describe_sweep, picked_number, sweep_curves, sweep_results
from ui.figures.palette import MARK

ROWS, COLUMNS = ["n_heads 1", "n_heads 2"], ["positions none", "<b>$x$"]


def test_every_run_has_a_panel_with_its_curves_and_its_words():
    steps = list(range(1, 1_001))
    full = Panel("Training 40%", (steps, [2.0] * 1_000), ([500], [1.5]))
    figure = sweep_curves([[full, Panel("Queued")], [Panel("<i>"), Panel("deleted", exists=False)]], ROWS, COLUMNS,
                          last=1_000, title="Losses")
    bars = [trace for trace in figure.data if trace.type == "bar"]
    assert [bar.customdata[0] for bar in bars] == [0, 1, 2, 3]
    assert {(bar.xaxis, bar.yaxis) for bar in bars} == {("x", "y"), ("x2", "y2"), ("x3", "y3"), ("x4", "y4")}
    training, held_out = figure.data[1:3]
    assert len(training.x) <= 201 and training.x[-1] == 1_000
    assert {*held_out.y} == {1.5} and held_out.mode == "lines+markers"
    said = [note.text for note in figure.layout.annotations]
    assert said[:4] == ["Training 40%", "Queued", "&#60;i&#62;", "deleted"]
    assert "n_heads 1" in said and "&#60;b&#62;&#36;x&#36;" in said
    assert figure.layout.yaxis.range[1] > 2.0
    assert {figure.layout[f"xaxis{number}"].tickvals for number in ("", 2, 3, 4)} == {(500, 1_000)}
    figure = sweep_curves([[Panel("Queued"), Panel("Queued", ([1], [float("nan")]))]], [""], COLUMNS, last=1, title="")
    assert all(np.isfinite(axis.range).all() for axis in (figure.layout.xaxis, figure.layout.yaxis2))  # and no point


def test_results_are_cells_with_their_words_and_the_best_is_outlined():
    values = np.array([[0.5, np.nan], [0.75, 0.25]])
    words = [["50%", "–"], ["75%", "25%"]]
    (cells,) = sweep_results(values, words, ROWS, COLUMNS, down="", across="", best=0.75, title="Accuracy").data
    assert list(cells.text) == ["50%", "–", "75%", "25%"]
    assert [edge == MARK for edge in cells.marker.line.color] == [False, False, True, False]
    assert len({*cells.marker.color}) == 4
    assert picked_number({"selection": {"points": [{"customdata": cells.customdata[2]}]}}) == 2
    for same in (np.full((2, 2), 0.5), np.full((2, 2), np.nan)):
        (cells,) = sweep_results(same, words, ROWS, COLUMNS, down="", across="", best=0.5, title="").data
        assert MARK not in cells.marker.line.color


def test_a_sentence_says_every_result_and_names_in_words_without_an_empty_one():
    assert describe_sweep([["50%", "–"]], [""], ["seed 1", "seed 2"], what="Accuracy") == (
        "Accuracy: seed 1: 50%, seed 2: –.")
    words = [["seed 1\n50.0%", "2\n60.0%"], ["3\n70.0%", ""]]
    assert describe_sweep(words, ["", ""], ["", ""], what="Accuracy") == "Accuracy: seed 1 50.0%, 2 60.0%, 3 70.0%."
    figure = sweep_curves([[Panel("seed 1 · 0.5")]], [""], [""], last=9, title="")
    assert figure.data[0].hovertext == ("seed 1 · 0.5",)


def test_results_that_cannot_be_are_drawn_all_the_same():
    values = np.array([[3.5, np.inf], [-1.0, np.nan]])
    (cells,) = sweep_results(values, [["a", "b"], ["c", "d"]], ROWS, COLUMNS, down="", across="", best=3.5,
                             limits=(0.0, 1.0), title="").data
    high, none, low, missing = cells.marker.color
    assert len({high, none, low}) == 3 and none == missing


def test_shares_have_colours_that_mean_the_same_in_every_picture():
    def fill(value, other):
        figure = sweep_results(np.array([[value, other]]), [["", ""]], [""], COLUMNS, down="", across="", best=None,
                               limits=(0, 1), title="")
        assert figure.layout.yaxis.ticktext == ("",)
        return figure.data[0].marker.color[0]

    assert fill(0.2, 0.3) == fill(0.2, np.nan) == fill(0.2, 1.0) != fill(0.9, 1.0)
