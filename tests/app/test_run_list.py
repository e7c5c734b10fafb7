"""The list of all runs: what each is called, what is ticked and filtered, and which losses share an axis."""

import os

import pytest
import streamlit as st

from tests.markup import Markup
from tests.messages import unpacked
from transformer.jobs import run_files
from transformer.training.runs import describe
from ui.access import visitors
from ui.views.train import overview, run_table

from .page import components, press, put, table_of, words

PAGE = "train"
HOSTILE = "![x](http://example.org/x.png) :red[hot] <b>"


@pytest.fixture
def place(run_folder):
    """place(name, model, lr=0.5): a finished run, with a curve; it may be somebody's, and go on."""
    def place(name, model=(), owner=None, alive=False, **train):
        status = {"state": "running", "step": 1, "steps": 4} if alive else {"step": 2, "steps": 2, "best": 0.75}
        return run_folder(name, model={"encoder_layers": 1, "d_model": 16, "n_heads": 2, **dict(model)},
                          train={"task": "language-model", "corpus": "tiny-shakespeare", **train}, owner=owner,
                          rows=[{"step": step, "loss": 2.0 / step, "seconds": step} for step in (1, 2)], alive=alive,
                          **status)

    return place


def curves(at):
    headers = [unpacked(view.bytes)[0] for view in components(at, "run_curves")]
    return {header["unit"]: [one["name"] for one in header["runs"]] for header in headers}


def colours(at):
    (view,) = components(at, "run_curves")
    return {one["name"]: one["colour"] for one in unpacked(view.bytes)[0]["runs"]}


def table(at):
    (found,) = [one for one in at.dataframe if (one.key or "").startswith("train_all_table")]
    return found


def listed(at):
    return table(at).value["run"].tolist()


def tick(at, *names):
    """Tick these runs, and no others of those listed."""
    at.session_state[table(at).key] = {"selection": {"rows": [listed(at).index(name) for name in names]}}
    return at.run()


def test_a_run_from_a_shell_says_when_it_began(place):
    folder = place("mine")
    (folder / "launch.json").unlink()
    os.utime(folder / "config.json", (1_750_000_000, 1_750_000_000))
    assert describe(folder).started == 1_750_000_000
    run_files.write_json(folder / "launch.json", {"time": 1_760_000_000})
    assert describe(folder).started == 1_760_000_000


def test_an_uploaded_corpus_has_the_name_it_came_with(place, home, visit):
    place("mine", corpus=str(home / "uploads" / "corpora" / "48f61e90-mine.csv"), task="classification")
    at = visit(PAGE, view="runs")
    assert table(at).value.corpus.tolist() == ["mine.csv"]


def test_losses_in_other_units_never_share_an_axis(place, visit):
    for name, task in (("one", "language-model"), ("two", "classification"), ("three", "language-model")):
        place(name, task=task)
    at = tick(visit(PAGE, view="runs"), "one", "two", "three")
    drawn = curves(at)
    assert sorted(drawn["nats per token"]) == ["one", "three"] and drawn["nats per text"] == ["two"]


def test_runs_are_listed_with_the_settings_in_which_they_differ_alone(place, visit):
    place("one", lr=0.25)
    place("two", {"n_heads": 4}, lr=0.5)
    frame = table(visit(PAGE, view="runs")).value.set_index("run")
    assert frame.loc["two", ["state", "step", "best held-out loss", "n_heads", "lr", "corpus"]].tolist() == [
        "Finished", 2.0, 0.75, 4, 0.5, "tiny-shakespeare"]
    assert not {"d_model", "accuracy", "started by"} & {*frame.columns}
    (place("three", owner=visitors.digest("my own key")) / "status.json").write_text('{"state": "failed"}')
    frame = table(visit(PAGE, view="runs")).value.set_index("run")
    assert frame.loc[["one", "three"], ["state", "started by"]].values.tolist() == [["Finished", "a shell"],
                                                                                    ["Failed", "you"]]


def test_ticked_runs_are_drawn_compared_and_in_the_address_from_which_they_are_ticked_again(place, visit):
    for heads in (1, 2, 4):
        place(f"run{heads}", {"n_heads": heads})
    at = tick(visit(PAGE, view="runs"), "run1", "run4")
    assert at.query_params["over"] == "run1,run4"
    rows = Markup(table_of(at, "Settings that differ")).root.xpath("//tr")
    assert [[cell.text_content() for cell in row] for row in rows] == [["setting", "run1", "run4"],
                                                                         ["n_heads", "1", "4"]]
    tick(at, "run1", "run2", "run4")
    assert curves(at) == {"nats per token": ["run1", "run4", "run2"]}
    before = colours(at)
    assert len({*before.values()}) == 3
    assert colours(tick(at, "run2", "run4")) == {name: before[name] for name in ("run4", "run2")}  # each keeps its own
    assert colours(tick(at, "run1", "run2", "run4")) == before
    again = visit(PAGE, view="runs", over="run4,run2,gone")
    assert curves(again) == {"nats per token": ["run4", "run2"]}
    assert "settings" not in words(tick(again, "run2"), "caption")
    assert "Tick runs" in words(tick(again), "caption")
    assert "over" not in again.query_params


