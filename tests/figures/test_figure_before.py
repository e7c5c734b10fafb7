"""What is drawn before a run: amounts as they are, lengths where they lie, samples without any markup of theirs."""

import pytest

from ui.figures import amount_bars, describe_amounts, describe_lengths, length_histogram, sample_card, share_bar

from .altair_rows import drawn_rows
from .as_text import as_text

SIDES = {"source": {"first": 2, "width": 1, "counts": [4, 0, 6], "median": 4.0, "longest": 4},
         "target": {"first": 3, "width": 2, "counts": [7, 3], "median": 3.5, "longest": 6}}
PART = {"text": "I <b>am</b>\n  cold", "cut": False, "pieces": ["▁I", "<b>", "\n", "▁cold"], "ids": [7, 1, 9, 12],
        "unknown": [1], "back": "I ⁇ cold", "same": False, "why": "unknown pieces"}


def test_a_bar_is_cut_into_the_shares_it_names(accepted):
    accepted("shares", as_text(share_bar({"train": 150, "<validation>": 30, "test": 20}, unit="texts", title="Parts"),
                               share_bar({"train": 0}, unit="texts", title="Parts")))
    assert describe_amounts({"train": 1500, "test": 2}, what="Parts") == "Parts: train 1,500, test 2."


def test_bars_are_as_long_as_their_amounts_and_say_what_they_are_told_to():
    chart = amount_bars({"encoder": 20.0, "decoder": 0.0}, texts={"encoder": "20 MB", "decoder": "0"}, title="Memory")
    assert [(row["name"], row["value"], row["text"]) for row in drawn_rows(chart, 0)] == [
        ("encoder", 20.0, "20 MB"), ("decoder", 0.0, "0")]
    assert chart.to_dict()["layer"][0]["encoding"]["x"]["scale"]["domain"][1] > 20
    assert describe_amounts({"a": 1}, texts={"a": "1 B"}, what="M") == "M: a 1 B."
    nothing = amount_bars({"a": 0}, texts={"a": "0"}, title="").to_dict()
    assert nothing["layer"][0]["encoding"]["x"]["scale"]["domain"][1] > 0


def test_lengths_lie_where_their_bins_begin_and_end_on_the_axis():
    rows = drawn_rows(length_histogram(SIDES, max_len=5, title="Lengths"), 0)
    assert {side: [(row["pieces"], row["count"]) for row in rows if row["side"] == side] for side in SIDES} == {
        "source": [(2, 4), (3, 0), (4, 6), (5, 0)], "target": [(3, 7), (5, 3), (7, 0)]}
    assert [row["bin"] for row in rows if row["side"] == "target"][:2] == ["3 to 4", "5 to 6"]
    assert "source half at most 4, longest 4; target half at most 3.5, longest 6. max_len is 5." in (
        describe_lengths(SIDES, max_len=5))


@pytest.mark.parametrize(("max_len", "drawn"), [(5, True), (7, True), (256, False), (None, False)])
def test_max_len_is_drawn_where_it_lies_among_the_lengths(max_len, drawn):
    chart = length_histogram(SIDES, max_len=max_len, title="Lengths")
    assert (len(chart.to_dict()["layer"]) == 3) == drawn
    assert not drawn or drawn_rows(chart, 1) == [{"value": max_len, "name": f"max_len {max_len}"}]


def test_a_sample_shows_text_pieces_ids_and_what_comes_back_and_interprets_none_of_it(accepted):
    parts = {"source": PART, "target": PART | {"same": True, "why": None, "cut": True}}
    accepted("sample", as_text(sample_card(parts, label="a <i>class</i>")))
