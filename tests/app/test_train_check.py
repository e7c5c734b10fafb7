"""Before a run: a check that is a process of its own, its result for everybody, and choosing a corpus."""

import json
import os
import subprocess
import time

import orjson
import pytest
from streamlit.testing.v1 import AppTest

from tests.waiting import until
from transformer.jobs import checks, launch, run_files
from transformer.jobs.process import identify
from transformer.settings.presets import preset
from transformer.text.corpora import corpus
from transformer.text.corpus_catalogue import find_source
from ui.access import owners, quotas, visitors
from ui.state.caches import sentences
from ui.views.train import corpus_choice, run_check

from .page import plain, press, put, words

ROWS = "text,label\nthis is *awesome*,positive\ni <b>hated</b> it,negative\n"
PAIRS = "".join(f"Number {i}.\tNuméro {i}.\n" for i in range(30))


def page():
    import streamlit as st

    from ui.views.train.run_check import show_check

    asked = st.session_state["asked"]
    show_check("try", asked["preset"], asked["settings"], "cpu", dark=False)


def choice():
    import streamlit as st

    from ui.views.train.corpus_choice import choose_corpus

    st.session_state["corpus_settings"] = choose_corpus("try", st.session_state["task"])
    st.session_state["chosen"] = st.session_state["corpus_settings"].get("corpus")


def opened(script, **state):
    at = AppTest.from_function(script, default_timeout=300)
    for name, value in state.items():
        at.session_state[name] = value
    return at.run()


@pytest.fixture
def asked(tmp_path):
    (tmp_path / "mine.csv").write_text(ROWS)
    return {"preset": "sentiment", "settings": {"corpus": str(tmp_path / "mine.csv"), "steps": 30}}


def folder_of(asked):
    return run_check.check_folder(asked["preset"], asked["settings"], "cpu")


def start(asked):
    checks.start_check(folder_of(asked), asked["preset"], asked["settings"], "cpu", at_once=quotas.CHECKS)


@pytest.fixture
def fake(home, asked):
    """fake(out=..., log=..., running=True): the files of a check whose process is this one, or nobody's."""

    def fake(name=None, *, running, out=b"", log=""):
        folder = home / "checks" / name if name else folder_of(asked)
        folder.mkdir(parents=True, exist_ok=True)
        record = identify(os.getpid()) | ({} if running else {"start_time": 1}) | {"time": time.time() - 5}
        run_files.write_json(folder / "launch.json", record)
        (folder / "result.json").write_bytes(out)
        (folder / "log.txt").write_text(log)
        return folder

    return fake


@pytest.mark.slow
def test_a_check_runs_beside_the_page_and_shows_what_it_found(home, asked):
    at = opened(page, asked=asked)
    assert "A check shows samples" in words(at)
    press(at, "try_check")
    assert at.button(key="try_check").disabled
    assert at.button(key="try_check_cancel").label == "Cancel"
    until(lambda: checks.status(folder_of(asked)).state != "running")
    found = checks.status(folder_of(asked))
    assert found.state == "done", found.log
    assert [*(home / "checks").glob("[!.]*")] == [folder_of(asked)]
    assert not (folder_of(asked) / "tmp").exists()
    at = opened(page, asked=asked)  # somebody else
    shown = {metric.label: metric.value for metric in at.metric}
    assert shown["Parameters"] == f"{found.result['parameters']['total']:,}"
    assert shown["Memory"] == run_check.size(found.result["memory"]["total"])
    assert shown["Texts in all"] == f"{found.result['tokens']['total']:,.0f}"
    assert shown["Times the corpus"] == "30.0"
    assert shown["Expected time"] == run_check.duration(found.result["time"]["total"])
    assert "10 real steps on cpu with 1 thread, without the first" in words(at)
    cards = [html.value for html in at.get("html") if 'class="sample"' in html.value]
    assert len(cards) == 2
    assert "i &lt;b&gt;hated&lt;/b&gt; it" in "".join(cards)
    assert "<b>" not in "".join(cards)
    assert len(at.get("vega_lite_chart")) == 4
    assert "train: 2 (100.0%)" in words(at)
    assert "nothing is held out" in words(at, "warning")


def test_a_result_is_drawn_whatever_stood_in_its_way(fake, asked):
    problem = {"level": "error", "text": "none of the 24 training pairs fits *max_len* 2; set max_len to 5"}
    result = {"config": {}, "device": {"device": "cpu", "name": None, "threads": 1}, "preview": None, "tokens": None,
              "time": None, "parameters": {"total": 30, "parts": {"embeddings": 10, "encoder": 20}}, "memory": {
                  "weights": 120, "gradients": 120, "optimizer": 240, "activations": 500_000, "total": 500_480,
                  "measured_steps": 0, "available": None}, "problems": [problem]}
    fake(running=False, out=b"a line of something\n" + orjson.dumps(result) + b"\n")
    at = opened(page, asked=asked)
    assert plain(at.error[0].value) == problem["text"]
    assert "\\*max" in at.error[0].value
    assert [metric.label for metric in at.metric] == ["Parameters", "Memory"]
    charts = [json.loads(chart.proto.spec) for chart in at.get("vega_lite_chart")]
    assert [chart["title"]["text"] for chart in charts] == ["Parameters by part", "Memory of training"]
    assert "estimated, not measured" in charts[1]["title"]["subtitle"]
    assert at.button(key="try_check").label == "Check again"


