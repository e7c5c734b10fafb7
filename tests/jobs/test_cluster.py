"""Runs on a cluster whose dashboard is made up: what is asked of it, and how a run stands by what it answers."""

import io
import os
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import orjson
import pytest

from tests.rows import each_row
from transformer.jobs import launch, ray_cluster, run_files
from transformer.jobs.process import identify
from transformer.jobs.queue import record
from transformer.training import ray_job

TOKEN = "0123456789abcdef"
RUNNING = {"state": "running", "step": 7, "steps": 9, "boot_id": "another", "pid": 1, "start_time": 1}


class Dashboard(ThreadingHTTPServer):
    """What of Ray's dashboard is used, remembering all that is asked; `status` and `message` are those of every job."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Answers)
        self.requests, self.packages, self.submitted, self.tokens = [], {}, [], True
        self.status, self.message, self.moved = "PENDING", None, None
        self.address = f"http://127.0.0.1:{self.server_port}"
        Thread(target=self.serve_forever, args=[0.01], daemon=True).start()

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()


class Answers(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def answer(self):
        server = self.server
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        server.requests.append(f"{self.command} {self.path}")
        token = self.headers.get("Authorization")
        if server.tokens and token != f"Bearer {TOKEN}":
            return self.say(403 if token else 401, b"Forbidden")
        if server.moved:
            return self.say(302, location=server.moved)
        if self.path.startswith("/api/packages/"):
            if self.command == "PUT":
                server.packages[self.path] = body
            return self.say(200 if self.path in server.packages else 404)
        if self.command == "POST" and self.path == "/api/jobs/":
            server.submitted.append(orjson.loads(body))
        if self.command == "GET" and server.status == "GONE":
            return self.say(404, b"Job does not exist")
        if self.path.endswith("/logs"):
            return self.say(200, b'{"logs": "all it said"}')
        return self.say(200, orjson.dumps({"status": server.status, "message": server.message}))

    do_GET = do_POST = do_PUT = answer

    def say(self, code, content=b"", location=None):
        self.send_response(code)
        if location:
            self.send_header("Location", location)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


@pytest.fixture(autouse=True)
def nobody_remembers(monkeypatch, tmp_path):
    monkeypatch.setattr(ray_cluster, "_statuses", {})
    monkeypatch.setattr(ray_cluster, "_silent", {})
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in (ray_cluster.ADDRESS, ray_cluster.TOKEN, ray_cluster.TOKEN_PATH, ray_cluster.PYTHON):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def dashboard(monkeypatch):
    with Dashboard() as server:
        monkeypatch.setenv(ray_cluster.ADDRESS, server.address + "/")
        monkeypatch.setenv(ray_cluster.TOKEN, TOKEN)
        yield server


@pytest.fixture
def clock(monkeypatch):
    """The time that the client sees, in a list of one."""
    clock = [100.0]
    monkeypatch.setattr(ray_cluster.time, "monotonic", lambda: clock[0])
    return clock


@pytest.fixture
def run(dashboard, tmp_path):
    folder = tmp_path / "runs" / "mine"
    ray_cluster.submit(folder, ["--preset", "sentiment"], processes=2, owner="me")
    return folder


def count(dashboard, request):
    return sum(one.startswith(request) for one in dashboard.requests)


def test_a_run_is_submitted_with_the_library_and_where_its_folder_is(dashboard, tmp_path, monkeypatch):
    monkeypatch.setenv(ray_cluster.PYTHON, "/their/python")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.csv").write_text("text,label\n")
    folder = tmp_path / "runs" / "a run"
    ray_cluster.submit(folder, ["--preset", "sentiment", "--set", "corpus=own.csv", "--steps", "7", "--minutes", "2",
                            "--device", "cpu"], processes=2, owner="me")
    [job] = dashboard.submitted
    about = record(folder)
    assert job["submission_id"] == about["job"]
    assert job["entrypoint"] == (f"/their/python -m transformer.training.ray_job '{folder}' {about['job']}")
    assert (about["cluster"], about["owner"], about["processes"]) == (dashboard.address, "me", 2)
    assert (about["ticket"], about["minutes"], about["gpus_per_process"], "pid" in about) == (1, 2.0, 0, False)
    assert about["config"]["train"]["steps"] == 7
    assert about["config"]["train"]["corpus"] == str(tmp_path / "own.csv")  # the workers stand elsewhere
    [(place, content)] = dashboard.packages.items()
    assert job["runtime_env"]["working_dir"] == f"gcs://{place.rpartition('/')[2]}"
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert {"transformer/__init__.py", "transformer/training/ray_job.py",
                "transformer/text/packed/eng-fra.zip"} <= set(archive.namelist())
        assert not [name for name in archive.namelist() if "__pycache__" in name]
    ray_cluster.submit(tmp_path / "runs" / "b", ["--preset", "sentiment"])
    assert (count(dashboard, "PUT"), len(dashboard.submitted)) == (1, 2)
    assert record(tmp_path / "runs" / "b")["gpus_per_process"] is None
    with pytest.raises(ValueError, match="a run has already been started; choose another name"):
        ray_cluster.submit(folder, [])


@each_row(("arguments", "wrong"), [
    (["--preset", "nobody"], "there is no preset 'nobody'"),
    (["--set", "lr"], "--set 'lr' has no '='"),
    (["--set", "nonsense=1"], "unknown setting nonsense"),
    (["--steps", "many"], "invalid int value: 'many'"),
    (["--tensorboard"], "unrecognized arguments: --tensorboard")])
def test_wrong_arguments_are_said_before_anything_is_sent(dashboard, tmp_path, arguments, wrong):
    with pytest.raises(ValueError, match=wrong):
        ray_cluster.submit(tmp_path / "runs" / "mine", arguments)
    assert not dashboard.requests
    assert not (tmp_path / "runs" / "mine").exists()


@pytest.mark.parametrize(("address", "token", "wrong"), [
    ("", TOKEN, "no cluster is named; set RAY_API_SERVER_ADDRESS"),
    ("http://head:8265", "", "RAY_API_SERVER_ADDRESS is set and no token is; set RAY_AUTH_TOKEN"),
    ("ray://head:10001", TOKEN, "must be the address of a Ray dashboard, such as http://head:8265"),
    ("head:8265", TOKEN, "must be the address of a Ray dashboard"),
    ("http://me:secret@head:8265", TOKEN, "must be the address of a Ray dashboard"),
    ("http://head:8265", "two\nlines", "has invalid characters"),
    ("http://127.0.0.1:1", TOKEN, "does not answer")])
def test_a_cluster_that_cannot_be_used_is_said(tmp_path, monkeypatch, address, token, wrong):
    monkeypatch.setenv(ray_cluster.ADDRESS, address)
    monkeypatch.setenv(ray_cluster.TOKEN, token)
    folder = tmp_path / "runs" / "mine"
    with pytest.raises(ValueError, match=wrong):
        ray_cluster.submit(folder, ["--preset", "sentiment"])
    assert not folder.exists()
    assert ray_cluster.offered_address() == ("http://127.0.0.1:1" if "answer" in wrong else None)


def test_the_token_is_found_where_ray_looks_for_it(tmp_path, monkeypatch):
    monkeypatch.setenv(ray_cluster.ADDRESS, "http://head:8265")
    home, named = tmp_path / "home" / ".ray" / "auth_token", tmp_path / "token"
    home.parent.mkdir(parents=True)
    home.write_text("in-home\n")
    assert ray_cluster.configured().token == "in-home"
    named.write_text("in-file\n")
    monkeypatch.setenv(ray_cluster.TOKEN_PATH, str(named))
    assert ray_cluster.configured().token == "in-file"
    monkeypatch.setenv(ray_cluster.TOKEN, "in-environment")
    assert ray_cluster.configured().token == "in-environment"
    assert "in-environment" not in repr(ray_cluster.configured())
    assert ray_cluster.offered_address() == "http://head:8265"


def test_a_wrong_token_and_a_cluster_that_asks_for_none_get_no_run(dashboard, tmp_path, monkeypatch):
    folder = tmp_path / "runs" / "mine"
    monkeypatch.setenv(ray_cluster.TOKEN, "wrong")
    with pytest.raises(ValueError, match="refuses the token; set RAY_AUTH_TOKEN to the one that its head was started"):
        ray_cluster.submit(folder, ["--preset", "sentiment"])
    dashboard.tokens = False
    with pytest.raises(ValueError, match=r"asks for no token, .* start its head with RAY_AUTH_MODE=token"):
        ray_cluster.submit(folder, ["--preset", "sentiment"])
    assert not folder.exists()
    assert not dashboard.submitted


def test_the_token_goes_to_no_other_address(dashboard, run):
    with Dashboard() as another:
        run_files.write_json(run / "launch.json", record(run) | {"cluster": another.address})
        assert ray_cluster.status(run).status == ray_cluster.SILENT
        with pytest.raises(ValueError, match="is on the cluster at"):
            ray_cluster.logs(run)
        dashboard.moved = f"{another.address}/api/version"
        with pytest.raises(ValueError, match="answers 302"):
            ray_cluster.configured().ask("GET", "/api/version")
    assert not another.requests


@pytest.mark.parametrize(("status", "message", "written", "state", "why"), [
    ("PENDING", None, {}, "queued", None),
    ("RUNNING", None, {}, "starting", None),
    ("RUNNING", None, RUNNING, "running", None),
    ("SUCCEEDED", None, RUNNING | {"state": "finished"}, "finished", None),
    ("RUNNING", None, RUNNING | {"state": "stopped"}, "stopped", None),
    ("SUCCEEDED", None, RUNNING, "died", None),
    ("STOPPED", None, RUNNING, "stopped", None),
    ("FAILED", "Job failed\nnoise\nerror: the cluster has 2 CPUs\n", {}, "failed", "the cluster has 2 CPUs"),
    ("FAILED", "Job failed", RUNNING | {"state": "failed", "why": "the disk is full"}, "failed", "the disk is full"),
    ("FAILED", "failed with exit code 127, last logs:\nRunning entrypoint", {}, "failed",
     "the cluster's head does not have that Python; set HEADSUP_CLUSTER_PYTHON to where its machines have theirs"),
    ("FAILED", "x\nModuleNotFoundError: No module named 'ray'", RUNNING, "failed",
     "ModuleNotFoundError: No module named 'ray'; the cluster's Python needs requirements.txt and ray[default,train]")])
def test_a_run_stands_as_its_job_and_its_folder_say(dashboard, run, status, message, written, state, why):
    dashboard.status, dashboard.message = status, message
    if written:
        run_files.write_json(run / "status.json", written)
    now = launch.progress(run)
    assert (now.state, now.why) == (state, why)
    assert now.step == written.get("step", 0)
    assert now.elsewhere == (state in ("starting", "running"))


def test_a_job_that_the_cluster_forgot_has_died_and_one_that_goes_on_here_is_this_machines(dashboard, run):
    dashboard.status = "GONE"
    now = launch.progress(run)
    assert now.state == "died"
    assert now.why.endswith(f"no longer knows job {record(run)['job']}; resume the run")
    run_files.write_json(run / "status.json", RUNNING | identify(os.getpid()))
    now = launch.progress(run)
    assert (launch.alive(run), now.state, now.elsewhere) == (True, "running", False)


def test_where_the_cluster_does_not_answer_the_folder_has_to(dashboard, run):
    dashboard.__exit__()
    assert launch.progress(run).state == "starting"
    run_files.write_json(run / "status.json", RUNNING | identify(os.getpid()))  # its head may be on this machine
    now = launch.progress(run)
    assert (now.state, now.elsewhere, launch.alive(run)) == ("running", True, False)
    for name in ("status.json", "launch.json"):
        os.utime(run / name, (1, 1))
    now = launch.progress(run)
    assert now.state == "died"
    assert "does not answer" in now.why


def test_a_job_is_looked_at_every_two_seconds_later_where_nobody_answers_and_never_once_it_ended(dashboard, run, clock):
    dashboard.moved = "/elsewhere"
    for _ in range(3):
        assert ray_cluster.status(run).status == ray_cluster.SILENT
    before = count(dashboard, "GET /api/jobs/")
    assert before == 1
    clock[0] += ray_cluster.SILENCE
    dashboard.moved = None
    for _ in range(5):
        launch.progress(run)
    assert count(dashboard, "GET /api/jobs/") == before + 1
    clock[0] += ray_cluster.FRESH
    dashboard.status = "FAILED"
    assert launch.progress(run).state == "failed"
    clock[0] += 1_000
    assert launch.progress(run).state == "failed"
    assert count(dashboard, "GET /api/jobs/") == before + 2


def test_stopping_goes_through_the_folder_and_signals_nobody(dashboard, run, monkeypatch):
    monkeypatch.setattr(os, "kill", lambda *_: pytest.fail("signalled"))
    dashboard.status = "RUNNING"
    run_files.write_json(run / "status.json", RUNNING | identify(os.getpid()))  # a worker on this machine
    assert launch.stop(run)
    assert (run / "stop").exists()
    assert launch.stop(run)  # a second time, at once
    assert not count(dashboard, "POST /api/jobs/headsup")
    os.utime(run / "stop", (1, 1))  # it had its time to save
    assert launch.stop(run)
    assert dashboard.requests[-1] == f"POST /api/jobs/{record(run)['job']}/stop"


def test_a_run_that_does_not_train_yet_is_taken_off_the_cluster(dashboard, run, capsys):
    assert ray_cluster.logs(run) == "all it said"
    assert launch.stop(run)
    assert dashboard.requests[-1] == f"POST /api/jobs/{record(run)['job']}/stop"
    dashboard.status = "STOPPED"
    assert launch.progress(run).state == "stopped"
    assert not launch.stop(run)
    assert ray_job.main(Path("/nowhere/run"), "job") == 1
    assert capsys.readouterr().out == ("error: the cluster does not see /nowhere/run; put runs on a disk that both "
                                       "sides have under the same path, and name it by HEADSUP_HOME or --out\n")


def test_a_run_that_ended_is_submitted_once_more(dashboard, run):
    with pytest.raises(ValueError, match="mine is under way; stop it first"):
        launch.resume(run)
    dashboard.status = "STOPPED"
    ray_cluster.forget(dashboard.address, record(run)["job"])
    run_files.write_json(run / "config.json", record(run)["config"])
    run_files.write_json(run / "status.json", RUNNING | {"state": "stopped"})
    (run / "stop").touch()
    first = record(run)
    dashboard.tokens = False  # and now nobody may use it
    with pytest.raises(ValueError, match="asks for no token"):
        launch.resume(run)
    assert record(run) == first
    assert (run / "stop").exists()
    assert launch.progress(run).state == "stopped"
    dashboard.tokens = True
    launch.resume(run)
    again = record(run)
    assert again["job"] != first["job"]
    assert (again["owner"], again["ticket"], again["processes"]) == ("me", 2, 2)
    dashboard.status = "RUNNING"
    assert launch.progress(run).state == "starting"
    assert not (run / "stop").exists()
