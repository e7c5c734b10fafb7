"""The Train page, without a browser: what is started, watched, stopped, and by whom."""

import json
import re
from functools import partial
from urllib.parse import parse_qs

import pytest
import streamlit as st
import torch

from tests.messages import unpacked
from transformer.jobs import run_files
from transformer.settings.presets import PRESETS, preset
from transformer.settings.quick_tasks import QUICK
from transformer.settings.task import LEARNED
from transformer.training.trainer import Trainer
from ui.access import quotas, visitors
from ui.components import run_curves
from ui.views.train import form, run_bar, run_check

from .page import components, press, put, values, words

PAGE = "train"
MODEL = {"encoder_layers": 2, "decoder_layers": 2, "d_model": 64, "n_heads": 4}


@pytest.fixture
def watch(visit):
    return lambda name, **params: visit(PAGE, view="watch", run=name, **params)


@pytest.fixture
def make(run_folder):
    return partial(run_folder, model=MODEL, train={"task": "translation", "corpus": "eng-fra"})


def rows(count):
    return [{"step": 10 * i, "seconds": float(i), "loss": 3 - i / 10, "lr": 0.1, "grad_norm": 1.0,
             "tokens_per_sec": 900.0} for i in range(1, count + 1)]


def test_the_page_opens_on_what_trains_or_else_on_the_recorded_run_which_plays_once(visit, make):
    def plays(at):
        (screen,) = components(at, "training_screen")
        return unpacked(screen.bytes)[0]["plays"]

    at = visit(PAGE)
    assert at.selectbox(key="train_run").value == "checkpoints/translate"
    assert at.selectbox(key="train_run").options == [
        f"checkpoints/{name}" for name in ("classify", "punctuate", "translate", "write")]
    assert plays(at)
    assert not plays(at.run())
    assert not plays(visit(PAGE, run="checkpoints/translate"))  # somebody has chosen it
    make("done")
    assert visit(PAGE).selectbox(key="train_run").value == "checkpoints/translate"
    make("mine", state="running", alive=True)
    assert visit(PAGE).selectbox(key="train_run").value == "mine"


@pytest.mark.parametrize("name", QUICK)
def test_every_quick_task_has_a_card_that_starts_it(visit, make, monkeypatch, name):
    started = []

    def launch(folder, words, **options):
        started.append((folder.name, words, options["devices"]))
        make(folder.name)

    monkeypatch.setattr("ui.views.train.form.launch", launch)
    at = press(visit(PAGE), "train_now")
    assert sum(element.value.count("<img") for element in at.get("html")) == len(QUICK)
    press(at, f"train_quick_{name}")
    assert started == [(name, ["--preset", name], (next(iter(form.devices())),))]
    assert not at.error
    if QUICK[name].beside:
        started.clear()
        at = press(visit(PAGE, view="now"), f"train_quick_{name}_beside")
        assert [words[:2] for _, words, _ in started] == 2 * [["--preset", name]]
        assert at.query_params["over"].split(",") == [run for run, _, _ in started]


@pytest.mark.parametrize("task", LEARNED)
def test_every_preset_is_offered_for_its_task(visit, task):
    presets = [name for name, one in PRESETS.items() if one.train.task == task]
    at = visit(PAGE, view="new", task=task)
    assert sorted(at.selectbox(key="train_preset").options) == sorted(presets)
    for name in presets:
        at.selectbox(key="train_preset").select(name)
        at.run()
        assert not at.error, name
        assert f"--preset {name}" in at.code[0].value and "corpus=" not in at.code[0].value


