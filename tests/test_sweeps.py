"""Sweeps: the values that are tried, the runs made of them, in the queue and in a shell, and found again."""

import json

import pytest

from tests.rows import each_row
from tests.waiting import until
from transformer.jobs import run_files
from transformer.jobs.launch import progress, stop
from transformer.settings.presets import preset
from transformer.training import runs, sweeps
from transformer.training.sweeps import check_cells, read_values, run_names


def test_values_are_read_as_settings_are():
    assert read_values(["n_heads=1,2,4", " positions = sinusoidal, none"]) == {
        "n_heads": [1, 2, 4], "positions": ["sinusoidal", "none"]}
    assert read_values(["betas=[0.9,0.98],[0.9,0.95]"]) == {"betas": [[0.9, 0.98], [0.9, 0.95]]}
    assert read_values(['corpus="a,b.csv",c.csv']) == {"corpus": ["a,b.csv", "c.csv"]}
    assert read_values(["lr=1e-3,0.01", "tie_embeddings=true,false"]) == {
        "lr": [0.001, 0.01], "tie_embeddings": [True, False]}


@each_row(("texts", "why"), [
    (["n_heads"], "has no '='"), (["n_heds=1,2"], "unknown setting 'n_heds'; known are accumulate"),
    (["n_heads=1"], "one value; a sweep needs two or more"), (["n_heads=1,,2"], "an empty value"),
    (["n_heads="], "an empty value"), (["n_heads=1,2,1"], "the value 1 twice"),
    (["n_heads=1,2", "n_heads=4,8"], "n_heads is there twice"),
    (["n_heads=1,2", "d_ff=8,16", "lr=0.1,0.2"], "3 settings; a sweep tries values of at most 2"),
    (["seed=" + ",".join(map(str, range(30)))], "make 30 runs; the limit is 24"),
    (["seed=" + ",".join(map(str, range(900))), "d_ff=" + ",".join(map(str, range(900)))], "make 810,000 runs"),
    (["corpus=\udcff,a"], "a value of corpus cannot be written down"),
    ([f"distill={'[' * 300}{']' * 300},1"], "a value of distill cannot be written down"),
    (["]]=,[["], "unknown setting"), (["__class__=1,2"], "unknown setting")])
def test_what_makes_no_sweep_is_said(texts, why):
    with pytest.raises(ValueError, match=why):
        read_values(texts)


def test_values_that_fit_no_model_are_named():
    with pytest.raises(ValueError, match="n_heads 3: d_model 32 does not divide by n_heads 3; change one.*; "
                                         "n_heads 500: Input should be less than or equal to 128"):
        check_cells(preset("sentiment"), {}, read_values(["n_heads=2,3,500"]))
    check_cells(preset("sentiment"), {"d_model": 36}, read_values(["n_heads=2,3"]))
    with pytest.raises(ValueError, match=r"^n_heads 1\.0 is the same as n_heads 1$"):
        check_cells(preset("sentiment"), {}, read_values(["n_heads=1,1.0"]))


def test_every_run_has_a_short_name_of_its_own_that_a_folder_can_have():
    assert run_names("reverse", read_values(["n_heads=1,2", "positions=sinusoidal,none"])) == [
        "reverse-heads1-sinusoidal", "reverse-heads1-none", "reverse-heads2-sinusoidal", "reverse-heads2-none"]
    assert run_names("a", read_values(["lr=1e-3,5e-4"])) == ["a-lr0.001", "a-lr0.0005"]
    for values in (["corpus=../../etc,/etc"], ["corpus=día,dúa"], ["pinned=[\"a b\"],[\"a/b\"]"],
                   [f"corpus={'x' * 90}1,{'x' * 90}2"]):
        names = run_names("n" * 60, read_values(values))
        assert len(set(names)) == 2 and [runs.check_name(name) for name in names] == names
    with pytest.raises(ValueError, match="something else"):
        run_names("../up", read_values(["n_heads=1,2"]))