def test_a_check_that_died_shows_its_last_lines(fake, asked):
    fake(running=False, out=b'{"preview": nul', log="one\nKilled by <nobody>")
    at = opened(page, asked=asked)
    assert "ended without a result" in at.error[0].value
    assert at.code[0].value == "one\nKilled by <nobody>"
    assert not at.button(key="try_check").disabled


def test_a_check_under_way_says_what_it_does_and_cancel_ends_its_process_and_no_other(fake, asked, monkeypatch):
    killed = []
    monkeypatch.setattr(launch.os, "killpg", lambda *what: killed.append(what[0]))
    folder = fake(running=True, log="Reading the corpus\nTiming: step 2 of 11")
    at = opened(page, asked=asked)
    assert any("Timing: step 2 of 11" in plain(text.value) and text.value.endswith(" s") for text in at.markdown)
    press(at, "try_check_cancel")
    assert killed == [os.getpid()]
    assert not folder.exists()
    fake(running=False)  # the pid is somebody else's by now
    checks.cancel(folder)
    assert killed == [os.getpid()]


def test_more_than_two_at_once_are_refused_and_a_second_click_starts_nothing(fake, asked, monkeypatch):
    monkeypatch.setattr(launch.subprocess, "Popen", lambda *_, **__: pytest.fail("started"))
    for i in range(quotas.CHECKS - 1):
        fake(f"{i:020}", running=True)
    fake(running=True)
    start(asked)
    other = {**asked, "settings": {**asked["settings"], "steps": 31}}
    at = opened(page, asked=other)
    press(at, "try_check")
    assert "2 checks are running on this server; the limit is 2" in at.error[0].value


def test_a_check_that_nobody_watches_any_more_ends_with_its_time(home):
    """As where the process that started it was killed."""
    folder = home / "checks" / "one"
    folder.mkdir(parents=True)
    process = subprocess.Popen(["sleep", "300"], start_new_session=True)
    record = {**identify(process.pid), "owner": None, "seconds": 300}
    for began, state in ((time.time(), "running"), (time.time() - 1_000, "died")):
        run_files.write_json(folder / "launch.json", record | {"time": began})
        assert checks.status(folder).state == state
    assert process.wait(60) == -9


def test_a_file_that_has_changed_is_another_check_and_so_is_another_setting(asked, tmp_path):
    first = folder_of(asked)
    assert first == folder_of(json.loads(json.dumps(asked)))
    assert first != folder_of({**asked, "settings": {**asked["settings"], "lr": 0.1}})
    (tmp_path / "mine.csv").write_text(ROWS + "fine,positive\n")
    assert first != folder_of(asked)
    for setting, value in (("start_from", str(tmp_path)), ("distill", [str(tmp_path)])):
        taught = {**asked, "settings": {**asked["settings"], setting: value}}
        before = folder_of(taught)
        (tmp_path / "manifest.json").write_text("{}")
        assert before != folder_of(taught)
        (tmp_path / "manifest.json").unlink()


@pytest.mark.parametrize(("level", "later"), [("error", "none"), ("warning", "done")])
def test_a_failure_alone_is_forgotten_when_the_app_starts_again(fake, asked, monkeypatch, level, later):
    folder = fake(running=False, out=orjson.dumps({"problems": [{"level": level, "text": "no such file"}]}))
    assert checks.status(folder).state == "done"
    assert checks.failure(folder) == ("no such file" if level == "error" else None)
    monkeypatch.setattr(checks, "STARTED", time.time() + 60)
    assert checks.status(folder).state == later
    assert checks.failure(folder) is None


def test_settings_that_make_no_model_are_said_before_anything_starts(asked, monkeypatch):
    monkeypatch.setattr(launch.subprocess, "Popen", lambda *_, **__: pytest.fail("started"))
    at = press(opened(page, asked={**asked, "settings": {"acumulate": 1, "dropout": 2}}), "try_check")
    assert plain(at.error[0].value).splitlines() == [
        "Not checked:", "", "- unknown setting acumulate; did you mean accumulate?",
        "- dropout 2: it should be less than 1"]


def test_all_that_is_wrong_with_settings_is_found_at_once():
    settings = {"lr": 0.0, "norm_position": "side", "steps": 0, "nonsense": 1, "seed": 3}
    faults = run_check.find_faults(preset("translate"), settings)
    assert {fault.split()[0] for fault in faults} == {"unknown", "norm_position", "lr", "steps"}
    assert run_check.find_faults(preset("translate"), {"lr": 0.1, "n_heads": 8}) == []
    for languages, fault in ((["English", "x" * 41], "a language has 41 characters; the limit is 40"),
                             (["", "German"], "a language is empty"), (["English"], "languages")):
        (said,) = run_check.find_faults(preset("translate"), {"languages": languages})
        assert fault in said
    assert run_check.find_faults(preset("shakespeare"), {"languages": ["English", "German"]})