def test_what_cannot_be_trained_is_said_as_it_is_filled_in_and_not_started(visit, home, monkeypatch):
    at = visit(PAGE, view="new")
    put(at, "train_translate_n_heads", 5)
    assert "This cannot be trained: d_model 256 does not divide by n_heads 5" in values(at, "error")[0]
    assert "Not started: d_model 256" in values(press(at, "train_start"), "error")[0]
    at.number_input(key="train_translate_n_heads").set_value(8)
    put(at, "train_translate_other", "nonsense=3\n<b>x\nlr = fast\n  n_heads=0")
    assert values(at, "error")[0].splitlines()[2:] == [
        "- the line '<b>x' has no '='; write one setting per line, as key=value", "- unknown setting nonsense",
        "- n_heads 0: it should be greater than or equal to 1",
        '- lr "fast": it should be a valid number, unable to parse string as a number']
    put(at, "train_translate_other", "accumulate=4")
    assert not at.error
    assert "--set n_heads=8 --set accumulate=4" in at.code[0].value
    for name, value in {"encoder_layers": 96, "decoder_layers": 96, "n_heads": 128, "d_model": 65_536,
                        "batch_tokens": 4_000_000}.items():
        at.number_input(key=f"train_translate_{name}").set_value(value)
    assert not at.run().error
    (error,) = values(press(at, "train_start"), "error")
    assert error.startswith("Not started: weights, gradients and optimizer take 79")
    assert error.endswith("GB left; lower d_model, d_ff or the number of layers")
    monkeypatch.setattr("ui.views.train.form.find_spec", lambda name: None)
    assert "pip install tensorboard" in values(put(at, "train_translate_tensorboard", True), "error")[0]
    assert "pip install tensorboard" in values(press(at, "train_start"), "error")[-1]
    assert not list(home.glob("runs/[!.]*"))


@pytest.mark.parametrize(("name", "why"), [
    ("", "has no name"), ("../../etc", "something else"), ("mine", "there is a run mine already; choose another name")])
def test_a_name_that_is_none_or_taken_is_said_as_soon_as_it_is_typed_and_starts_nothing(visit, make, home, name, why):
    make("mine")
    at = visit(PAGE, view="new")
    (error,) = values(put(at, "train_name", name), "error")
    assert why in error
    (error,) = values(press(at, "train_start"), "error")
    assert "Not started:" in error and why in error
    assert [path.name for path in home.glob("runs/[!.]*")] == ["mine"]


def test_a_name_that_was_typed_stays_through_settings_and_views(visit):
    at = put(press(visit(PAGE), "train_new"), "train_name", "my-name")
    for value in (161, 164):
        at.number_input(key="train_translate_d_model").set_value(value)
        assert at.run().text_input(key="train_name").value == "my-name"
    assert press(at, "train_to_watch").selectbox(key="train_run").value == "checkpoints/translate"
    assert press(at, "train_new").text_input(key="train_name").value == "my-name"


def test_a_run_is_started_with_what_was_filled_in_and_watched(visit, make, two_texts, monkeypatch):
    started = []

    def launch(folder, words, **options):
        started.append((folder.name, words, options))
        make(folder.name, state="running", owner=options["owner"], rows=rows(3), alive=True)

    monkeypatch.setattr("ui.views.train.form.launch", launch)
    at = visit(PAGE, view="new", task="classification", preset="sentiment")
    at.text_area(key="train_sentiment_other").set_value(f"corpus={two_texts}")
    at.number_input(key="train_sentiment_steps").set_value(100_000)
    press(put(at, "train_name", "mine"), "train_start")
    ((name, words, options),) = started
    assert not at.error and (name, words[:2]) == ("mine", ["--preset", "sentiment"])
    set_to = {words[at + 1] for at, word in enumerate(words) if word == "--set"}
    assert set_to == {f"corpus={two_texts}", "steps=100000"}
    assert options["owner"] == visitors.digest("my own key") and options["processes"] == 1
    assert (at.query_params["view"], at.query_params["run"]) == ("watch", "mine")
    assert {metric.label: metric.value for metric in at.metric}["Training loss"] == "2.7000"


@pytest.mark.parametrize("name", ["nowhere", "../../etc", "checkpoints/../../x", "a" * 5_000, "<b>x</b>"])
def test_a_run_that_is_not_there_is_said(watch, make, name):
    make("mine")
    at = watch(name)
    assert "There is no run" in values(at, "error")[0]
    assert at.selectbox(key="train_run").value == "checkpoints/translate"


EARLY, LATE = "no improvement of the held-out loss for 6 evaluations", "its time was up (2 minutes)"
KILLED = "process 1 was killed, perhaps because memory ran out"


