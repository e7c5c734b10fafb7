"""Who may do what to runs on a server that others use: by what is on its disk after messages that no browser sends."""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.raw.conftest import MINE, THEIRS
from tests.waiting import until
from transformer.checkpoints.checkpoint import save
from transformer.jobs import run_files
from transformer.jobs.process import running
from transformer.jobs.queue import record
from transformer.settings.config import TrainConfig
from ui.access import visitors

CONFIG = {"model": {"encoder_layers": 2, "decoder_layers": 2, "d_model": 64, "n_heads": 4},
          "train": {"task": "translation", "corpus": "eng-fra"}}
ROWS = "text,label\nSECRET exam answer,positive\ni hated it,negative\n"


@pytest.fixture
def run(server, tmp_path, give, request, make_checkpoint, tiny_tokenizer) -> Callable[..., Path]:
    """Writes a run folder that has ended: `run(owner="a student")`; for "stop", one that is under way, and for
    "promote", one with weights that could be kept."""
    def make(*, owner: str | None, action: str = "") -> Path:
        folder = server.home / "runs" / f"run-{hashlib.sha256(str(tmp_path).encode()).hexdigest()[:8]}"
        folder.mkdir(parents=True)
        run_files.write_json(folder / "config.json", CONFIG)
        state = "running" if action == "stop" else "stopped"
        run_files.write_json(folder / "status.json", {"state": state, "step": 3, "steps": 9})
        give(folder, owner, running=request.getfixturevalue("process").pid if action == "stop" else None)
        if action == "promote":
            (folder / "sentences.csv").write_text(ROWS)
            model = make_checkpoint(decoder_layers=0, pooling="max", n_classes=2).model
            save(folder / "best", model, tokenizer=tiny_tokenizer, meta={
                "classes": ["positive", "negative"], "step": 3, "seconds": 1.0, "validation_loss": 1.0},
                 train=TrainConfig(task="classification", corpus=str(folder / "sentences.csv")))
            run_files.append(folder / "metrics.jsonl", {"step": 3, "loss": 1.0, "tokens_per_sec": 9.0, "seconds": 1.0})
        return folder

    return make


