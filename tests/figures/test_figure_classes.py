"""What a classifier says, drawn."""

import pytest

from ui.figures import contribution_chips, describe_classes, describe_loss, loss_curve, with_losses, won_chips

from .as_text import as_text


def test_each_token_says_how_many_features_it_won_and_what_it_adds(accepted):
    accepted("classes", as_text(
        won_chips(["▁a", "<i>", "▁b"], [3, 0, 9], features=12, label="won", unknown=[1]),
        contribution_chips(["a", "b"], [0.5, -1.25], to="JULIET", label="adds")))
    said = describe_classes(["a", "b", "c", "d"], [0.1, 0.6, 0.05, 0.25])
    assert said == "Likeliest classes: b 60.0%, d 25.0%, a 10.0%."


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
