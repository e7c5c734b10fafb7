"""What users feel is judged by its limits, and the documents name the same."""

import re

import pytest

from benchmarks import budget
from tests.lint.repository import read

SHAPE = {"layers": 2, "d_model": 16, "n_heads": 4, "kv_heads": 2, "d_ff": 24, "vocab_size": 70}
OVER, UNDER = (1.3, 1.0), (1.1, 1.0)  # of a limit of 1


@pytest.fixture
def measured(monkeypatch):
    """Rows of a figure that is measured so, one time after another."""
    monkeypatch.setitem(budget.FIGURES, "step", budget.Figure("a step", "ms", "nothing", 1.0))

    def rows(*times: tuple[float, float]) -> tuple[budget.Row, int]:
        left = list(times)
        row, = budget.rows_of(("step",), lambda: {"step": left.pop(0)})
        return row, len(times) - len(left)

    return rows


@pytest.mark.parametrize(("times", "over", "measurements"), [
    ([UNDER, OVER], False, 1), ([OVER, UNDER], False, 2), ([OVER, OVER], True, 2)])
def test_a_figure_is_red_that_is_over_twice(measured, times, over, measurements):
    row, taken = measured(*times)
    assert (row.over, taken) == (over, measurements)
    assert str(row).endswith("over" if over else "ok")


def test_what_cannot_be_measured_here_is_left_out():
    def measure() -> budget.Measured:
        raise budget.Left("no Chromium")

    row, = budget.rows_of(("visit",), measure)
    assert not row.over
    assert str(row).endswith("left out: no Chromium")


def test_the_status_says_whether_a_figure_is_over(measured, monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(budget, "MEASURES", {("step",): lambda: {"step": OVER}})
    with pytest.raises(SystemExit) as ended:
        budget.main(["step"], tmp_path / "rows.json")
    assert ended.value.code
    assert '"over": true' in (tmp_path / "rows.json").read_text()
    assert "1.30       1  over" in capsys.readouterr().out


def test_every_figure_is_measured_by_something():
    assert [name for names in budget.MEASURES for name in names] == [*dict.fromkeys(
        name for names in budget.MEASURES for name in names)]
    assert {name for names in budget.MEASURES for name in names} == {*budget.FIGURES}


def test_the_documents_name_the_same_limits():
    section = read("docs/measured.md").split("## What users feel")[1].split("\n## ")[0]
    rows = re.findall(r"^\| `([\w-]+)` \| ([^|]+) \| ([^|]+) \| [^|]+ \| ([\d,.]+) \|$", section, re.MULTILINE)
    assert {name: (what, against, float(limit.replace(",", ""))) for name, what, against, limit in rows} == {
        name: (one.what, one.against, one.limit) for name, one in budget.FIGURES.items()}


def test_a_task_is_timed_by_its_steps(monkeypatch):
    """And what a run takes besides is left out."""
    class Trainer:
        def __init__(self, _folder, config, device):
            self.steps = config.train.steps

        def run(self) -> None:
            clock[0] += 5.0 + 0.1 * self.steps

    def timed(work, *_: object) -> float:
        before = clock[0]
        work()
        return 1_000 * (clock[0] - before)

    clock = [0.0]
    monkeypatch.setattr(budget, "Trainer", Trainer)
    monkeypatch.setattr(budget, "timed", timed)
    assert budget.minute()["minute"][0] == pytest.approx(500 * 100.0)


@pytest.mark.slow  # importing transformers takes seconds
def test_a_model_is_opened_read_and_written_with(monkeypatch):
    monkeypatch.setattr(budget, "REPEATS", 1)
    opened = budget.opened(SHAPE, 5, 2)
    assert {*opened} == {"opening", "first-picture", "every-head"}
    for found in (opened, budget.read(6, SHAPE), budget.written(3, SHAPE)):
        assert all(measured > 0 < against for measured, against in found.values())
