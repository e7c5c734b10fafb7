"""What a classifier says, drawn."""

import re

import pytest

from ui.figures import contribution_chips, describe_classes, describe_loss, loss_curve, with_losses, won_chips


def numbers(html):
    return re.findall(r"<small>(.*?)</small>", html)


def test_each_token_says_how_many_features_it_won_and_what_it_adds():
    html = won_chips(["▁a", "<i>", "▁b"], [3, 0, 9], features=12, label="won", unknown=[1])
    assert numbers(html) == ["3", "0", "9"]
    assert re.findall(r"--weight:([\d.]+)", html) == ["0.333", "0.000", "1.000"]
    assert "wins 9 of 12 features, 75%" in html
    assert "<i>" not in html
    assert html.count('class="unknown"') == 1
    html = contribution_chips(["a", "b"], [0.5, -1.25], to="JULIET", label="adds")
    assert numbers(html) == ["+0.50", "−1.25"]
    tints = re.findall(r"--tint:(#\w+)", html)
    assert tints[0] != tints[1]
    assert "adds -1.2500 to the score of JULIET" in html
    assert describe_classes(["a", "b", "c", "d"], [0.1, 0.6, 0.05, 0.25]) == "Likeliest classes: b 60%, d 25%, a 10%."


def test_the_loss_is_drawn_on_the_whole_runs_axis_and_thinned_to_its_last_point():
    chart = with_losses(loss_curve(last=200, chance=0.693, source="run x").to_dict(), [10, 20], [1.5, 0.4])
    curve, rule, words = chart["layer"]
    assert chart["datasets"][curve["data"]["name"]].to_dict("records") == [
        {"step": 10, "loss": 1.5}, {"step": 20, "loss": 0.4}]
    assert (curve["encoding"]["x"]["scale"]["domainMin"], curve["encoding"]["x"]["scale"]["domainMax"]) == (0, 200)
    assert chart["datasets"][rule["data"]["name"]][0]["value"] == pytest.approx(0.693)
    assert chart["datasets"][words["data"]["name"]][0]["name"] == "guessing at random: 0.69"
    assert describe_loss([10, 20], [1.5, 0.4]) == "Training loss: 1.5000 at step 10, 0.4000 at step 20."
    assert "no step" in describe_loss([], [])
    steps = list(range(1, 9_001))
    frame = with_losses(loss_curve().to_dict(), steps, [1 / step for step in steps])["datasets"]["losses"]
    assert len(frame) <= 2_001
    assert frame["step"].iloc[-1] == 9_000