def test_old_results_make_room(home, fake, asked, monkeypatch):
    for i in range(checks.KEPT + 3):
        os.utime(fake(f"{i:020}", running=False, out=b'{"problems": []}'), (i, i))
    os.utime(fake("running", running=True), (0, 0))
    monkeypatch.setattr(launch.subprocess, "Popen", lambda *_, **__: type("Process", (), {
        "pid": os.getpid(), "wait": lambda self, seconds: None})())
    start(asked)
    kept = [f"{i:020}" for i in range(4, checks.KEPT + 3)]
    assert {path.name for path in (home / "checks").glob("[!.]*")} == {*kept, "running", folder_of(asked).name}


# Choosing a corpus


@pytest.mark.parametrize(("task", "name"), [("translation", "eng-fra"), ("language-model", "tiny-shakespeare"),
                                            ("classification", "speakers")])
def test_a_built_in_corpus_fits_the_task_and_says_what_it_is(task, name):
    at = opened(choice, task=task)
    assert at.session_state["chosen"] == name
    label = at.selectbox[0].options[0]
    source = find_source(name)
    assert label == f"{name} · {source.title}, {source.size}"
    assert not at.button


def upload(at, name, content):
    put(at, "try_corpus_way", "Upload")
    at.file_uploader[0].set_value((name, content, "text/plain"))
    return at.run()


def test_an_upload_is_checked_kept_on_disk_and_dropped_from_memory(home):
    at = upload(opened(choice, task="translation"), "my pairs/../$x$.tsv", PAIRS.encode())
    (kept,) = owners.corpora().glob("*/*")
    assert kept.parent.name == visitors.owner()
    assert at.session_state["chosen"] == str(kept)
    assert kept.read_text() == PAIRS
    assert kept.name[8:] == "-x.tsv"
    assert len(corpus(str(kept)).splits["train"]) == 24
    assert "30 pairs, 30 different sources" in words(at)
    assert not at.file_uploader
    press(at, "try_corpus_other")
    assert at.session_state["chosen"] is None
    assert at.file_uploader


def test_the_languages_of_a_file_of_pairs_are_named_both_or_neither(home):
    def named(*languages):
        for side, name in zip(("sources", "translations"), languages, strict=True):
            at.text_input(key=f"try_corpus_language_{side}").set_value(name)
        return at.run().session_state["corpus_settings"].get("languages")

    at = upload(opened(choice, task="translation"), "mine.tsv", PAIRS.encode())
    assert "languages" not in at.session_state["corpus_settings"]
    assert named("English", " ") is None
    assert "Name both languages" in words(at)
    assert named(" English", "**עברית**") == ["English", "**עברית**"]
    assert "Name both languages" not in words(at)
    assert not opened(choice, task="classification").text_input


def test_an_upload_that_is_wrong_says_on_which_line_and_is_not_kept(home):
    at = upload(opened(choice, task="translation"), "mine.tsv", b"Go.\tVa !\nno tab\n")
    assert plain(at.error[0].value).startswith("It cannot be learned from: mine.tsv, line 2: 1 column")
    assert at.session_state["chosen"] is None
    assert not list(owners.corpora().glob("*/*"))
    assert at.file_uploader


@pytest.mark.parametrize(("name", "message"), [
    ("mine.tsv", "does not end in .csv"), ("", "Type a path"), ("none.csv", "cannot be read"),
    ("~nobody-there/x.csv", "home"), ("mine.csv", "2 texts in 2 classes")])
def test_a_path_is_read_where_it_lies_and_one_of_another_kind_or_of_nothing_is_refused(tmp_path, name, message):
    (tmp_path / "mine.tsv").write_text(PAIRS)
    (tmp_path / "mine.csv").write_text(ROWS)
    at = put(opened(choice, task="classification"), "try_corpus_way", corpus_choice.FILE)
    path = name if not name or name.startswith("~") else str(tmp_path / name)
    at.text_input[0].set_value(path).run()
    assert at.session_state["chosen"] == (path if name == "mine.csv" else None)
    assert message in words(at)


def test_a_file_of_ones_own_that_has_changed_or_gone_gives_references_as_it_is_now(tmp_path):
    path = tmp_path / "mine.tsv"
    assert sentences(str(path)) is None
    path.write_text(PAIRS)
    assert sentences(str(path)).find("Number 7.")[1] == ["Numéro 7."]
    path.write_text(PAIRS + "Number 7.\tSept.\n")
    os.utime(path, (1, 1))
    assert sentences(str(path)).find("Number 7.")[1] == ["Numéro 7.", "Sept."]
    path.write_text("broken")
    os.utime(path, (2, 2))
    assert sentences(str(path)) is None
