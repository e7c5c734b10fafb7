import re

import numpy as np
import pytest

from ui.figures import change_card, describe_head_maps, head_maps, heads_table, role_card
from ui.figures.head_maps import LEAST_SHARE, SHADES

TRAINED = np.array([[0.8, 0.1], [0.0, np.nan]], np.float32)
RANDOM = np.array([[0.1, 0.2], [0.05, 0.12]], np.float32)
CHANGE = np.array([[0.5, -0.01], [0.001, np.nan]])
ERROR = np.array([[0.1, 0.02], [0.0001, np.nan]])


def role(trained=TRAINED, untrained=RANDOM, even=0.2, **options):
    return role_card("previous", "decoder", trained, untrained, even,
                     **{"title": "Previous", "unit": "weight", "share": True} | options)


def change(**options):
    return change_card("change", "cross", CHANGE, ERROR, **{"title": "Loss", "unit": "nats", "limit": 0.5} | options)


def test_trained_and_random_weights_share_one_scale_which_small_shares_do_not_fill():
    card = role()
    trained, random = (one["shades"] for one in card["maps"])
    assert trained == [[SHADES - 1, 8], [0, -1]]  # 0.1 of 0.8 is an eighth of 64
    assert random == [[8, 16], [4, 10]]
    assert card["scale"] | {"marks": None} == {"low": "0", "high": ".80", "marks": None, "diverging": False}
    assert card["scale"]["marks"] == [{"at": pytest.approx(0.25), "text": "uniform .20"}]
    card = role(TRAINED / 100, RANDOM / 100, 0.001)
    assert card["scale"]["high"] == ".25" and LEAST_SHARE == 0.25
    assert max(max(row) for one in card["maps"] for row in one["shades"]) < 5


def test_cells_say_their_number_if_there_is_one_and_the_pointer_all_digits():
    card = role(np.array([[0.125, 1.0, 2.34, 23.4, 0.001]]), np.zeros((1, 5)), share=False)
    assert card["maps"][0]["texts"] == [[".12", "1", "2.3", "23", "0"]]
    assert card["maps"][0]["hints"][0][0] == "decoder, layer 0, head 0, trained: 0.125"
    empty = np.full((1, 3), np.nan)
    for even in (float("nan"), 0.2):
        card = role(empty, empty, even)
        assert card["maps"][0]["shades"] == [[-1, -1, -1]] and card["maps"][0]["texts"] == [["", "", ""]]
        assert len(card["scale"]["marks"]) == np.isfinite(even)


def test_a_change_is_centred_at_none_and_faint_under_two_standard_errors():
    (drawn,) = change()["maps"]
    assert drawn["shades"] == [[SHADES - 1, 31], [32, -1]]
    assert change()["scale"]["low"] == "worse −.50" and change()["scale"]["high"] == "+.50 better"
    assert drawn["faint"] == [[False, True], [False, False]]
    assert drawn["texts"] == [["+.50", "−.01"], ["0", ""]]
    assert drawn["hints"][0][1].endswith("-0.01 nats, standard error 0.02: not distinguishable from zero")
    assert drawn["hints"][1][1].endswith("not measured yet")
    card = change(worse="above")
    assert card["maps"][0]["shades"] == [[0, 33], [32, -1]]
    assert card["scale"]["low"] == "worse +.50" and card["scale"]["high"] == "−.50 better"
    card = change_card("bleu", "cross", CHANGE, None, title="BLEU", unit="points", limit=0.5)
    assert not np.any(card["maps"][0]["faint"])
    values = np.array([[0.006, 0.014, -0.0401, 0.0]])
    (drawn,) = change_card("change", "cross", values, None, title="Loss", unit="nats", limit=0.05)["maps"]
    assert drawn["texts"] == [["+.006", "+.014", "−.040", "0"]]
    card = change_card("a", "cross", np.zeros((1, 1)), np.zeros((1, 1)), title="Accuracy", unit="points", limit=1)
    assert card["maps"][0]["faint"] == [[True]]


@pytest.mark.parametrize("dark", [True, False])
def test_what_is_sent_has_colours_for_every_shade_and_ink_that_stands_out(dark):
    sent = head_maps([role(), change()], alt="alt", source="a@b", chosen=("cross", 1, 0), chosen_card="change",
                     crossed=[("cross", 0, 1)], dark=dark)
    for name in ("ramp", "diverging"):
        assert len(sent[name]) == len(sent["inks"][name]) == SHADES
        assert all(re.fullmatch("#[0-9a-f]{6}", colour) for colour in sent[name])
    assert sent["chosen"] == ["cross", 1, 0] and sent["crossed"] == ["cross:0:1"]


def test_the_description_says_where_each_map_is_largest():
    text = describe_head_maps([role(), change()], [TRAINED, CHANGE])
    assert "Previous: most at layer 0, head 0, 0.8." in text and "Loss: most at layer 0, head 0, 0.5." in text


def test_the_table_has_every_number_exactly_and_no_markup_of_names():
    html = heads_table({"<b>x": {"cross": RANDOM}, "y": {"cross": TRAINED}}, caption="<i>", label="numbers")
    assert "<b>" not in html and "<i>" not in html
    found = re.findall(r'data-kind="cross" data-layer="(\d)" data-head="(\d)" data-measure="y">([^<]+)<', html)
    assert [(int(layer), int(head)) for layer, head, _ in found] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert [np.float32(value) for *_, value in found[:3]] == TRAINED.ravel()[:3].tolist() and found[3][2] == "–"
