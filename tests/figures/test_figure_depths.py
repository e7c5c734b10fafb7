"""The table of depths by positions, and a position's likeliest tokens."""

import re
from collections import namedtuple

from ui.figures import Caption, DepthCell, DepthColumn, Following, depth_candidates, depth_table, describe_depths
from ui.figures.labels import words_label

One = namedtuple("One", "id piece probability")


def table(following=("<b>", "$x$"), **changes):
    cells = [[DepthCell("a", 0.25, 0.25, "25%", False), DepthCell("$x$", 1.0, 1.0, "100%", True)],
             [DepthCell("<b>", 0.5, 0.5, "50%", True), DepthCell("long" * 9, 0.0, 0.0, "0%", False)]]
    columns = [DepthColumn(3, "▁I", following[0]), DepthColumn(4, "<b>", following[1])]
    return depth_table(cells, columns, Caption("a & b", "m@1"), **{"chosen": 1, "scale": ("0%", "100%"), **changes})


def test_every_cell_has_its_place_and_number_and_its_marks_and_no_token_is_markup():
    html = table()
    assert re.findall(r'data-depth="(\d)" data-position="(\d)" data-value="([\d.]+)"', html) == [
        ("0", "3", "0.25"), ("0", "4", "1"), ("1", "3", "0.5"), ("1", "4", "0")]
    assert "<b>" not in html
    assert "&lt;b&gt;" in html
    assert "a &amp; b" in html
    assert "longlong…" in html
    assert f'title="{"long" * 9}: 0%"' in html
    assert re.findall(r'<td(?: class="([a-z ]*)")? data-depth', html) == ["", "final chosen", "final", "chosen"]
    assert 'class="chosen"' not in table(chosen=None)


def test_the_shade_goes_from_the_page_to_its_opposite_in_light_and_dark():
    def brightness(html):
        return [sum(map(int, found)) for found in re.findall(r'style="background:rgb\((\d+),(\d+),(\d+)\)', html)]

    light, dark = brightness(table()), brightness(table(dark=True))
    assert light[1] < light[2] < light[0] < light[3]
    assert dark[1] > dark[2] > dark[0] > dark[3]


def test_classes_are_written_as_names():
    html = table(classes=True, following=("KING RICHARD III", "x"), after="is asked about")
    assert "<bdi>KING RICHARD III</bdi>" in html
    assert "is asked about</th>" in html
    assert words_label(" a  b\u202e ") == "a b⟨202E⟩"
    assert words_label("abcdefgh", longest=4) == "abc…"


def test_candidates_have_their_rank_id_and_probability_and_none_is_0():
    tops = [[One(5, "<i>", 0.75), One(2, "b", 0.25)], [One(2, "b", 0.9), One(5, "<i>", 0.1)]]
    html = depth_candidates(tops, Following(2, [1_000, 1], [0.25, 0.9], [0.5, 0.3], [1.25, -1e-9]), Caption("t", "s"))
    assert re.findall(r'data-depth="(\d)" data-rank="(\d)" data-id="(\d)" data-probability="([\d.]+)"', html) == [
        ("0", "1", "5", "0.75"), ("0", "2", "2", "0.25"), ("1", "1", "2", "0.9"), ("1", "2", "5", "0.1")]
    assert html.count('<td class="followed"') == 2
    assert ">1,000</td>" in html and ">0.00</td>" in html
    assert "-0.00" not in html and "<i>" not in html
    tops = [[One(1, "a", 1.0), One(2, "b", 0.0)], [One(1, "a", 1.0), One(2, "b", 1e-9)]]
    html = depth_candidates(tops, Following(2, [2, 2], [0.0, 1e-9], [0, 0], [0, 0]), Caption("t", "m@1"))
    assert html.count("&lt; 0.01%") == 4 and ">0%<" not in html


def test_the_sentence_says_when_a_token_comes_up():
    assert describe_depths([9, 1, 1], [0.1, 0.4, 0.5]).endswith("the likeliest from depth 1 on.")
    assert describe_depths([1, 2, 1], [0.1, 0.4, 0.5]).endswith("first the likeliest at depth 0.")
    assert describe_depths([9, 2], [0.1, 0.4]) == (
        "Rank 9 and probability 10% at depth 0, rank 2 and 40% at the last, depth 1; never the likeliest.")
    assert describe_depths([2, 2], [0.0, 1e-9]).count("< 0.01%") == 2
