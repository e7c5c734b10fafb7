"""Who may do what to checkpoints, measurements of heads and the smallest runs, on a server that others use."""

import os
import shutil

import pytest

from tests.raw.conftest import MINE, SECRET, THEIRS
from transformer.jobs import run_files
from transformer.jobs.process import identify
from transformer.jobs.queue import record
from transformer.studies import ablation_job
from ui.access import visitors


@pytest.fixture
def uploaded(server, make_checkpoint):
    """A checkpoint that was brought in."""
    folder = server.home / "uploads" / "brought"
    shutil.copytree(make_checkpoint().description.folder, folder)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def test_only_the_teacher_brings_in_checkpoints_and_deletes_them(visitor, server, uploaded, translator):
    teacher = visitor(teacher=True).open("checkpoints", view="add")
    teacher.send("checkpoints_ask_uploaded_brought")
    weights = {path.name: path.read_bytes() for path in translator.description.folder.iterdir() if path.is_file()}
    for who in ({}, {"key": MINE}):
        client = visitor(**who).open("checkpoints", view="add")
        client.ids |= teacher.ids
        client.send("checkpoints_delete_uploaded_brought")
        client.upload("checkpoints_file_0", "config.json", weights["config.json"])
        client.send("checkpoints_upload", checkpoints_name_0=("string_value", "theirs"))
        client.send("checkpoints_import", checkpoints_source_0=("string_value", "openai-community/gpt2"))
        assert list((server.home / "uploads").glob("*/config.json")) == [uploaded / "config.json"]
        assert not (server.home / "imports").exists()
    teacher.send("checkpoints_delete_uploaded_brought")
    assert not uploaded.exists()


def test_the_teacher_imports_no_folder_of_the_server_either(visitor, server, translator):
    folder = translator.description.folder
    beside = server.home.parent / "beside"  # the server's own folder, in which this is a name as a model has one
    beside.symlink_to(folder)
    for source in (str(folder), os.path.relpath(folder, server.home.parent), beside.name):
        teacher = visitor(teacher=True).open("checkpoints", view="add")
        teacher.send(checkpoints_source_0=("string_value", source))
        assert "models are imported by name" in teacher.send("checkpoints_import").text, source
        assert not (server.home / "imports").exists(), source
    beside.unlink()


@pytest.fixture
def measured(server, trained_on):
    """A checkpoint that is measured on a corpus of one student, and where that goes."""
    checkpoint = trained_on(server.home / "uploads" / "corpora" / visitors.digest(MINE) / "00000000-mine.txt")
    folder = ablation_job.place(server.home / "analysis", checkpoint, limit=50)
    yield checkpoint, folder
    shutil.rmtree(folder, ignore_errors=True)


def heads(client, checkpoint):
    return client.open("heads", view="switch", each="open", checkpoint=checkpoint, limit="50")


@pytest.mark.parametrize("whose", ["the server's", "another's"])
def test_a_checkpoint_does_not_have_a_file_read_that_its_visitor_may_not(visitor, server, trained_on, tmp_path, whose):
    upload = server.home / "uploads" / "corpora" / visitors.digest(THEIRS) / "00000000-theirs.txt"
    checkpoint = trained_on(upload if whose == "another's" else tmp_path / "secret.txt")
    for who in ({}, {"key": MINE}, *([] if whose == "another's" else [{"teacher": True}])):
        for page, params in (("heads", {"view": "roles"}), ("heads", {"view": "switch"}), ("write", {}),
                             ("checkpoints", {"view": "test"}), ("checkpoints", {"view": "card"})):
            assert SECRET not in visitor(**who).open(page, checkpoint=checkpoint, **params).text
    if whose == "another's":  # who brought it is shown it
        assert SECRET in visitor(key=THEIRS).open("checkpoints", checkpoint=checkpoint, view="test").text


@pytest.mark.parametrize(("kind", "refused"), [
    ("measurement", "only the teacher can measure heads on this server"),
    ("smallest run", "only the teacher can start a run on this server")])
def test_work_is_started_where_the_teacher_allows_it_and_is_somebodys(visitor, server, measured, others_may_start, kind,
                                                                      refused):
    """By nobody who has no cookie, whatever they send."""
    def look(**who):
        if kind == "measurement":
            return heads(visitor(**who), measured[0])
        return visitor(**who).open("classify", show="toy")

    def begun():
        return {path.parent for path in server.home.glob("*/*/launch.json")} | {
            path.parent for path in server.home.glob("analysis/*/*/launch.json")}

    before, button = begun(), "heads_effects_start" if kind == "measurement" else "classify_toy_train"
    mine = look(key=MINE)
    others_may_start(False)
    assert refused in mine.send(button).text
    for allowed, who in ((False, {}), (False, {"key": MINE}), (True, {})):
        others_may_start(allowed)
        client = look(**who)
        client.ids |= mine.ids
        client.send(button)
    assert begun() == before
    look(key=MINE).send(button)
    (folder,) = begun() - before
    about = record(folder)
    os.killpg(about["pid"], 9)
    assert about["owner"] == visitors.digest(MINE)


@pytest.mark.parametrize("kind", ["measurement", "smallest run"])
def test_work_is_stopped_by_whoever_started_it_and_the_teacher_alone(visitor, server, measured, process, give, kind):
    if kind == "measurement":
        checkpoint, folder = measured
        stop, look = "heads_effects_stop", lambda **who: heads(visitor(**who), checkpoint)
    else:
        folder = server.home / "runs" / "toy-20260101-120000-00ff"
        stop, look = "classify_toy_stop", lambda **who: visitor(**who).open("classify", show="toy", toy_run=folder.name)
    folder.mkdir(parents=True)
    if kind == "measurement":
        run_files.write_json(folder / "status.json", {
            "state": "running", "step": 0, "steps": 4, **identify(process.pid)})
    give(folder, MINE, running=process.pid)
    mine = look(key=MINE)
    give(folder, THEIRS, running=process.pid)
    assert "only the teacher and whoever started" in mine.send(stop).text
    other = look()
    other.ids |= mine.ids
    other.send(stop)
    assert not (folder / "stop").exists()
    look(teacher=True).send(stop)
    assert process.wait(60) == -15