@pytest.mark.rare("trains three runs in processes of their own, one after another")
def test_runs_of_a_sweep_train_one_after_another(tmp_path, two_texts):
    arguments = ["--preset", "sentiment", "--steps", "4", "--set", f"corpus={two_texts}"]
    sweep = sweeps.start(tmp_path / "runs", "heads", read_values(["n_heads=1,2,4"]), arguments, devices=("cpu",))
    folders = [*sweep.folders.values()]
    assert sum(progress(folder).under_way for folder in folders) >= 2  # the others wait
    until(lambda: not any(progress(folder).under_way for folder in folders))
    assert [progress(folder).state for folder in folders] == ["finished"] * 3


@pytest.mark.slow
def test_runs_of_a_sweep_are_found_again_and_stopped(tmp_path, two_texts):
    values = read_values(["n_heads=1,2,4"])
    arguments = ["--preset", "sentiment", "--steps", "1000000", "--set", f"corpus={two_texts}"]
    started = sweeps.start(tmp_path / "runs", "heads", values, arguments, devices=("cpu",), owner="me")
    names = ["heads-heads1", "heads-heads2", "heads-heads4"]
    folders = [tmp_path / "runs" / name for name in names]
    assert [progress(folder).under_way for folder in folders] == [True] * 3  # all but one of them wait
    assert runs.settings_of(folders[2])["n_heads"] == 4  # though it is queued
    assert sorted(path.name for path in runs.find(tmp_path / "runs")) == names
    assert all(stop(folder) for folder in folders)
    until(lambda: not any(progress(folder).under_way for folder in folders))
    assert [progress(folder).state for folder in folders] == ["stopped"] * 3
    (found,) = sweeps.sweeps(tmp_path / "runs")
    assert found == started
    assert [found.folder(cell).name for cell in found.cells] == names
    assert runs.differences(folders).to_dict("index") == {"n_heads": dict(zip(names, [1, 2, 4], strict=True))}
    runs.rename(folders[0], "other")
    runs.delete(folders[1])
    (found,) = sweeps.sweeps(tmp_path / "runs")
    assert [folder and folder.name for folder in map(found.folder, found.cells)] == ["other", None, "heads-heads4"]
    with pytest.raises(ValueError, match="there is a run heads-heads4 already; give the sweep another name"):
        sweeps.start(tmp_path / "runs", "heads", values, arguments)


@each_row("damage", [
    "", "[]", "{}", '{"sweep": "../up", "values": {"a": [1, 2]}, "cell": {"a": 1}}',
    '{"sweep": 3, "values": [], "cell": {}}', '{"sweep": "x", "values": {"a": [1, 2]}, "cell": {"a": 3}}',
    '{"sweep": "x", "values": {"a": [1, 2]}, "cell": {"b": 1}}', '{"sweep": "x", "values": {"a": 7}, "cell": {"a": 7}}',
    json.dumps({"sweep": "x", "values": {"a": [*range(5_000)], "b": [*range(5_000)]}, "cell": {"a": 1, "b": 1}})])
def test_a_damaged_file_belongs_to_no_sweep(tmp_path, damage):
    (tmp_path / "run").mkdir(exist_ok=True)
    (tmp_path / "run" / "config.json").write_text("{}")
    (tmp_path / "run" / sweeps.FILE).write_text(damage)
    assert sweeps.sweeps(tmp_path) == [] and sweeps.sweep_of(tmp_path / "run") is None


@pytest.mark.slow
def test_a_sweep_in_a_shell_prints_a_table_and_goes_on_with_what_has_not_finished(headsup, tmp_path, two_texts):
    words = ["train", "--out", tmp_path / "out", "--preset", "sentiment", "--steps", 3, "--set", f"corpus={two_texts}",
             "--device", "cpu", "--sweep", "n_heads=1,2"]
    code, out, err = headsup(*words)
    assert not code
    head, *rows = [line.split() for line in out.splitlines()]
    assert head[:4] == ["run", "n_heads", "state", "step"]
    assert [row[:4] for row in rows] == [[f"sentiment-heads{n}", str(n), "finished", "3"] for n in (1, 2)]
    assert "run 2 of 2: sentiment-heads2 (n_heads 2)" in err
    code, _, err = headsup(*words)
    assert code == 2 and "sentiment-heads1 is there already; --resume trains those" in err
    before = (tmp_path / "out" / "sentiment-heads1" / "status.json").read_bytes()
    runs.delete(tmp_path / "out" / "sentiment-heads2")
    code, out, err = headsup(*words, "--resume", "--json")
    assert not code and [run["state"] for run in json.loads(out)["runs"]] == ["finished"] * 2
    assert (tmp_path / "out" / "sentiment-heads1" / "status.json").read_bytes() == before
    assert [one.name for one in sweeps.sweeps(tmp_path / "out")] == ["sentiment"]
    code, _, err = headsup(*words, "--resume", "--set", "d_ff=32")
    assert code == 2 and "sentiment-heads1 is there already, with another d_ff; choose another --out" in err