@pytest.mark.parametrize(("status", "log", "kind", "message"), [
    ({"state": "failed", "why": "the loss is nan"}, "", "error", "Failed: the loss is nan."),
    ({"state": "failed", "why": KILLED}, "", "error", f"Failed: {KILLED}."),
    ({"state": "finished", "why": EARLY}, "", "info", f"Finished early, at step 30 of 40: {EARLY}."),
    ({"state": "stopped", "why": LATE}, "", "info",
     f"Stopped at step 30 of 40: {LATE}. Nothing was saved yet; Resume starts over."),
    ({"state": "running"}, "", "error", "The run stopped without a message"),
    ({"state": "running"}, "reading\nKilled <b> by the system.\n", "error",
     "The run stopped; the last line of its log: Killed <b> by the system."),
    (None, "error: the corpus mine.tsv could not be read; try again later\n", "error",  # it ended before it trained
     "Failed: the corpus mine.tsv could not be read; try again later.")])
def test_how_a_run_ended_and_why_is_said(watch, make, status, log, kind, message):
    folder = make("mine", **status or {})
    if not status:
        (folder / "status.json").unlink()
    if log:
        (folder / "log.txt").write_text(log)
    at = watch("mine")
    assert values(at, kind)[0].startswith(message)
    if status and status["state"] != "finished":
        assert not at.button(key="train_resume").disabled  # nobody's, and this computer's


def test_a_run_that_ends_while_its_bar_is_drawn_stands_the_same_all_over_the_page(watch, make, monkeypatch):
    folder = make("mine", state="running", rows=rows(3), alive=True)

    def end(_):
        run_files.write_json(folder / "status.json", {"state": "stopped", "step": 30, "steps": 40, "why": None})
        return False

    monkeypatch.setattr(run_bar, "sweep_of", end)  # which the bar asks for after it has drawn the state
    at = watch("mine")
    assert ":blue-badge[Training]" in words(at)
    assert not any(one.startswith("Stopped at step") for one in values(at, "info"))
    at.run()
    assert ":gray-badge[Stopped]" in words(at)
    assert any(one.startswith("Stopped at step") for one in values(at, "info"))


def test_the_numbers_of_now_are_those_of_the_file_and_damaged_ones_do_not_stop_the_page(watch, make):
    make("mine", state="stopped", rows=rows(3), best=2.5)
    at = watch("mine")
    shown = {metric.label: metric.value for metric in at.metric}
    assert shown == {"Training loss": "2.7000", "Best held-out loss": "2.5000", "Tokens a second": "900",
                     "Trained for": "3.0 s"}
    folder = make("damaged", rows=rows(2))
    with open(folder / "metrics.jsonl", "ab") as file:
        file.write(b'\xff\xfe{"step": 30, "loss": \n{"step": "x"}\n{"step": 40, "lo')
    (folder / "samples.jsonl").write_bytes(b'{"step": 1, "samples": 3}\n{"samples": [{}]}\nx')
    at = watch("damaged")
    assert at.metric[0].value == "2.8000"


def test_points_count_as_sent_only_once_they_are(watch, make, monkeypatch):
    make("mine", rows=rows(3))
    with monkeypatch.context() as patch:
        patch.setattr(run_curves, "_view", lambda **_: st.stop())  # as where the run of the page is cut short
        at = watch("mine")
    assert "train_curves_sent" not in at.session_state
    ((sent,),) = (found.values() for found in at.run().session_state["train_curves_sent"].values())
    assert sent["train"] == 3


@pytest.mark.parametrize(("model", "train", "said"), [
    ({"dropout": 0.1}, {"label_smoothing": 0.1}, "with dropout and label smoothing at work"),
    ({"dropout": 0.0}, {"label_smoothing": 0.1}, "with label smoothing at work"),
    ({"dropout": 0.1}, {"label_smoothing": 0.1, "r_drop": 1.0, "as_typed": 0.1, "joined": 0.06, "distill": ["a"]},
     "with dropout, label smoothing, R-Drop, teachers and changed texts at work"),
    ({"dropout": 0.1}, {}, "with dropout at work"), ({"dropout": 0.0}, {"label_smoothing": 0.0}, None)])
