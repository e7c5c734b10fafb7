"""The Train page, without a browser: what is started, watched, stopped, and by whom."""

import json
import os
import re
import time
from urllib.parse import parse_qs

import orjson
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from tests.waiting import until
from transformer.jobs import run_files
from transformer.jobs.launch import alive, stop
from transformer.jobs.process import identify
from transformer.runs import describe
from ui.access import visitors
from ui.components import run_curves
from ui.views.train import form, run_check

PAGE = "train"
CONFIG = {"model": {"encoder_layers": 2, "decoder_layers": 2, "d_model": 64, "n_heads": 4},
          "train": {"task": "translation", "corpus": "eng-fra"}}


def run(at: AppTest) -> AppTest:
    at.run()
    assert not at.exception, at.exception[0].message
    return at


def press(at: AppTest, name: str) -> AppTest:
    at.button(key=f"{PAGE}_{name}").click()
    return run(at)


@pytest.fixture
def watch(visit):
    return lambda name, **params: visit(PAGE, view="watch", run=name, **params)


@pytest.fixture
def make(home):
    """Writes a run folder: make("mine", state="stopped", owner=digest, rows=[...])."""

    def make(name, *, state="finished", owner=None, rows=(), alive=False, **status):
        folder = home / "runs" / name
        folder.mkdir(parents=True)
        run_files.write_json(folder / "config.json", CONFIG)
        run_files.write_json(folder / "status.json", {"state": state, "step": 30, "steps": 40, "why": None, **status})
        about = {"owner": owner, "ticket": 1, "time": time.time(), "devices": [], "printed": 0}
        run_files.write_json(folder / "launch.json", about | (identify(os.getpid()) if alive else {}))
        (folder / "metrics.jsonl").write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
        return folder

    return make


def rows(count):
    return [{"step": 10 * i, "seconds": float(i), "loss": 3 - i / 10, "lr": 0.1, "grad_norm": 1.0,
             "tokens_per_sec": 900.0} for i in range(1, count + 1)]


def texts(at, kind):
    return [element.value for element in getattr(at, kind)]


def plain(at, kind):
    return [value.replace("\\", "") for value in texts(at, kind)]


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "sentences.csv"
    path.write_text("text,label\nthis is awesome,positive\ni hated it,negative\n")
    return path


def test_the_page_opens_on_a_new_run(visit):
    at = visit(PAGE)
    assert at.title[0].value == "Train"
    assert at.selectbox(key=f"{PAGE}_preset").value == "translate"
    assert not at.error
    assert at.button(key=f"{PAGE}_start").disabled is False


@pytest.mark.parametrize(("task", "presets"), [
    ("translation", ["paper-base", "annotated", "postnorm-small", "word-level", "t5-small", "translate"]),
    ("language-model", ["gpt-lab", "gpt2", "shakespeare", "llama-small"]),
    ("classification", ["pooled-classifier", "sentiment"])])
def test_every_preset_is_offered_for_its_task(visit, task, presets):
    at = visit(PAGE, task=task)
    assert at.selectbox(key=f"{PAGE}_preset").options == presets
    for name in presets:
        at.selectbox(key=f"{PAGE}_preset").select(name)
        run(at)
        assert not at.error, name
        assert f"--preset {name}" in at.code[0].value


def test_a_setting_that_does_not_fit_is_said_and_nothing_can_be_started(visit, home):
    at = visit(PAGE)
    at.number_input(key=f"{PAGE}_translate_n_heads").set_value(7)
    run(at)
    assert "This cannot be trained: d_model 160 does not divide" in plain(at, "error")[0]
    press(at, "start")
    assert "Not started: d_model 160" in plain(at, "error")[-1]
    assert not (home / "runs").exists() or not list((home / "runs").glob("[!.]*"))
    at.number_input(key=f"{PAGE}_translate_n_heads").set_value(8)
    at.text_area(key=f"{PAGE}_translate_other").set_value("nonsense=3\n<b>x\nlr = fast\n  n_heads=0")
    run(at)
    assert plain(at, "error")[0].splitlines()[2:] == [
        "- the line '<b>x' has no '='; write one setting per line, as key=value", "- unknown setting nonsense",
        "- n_heads 0: it should be greater than or equal to 1",
        '- lr "fast": it should be a valid number, unable to parse string as a number']
    at.text_area(key=f"{PAGE}_translate_other").set_value("accumulate=4")
    run(at)
    assert not at.error
    assert "--set n_heads=8 --set accumulate=4" in at.code[0].value


