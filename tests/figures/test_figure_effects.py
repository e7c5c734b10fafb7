"""Bars in a table, and a matrix of tokens written by tokens read."""

import re

import numpy as np
import pytest

from ui.figures import Caption, bar_table, describe_token_matrix, signed_number, token_matrix


def bars(html):
    """Left, length and colour of every bar, and what is written after it."""
    return [(float(left), float(width), colour, text) for left, width, colour, text in re.findall(
        r'left:([\d.]+)%;width:([\d.]+)%;background:(#\w+)"></i></span><span class="number">([^<]*)<', html)]


def test_signed_bars_go_both_ways_from_the_middle():
    html = bar_table(["a", "b", "c"], {"x": [2.0, -1.0, 0.0]}, Caption("t"), signed={"x"})
    (one, other, none) = bars(html)
    assert (*one[:2], one[3]) == (50, 50, "+2.00")
    assert (*other[:2], other[3]) == (25, 25, "−1.00")
    assert (none[1], none[3]) == (0, "0.00")
    assert one[2] != other[2]
    assert [bar[1] for bar in bars(bar_table(["a"], {"x": [0.0]}, Caption("t"), signed={"x"}))] == [0]


def test_shares_go_to_the_right_each_column_on_its_own_scale():
    html = bar_table(["a", "b"], {"x": [0.1, 0.2], "y": [3.0, 6.0]}, Caption("t"), ranks={"x": [2, 1], "y": [2, 1]})
    assert [bar[:2] for bar in bars(html)] == [(0, 50), (0, 50), (0, 100), (0, 100)]
    assert re.findall(r'data-row="(\d)" data-column="(\w)" data-value="([\d.]+)"', html) == [
        ("0", "x", "0.1"), ("0", "y", "3"), ("1", "x", "0.2"), ("1", "y", "6")]
    assert re.findall(r'class="rank">(\d)\.', html) == ["2", "2", "1", "1"]


def test_labels_are_text_and_tokens_are_numbered():
    html = bar_table(["<b>", "▁x"], {"<i>": [1.0, 2.0]}, Caption("<u>", "<s>"), marked=[1], unknown=[0],
                     total=["sum", "<q>"])
    assert not re.search("<[biusq]>", html)
    assert "<small>1</small> <bdi>␣x</bdi>" in html
    assert html.count('<tr class="marked">') == 1
    assert html.count('class="unknown"') == 1
    words = bar_table(["layer 0: heads"], {"x": [1.0]}, Caption("t"), tokens=False)
    assert "<bdi>layer 0: heads</bdi>" in words


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
