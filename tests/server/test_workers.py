"""Several processes behind a proxy, as `make serve` starts them: one server for whoever comes."""

import http.client
import os
import re
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import orjson
import pytest

from tests.server.client import ADDRESS, Server
from tests.server.conftest import need_caddy, put
from tests.waiting import ROOT, until
from transformer.checkpoints.checkpoint import find
from ui.server.caddy import COOKIE
from ui.server.workers import hold

METRICS = re.compile(r'event="metrics started" port=(\d+)')
STARTED = re.compile(r'event="worker started" worker=(\d) pid=(\d+)')


LATE = """import time
from ui.server import metrics
serve = metrics.serve
metrics.serve = lambda port: (time.sleep(0.3), serve(port))"""


@pytest.fixture(scope="module")
def crowd(start):
    """Two workers, and the port of their figures, which come late: whoever is told the address finds them there."""
    need_caddy()
    server = start("--workers", "2", "--metrics", "0", module="workers", before=LATE)
    return server, int(METRICS.search(server.log.read_text())[1])


def workers(server: Server) -> list[str]:
    """A cookie for each worker, in no order."""
    found = set()
    until(lambda: found.add(server.ask("GET", "/_stcore/health").cookies[COOKIE]) or len(found) == 2)
    return [f"{COOKIE}={value}" for value in found]


def figures(port: int) -> dict[str, float]:
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request("GET", "/metrics")
    lines = connection.getresponse().read().decode().splitlines()
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines if line[0] != "#")}


@pytest.mark.parametrize(("host", "status"), [("127.0.0.1:{}", 200), ("localhost:{}", 200), ("evil.example:{}", 403),
                                              ("evil.example", 403), ("[", 403), ("", 403)])
def test_figures_are_for_who_asks_by_a_name_of_this_computer(crowd, host, status):
    connection = http.client.HTTPConnection("127.0.0.1", crowd[1], timeout=20)
    connection.putrequest("GET", "/metrics", skip_host=True)
    connection.putheader("Host", host.format(crowd[1]))
    connection.endheaders()
    answer = connection.getresponse()
    assert (answer.status, b"headsup_visits" in answer.read()) == (status, status == 200)
    connection.close()


def stand(server: Server) -> dict[str, object]:
    answer = server.ask("GET", "/health")
    assert answer.status == 200
    return orjson.loads(answer.body)


def test_every_worker_serves_as_on_a_shared_server_and_says_how_all_of_them_are(crowd):
    server, port = crowd
    for cookie in workers(server):
        page = server.ask("GET", "/translate", Cookie=cookie)
        assert page.status == 200 and "headsup_visitor" in page.cookies
        assert "Content-Security-Policy" in page.headers
        with server.visit(Cookie=cookie) as session:
            assert "I am cold" in session.open("translate", text="I am cold.").text
    found = stand(server)
    shipped = len(find(ROOT / "checkpoints"))
    assert (found["wrong"], found["workers"], found["workers_wanted"], found["checkpoints"]) == ([], 2, 2, shipped)
    assert found["memory_mb"] > 100 and found["rooms"] == 0
    assert set(found) == {"wrong", "version", "checkpoints", "workers", "workers_wanted", "visitors", "rooms",
                          "memory_mb"}
    assert not server.teaches()  # though all requests come from this computer
    assert "Shared: visitors look, type and step" in server.log.read_text()
    kept = [server.home, *server.home.iterdir()]
    assert len(kept) > 1 and all(path.stat().st_mode & 0o077 == 0 for path in kept)
    values = figures(port)
    assert all(values[f'headsup_visits_total{{worker="{one}"}}'] >= 1 for one in (0, 1))
    assert all(values[f'headsup_answer_seconds_count{{worker="{one}"}}'] >= 1 for one in (0, 1))


def test_the_teachers_link_works_once_whichever_worker_is_asked(crowd):
    server, _ = crowd
    body, both = server.teachers_code(), workers(server)
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda number: server.ask("POST", "/teacher", body=body,
                                                          Cookie=both[number % 2]), range(8)))
    assert sorted(answer.status for answer in answers) == [204, *[403] * 7]
    teacher = next(answer.cookies for answer in answers if answer.status == 204)["headsup_teacher"]
    assert all(server.teaches(Cookie=f"headsup_teacher={teacher}; {cookie}") for cookie in both)
    kept = server.home / "teacher.link"
    assert kept.stat().st_mode & 0o777 == 0o600
    assert server.teachers_link().partition("#")[2] not in kept.read_text()