@pytest.mark.parametrize(("name", "why"), [("", "has no name"), ("../../etc", "something else")])
def test_a_name_that_is_none_is_said_as_soon_as_it_is_typed_and_starts_nothing(visit, home, name, why):
    at = visit(PAGE)
    at.text_input(key=f"{PAGE}_name").set_value(name)
    (error,) = texts(run(at), "error")
    assert why in error
    (error,) = texts(press(at, "start"), "error")
    assert "Not started:" in error
    assert why in error
    assert not (home / "runs").exists() or not list((home / "runs").glob("[!.]*"))


def test_a_name_that_a_run_has_is_said_before_the_start(visit, make):
    make("mine")
    at = visit(PAGE)
    at.text_input(key=f"{PAGE}_name").set_value("mine")
    assert texts(run(at), "error") == ["there is a run mine already; choose another name"]


def test_the_name_stays_through_settings_that_do_not_fit_and_other_views(visit):
    at = visit(PAGE)
    at.text_input(key=f"{PAGE}_name").set_value("my-name")
    run(at)
    for value in (161, 164):
        at.number_input(key=f"{PAGE}_translate_d_model").set_value(value)
        assert run(at).text_input(key=f"{PAGE}_name").value == "my-name"
    for view in ("runs", "new"):
        at.segmented_control(key=f"{PAGE}_view").set_value(view)
        run(at)
    assert at.text_input(key=f"{PAGE}_name").value == "my-name"


def test_a_run_is_started_watched_stopped_and_gone_on_with(visit, home, corpus):
    at = visit(PAGE, task="classification", preset="sentiment")
    at.text_area(key=f"{PAGE}_sentiment_other").set_value(f"corpus={corpus}")
    at.number_input(key=f"{PAGE}_sentiment_steps").set_value(100_000)
    at.text_input(key=f"{PAGE}_name").set_value("mine")
    press(run(at), "start")
    folder = home / "runs" / "mine"
    try:
        assert not at.error
        assert (at.query_params["view"], at.query_params["run"]) == ("watch", "mine")
        assert json.loads((folder / "launch.json").read_text())["owner"] == visitors.digest("my own key")
        until(lambda: describe(folder).now.state == "running" and run_files.last(folder / "metrics.jsonl"))
        run(at)
        assert {"Training loss", "Texts a second"} <= {metric.label for metric in at.metric}
        press(at, "stop")
        until(lambda: not alive(folder))
        run(at)
        assert "100,000, and saved" in texts(at, "info")[0]
        press(at, "resume")
        until(lambda: describe(folder).now.state == "running")
        press(run(at), "stop")
        until(lambda: not alive(folder))
    finally:
        stop(folder)


def test_with_no_run_the_shipped_checkpoints_can_be_watched(visit):
    at = visit(PAGE, view="watch")
    assert at.selectbox(key=f"{PAGE}_run").options == ["checkpoints/classify", "checkpoints/translate",
                                                       "checkpoints/write"]
    assert texts(at, "caption")[0].startswith("An included <dfn")


@pytest.mark.parametrize("name", ["nowhere", "../../etc", "checkpoints/../../x", "a" * 5_000, "<b>x</b>"])
def test_a_run_that_is_not_there_is_said(watch, make, name):
    make("mine")
    at = watch(name)
    assert "There is no run" in texts(at, "error")[0]
    assert at.selectbox(key=f"{PAGE}_run").value == "mine"


