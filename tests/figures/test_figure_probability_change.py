import numpy as np

from ui.figures import describe_probability_change, probability_change

from .altair_rows import drawn_rows

CHANCES = np.array([[0.9, 0.8], [0.5, 0.1], [0.4, 0.45]])
NAMES = ["le", "<b>", "le"]


def draw(names=NAMES, chances=CHANCES, **options):
    return probability_change(names, chances, series=("before", "after"), title="t", **{"what": "token"} | options)


def test_each_name_has_a_bar_before_and_one_after_and_equal_tokens_stay_two_places():
    assert [(row["place"], row["series"], row["probability"]) for row in drawn_rows(draw())] == [
        (0, "before", 0.9), (0, "after", 0.8), (1, "before", 0.5), (1, "after", 0.1), (2, "before", 0.4),
        (2, "after", 0.45)]
    encoding = draw().to_dict()["encoding"]
    assert encoding["x"]["field"] == "place" and '["le", "<b>", "le"]' in encoding["x"]["axis"]["labelExpr"]
    assert encoding["y"]["scale"]["domain"] == [0, 1]
    assert encoding["xOffset"]["sort"] == encoding["color"]["scale"]["domain"] == ["before", "after"]
    assert "'<b>', from 0.50 to 0.10" in describe_probability_change(NAMES, CHANCES)


def test_names_that_are_no_tokens_stay_as_they_are():
    drawn = draw(["KING LEAR"], CHANCES[:1], what="class", tokens=False)
    assert '["KING LEAR"]' in drawn.to_dict()["encoding"]["x"]["axis"]["labelExpr"]
    assert drawn_rows(drawn)[0]["name"] == "KING LEAR"


def test_up_to_twenty_names_are_all_written_and_stand_where_a_telephone_has_no_room():
    axes = [draw(names, np.full((len(names), 2), 0.5)).to_dict()["encoding"]["x"]["axis"]
            for names in (["le", "un"], [" rouges"] * 6, ["le"] * 50)]
    assert [(axis["labelOverlap"], axis["labelAngle"]) for axis in axes] == [(False, 0), (False, -90), ("greedy", -90)]
