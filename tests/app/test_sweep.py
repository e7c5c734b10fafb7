"""Sweeps on the Train page: the values in the form, the runs that they start, and how these are shown."""

import json
import shutil

import pytest

from transformer.training import sweeps
from transformer.training.runs import find
from ui.access import quotas
from ui.views.train import form, run_table

from .page import plot, press, put, values, words

PAGE = "train"
TRIED = {"n_heads": [1, 2], "positions": ["sinusoidal", "none"]}


@pytest.fixture
def show(visit):
    return lambda name: visit(PAGE, view="sweep", sweep=name)


@pytest.fixture
def make(run_folder):
    """make("heads", states): the runs of a sweep, in these states."""
    def make(name, states=("finished", "finished", "running", "queued"), values=TRIED):
        folders = []
        for number, (run, cell, state) in enumerate(zip(sweeps.run_names(name, values), sweeps.cells_of(values), states,
                                                        strict=True)):
            rows = [{"step": step, "loss": 2.0, "validation_loss": 1.0, "validation_accuracy": 0.25 * (number + 1)}
                    for step in (10, 20)]
            folders.append(run_folder(run, model=cell, rows=rows, state=state, step=20, best=0.5 + number))
            sweeps.remember(folders[-1], name, values, cell)
        return folders

    return make


@pytest.fixture
def tried(visit):
    """tried("1, 2", preset="sentiment"): the form of a new run, in which these numbers of heads are tried."""
    def tried(heads, **params):
        at = put(visit(PAGE, view="new", **params), "train_sweep_setting_0", "n_heads")
        assert not at.error
        return put(at, "train_sweep_values_0", heads)

    return tried


def test_values_are_checked_as_they_are_typed(tried):
    at = tried("1, 2", task="classification", preset="sentiment")
    assert "Makes 2 runs, one after another on cpu: sentiment-heads1 to sentiment-heads2." in words(at, "caption")
    put(at, "train_sweep_setting_1", "positions")
    put(at, "train_sweep_values_1", "sinusoidal, none, alibi")
    assert "Makes 6 runs" in words(at, "caption")
    assert any("--sweep n_heads=1,2 --sweep positions=sinusoidal,none,alibi" in one.value for one in at.code)
    for typed, why in (("1, 3", "n_heads 3, positions none: d_model 32 does not divide"), ("1", "one value"),
                       ("1,,2", "empty value"), (",".join(map(str, range(1, 40))), "the limit is 24"),
                       ("![x](http://x.org) :red[hot], 2", "n_heads")):
        put(at, "train_sweep_values_0", typed)
        assert why in values(at, "error")[0]
        press(at, "train_start")
        assert any("Not started" in one for one in values(at, "error"))


@pytest.mark.slow
def test_what_a_sweep_makes_is_said_by_the_names_that_its_runs_will_have(tried, make):
    make("reverse", ("finished",) * 2, {"n_heads": [1, 2]})
    at = tried("1, 2", preset="reverse")
    assert "reverse-2-heads1 to reverse-2-heads2" in words(at, "caption")
    for name in ("no such name", "../up", "", "a" * 1_000):
        put(at, "train_name", name)
        assert at.error and "Makes" not in words(at, "caption")
    put(at, "train_name", "mine")
    assert "Makes 2 runs, one after another on cpu: mine-heads1 to mine-heads2." in words(at, "caption")


def test_a_sweep_starts_a_run_of_each_value_which_are_watched_together(tried, run_folder, two_texts, monkeypatch):
    started = []
    monkeypatch.setattr(sweeps, "launch", lambda folder, words, **options: started.append(
        (run_folder(folder.name).name, words)))
    at = tried("1, 2, 4", task="classification", preset="sentiment")
    put(at, "train_sentiment_other", f"corpus={two_texts}\nsteps=4")
    put(at, "train_name", "heads")
    press(at, "train_start")
    assert [name for name, _ in started] == ["heads-heads1", "heads-heads2", "heads-heads4"]
    for heads, (_, given) in zip((1, 2, 4), started, strict=True):
        assert given[:2] == ["--preset", "sentiment"]
        assert {f"corpus={two_texts}", "steps=4", f"n_heads={heads}"} <= {*given}
    assert (at.query_params["view"], at.query_params["sweep"]) == ("sweep", "heads")
    assert "3 runs" in words(at, "caption")


def test_somebody_starts_no_more_runs_than_they_may(tried, home, monkeypatch):
    monkeypatch.setattr(form, "_cannot_start", lambda *about: [])
    monkeypatch.setattr(quotas, "run_limits", lambda: {"limit": 3, "in_all": None})
    at = press(tried("1, 2, 4, 8", task="classification", preset="sentiment"), "train_start")
    assert "the sweep makes 4 runs, and 0 of your runs are queued or training; the limit is 3" in words(at, "error")
    assert find(home / "runs") == []


