"""Bars in a table, and a matrix of tokens written by tokens read."""

import re

import numpy as np
import pytest

from ui.figures import Caption, bar_table, describe_token_matrix, signed_number, token_matrix

from .as_text import as_text


def test_signed_bars_go_both_ways_and_shares_to_the_right_beside_labels_that_are_text(accepted):
    accepted("bars", as_text(
        bar_table(["a", "b", "c"], {"x": [2.0, -1.0, 0.0]}, Caption("t"), signed={"x"}),
        bar_table(["a"], {"x": [0.0]}, Caption("t"), signed={"x"}),
        bar_table(["a", "b"], {"x": [0.1, 0.2], "y": [3.0, 6.0]}, Caption("t"), ranks={"x": [2, 1], "y": [2, 1]})))
    hostile = bar_table(["<b>", "▁x"], {"<i>": [1.0, 2.0]}, Caption("<u>", "<s>"), marked=[1], unknown=[0],
                        total=["sum", "<q>"])
    assert not re.search("<[biusq]>", hostile)
    accepted("bars.labels", as_text(hostile, bar_table(["layer 0: heads"], {"x": [1.0]}, Caption("t"), tokens=False)))


@pytest.mark.parametrize(("value", "text"), [(1.005, "+1.00"), (-0.001, "0.00"), (-2.5, "−2.50")])
def test_a_signed_number_has_its_sign_and_no_minus_before_zero(value, text):
    assert signed_number(value) == text


def test_a_matrix_of_tokens_keeps_equal_tokens_apart_and_plain():
    values = np.array([[1.0, -2.0], [0.0, 0.5]])
    figure = token_matrix(values, ["<b>", "a"], ["a", "a"], signed=True, unit="nats", title="t").to_dict()
    (heat,) = figure["data"]
    assert (heat["zmin"], heat["zmax"]) == (-2, 2)
    assert list(figure["layout"]["xaxis"]["tickvals"]) == [0, 1]
    assert list(figure["layout"]["yaxis"]["ticktext"]) == ["&#60;b&#62;", "a"]
    assert heat["text"][0][1] == "<b>&#60;b&#62;</b> from <b>a</b>"
    many = token_matrix(np.zeros((1, 45)), ["x"], ["a"] * 45, signed=False, unit="share", title="t").to_dict()
    assert list(many["layout"]["xaxis"]["ticktext"]) == [str(at) for at in range(0, 45, 5)]
    shares = token_matrix(np.abs(values), ["x", "y"], ["a", "b"], signed=False, unit="share", title="t").to_dict()
    assert (shares["data"][0]["zmin"], shares["data"][0]["zmax"]) == (0, 2)
    assert describe_token_matrix(values, ["<b>", "a"], ["a", "b"], what="Nats") == (
        "Nats: 2 tokens written by 2 read. Largest: '<b>' from 'b', -2.00.")
    values = np.array([[1.0, np.nan]])
    assert "Largest: 'x' from 'a', +1.00" in describe_token_matrix(values, ["x"], ["a", "b"], what="w")
    token_matrix(values, ["x"], ["a", "b"], signed=True, unit="nats", title="t")
