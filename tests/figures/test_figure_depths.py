"""The table of depths by positions, and a position's likeliest tokens."""

import re
from collections import namedtuple

from ui.figures import Caption, DepthCell, DepthColumn, Following, depth_candidates, depth_table, describe_depths
from ui.figures.labels import words_label

from .as_text import as_text

One = namedtuple("One", "id piece probability")


def table(following=("<b>", "$x$"), **changes):
    cells = [[DepthCell("a", 0.25, 0.25, "25%", False), DepthCell("$x$", 1.0, 1.0, "100%", True)],
             [DepthCell("<b>", 0.5, 0.5, "50%", True), DepthCell("long" * 9, 0.0, 0.0, "0%", False)]]
    columns = [DepthColumn(3, "▁I", following[0]), DepthColumn(4, "<b>", following[1])]
    return depth_table(cells, columns, Caption("a & b", "m@1"), **{"chosen": 1, "scale": ("0%", "100%"), **changes})


def test_every_cell_has_its_place_and_number_and_its_marks_and_no_token_is_markup(accepted):
    named = table(classes=True, following=("KING RICHARD III", "x"), after="is asked about")
    accepted("depths", as_text(table(), named))
    assert "<b>" not in table()
    assert 'class="chosen"' not in table(chosen=None)
    assert words_label(" a  b\u202e ") == "a b⟨202E⟩"
    assert words_label("abcdefgh", longest=4) == "abc…"


def test_the_shade_goes_from_the_page_to_its_opposite_in_light_and_dark():
    def brightness(html):
        return [sum(map(int, found)) for found in re.findall(r'style="background:rgb\((\d+),(\d+),(\d+)\)', html)]

    light, dark = brightness(table()), brightness(table(dark=True))
    assert light[1] < light[2] < light[0] < light[3]
    assert dark[1] > dark[2] > dark[0] > dark[3]


def test_candidates_have_their_rank_id_and_probability_and_none_is_0(accepted):
    tops = [[One(5, "<i>", 0.75), One(2, "b", 0.25)], [One(2, "b", 0.9), One(5, "<i>", 0.1)]]
    almost = [[One(1, "a", 1.0), One(2, "b", 0.0)], [One(1, "a", 1.0), One(2, "b", 1e-9)]]
    accepted("depths.candidates", as_text(
        depth_candidates(tops, Following(2, [1_000, 1], [0.25, 0.9], [0.5, 0.3], [1.25, -1e-9]), Caption("t", "s")),
        depth_candidates(almost, Following(2, [2, 2], [0.0, 1e-9], [0, 0], [0, 0]), Caption("t", "m@1"))))


def test_the_sentence_says_when_a_token_comes_up():
    assert describe_depths([9, 1, 1], [0.1, 0.4, 0.5]).endswith("the likeliest from depth 1 on.")
    assert describe_depths([1, 2, 1], [0.1, 0.4, 0.5]).endswith("first the likeliest at depth 0.")
    assert describe_depths([9, 2], [0.1, 0.4]) == (
        "Rank 9 and probability 10.0% at depth 0, rank 2 and 40.0% at the last, depth 1; never the likeliest.")
    assert describe_depths([2, 2], [0.0, 1e-9]).count("<0.01%") == 2