def test_a_run_that_somebody_deletes_meanwhile_is_left_out(place, visit, monkeypatch):
    for heads in (1, 2):
        place(f"run{heads}", {"n_heads": heads})
    monkeypatch.setattr(overview, "_arrive", lambda page, prefix, names: st.session_state.update(
        {f"{prefix}_ticked": ["run1", "gone", "run2"], f"{page}_over": []}))  # as while it is drawn again and again
    monkeypatch.setattr(overview, "_filter", lambda page, prefix, runs, known: [run.folder for run in runs] + [
        runs[0].folder.with_name("gone")])
    at = visit(PAGE, view="runs")
    assert curves(at) == {"nats per token": ["run1", "run2"]} and {*listed(at)} == {"run1", "run2"}


def test_filters_leave_what_is_ticked_and_one_run_alone_is_opened(place, visit):
    place("small", {"n_heads": 2})
    place("large", {"n_heads": 4}, corpus="eng-fra")
    at = tick(visit(PAGE, view="runs"), "small")
    assert listed(put(at, "train_all_text", "ENG")) == ["large"]
    assert curves(at) == {"nats per token": ["small"]}
    tick(at, "large")
    assert curves(at)["nats per token"] == ["small", "large"]
    put(at, "train_all_text", "")
    put(at, "train_all_by", "n_heads")
    assert listed(put(at, "train_all_values_n_heads", ["2"])) == ["small"]
    put(at, "train_all_text", "nothing such")
    assert "No run passes the filters" in words(at, "info")
    at = press(tick(visit(PAGE, view="runs"), "small"), "train_all_open")
    assert (at.query_params.get("view", "watch"), at.query_params["run"]) == ("watch", "small")


def test_ticked_runs_are_stopped_and_deleted_as_far_as_somebody_may(place, visit, home, cookies, monkeypatch):
    for name, owner in (("mine", visitors.digest("my own key")), ("theirs", visitors.digest("another")),
                        ("going", visitors.digest("my own key"))):
        place(name, owner=owner, alive=name == "going")
    monkeypatch.setenv("HEADSUP_SHARED", "1")
    stopped = []
    monkeypatch.setattr(run_table, "stop", lambda folder: stopped.append(folder.name))
    at = tick(visit(PAGE, view="runs"), "mine", "theirs", "going")
    assert set(table(at).value["started by"]) == {"you", "another visitor"}
    assert "Training 50%" in table(at).value.state.tolist()  # two of four steps, by its last row
    assert at.button(key="train_all_stop").label == "Stop 1 run"
    press(at, "train_all_stop")
    assert stopped == ["going"] and "Asked to save and stop: going." in words(at, "success")
    assert "**mine** with weights" in words(at, "markdown")
    press(at, "train_all_delete")
    assert sorted(path.name for path in (home / "runs").iterdir() if path.is_dir()) == ["going", "theirs"]
    assert "Deleted: mine." in words(at, "success")
    assert at.query_params["over"] == "theirs,going"


def test_what_somebody_may_not_do_is_refused_whatever_is_sent(place, home, cookies, monkeypatch):
    place("theirs", owner=visitors.digest("another"))
    monkeypatch.setattr(run_table.owners, "shared", lambda: True)
    state = {}
    monkeypatch.setattr(run_table.st, "session_state", state)
    run_table.act_on(PAGE, "delete", ["theirs", "../..", "gone"])
    assert "only the teacher and whoever started this run can delete it; there is no run ../.. any more" in (
        state["train_refused"])
    assert (home / "runs" / "theirs").is_dir()


@pytest.mark.parametrize("damage", ["", "[]", "{", '{"model": 3, "train": []}', '{"time": 1e300, "ticket": "y"}'])
def test_a_damaged_run_is_listed_ticked_and_compared_all_the_same(place, visit, damage):
    place("whole")
    folder = place("torn")
    for name in ("config.json", "launch.json", "status.json", "metrics.jsonl", "sweep.json"):
        (folder / name).write_text(damage)
    at = tick(visit(PAGE, view="runs"), "whole", "torn")
    assert sorted(listed(at)) == ["torn", "whole"]
    assert at.query_params["over"] == "whole,torn"


def test_a_hostile_folder_is_listed_as_it_is_called(place, visit):
    place(HOSTILE.replace("/", "_"), {"positions": HOSTILE}, corpus=HOSTILE)
    place("tame")
    at = tick(visit(PAGE, view="runs"), HOSTILE.replace("/", "_"), "tame")
    assert sorted(listed(at))[0].startswith("![x]")
    assert ":red[hot] &lt;b&gt;" in table_of(at, "Settings that differ")
