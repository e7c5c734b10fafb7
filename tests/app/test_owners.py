"""The one place that decides who may do what, and what a shared server is."""

from types import SimpleNamespace
from typing import get_args

import pytest

from transformer.basics.paths import ROOT
from transformer.settings.presets import PRESETS
from ui.access import owners, quotas, visitors
from ui.access.owners import Action, Thing, Visitor, refusal, refuse_corpus, refuse_training
from ui.state.work_queue import WHOSE

ME, YOU = visitors.digest("me"), visitors.digest("you")
STRANGER = Visitor(None, teacher=False, shared=True, starting=True)
STUDENT = Visitor(ME, teacher=False, shared=True, starting=True)
TEACHER = Visitor(None, teacher=True, shared=True, starting=False)
ALONE = Visitor(ME, teacher=False, shared=False, starting=True)
STARTING = {"start", "check", "measure", "compute", "upload"}
DONE_TO = {"stop", "cancel", "resume", "rename", "keep", "delete", "read"}
ALL = set(get_args(Action))


def may(visitor: Visitor, thing: Thing | None = None) -> set[str]:
    return {action for action in ALL if (action in DONE_TO) == (thing is not None)
            and refusal(visitor, action, thing) is None}


@pytest.mark.parametrize(("visitor", "without", "mine", "yours", "nobodys"), [
    (STRANGER, set(), set(), set(), set()),
    (STUDENT, STARTING, DONE_TO, set(), set()),
    (TEACHER, ALL - DONE_TO - {"name a file"}, DONE_TO, DONE_TO, DONE_TO),
    (ALONE, ALL - DONE_TO - {"allow starting"}, DONE_TO, set(), DONE_TO),
], ids=["a stranger", "a student", "the teacher", "at one's own computer"])
def test_who_may_do_what(visitor, without, mine, yours, nobodys):
    assert may(visitor) == without
    assert [may(visitor, Thing("run", owner)) for owner in (ME, YOU, None)] == [mine, yours, nobodys]


def test_heavy_work_is_of_the_browser_that_asks_and_without_cookies_of_its_address(visit, cookies, monkeypatch):
    assert visit("known").session_state[WHOSE] == visitors.digest("my own key")
    cookies.clear()
    monkeypatch.setattr("streamlit.runtime.context.ContextProxy.ip_address", "10.0.0.7")
    assert visit("known").session_state[WHOSE] == "10.0.0.7"


def test_nothing_is_started_or_resumed_that_the_teacher_has_not_allowed():
    idle = Visitor(ME, teacher=False, shared=True, starting=False)
    for action in STARTING:
        assert "only the teacher can" in refusal(idle, action), action
    assert "only the teacher can start a run" in refusal(idle, "resume", Thing("run", ME))
    assert refusal(idle, "stop", Thing("run", ME)) is None


@pytest.mark.parametrize("visitor", [STRANGER, STUDENT, TEACHER])
@pytest.mark.parametrize("name", ["/etc/passwd.txt", "../secret.csv", "README.txt", "cookie.secret", "", None, 7])
def test_no_file_of_a_shared_server_is_a_corpus(visitor, name, home):
    assert "files and folders cannot be named" in refuse_corpus(visitor, name)
    assert refuse_corpus(ALONE, name) is None


def test_a_corpus_is_read_by_whoever_uploaded_it(home):
    path = owners.corpora().resolve() / ME / "1-mine.csv"
    assert [refuse_corpus(visitor, str(path)) is None for visitor in (STRANGER, STUDENT, TEACHER)] == [
        False, True, True]
    assert refuse_corpus(STUDENT, str(path.parent / "deeper" / path.name))
    assert refuse_corpus(STUDENT, f"{path.parent}/../{YOU}/1-mine.csv")
    assert refuse_corpus(STUDENT, "eng-fra") is None


@pytest.mark.parametrize("visitor", [STRANGER, STUDENT, TEACHER])
@pytest.mark.parametrize("settings", [
    {"start_from": "/srv/theirs"}, {"start_from": "checkpoints/../uploads/theirs"}, {"start_from": 7},
    {"distill": ["/srv/theirs"]}, {"distill": [str(ROOT / "checkpoints" / "write"), "/srv/theirs"]},
    {"distill": "/srv/theirs"}, {"corpus": "/srv/theirs.txt"}])
