"""Alerts of a run, by made rows of metrics."""

import pytest

from transformer.training.alerts import ALERTS, RISES, ROWS, Alerts


def found(rows, steps=1_000):
    alerts = Alerts(steps)
    for row in rows:
        alerts.add(row)
    return [(event["alert"], event["step"], event["until"]) for event in alerts.events]


def evaluations(losses, every=10):
    return [{"step": every * (at + 1), "validation_loss": loss} for at, loss in enumerate(losses)]


def test_a_loss_that_rises_so_often_in_a_row_is_said_once_and_is_over_when_it_falls():
    up = [3.0, *(3.1 + at / 10 for at in range(RISES))]
    assert found(evaluations(up[:-1])) == []
    assert found(evaluations([*up, 9.0, 9.5])) == [("rising", 10 * (RISES + 1), None)]
    assert found(evaluations([*up, 1.0])) == [("rising", 10 * (RISES + 1), 10 * (RISES + 2))]


def test_a_plateau_is_a_share_of_the_steps_without_a_gain():
    assert [name for name, *_ in found(evaluations([1.0] * 40, every=25))] == ["plateau"]
    assert found(evaluations([4.0 - at / 20 for at in range(40)], every=25)) == []
    assert found(evaluations([1.0] * 5, every=200)) == []  # too few to tell


def test_a_gpu_that_waits_or_is_full_is_said():
    idle = [{"step": at, "gpu_util": 0.2} for at in range(1, ROWS + 1)]
    assert found(idle[:-1]) == [] and found(idle) == [("idle", ROWS, None)]
    busy = [{"step": ROWS + at, "gpu_util": 1.0} for at in range(1, 2 * ROWS)]
    ((name, _, until),) = found([*idle, *busy])
    assert name == "idle" and until is not None
    memory = [{"step": at, "gpu_memory": used, "gpu_memory_total": 100} for at, used in enumerate((50, 97, 96, 80), 1)]
    assert found(memory) == [("memory", 2, 4)]


@pytest.mark.parametrize("row", [{"step": 1}, {"step": 1, "validation_loss": "x"}, {"step": 2, "gpu_memory": 3.0},
                                 {"step": 2, "gpu_memory": 3.0, "gpu_memory_total": 0}])
def test_rows_without_numbers_say_nothing(row):
    assert found([row]) == []


def test_every_alert_has_words():
    assert all(words[0].islower() and not words.endswith(".") for words in ALERTS.values())