def test_a_sweep_is_a_grid_of_curves_and_of_results(show, make):
    make("heads")
    at = show("heads")
    assert "n_heads 1, 2 × positions sinusoidal, none · 4 runs: 2 finished, 2 died" in words(at, "caption")
    curves = plot(at, "train_sweep_curves")
    assert sum(trace["type"] == "bar" for trace in curves["data"]) == 4
    said = [note["text"] for note in curves["layout"]["annotations"]]
    assert {"Finished · 0.500", "n_heads 1", "n_heads 2", "positions none"} <= {*said}
    (cells,) = plot(at, "train_sweep_results_accuracy")["data"]
    assert list(cells["text"]) == ["25.0%", "50.0%", "75.0%", "100.0%"]
    put(at, "train_sweep_result", "best")
    (cells,) = plot(at, "train_sweep_results_best")["data"]
    assert list(cells["text"]) == ["0.5000", "1.5000", "2.5000", "3.5000"]
    (table,) = at.dataframe
    assert table.value.columns[:3].tolist() == ["run", "state", "step"] and "n_heads" in table.value


def test_many_values_of_one_setting_stand_in_several_rows_and_the_longer_of_two_goes_down(show, make):
    make("many", ("finished",) * 11, {"seed": list(range(1, 12))})
    at = show("many")
    curves = plot(at, "train_sweep_curves")
    assert sum(trace["type"] == "bar" for trace in curves["data"]) == 12  # two rows of six, the last place empty
    said = [note["text"] for note in curves["layout"]["annotations"]]
    assert said[:12] == ["seed 1 · 0.500", *(f"{seed} · {seed - 0.5:.3f}" for seed in range(2, 12)), ""]
    (cells,) = plot(at, "train_sweep_results_accuracy")["data"]
    assert list(cells["text"]) == ["seed 1<br>25.0%", *(f"{seed}<br>{seed / 4:.1%}" for seed in range(2, 12)), ""]
    make("tall", ("finished",) * 14, {"positions": ["sinusoidal", "none"], "seed": list(range(7))})
    results = plot(show("tall"), "train_sweep_results_accuracy")
    assert list(results["data"][0]["text"]) == [f"{at / 4:.1%}" for seed in range(1, 8) for at in (seed, seed + 7)]
    assert list(results["layout"]["xaxis"]["ticktext"]) == ["positions sinusoidal", "positions none"]
    assert list(results["layout"]["yaxis"]["ticktext"]) == ["seed 0", *map(str, range(1, 7))]


def test_all_runs_of_a_sweep_are_stopped(show, make, monkeypatch):
    folders = make("heads")
    stopped = []
    monkeypatch.setattr(run_table, "stop", lambda folder: stopped.append(folder))
    monkeypatch.setattr("transformer.jobs.launch.alive", lambda folder: folder in folders[2:])
    at = show("heads")
    press(at, "train_sweep_stop_all")
    assert stopped == folders[:1:-1]
    assert "Asked to save and stop: heads-heads2-none and heads-heads2-sinusoidal." in words(at, "success")


def test_runs_that_are_gone_leave_their_cells_empty(show, make):
    folders = make("heads", ("finished",) * 4)
    shutil.rmtree(folders[0])
    at = show("heads")
    assert "3 runs: 3 finished" in words(at, "caption")
    assert "deleted" in [note["text"] for note in plot(at, "train_sweep_curves")["layout"]["annotations"]]
    assert "There is no sweep other." in words(show("other"), "error")
    assert "There is no sweep" in words(show("![x](http://x.org)"), "error")


def test_a_sweep_is_found_again_from_all_runs_and_from_each_of_its_own_and_is_a_group(visit, make, show):
    assert "No sweeps yet" in words(show(""), "info")
    (first, *_), _ = make("heads", ("finished",) * 4), make("rates", ("finished",) * 2, {"lr": [0.1, 0.2]})
    for at, key in ((visit(PAGE, view="runs"), "train_to_sweep_heads"), (show("gone"), "train_to_sweep_heads"),
                    (show(""), "train_to_sweep_heads"),
                    (visit(PAGE, view="watch", run=first.name), "train_to_its_sweep")):
        assert "n_heads 1, 2 × positions" in words(press(at, key), "caption")
    at = put(visit(PAGE, view="runs"), "train_all_by", "sweep")
    put(at, "train_all_values_sweep", ["rates"])
    (table,) = [one for one in at.dataframe if (one.key or "").startswith("train_all_table")]
    assert sorted(table.value.run) == ["rates-lr0.1", "rates-lr0.2"]


@pytest.mark.parametrize("damage", ["", "[]", '{"model": 3, "train": []}'])
def test_damaged_runs_of_a_sweep_are_shown_all_the_same(show, make, damage):
    for folder in make("heads", ("finished",) * 4)[:2]:
        for name in ("config.json", "status.json", "metrics.jsonl"):
            (folder / name).write_text(damage)
    assert "4 runs: 2 finished, 2 died" in words(show("heads"), "caption")


def test_values_are_read_as_markdown_nowhere(show, make):
    tried = {"corpus": ["![x](http://x.org/x.png) <b>", "$x$ :red[hot]"]}
    make("odd", ("finished",) * 2, tried)
    at = show("odd")
    assert "![x](http://x.org/x.png)" not in "\n".join(one.value for one in at.caption)
    assert "<b>" not in json.dumps(plot(at, "train_sweep_curves")["layout"]["annotations"])