def test_a_run_on_a_shared_server_names_no_files_and_folders_but_what_comes_with_the_app(visitor, settings):
    shipped = [str(ROOT / "checkpoints" / name) for name in ("translate", "write")]
    assert refuse_training(STUDENT, {"corpus": "eng-fra", "start_from": shipped[0], "distill": shipped}) is None
    assert "files and folders cannot be named" in refuse_training(visitor, {"corpus": "eng-fra"} | settings)
    assert refuse_training(ALONE, {"corpus": "eng-fra"} | settings) is None


@pytest.fixture
def headers(monkeypatch):
    found = {}
    monkeypatch.setattr(owners.st, "context", SimpleNamespace(headers=found))
    return found


def test_a_server_is_shared_where_it_is_said_a_proxy_is_seen_or_other_computers_reach_it(headers, monkeypatch):
    monkeypatch.delenv("HEADSUP_SHARED", raising=False)
    assert not owners.shared()
    for name in owners.PROXIED:
        headers[name] = "1.2.3.4"
        assert owners.shared()
        headers.clear()
    for address, shared in (("127.0.0.1", False), ("localhost", False), ("::1", False), ("0.0.0.0", True), ("::", True),
                            ("192.168.1.7", True), (None, True)):
        monkeypatch.setattr(owners.st, "get_option", lambda name, address=address: address)
        assert owners.shared() == shared
    monkeypatch.setattr(owners.st, "get_option", lambda name: "127.0.0.1")
    monkeypatch.setenv("HEADSUP_SHARED", "1")
    assert owners.shared()


def test_others_start_nothing_on_a_shared_server_until_the_teacher_allows_it(home, headers, monkeypatch):
    monkeypatch.delenv("HEADSUP_SHARED", raising=False)
    assert owners.starting_allowed()
    headers["X-Forwarded-For"] = "1.2.3.4"
    assert not owners.starting_allowed()
    monkeypatch.setattr(owners, "is_teacher", lambda: True)
    for wanted in (True, False):
        owners.allow_starting(wanted)
        assert owners.starting_allowed() == wanted
    headers.clear()
    assert not owners.starting_allowed()  # said is said
    monkeypatch.setattr(owners, "is_teacher", lambda: False)
    with pytest.raises(owners.NotAllowed, match="only the teacher"):
        owners.allow_starting(True)


# Quotas


@pytest.fixture
def student(monkeypatch):
    monkeypatch.setattr(quotas, "me", lambda: STUDENT)


def test_a_run_has_so_many_minutes_however_often_it_is_resumed(run_folder, student, monkeypatch):
    folder = run_folder("mine", rows=[{"step": 1, "loss": 1.0, "seconds": 1200}])
    assert quotas.minutes_left(folder) == quotas.MINUTES - 20
    run_folder("mine", rows=[{"step": 2, "loss": 1.0, "seconds": 3600}])
    with pytest.raises(quotas.QuotaReached, match="has trained for the 60 minutes"):
        quotas.minutes_left(folder)
    for visitor in (TEACHER, ALONE):
        monkeypatch.setattr(quotas, "me", lambda visitor=visitor: visitor)
        assert quotas.minutes_left(folder) is None


@pytest.mark.parametrize(("name", "folder", "check"), [
    ("RUNS_BYTES", "runs/mine", quotas.check_runs), ("KEPT_BYTES", "checkpoints/kept", quotas.check_kept),
    ("CORPORA_BYTES", "uploads/corpora/me", lambda: quotas.check_corpora(1))])
def test_the_disk_is_not_filled_whoever_asks(home, student, monkeypatch, name, folder, check):
    (home / folder).mkdir(parents=True)
    (home / folder / "file").write_bytes(bytes(2_000))
    check()
    monkeypatch.setattr(quotas, name, 1_500)
    with pytest.raises(quotas.QuotaReached, match="on this server would take .* the teacher to make room"):
        check()
    monkeypatch.setattr(quotas, "me", lambda: ALONE)
    check()


def test_a_run_that_never_stops_saving_is_refused_on_a_shared_server(student):
    train = PRESETS["translate"].train
    assert quotas.run_faults(train) == []
    assert "save_every is 1; on this server it must be at least 50" in quotas.run_faults(train.replace(save_every=1))[0]
    assert quotas.run_faults(train.replace(save_every=10, steps=10)) == []


def test_who_kept_a_checkpoint_is_remembered(home, monkeypatch):
    home.mkdir()
    monkeypatch.setattr(owners, "owner", lambda: ME)
    owners.remember_keeper("mine")
    assert owners.checkpoint_thing(home / "checkpoints" / "mine").owner == ME
    assert owners.checkpoint_thing(home / "uploads" / "mine").owner is None