@pytest.mark.parametrize(("state", "said"), [
    ("failed", "Failed: the loss is nan."), ("stopped", "Nothing was saved yet"),
    ("running", "The run stopped without a message")])
def test_how_a_run_ended_and_what_can_be_done_is_said(watch, make, state, said):
    make("mine", state=state, why="the loss is nan" if state == "failed" else None)
    at = watch("mine")
    assert said in " ".join(texts(at, "error") + texts(at, "info")).replace("\\", "")
    assert not at.button(key=f"{PAGE}_resume").disabled  # nobody's, and this computer's


def test_a_run_that_died_is_told_of_by_the_last_line_of_its_log(watch, make):
    folder = make("mine", state="running")
    (folder / "log.txt").write_text("reading\nKilled <b> by the system.\n")
    (first, *_) = texts(watch("mine"), "error")
    assert "The run stopped; the last line of its log: Killed <b> by the system." in first.replace(
        "\\", "")


def test_the_numbers_of_now_are_those_of_the_file(watch, make):
    make("mine", state="stopped", rows=rows(3), best=2.5)
    at = watch("mine")
    shown = {metric.label: metric.value for metric in at.metric}
    assert shown == {"Training loss": "2.7000", "Best held-out loss": "2.5000", "Tokens a second": "900",
                     "Trained for": "3.0 s"}


def test_points_count_as_sent_only_once_they_are(watch, make, monkeypatch):
    make("mine", rows=rows(3))
    with monkeypatch.context() as patch:
        patch.setattr(run_curves, "_view", lambda **_: st.stop())  # as where the run of the page is cut short
        at = watch("mine")
    assert f"{PAGE}_curves_sent" not in at.session_state
    ((sent,),) = (found.values() for found in run(at).session_state[f"{PAGE}_curves_sent"].values())
    assert sent["train"] == 3


@pytest.mark.parametrize(("model", "train", "said"), [
    ({"dropout": 0.1}, {"label_smoothing": 0.1}, "with dropout and label smoothing at work"),
    ({"dropout": 0.0}, {"label_smoothing": 0.1}, "with label smoothing at work"),
    ({"dropout": 0.1}, {}, "with dropout at work"), ({"dropout": 0.0}, {"label_smoothing": 0.0}, None)])
def test_why_the_held_out_loss_can_be_the_lower_one_is_said_where_it_is_so(watch, make, model, train, said):
    folder = make("mine", state="stopped", rows=rows(3))
    run_files.write_json(folder / "config.json", {"model": model, "train": train})
    (caption,) = [text for text in texts(watch("mine"), "caption") if "nats" in text]
    assert "−ln of the probability that the right token got" in caption
    assert said in caption if said else "lie below" not in caption


def sample(step):
    return {"step": step, "samples": [{"text": "I am", "output": f"said at {step}", "goes on": " cold."}]}


def test_what_it_makes_of_held_out_texts_follows_the_newest_until_it_is_moved(watch, make):
    folder = make("mine", alive=True, state="running", rows=rows(3))

    def evaluated(step):
        run_files.append(folder / "samples.jsonl", sample(step))
        run(at)
        (table,) = [element.value for element in at.get("html") if 'aria-label="Samples"' in element.value]
        assert "actual continuation" in table
        return int(table.split("said at ")[1].split("<")[0])

    at = watch("mine")
    assert not at.select_slider
    assert evaluated(100) == 100  # one has nothing to be moved
    assert [evaluated(step) for step in (200, 300)] == [200, 300]
    assert at.select_slider[0].value == 300
    at.select_slider[0].set_value(200)
    assert run(at).select_slider[0].value == 200
    assert evaluated(400) == 200
    at.select_slider[0].set_value(400)
    run(at)
    assert [evaluated(500), evaluated(600)] == [500, 600]