def selection(folder: Path) -> dict[str, bytes]:
    """Everything in a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def watching(visitor, folder, **who):
    return visitor(**who).open("train", view="watch", run=folder.name)


DONE = {"delete": lambda folder: not folder.exists(),
        "rename": lambda folder: not folder.exists() and folder.with_name(f"{folder.name}-renamed").is_dir(),
        "resume": lambda folder: "pid" in record(folder),
        "stop": lambda folder: until(lambda: running(record(folder)) is None) is None,
        "promote": lambda folder: (folder.parents[1] / "checkpoints" / "kept").is_dir()}


def ready(client, action: str, folder: Path):
    """The client, once it has sent what a button asks for before it can be pressed."""
    asked = {"rename": {"rename_to": ("string_value", f"{folder.name}-renamed")},
             "delete": {"sure": ("bool_value", True)}, "promote": {"promote_as": ("string_value", "kept")}}
    for field, value in asked.get(action, {}).items():
        client.send(**{f"train_{folder.name}_{field}": value})
    return client


def do(client, action: str, folder: Path):
    return ready(client, action, folder).send(f"train_{action}")


def is_as_it_was(folder: Path, before: dict[str, bytes]) -> bool:
    about, done = record(folder), [action for action in ("delete", "rename", "promote") if DONE[action](folder)]
    return not done and selection(folder) == before and running(about) == about.get("pid")


@pytest.mark.parametrize(("action", "owner"), [*((action, THEIRS) for action in DONE), ("delete", None),
                                               ("rename", None), ("resume", None)])  # and those that a shell started
def test_nobody_but_its_owner_and_the_teacher_touches_a_run(visitor, run, action, owner):
    folder = run(owner=owner, action=action)
    known = watching(visitor, folder, teacher=True).ids
    before = selection(folder)
    for who in ({}, {"key": MINE}):
        client = watching(visitor, folder, **who)
        client.ids |= known
        do(client, action, folder)
        assert is_as_it_was(folder, before)
    do(watching(visitor, folder, teacher=True), action, folder)
    assert DONE[action](folder)


@pytest.mark.parametrize("action", list(DONE))
def test_its_owner_touches_a_run_and_each_callback_asks_again_whose_it_is(visitor, run, give, action):
    folder = run(owner=MINE, action=action)
    under_way = record(folder).get("pid")
    client = ready(watching(visitor, folder, key=MINE), action, folder)
    give(folder, THEIRS, running=under_way)  # the buttons were drawn for its owner and are enabled
    before = selection(folder)
    text = client.send(f"train_{action}").text.replace("\\", "")
    assert "only the teacher and whoever started this run can" in text
    assert is_as_it_was(folder, before)
    give(folder, MINE, running=under_way)
    do(watching(visitor, folder, key=MINE), action, folder)
    assert DONE[action](folder)


def test_the_teacher_sees_all_that_is_kept_and_deletes_each(visitor, run, server, give):
    folder = run(owner=MINE, action="promote")
    corpus = server.home / "uploads" / "corpora" / visitors.digest(MINE) / "00000000-mine.csv"
    corpus.parent.mkdir(parents=True, exist_ok=True)
    corpus.write_text(ROWS)
    kept, measured = server.home / "checkpoints" / "kept", server.home / "analysis" / "a@1" / "off-50"
    do(watching(visitor, folder, key=MINE), "promote", folder)
    assert run_files.read_json(server.home / "keepers.json")["kept"] == visitors.digest(MINE)
    measured.mkdir(parents=True)
    give(measured, MINE)
    things = {"runs": (folder, folder.name), "corpora": (corpus, f"{corpus.name} · {corpus.parent.name[:6]}"),
              "checkpoints": (kept, "checkpoints/kept"), "measurements": (measured, "a@1/off-50")}
    teacher = visitor(teacher=True).open("train", view="server")
    assert all(name in teacher.text for _, name in things.values())
    assert f"visitor {visitors.digest(MINE)[:6]}" in teacher.text
    for kind, (_, name) in things.items():
        teacher.send(**{f"train_{kind}_chosen": ("string_value", name)})
    for who in ({}, {"key": THEIRS}):
        client = visitor(**who).open("train", view="server")
        assert visitors.digest(MINE)[:6] not in client.text
        assert not [name for kind, (_, name) in things.items() if kind != "runs" and name in client.text]
        client.ids |= teacher.ids
        for kind, (_, name) in things.items():
            client.send(f"train_{kind}_delete", **{f"train_{kind}_chosen": ("string_value", name)})
    assert all(path.exists() for path, _ in things.values())
    for kind, (path, _) in things.items():
        teacher.send(f"train_{kind}_delete")
        assert not path.exists(), kind


def started(server) -> set[str]:
    return {path.parent.name for path in (server.home / "runs").glob("*/launch.json")}


@pytest.fixture
def form(visitor):
    """Fills in the form of the smallest run; what it starts is ended again."""
    def form(corpus: str | None, *, steps: int = 1, **who):
        client = visitor(**who).open("train", view="new", task="classification", preset="sentiment")
        typed = f"steps={steps}\nsave_every={steps}\neval_every=1" + (f"\ncorpus={corpus}" if corpus else "")
        return client.send(**{"train_sentiment_other": ("string_value", typed)})

    return form


@pytest.mark.parametrize("setting", ["start_from", "distill"])
def test_a_run_reads_no_checkpoint_that_its_visitor_names(form, server, others_may_start, setting):
    others_may_start(True)
    before = started(server)
    theirs = server.home / "uploads" / "theirs"
    client = form(f"endings\n{setting}={theirs}", key=MINE)
    assert "files and folders cannot be named" in client.text
    for button in ("train_start", "train_check"):
        client.send(button)
    assert started(server) == before
    others_may_start(False)


def test_others_start_only_what_the_teacher_allows(visitor, form, server, others_may_start):
    before = started(server)
    mine = form("speakers", key=MINE)
    others_may_start(None)  # the button is drawn, and nobody has allowed anything since
    assert "only the teacher can start a run on this server" in mine.send("train_start").text
    for who in ({}, {"key": MINE}):
        form("speakers", **who).send("train_start")
    others_may_start(True)
    assert "cookies" in form("speakers").send("train_start").text  # it would be nobody's
    others_may_start(False)
    form("speakers", key=MINE).send("train_start")
    assert started(server) == before
    teacher = visitor(teacher=True).open("train")
    for who in ({}, {"key": MINE}):
        client = visitor(**who).open("train")
        client.ids |= teacher.ids
        client.send(train_allowed=("bool_value", True))
        assert (server.home / "others-may-start").read_text().strip() == "no"
    teacher.send(train_allowed=("bool_value", True))
    assert (server.home / "others-may-start").read_text().strip() == "yes"
    form("speakers", key=MINE).send("train_start")
    (name,) = started(server) - before
    about = record(server.home / "runs" / name)
    assert about["owner"] == visitors.digest(MINE)
    assert 0 < about["minutes"] <= 60
    os.killpg(about["pid"], 9)


@pytest.fixture
def corpora(server, tmp_path, give):
    """Files that a student may not have read: outside the home, another's upload, and in another's run."""
    outside = tmp_path / "secret.csv"
    upload = server.home / "uploads/corpora" / visitors.digest(THEIRS) / "1-theirs.csv"
    inside = server.home / "runs" / f"theirs-{tmp_path.name}" / "sentences.csv"
    for path in (outside, upload, inside):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(ROWS)
    give(inside.parent, THEIRS)
    link = server.home / "uploads/corpora" / visitors.digest(MINE) / "2-link.csv"
    link.parent.mkdir(parents=True, exist_ok=True)
    link.unlink(missing_ok=True)
    link.symlink_to(outside)
    return [outside, upload, inside, link, f"{link.parent}/../{upload.parent.name}/{upload.name}", "README.txt",
            f'"{outside}"', f'"\\"{outside}\\""', ["x.csv"]]


def test_no_file_of_the_server_or_of_another_visitor_is_read_as_a_corpus(visitor, form, run, server, corpora):
    """Nor by the teacher, through a field that is not drawn, or where a run goes on."""
    before, checks = started(server), list((server.home / "checks").glob("*/launch.json"))
    for corpus in corpora:
        client = form(corpus, key=MINE)
        for button in ("train_start", "train_check"):
            text = client.send(button).text
            assert "SECRET" not in text
            assert str(server.home) not in text
    teacher = form(corpora[0], teacher=True).send("train_start")
    assert "files and folders cannot be named" in teacher.text
    assert started(server) == before
    assert list((server.home / "checks").glob("*/launch.json")) == checks
    for who in ({"key": MINE}, {"teacher": True}):
        client = visitor(**who).open("train", view="new", task="classification")
        client.send(train_classification_corpus_way=("string_array_value", ["A file on this computer"]))
        assert "train_classification_corpus_path" not in client.ids
    folder = run(owner=MINE)
    run_files.write_json(folder / "config.json", {**CONFIG, "train": {**CONFIG["train"], "corpus": str(corpora[0])}})
    kept = selection(folder)
    text = watching(visitor, folder, key=MINE).send("train_resume").text
    assert "files and folders cannot be named" in text
    assert selection(folder) == kept


def test_an_uploaded_corpus_is_its_owners_and_needs_the_teachers_word(visitor, server, others_may_start):
    place = server.home / "uploads" / "corpora" / visitors.digest("an uploader")
    for allowed in (False, True):
        others_may_start(True)
        client = visitor(key="an uploader").open("train", view="new", task="classification")
        client.send(train_classification_corpus_way=("string_array_value", ["Upload"]))
        others_may_start(allowed)
        client.upload("train_classification_corpus_file_0", "mine.csv", ROWS.encode())
        assert bool(list(place.glob("*-mine.csv"))) == allowed


def test_a_check_is_cancelled_by_whoever_started_it(visitor, form, server):
    mine = form("speakers", steps=7, key=MINE)
    (server.home / "checks").mkdir(exist_ok=True)
    there = set((server.home / "checks").glob("*/launch.json"))
    mine.send("train_check")
    (path,) = set((server.home / "checks").glob("*/launch.json")) - there
    about = run_files.read_json(path)
    assert about["owner"] == visitors.digest(MINE)
    mine.send()
    other = form("speakers", steps=7, key=THEIRS)
    other.ids |= mine.ids
    other.send("train_check_cancel")
    assert path.exists()
    mine.send("train_check_cancel")
    assert not path.exists()


def test_no_page_says_where_the_home_is(visitor, run, server):
    folder = run(owner=MINE)
    (folder / "log.txt").write_text(f"error: {server.home}/runs/x.csv cannot be read\n")
    run_files.write_json(folder / "status.json", {"state": "failed", "step": 1, "steps": 2,
                                                "why": f"{server.home}/runs/x.csv cannot be read"})
    for page, params in (("train", {}), ("train", {"view": "runs"}), ("train", {"view": "watch", "run": folder.name}),
                         ("classify", {"show": "toy"}), ("checkpoints", {}), ("heads", {"view": "switch"})):
        text = visitor(key=MINE).open(page, **params).text
        assert str(server.home) not in text, page