def test_why_the_held_out_loss_can_be_the_lower_one_is_said_where_it_is_so(watch, make, model, train, said):
    make("mine", state="stopped", rows=rows(3), model=model, train=train)
    (caption,) = [text for text in values(watch("mine"), "caption") if "nats" in text]
    assert "−ln of the probability that the right token got" in caption
    assert said in caption if said else "lie below" not in caption


def sample(step):
    return {"step": step, "samples": [{"text": "I am", "output": f"said at {step}", "goes on": " cold."}]}


def test_what_it_makes_of_held_out_texts_follows_the_newest_until_it_is_moved(watch, make):
    folder = make("mine", alive=True, state="running", rows=rows(3))

    def evaluated(step):
        run_files.append(folder / "samples.jsonl", sample(step))
        at.run()
        (table,) = [element.value for element in at.get("html") if 'aria-label="Samples"' in element.value]
        assert "actual continuation" in table
        return int(table.split("said at ")[1].split("<")[0])

    at = watch("mine")
    assert not at.select_slider
    assert evaluated(100) == 100  # one has nothing to be moved
    assert [evaluated(step) for step in (200, 300)] == [200, 300]
    assert at.select_slider[0].value == 300
    at.select_slider[0].set_value(200)
    assert at.run().select_slider[0].value == 200
    assert evaluated(400) == 200
    at.select_slider[0].set_value(400)
    at.run()
    assert [evaluated(500), evaluated(600)] == [500, 600]


def test_a_code_for_another_browser_is_made_where_it_is_asked_for(visit, cookies):
    at = visit(PAGE, view="runs")
    assert not [code for code in at.code if "-" in code.value]
    press(at, "train_make_code")
    (code,) = [code.value for code in at.code]
    assert visitors.take_moved(code) == "my own key"
    cookies.clear()
    assert "train_make_code" not in {button.key for button in visit(PAGE, view="runs").button}


def test_a_run_is_stopped_or_resumed_by_its_owner_and_by_the_teacher_who_can_stop_new_runs(visit, watch, make, cookies):
    make("going", owner=visitors.digest("another key"), alive=True, state="running")
    make("theirs", owner=visitors.digest("another key"), state="stopped")
    make("mine", owner=visitors.digest("my own key"), state="stopped")
    at = watch("going")
    assert at.button(key="train_stop").disabled
    assert "Only its owner and the teacher" in words(at, "caption")
    assert [watch(name).button(key="train_resume").disabled for name in ("theirs", "mine")] == [True, False]
    cookies[visitors.TEACHER] = teacher = visitors.teacher_cookie()
    assert not watch("theirs").button(key="train_resume").disabled
    at = visit(PAGE, view="new")
    for allowed in (False, True):
        cookies[visitors.TEACHER] = teacher
        put(at, "train_allowed", allowed)
        del cookies[visitors.TEACHER]
        students = visit(PAGE, view="new")
        assert students.button(key="train_start").disabled is not allowed
        assert ("only the teacher can start a run on this server" in words(students, "warning")) is not allowed


def test_a_run_is_renamed_kept_and_deleted(watch, make, home):
    make("mine", state="stopped")
    at = watch("mine")
    press(put(at, "train_mine_rename_to", "better"), "train_rename")
    assert (home / "runs" / "better").is_dir()
    assert at.query_params["run"] == "better"
    assert at.button(key="train_delete").disabled
    press(put(at, "train_better_sure", True), "train_delete")
    assert not (home / "runs" / "better").exists()
    assert "The run better is deleted" in words(at, "success")


def test_what_failed_its_check_cannot_be_started_until_it_is_changed(visit, home):
    folder = run_check.check_folder("translate", {}, "cpu")
    folder.mkdir(parents=True)
    problem = {"level": "error", "text": "none of the 24 pairs fits"}
    result = {"device": {"device": "cpu", "name": None, "threads": 1}, "preview": None, "tokens": None, "time": None,
              "config": {}, "parameters": {"total": 30, "parts": {"embeddings": 30}}, "problems": [problem], "memory": {
                  "weights": 1, "gradients": 1, "optimizer": 2, "activations": 5, "total": 9, "measured_steps": 0,
                  "available": None, "micro_tokens": 1}}
    run_files.append(folder / "result.json", result)
    at = visit(PAGE, view="new")
    assert at.button(key="train_start").disabled
    assert "The check failed, so the run cannot start" in words(at, "caption")
    refused = form._cannot_start("translate", {}, "cpu", 1)  # whoever sends the click all the same
    assert refused == ["its check failed: none of the 24 pairs fits"]
    assert form._cannot_start("translate", {"corpus": "/a/gone.tsv"}, "cpu", 1) == [
        "the file /a/gone.tsv is not on this computer; choose another"]
    at.number_input(key="train_translate_max_len").set_value(100)
    assert not at.run().button(key="train_start").disabled


