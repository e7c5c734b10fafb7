"""What all altair charts have in common: schema, title and source, axes, ink, zoom, any number of rows, plain text."""

import json
from math import inf, nan

import numpy as np
import pytest

from ui import figures
from ui.figures.palette import INK

from .altair_rows import drawn_rows

HOSTILE = "<b>\"'\\ $x$ param_1"
SIDES = {"source": {"first": 2, "width": 1, "counts": [4, 0, 6], "median": 4.0, "longest": 4}}
STILL = {"amounts", "change"}  # bars by name: there is nothing to zoom into


def draw(name: str, **options):
    return {
        "lines": lambda: figures.lines({HOSTILE: [1, 2], "b": [2, 3]}, across="a", up="u", rules={HOSTILE: 2},
                                       title=HOSTILE, **options),
        "positions": lambda: figures.position_curves([0, 5], tokens=True, title=HOSTILE, **options),
        "loss": lambda: figures.loss_curve(last=9, chance=0.7, title=HOSTILE, **options),
        "spectrum": lambda: figures.spectrum([2, 1], name=HOSTILE, others={"b": [1, 1]}, title=HOSTILE, **options),
        "histogram": lambda: figures.tensor_histogram([1, 2], [0, 1, 2], title=HOSTILE, **options),
        "lengths": lambda: figures.length_histogram(SIDES, max_len=5, title=HOSTILE, **options),
        "amounts": lambda: figures.amount_bars({HOSTILE: 1}, texts={HOSTILE: HOSTILE}, title=HOSTILE, **options),
        "change": lambda: figures.probability_change([HOSTILE, "b"], np.eye(2), what="w", series=("one", "two"),
                                                     title=HOSTILE, tokens=False, **options)}[name]().to_dict()


@pytest.fixture(params=["lines", "positions", "loss", "spectrum", "histogram", "lengths", "amounts", "change"])
def name(request) -> str:
    return request.param


def test_a_chart_has_its_title_its_source_and_named_axes(name):
    spec = draw(name, source="me@12 · step 3")
    assert spec["title"] == {"text": HOSTILE, "subtitle": "me@12 · step 3"}
    part = spec["layer"][0] if "layer" in spec else spec
    for axis in (part["encoding"]["x"], part["encoding"]["y"]):
        assert name == "amounts" or axis.get("title") or axis["axis"].get("title") or axis["field"]


@pytest.mark.parametrize("dark", [True, False])
def test_its_ink_is_the_pages(name, dark):
    spec = json.dumps(draw(name, dark=dark))
    assert INK[dark] in spec and INK[not dark] not in spec
    assert draw(name)["config"]["axis"].get("labelColor") is None


def test_it_can_be_moved_and_zoomed_and_lets_the_wheel_scroll_the_page(name):
    spec = draw(name)
    assert [param["bind"] for param in spec.get("params", []) if "bind" in param] == ["scales"] * (name not in STILL)
    assert "ctrlKey" in spec["config"]["selection"]["interval"]["zoom"]


def test_more_than_five_thousand_rows_are_drawn_and_what_is_not_finite_is_no_point():
    curves = {f"head {head}": np.linspace(1, 0, 1_024) for head in range(12)}
    chart = figures.lines(curves, across="number", up="value", title="t")
    assert len(drawn_rows(chart, 0)) == 12 * 1_024
    chart = figures.lines({"a": [1.0, nan, inf, -inf, 2.0]}, across="a", up="u", title="t")
    assert [row["value"] for row in drawn_rows(chart, 0)] == [1.0, None, None, None, 2.0]
    json.dumps(chart.to_dict(), allow_nan=False)
    ranks = figures.lines({"a": [nan, inf, 30]}, across="a", up="u", title="t", log=True, down=True).to_dict()
    assert ranks["layer"][0]["encoding"]["y"]["scale"]["domain"] == [1, 100]