def test_damaged_metrics_do_not_stop_the_page(watch, make):
    folder = make("mine", rows=rows(2))
    with open(folder / "metrics.jsonl", "ab") as file:
        file.write(b'\xff\xfe{"step": 30, "loss": \n{"step": "x"}\n{"step": 40, "lo')
    (folder / "samples.jsonl").write_bytes(b'{"step": 1, "samples": 3}\n{"samples": [{}]}\nx')
    at = watch("mine")
    assert at.metric[0].value == "2.8000"


@pytest.mark.parametrize(("state", "why", "kind", "said"), [
    ("finished", "no improvement of the held-out loss for 6 evaluations", "info",
     "Finished early, at step 30 of 40: no improvement of the held-out loss for 6 evaluations."),
    ("stopped", "its time was up (2 minutes)", "info",
     "Stopped at step 30 of 40: its time was up (2 minutes). Nothing was saved yet; Resume starts over."),
    ("failed", "process 1 was killed, perhaps because memory ran out", "error",
     "Failed: process 1 was killed, perhaps because memory ran out.")])
def test_a_run_that_ended_says_why(watch, make, state, why, kind, said):
    make("mine", state=state, why=why)
    assert plain(watch("mine"), kind)[0] == said


def test_a_run_that_ended_before_it_trained_shows_the_error_of_its_log(watch, make):
    folder = make("mine")
    (folder / "status.json").unlink()
    (folder / "log.txt").write_text("error: the corpus mine.tsv could not be read; try again later\n")
    assert plain(watch("mine"), "error")[0] == "Failed: the corpus mine.tsv could not be read; try again later."


def test_somebody_elses_run_can_be_watched_and_not_touched(watch, make):
    make("theirs", owner=visitors.digest("another key"), alive=True, state="running")
    at = watch("theirs")
    assert at.button(key=f"{PAGE}_stop").disabled
    assert "Only its owner and the teacher" in " ".join(texts(at, "caption"))


def test_a_run_is_its_owners_by_the_browser_and_by_no_link(watch, make, cookies):
    make("mine", owner=visitors.digest("my own key"), state="stopped")
    at = watch("mine", key="evil-classmate-key")
    assert not at.button(key=f"{PAGE}_resume").disabled
    assert "key" not in at.query_params  # so that no link has one
    cookies[visitors.VISITOR] = "another key"
    assert watch("mine", key="my own key").button(key=f"{PAGE}_resume").disabled


def test_a_code_for_another_browser_is_made_where_it_is_asked_for(visit, cookies):
    at = visit(PAGE, view="runs")
    assert not [code for code in at.code if "-" in code.value]
    press(at, "make_code")
    (code,) = [code.value for code in at.code]
    assert visitors.take_moved(code) == "my own key"
    cookies.clear()
    assert f"{PAGE}_make_code" not in {button.key for button in visit(PAGE, view="runs").button}


def test_the_teacher_controls_all_and_can_stop_new_runs(visit, watch, make, home, cookies):
    make("theirs", owner=visitors.digest("another key"), state="stopped")
    teacher = {visitors.TEACHER: visitors.teacher_cookie()}
    assert (home / "cookie.secret").stat().st_mode & 0o077 == 0
    cookies.update(teacher)
    at = watch("theirs")
    assert not at.button(key=f"{PAGE}_resume").disabled
    at.toggle(key=f"{PAGE}_allowed").set_value(False)
    run(at)
    del cookies[visitors.TEACHER]
    forbidden = visit(PAGE)
    assert forbidden.button(key=f"{PAGE}_start").disabled
    assert "only the teacher can start a run on this server" in texts(forbidden, "warning")[0]
    cookies.update(teacher)
    at.toggle(key=f"{PAGE}_allowed").set_value(True)
    run(at)
    del cookies[visitors.TEACHER]
    assert not visit(PAGE).button(key=f"{PAGE}_start").disabled