def test_so_many_runs_at_once_are_somebodys_limit_on_a_shared_server(visit, make, home, monkeypatch):
    for name in "abc":
        make(name, state="running", owner=visitors.digest("my own key"), alive=True)
    assert quotas.run_limits() == {"limit": None, "in_all": None}
    monkeypatch.setenv("HEADSUP_SHARED", "1")
    (home / "others-may-start").write_text("yes")
    at = visit(PAGE, view="new")
    press(at, "train_start")
    assert re.search("3 of your runs .* limit is 3", values(at, "error")[0])


def test_a_run_that_is_kept_is_offered_by_the_pages_it_fits(watch, visit, home, two_texts):
    config = preset("sentiment").set({"corpus": str(two_texts), "steps": 10, "eval_every": 5})
    Trainer(home / "runs" / "mine", config, device=torch.device("cpu")).run()
    at = watch("mine")
    offered = visit("classify").selectbox(key="classify_checkpoint").options
    assert [option.split("@")[0] for option in offered] == ["classify", "punctuate"]
    press(put(at, "train_mine_promote_as", "two-words"), "train_promote")
    assert values(at, "success") == ["Kept as the checkpoint two-words."]
    (link,) = [one.proto for one in at.get("page_link") if "checkpoint=" in one.proto.query_string]
    assert parse_qs(link.query_string)["checkpoint"][0].startswith("two-words@") and link.page.endswith("classify")
    offered = visit("classify").selectbox(key="classify_checkpoint").options
    assert [option.split("@")[0] for option in offered] == ["classify", "punctuate", "two-words"]
    press(at, "train_promote")
    assert "there is a checkpoint two-words already" in values(at, "error")[0]
    for taken in ("translate", "Translate"):  # which come with the app
        press(put(at, "train_mine_promote_as", taken), "train_promote")
        assert f"there is a checkpoint {taken} already" in values(at, "error")[0]
    assert [path.name for path in (home / "checkpoints").glob("[!.]*")] == ["two-words"]


def test_a_cluster_is_a_device_where_one_is_configured(visit, home, monkeypatch):
    asked = []
    monkeypatch.setattr("transformer.jobs.ray_cluster.offered_address", lambda: "http://head:8265")
    monkeypatch.setattr("ui.views.train.form.ray_cluster.submit", lambda folder, arguments, **options: asked.append(
        (folder.name, arguments, options)))
    at = visit(PAGE, view="new")
    at.selectbox(key="train_device").select("cluster")
    at.run()
    put(at, "train_processes_cluster", 4)
    assert "--cluster --processes 4" in at.code[0].value
    press(at, "train_start")
    ((name, arguments, options),) = asked
    assert (name, arguments) == ("translate", ["--preset", "translate"])
    assert options == {"processes": 4, "owner": visitors.digest("my own key")}
    monkeypatch.setattr("transformer.jobs.ray_cluster.offered_address", lambda: None)
    assert "cluster" not in visit(PAGE, view="new").selectbox(key="train_device").options


def test_the_time_left_is_that_of_the_steps_to_come(make, watch):
    make("mine", state="running", alive=True, step=30, steps=40, rows=[
        {"step": 30, "seconds": 60.0, "loss": 2.0, "lr": 0.1, "grad_norm": 1.0, "tokens_per_sec": 900.0}])
    (screen,) = components(watch("mine"), "training_screen")
    assert "step 30 of 40 · about 20 s left" in json.dumps(unpacked(screen.bytes)[0], ensure_ascii=False)
