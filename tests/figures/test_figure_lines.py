"""Curves, and tokens with their positions."""

import re

from ui.figures import lines, token_chips

from .altair_rows import drawn_rows


def test_ranks_have_the_first_on_top_and_other_curves_go_up():
    chart = lines({"a": [22, 3, 1]}, across="depth", up="rank, log scale", title="t", log=True, down=True)
    y = chart.to_dict()["layer"][0]["encoding"]["y"]
    assert y["scale"] == {"type": "log", "reverse": True, "domain": [1, 100]}
    assert y["axis"]["values"] == [1, 10, 100] and y["title"] == "rank, log scale"
    y = lines({"a": [0.1, 0.5]}, across="depth", up="p", title="t").to_dict()["layer"][0]["encoding"]["y"]
    assert "reverse" not in y["scale"] and "domain" not in y["scale"]


def test_curves_and_rules_have_their_values_and_names():
    chart = lines({"a": [1, 2], "b": [3]}, across="at", up="v", title="t", first=5, step=2, rules={"<limit>": 4})
    assert [tuple(row.values()) for row in drawn_rows(chart, 0)] == [(5, "a", 1), (7, "a", 2), (5, "b", 3)]
    assert drawn_rows(chart, 1) == [{"value": 4, "name": "<limit>"}]
    assert [layer["mark"]["type"] for layer in chart.to_dict()["layer"]] == ["line", "rule", "text", "text"]


def test_chips_have_their_positions_and_those_of_a_query_show_what_it_looks_at_and_what_it_has_not_read():
    assert "<small>1</small> <bdi>&lt;b&gt;</bdi>" in token_chips(["a", "<b>"], label="tokens", numbered=True)
    assert "<small>" not in token_chips(["a"], label="tokens")
    html = token_chips([*"abcdef"], label="tokens", weights={1: 0.25}, query=2, unread=3, shown={1, 2, 3})
    chips = re.findall(r'<span class="([^"]*)" data-position="(\d)" title="([^"]*)"([^>]*)>', html)
    assert chips == [("", "1", "position 1, weight 0.250", ' style="--weight:0.500"'),
                     ("query", "2", "position 2, the query", ""), ("later", "3", "position 3", "")]
    around = re.sub(r"<span.*?</span>", "·", html[html.index("<div"):])
    assert re.sub(r"<.*?>", "", around) == "…··→·…"