@pytest.mark.parametrize("cookie", ["", "wrong", "x" * 500, "ключ"])
def test_a_wrong_cookie_opens_nothing(watch, make, cookies, cookie):
    make("theirs", owner=visitors.digest("another key"), state="stopped")
    cookies[visitors.TEACHER] = cookie
    at = watch("theirs", teacher=visitors.cookie_secret())
    assert at.button(key=f"{PAGE}_resume").disabled
    assert f"{PAGE}_allowed" not in {toggle.key for toggle in at.toggle}


def test_all_runs_are_listed_with_how_they_stand(visit, make):
    make("done", rows=rows(3), best=2.0, owner=visitors.digest("my own key"))
    make("broken", state="failed", why="out of luck")
    at = visit(PAGE, view="runs")
    (table,) = [element.value for element in at.get("html") if 'aria-label="Runs"' in element.value]
    assert "<td class=\"text\">done</td><td class=\"text\">Finished</td>" in table
    assert "Failed" in table
    assert "2.0000" in table
    assert table.count(">you</td>") == table.count(">a shell</td>") == 1
    at.multiselect(key=f"{PAGE}_over").set_value(["done", "broken"])
    run(at)
    assert at.query_params["over"] == "done,broken"


def test_without_runs_the_list_says_how_to_start_one(visit):
    assert "No runs yet" in texts(visit(PAGE, view="runs"), "info")[0]


def test_a_run_is_renamed_kept_and_deleted(watch, make, home):
    make("mine", state="stopped")
    at = watch("mine")
    at.text_input(key=f"{PAGE}_mine_rename_to").set_value("better")
    press(run(at), "rename")
    assert (home / "runs" / "better").is_dir()
    assert at.query_params["run"] == "better"
    press(at, "delete")
    assert not (home / "runs" / "better").exists()
    assert "The run better is deleted" in " ".join(texts(at, "success"))


def test_a_monster_is_refused_at_start(visit, home):
    at = visit(PAGE)
    for name, value in {"encoder_layers": 96, "decoder_layers": 96, "n_heads": 128, "d_model": 65_536,
                        "batch_tokens": 4_000_000}.items():
        at.number_input(key=f"{PAGE}_translate_{name}").set_value(value)
    assert not run(at).error
    (error,) = plain(press(at, "start"), "error")
    assert error.startswith("Not started: weights, gradients and optimizer take 59")
    assert error.endswith("GB left; lower d_model, d_ff or the number of layers")
    assert not (home / "runs").exists() or not list((home / "runs").glob("[!.]*"))


def test_a_run_whose_corpus_file_is_gone_is_not_started(tmp_path):
    gone = str(tmp_path / "gone.tsv")
    assert form._cannot_start("translate", {"corpus": gone}, "cpu", 1) == [
        f"the file {gone} is not on this computer; choose another"]


def test_what_failed_its_check_cannot_be_started_until_it_is_changed(visit, home):
    folder = run_check.check_folder("translate", {}, "cpu")
    folder.mkdir(parents=True)
    problem = {"level": "error", "text": "none of the 24 pairs fits"}
    result = {"device": {"device": "cpu", "name": None, "threads": 1}, "preview": None, "tokens": None, "time": None,
              "config": {}, "parameters": {"total": 30, "parts": {"embeddings": 30}}, "problems": [problem], "memory": {
                  "weights": 1, "gradients": 1, "optimizer": 2, "activations": 5, "total": 9, "measured_steps": 0,
                  "available": None, "micro_tokens": 1}}
    (folder / "result.json").write_bytes(orjson.dumps(result))
    at = visit(PAGE)
    assert at.button(key=f"{PAGE}_start").disabled
    assert "The check failed, so the run cannot start" in " ".join(texts(at, "caption"))
    refused = form._cannot_start("translate", {}, "cpu", 1)  # whoever sends the click all the same
    assert refused == ["its check failed: none of the 24 pairs fits"]
    at.number_input(key=f"{PAGE}_translate_max_len").set_value(100)
    assert not run(at).button(key=f"{PAGE}_start").disabled


