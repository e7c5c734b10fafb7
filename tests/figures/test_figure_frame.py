"""Plotly figures go out as they were written: what plotly itself would have made of them is the same."""

import base64
import json

import numpy as np
import plotly.graph_objects as go
import plotly.io
import pytest

from tests.rows import each_row
from ui import figures

TOKENS = ["<b>", "the", "the", "$x$"]
WEIGHTS = np.tri(4, dtype=np.float32) / np.arange(1, 5, dtype=np.float32)[:, None]
WORDS = {"across": "a", "down": "d", "value": "v", "title": "t"}
FIGURES = {
    "attention": lambda **options: figures.attention_heatmap(WEIGHTS, TOKENS, TOKENS, mask=WEIGHTS > 0, title="t",
                                                             **options),
    "mask": lambda **options: figures.mask_matrix(WEIGHTS > 0, TOKENS, TOKENS, title="t", **options),
    "grid": lambda **options: figures.mask_grid({"causal": np.tri(4, dtype=bool)[None]}, ["a"], selected=0, title="t",
                                                **options),
    "numbers": lambda **options: figures.number_heatmap(WEIGHTS, **WORDS, **options),
    "effects": lambda **options: figures.token_matrix(WEIGHTS, TOKENS, TOKENS, signed=True, unit="nats", title="t",
                                                      **options)}


def plain(value):
    """With arrays as lists, however they travel, and without what is empty, which plotly leaves out."""
    if isinstance(value, dict) and "bdata" in value:
        array = np.frombuffer(base64.b64decode(value["bdata"]), value["dtype"]).astype(float)
        shape = [int(size) for size in str(value.get("shape", array.size)).split(",")]
        return plain(np.where(np.isnan(array), None, array).reshape(shape).tolist())
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items() if inner is not None and inner != []}
    return [plain(inner) for inner in value] if isinstance(value, list) else value


@each_row("dark", [None, True, False])
@each_row("name", FIGURES)
def test_plotly_finds_nothing_wrong_and_nothing_to_change(name, dark):
    figure = FIGURES[name](source="me@12", dark=dark)
    sent = json.loads(plotly.io.to_json(figure, validate=False))
    checked = json.loads(go.Figure(figure.data, figure.layout).to_json())
    assert plain(sent) == plain(checked)


def test_drawing_checks_nothing(monkeypatch):
    figure = FIGURES["effects"]()
    monkeypatch.setattr(go.Figure, "__init__", lambda *arguments, **options: pytest.fail("checked"))
    assert plotly.io.to_json(FIGURES["effects"](), validate=False) == plotly.io.to_json(figure, validate=False)


def test_what_plotly_does_not_know_is_found_by_whoever_asks():
    figure = FIGURES["effects"]()
    figure._layout["no_such_thing"] = 1
    with pytest.raises(ValueError, match="no_such_thing"):
        _ = figure.layout


@each_row("height", [504, 533, 630, 810])
@each_row("tokens", [1, 2, 6, 12, 24, 48])
def test_enlarged_type_is_no_higher_than_its_row_nor_a_title_longer_than_its_side(tokens, height):
    names = ["Regarde"] * tokens
    matrix = figures.mask_matrix(np.tri(tokens, dtype=bool), names, names, title="t")
    layout = figures.enlarged(matrix, 2, height).layout
    room = height - layout.margin.t - layout.margin.b
    if layout.yaxis.showticklabels:
        assert layout.yaxis.tickfont.size <= max(14, room / tokens)
    assert len(layout.yaxis.title.text) * layout.yaxis.title.font.size / 2 <= room + 2 * layout.margin.b \
        or layout.yaxis.title.text == "query"