def test_in_a_shell_what_makes_no_sweep_or_more_runs_than_somebody_may_have_begins_nothing(headsup, tmp_path):
    words = ["train", "--out", tmp_path / "out", "--preset", "sentiment"]
    assert "d_model 32 does not divide by n_heads 3" in headsup(*words, "--sweep", "n_heads=2,3")[2]
    assert "unknown setting 'x'" in headsup(*words, "--sweep", "x=2,3")[2]
    assert "leave one out" in headsup(*words, "--steps", 3, "--sweep", "steps=2,3")[2]
    assert not (tmp_path / "out").exists()
    with pytest.raises(ValueError, match="the sweep makes 4 runs, and 0 of your runs are queued or training; the limit "
                                         "is 3"):
        sweeps.start(tmp_path, "much", read_values(["n_heads=1,2,4,8"]), [], owner="me", limit=3)
    assert runs.find(tmp_path) == []


def test_ctrl_c_ends_the_run_that_trains_and_no_more_are_started(headsup, tmp_path, two_texts, monkeypatch):
    begun = []

    def interrupted(trainer, _):
        begun.append(trainer.folder.name)
        trainer.stopping.set()

    monkeypatch.setattr("transformer.commands.sweep.run_with_bar", interrupted)
    headsup("train", "--out", tmp_path, "--preset", "sentiment", "--set", f"corpus={two_texts}", "--device", "cpu",
            "--sweep", "n_heads=1,2,4")
    assert begun == ["sentiment-heads1"]


@pytest.mark.slow
def test_a_run_that_fails_keeps_no_other_from_training(headsup, tmp_path, two_texts):
    code, out, err = headsup("train", "--out", tmp_path, "--preset", "sentiment", "--steps", 2, "--device", "cpu",
                             "--sweep", f"corpus={tmp_path / 'gone.csv'},{two_texts}")
    assert not code and "gone.csv" in err
    assert [line.split()[2] for line in out.splitlines()[1:]] == ["not", "finished"]  # "not started"


def test_runs_are_compared_in_tables(tmp_path):
    """Two runs that have ended; one differs in its heads and has lost its size."""
    for name, model in (("one", {"n_heads": 2, "d_model": 16}), ("two", {"n_heads": 4, "d_model": 16})):
        (tmp_path / name).mkdir()
        run_files.write_json(tmp_path / name / "config.json", {"model": model, "train": {"corpus": f"{name}.csv"}})
        run_files.write_json(tmp_path / name / "status.json", {"state": "finished", "step": 2, "steps": 2, "best": 0.5})
        run_files.append(tmp_path / name / "metrics.jsonl", {"step": 2, "validation_loss": 0.5, "best": 0.5,
                                                             "validation_accuracy": 0.75, "seconds": 3.0})
    two_runs = [tmp_path / "one", tmp_path / "two"]
    table = runs.differences(two_runs)
    assert table.index.name == "setting" and list(table.columns) == ["one", "two"]
    assert table.to_dict("index") == {"n_heads": {"one": 2, "two": 4}, "corpus": {"one": "one.csv", "two": "two.csv"}}
    assert runs.differences([]).empty and runs.differences(two_runs[:1]).empty
    rows = runs.compare(map(str, two_runs)).set_index("run")
    assert rows.loc["two", ["state", "step", "best", "accuracy", "seconds", "n_heads", "d_ff"]].tolist() == [
        "finished", 2, 0.5, 0.75, 3.0, 4, 512]
    assert rows.exact.isna().all()
    for make in (runs.differences, runs.compare):
        with pytest.raises(ValueError, match="nowhere is not a run; name folders that `train` has made"):
            make([tmp_path / "nowhere"])
