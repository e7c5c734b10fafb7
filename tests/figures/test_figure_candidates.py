import re
from collections import namedtuple

import pytest

from ui.figures import candidate_bars, candidate_rows, describe_candidates, picked_candidate
from ui.figures.candidate_rows import percent

Candidate = namedtuple("Candidate", "id piece probability")
CANDIDATES = [Candidate(7, "▁the", 0.2), Candidate(12, "<b>", 0.6), Candidate(3, "▁the", 0.15),
              Candidate(40, "$x$", 1e-9)]


def test_the_likeliest_is_on_top_each_after_its_key_and_equal_pieces_stay_apart():
    figure = candidate_bars(CANDIDATES)
    assert figure.layout.yaxis.ticktext == tuple(
        f"{at}\u2002{piece}" for at, piece in enumerate(("&#60;b&#62;", "␣the", "␣the", "&#36;x&#36;"), start=1))
    assert figure.layout.yaxis.range == (3.5, -0.5)
    assert list(figure.data[1].customdata) == [12, 7, 3, 40]


def test_every_row_can_be_clicked_over_its_whole_width():
    targets = candidate_bars(CANDIDATES).data[1]
    assert set(targets.x) == {candidate_bars(CANDIDATES).layout.xaxis.range[1]}


def test_chosen_and_left_out_differ_in_more_than_colour():
    bars = candidate_bars(CANDIDATES, chosen_id=7, excluded={3, 40}).data[0]
    assert len(set(bars.marker.color)) == 3
    assert [bool(shape) for shape in bars.marker.pattern.shape] == [False, False, True, True]
    assert "chosen" in bars.text[1]
    assert "left out" in bars.text[2]


def test_plain_tuples_and_nothing_at_all_are_drawn_too():
    assert candidate_bars([(1, "a", 0.5)]).data[1].customdata == (1,)
    assert candidate_bars([]).data[1].customdata == ()


@pytest.mark.parametrize(("probability", "text"), [
    (0.5, "50%"), (0.1234567, "12.3%"), (1e-9, "< 0.01%"), (0, "0%"), (1, "100%"), (0.99999, "> 99.99%"),
    (0.9995, "99.95%")])
def test_percentages_round_but_never_to_certain_or_impossible(probability, text):
    assert percent(probability) == text


def test_a_click_is_an_id_and_no_click_is_none():
    assert picked_candidate({"selection": {"points": [{"customdata": 0}]}}) == 0
    assert picked_candidate({"selection": {"points": []}}) is None
    assert picked_candidate(None) is None


def test_the_description_names_the_likeliest_and_the_chosen():
    text = describe_candidates(CANDIDATES, chosen_id=3)
    assert text == "Likeliest next tokens: '<b>' 60%, '␣the' 20%, '␣the' 15%. Chosen: '␣the' 15%."


def test_bars_go_from_0_to_100_per_cent_whatever_the_longest_is():
    sure, unsure = candidate_bars([(1, "a", 0.98)]), candidate_bars([(1, "a", 0.5)])
    assert sure.layout.xaxis.range == unsure.layout.xaxis.range
    assert sure.layout.xaxis.tickvals == (0, 0.5, 1)
    assert sure.layout.xaxis.ticktext[-1] == "100%"


def test_all_other_tokens_have_a_line_of_their_own_that_no_click_says():
    figure = candidate_bars(CANDIDATES, rest=0.05)
    assert figure.layout.yaxis.ticktext[-1] == "all others"
    assert figure.data[1].x == (0.05,)
    assert len(figure.data[2].customdata) == len(CANDIDATES)


def test_a_room_reads_the_same_as_rows_and_nothing_in_a_token_is_markup():
    rows = candidate_rows(CANDIDATES[:2], chosen_id=12, rest=0.2, label="next tokens")
    assert re.findall(r'<div class="(\w*)" data-nth="(\d)"', rows) == [("", "0"), ("chosen", "1")]
    assert "&lt;b&gt;" in rows
    assert rows.count("<kbd>") == 2
    assert re.findall(r"--part:([\d.]+)", rows) == ["0.2000", "0.6000", "0.2000"]