def test_a_file_goes_to_the_worker_that_shows_its_page(crowd):
    server, _ = crowd
    both = workers(server)
    teacher = server.sign_in()
    with server.visit(Cookie=f"{teacher}; {both[0]}") as session:
        session.open("checkpoints", view="add")
        # what is refused is small, for nobody reads it: of a large one the proxy would cut the connection
        status = [put(server, session.session, size, cookie=f"{teacher}; {worker}", token_from=both[1]).status
                  for worker, size in zip(both, (20 * 10**6, 1_000), strict=True)]
    assert status == [204, 403]


@pytest.mark.rare("kills a worker and awaits another")
def test_a_worker_that_is_killed_is_replaced_and_those_who_come_meanwhile_wait(crowd):
    server, port = crowd
    number, pid = STARTED.findall(server.log.read_text())[-1]
    before = figures(port)[f'headsup_visits_total{{worker="{number}"}}']
    both = workers(server)
    os.kill(int(pid), signal.SIGKILL)
    for cookie in both * 3:
        assert server.ask("GET", "/_stcore/health", Cookie=cookie).status == 200
    until(lambda: stand(server)["workers"] == 2)
    assert sorted(workers(server)) == sorted(both)  # the same ones: nobody was moved
    log = server.log.read_text()
    assert f'event="worker died" worker={number} code=-9' in log
    assert STARTED.findall(log)[-1][0] == number and STARTED.findall(log)[-1][1] != pid
    assert figures(port)[f'headsup_visits_total{{worker="{number}"}}'] >= before
    assert figures(port)[f'headsup_deaths_total{{worker="{number}"}}'] == 1


def test_the_log_has_a_line_for_each_event_and_nothing_of_who_came(crowd):
    server, _ = crowd
    with server.visit(User_Agent="somebody's") as session:
        session.open("translate", text="Nobody reads this.")
    until(lambda: server.log.read_text().count('event="visitor left"') >= 1)
    lines = server.log.read_text().splitlines()
    events = [line for line in lines if line.startswith("time=")]
    assert {re.search(r'event=("[^"]+"|\S+)', line)[1] for line in events} >= {
        "start", '"worker started"', '"proxy started"', '"visitor came"', '"visitor left"'}
    for line in events:
        assert "127.0.0" not in line and "somebody" not in line and "Nobody" not in line
    assert len([line for line in lines if "Heads Up is at" in line]) == 1


@pytest.mark.rare("three servers, each with a worker and a proxy")
def test_all_processes_end_with_the_one_that_started_them(start):
    need_caddy()
    for ends in (signal.SIGTERM, signal.SIGINT, signal.SIGKILL):
        server = start("--workers", "1", module="workers")
        pids = [int(pid) for pid in re.findall(r'started".* pid=(\d+)', server.log.read_text())]
        assert len(pids) == 2
        server.process.send_signal(ends)
        assert server.process.wait(60) == (0 if ends != signal.SIGKILL else -9)
        until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in pids))  # noqa: B023


def test_it_says_what_to_install_where_there_is_no_proxy(importer, tmp_path):
    log = tmp_path / "log.txt"
    asked = importer.fork(["-m", "transformer", "serve", "--workers", "2"], log, PATH=str(tmp_path),
                          HEADSUP_HOME=str(tmp_path))
    assert asked.wait() == 1
    assert "apt-get install caddy" in log.read_text() and "Traceback" not in log.read_text()


@pytest.mark.rare("a server of its own that never serves")
def test_a_worker_that_cannot_start_ends_the_server_with_its_reason(tmp_path):
    need_caddy()
    code = "from ui.server import serve, workers\nserve.run = lambda *_, **__: 1 / 0\nworkers.main()"
    done = subprocess.run([sys.executable, "-c", code, "--host", ADDRESS, "--port", "0", "--workers", "1"], cwd=ROOT,
                          env=os.environ | {"HEADSUP_HOME": str(tmp_path)}, capture_output=True, text=True, timeout=300)
    assert done.returncode == 1 and "ZeroDivisionError" in done.stderr and "does not start" in done.stderr


def test_a_port_that_is_held_is_for_whoever_is_started_to_listen_on_it():
    held = hold(ADDRESS, [0])
    port = held.getsockname()[1]
    with socket.socket() as other, pytest.raises(OSError, match="in use"):
        other.bind((ADDRESS, port))
    with socket.create_server((ADDRESS, port)):
        other = hold(ADDRESS, [port, 0])
        assert other.getsockname()[1] != port
        other.close()
        with pytest.raises(ValueError, match=f"from {port} to {port} are busy"):
            hold(ADDRESS, [port])
    held.close()