def test_the_smallest_preset_learns_from_the_two_sentences_that_come_with_it(visit):
    at = visit(PAGE, task="classification", preset="sentiment")
    assert at.selectbox(key=f"{PAGE}_classification_corpus_sentiment").value == "sentiment"
    assert "corpus=" not in at.code[0].value
    at.selectbox(key=f"{PAGE}_preset").select("pooled-classifier")
    assert "corpus=" not in run(at).code[0].value


def test_so_many_runs_at_once_are_somebodys_limit(visit, make):
    for name in "abc":
        make(name, state="running", owner=visitors.digest("my own key"), alive=True)
    at = visit(PAGE)
    press(at, "start")
    assert re.search("3 of your runs .* limit is 3", texts(at, "error")[0])


def test_a_run_that_is_kept_is_offered_by_the_pages_it_fits(watch, visit, home, corpus):
    import torch

    from transformer.presets import preset
    from transformer.training.trainer import Trainer

    config = preset("sentiment").set({"corpus": str(corpus), "steps": 10, "eval_every": 5})
    Trainer(home / "runs" / "mine", config, device=torch.device("cpu")).run()
    at = watch("mine")
    offered = visit("classify").selectbox(key="classify_checkpoint").options
    assert [option.split("@")[0] for option in offered] == ["classify"]
    at.text_input(key=f"{PAGE}_mine_promote_as").set_value("two-words")
    press(run(at), "promote")
    assert plain(at, "success") == ["Kept as the checkpoint two-words."]
    (link,) = [one.proto for one in at.get("page_link") if "checkpoint=" in one.proto.query_string]
    assert parse_qs(link.query_string)["checkpoint"][0].startswith("two-words@") and link.page.endswith("classify")
    offered = visit("classify").selectbox(key="classify_checkpoint").options
    assert [option.split("@")[0] for option in offered] == ["classify", "two-words"]
    press(at, "promote")
    assert "there is a checkpoint two-words already" in plain(at, "error")[0]
    for taken in ("translate", "Translate"):  # which come with the app
        at.text_input(key=f"{PAGE}_mine_promote_as").set_value(taken)
        press(run(at), "promote")
        assert f"there is a checkpoint {taken} already" in plain(at, "error")[0]
    assert [path.name for path in (home / "checkpoints").glob("[!.]*")] == ["two-words"]


def test_without_tensorboard_the_mirror_is_refused_before_the_start(visit, monkeypatch):
    monkeypatch.setattr("ui.views.train.form.find_spec", lambda name: None)
    at = visit(PAGE)
    at.toggle(key=f"{PAGE}_translate_tensorboard").set_value(True)
    run(at)
    assert "pip install tensorboard" in plain(at, "error")[0]
    press(at, "start")
    assert "pip install tensorboard" in plain(at, "error")[-1]
    assert at.query_params["view"] == "new"


def test_a_cluster_is_a_device_where_one_is_configured(visit, home, monkeypatch):
    asked = []
    monkeypatch.setattr("transformer.jobs.cluster.offered_address", lambda: "http://head:8265")
    monkeypatch.setattr("ui.views.train.form.cluster.submit", lambda folder, arguments, **options: asked.append(
        (folder.name, arguments, options)))
    at = visit(PAGE)
    at.selectbox(key=f"{PAGE}_device").select("cluster")
    run(at)
    at.number_input(key=f"{PAGE}_processes_cluster").set_value(4)
    run(at)
    assert "--cluster --processes 4" in at.code[0].value
    press(at, "start")
    ((name, arguments, options),) = asked
    assert (name, arguments) == ("translate", ["--preset", "translate"])
    assert options == {"processes": 4, "owner": visitors.digest("my own key")}
    monkeypatch.setattr("transformer.jobs.cluster.offered_address", lambda: None)
    assert "cluster" not in visit(PAGE).selectbox(key=f"{PAGE}_device").options

