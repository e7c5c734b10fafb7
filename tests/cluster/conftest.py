"""A Ray head of this test run's own, for `make test-cluster`; without HEADSUP_TEST_CLUSTER nothing here is collected.

All that it starts has a mark in its environment, or a parent that has, and is ended by its pid: `ray stop` would end
every Ray process of the user. Linux alone tells what carries the mark; elsewhere the head ends what it started.
"""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.waiting import until
from transformer.jobs import ray_cluster
from transformer.jobs.process import identify, running

HERE = Path(__file__).resolve().parent
collect_ignore_glob = [] if os.environ.get("HEADSUP_TEST_CLUSTER") else ["test_*.py"]
MARK = "HEADSUP_TEST_HEAD"
START_S, END_S = 120, 60


@dataclass(frozen=True)
class Head:
    address: str
    token: str
    mark: str

    def processes(self) -> set[int]:
        """The head's, and everything below it; some write their title over their environment, but have a parent."""
        found, parents = set(), {}
        for folder in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                state, parent = (folder / "stat").read_text().rsplit(")", 1)[1].split()[:2]
                if state not in "ZX":
                    parents[int(folder.name)] = int(parent)
                    if self.mark.encode() in (folder / "environ").read_bytes().split(b"\0"):
                        found.add(int(folder.name))
        while below := {pid for pid, parent in parents.items() if parent in found} - found:
            found |= below
        return found


def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.timeout(300))


def free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as opened:
        sockets = [opened.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


@pytest.fixture(scope="session")
def head() -> Iterator[Head]:
    place = Path(tempfile.mkdtemp(prefix="ray", dir="/tmp"))  # short: paths of sockets have at most 107 characters
    gcs, dashboard, client, agent = free_ports(4)
    head = Head(f"http://127.0.0.1:{dashboard}", uuid.uuid4().hex, f"{MARK}={uuid.uuid4().hex}")
    command = [str(Path(sys.executable).with_name("ray")), "start", "--head", "--block", "--disable-usage-stats",
               "--port", str(gcs), "--dashboard-host", "127.0.0.1", "--dashboard-port", str(dashboard),
               "--ray-client-server-port", str(client), "--dashboard-agent-listen-port", str(agent),
               "--min-worker-port", "0", "--max-worker-port", "0", "--temp-dir", str(place / "t"),
               "--num-cpus", "2", "--num-gpus", "0", "--object-store-memory", "100000000"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    environment |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": head.token, MARK: head.mark.partition("=")[2],
                    "RAY_GRACEFUL_SHUTDOWN_DRAIN_TIMEOUT_S": "0"}
    dashboard = ray_cluster.Cluster(head.address, head.token)
    began = time.monotonic()
    with open(place / "log.txt", "wb") as log:
        process = subprocess.Popen(command, env=environment, cwd=place, stdin=subprocess.DEVNULL, stdout=log,
                                   stderr=log, start_new_session=True)
    try:
        until(lambda: process.poll() is not None or dashboard.status("none").status == ray_cluster.GONE,
              seconds=START_S)
        assert process.poll() is None, (place / "log.txt").read_text()
        print(f"\nthe head answers after {time.monotonic() - began:.1f} s")
        yield head
    finally:
        started = [known for pid in head.processes() if (known := identify(pid))]
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(END_S)
        for pid in {pid for known in started if (pid := running(known))} | head.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        until(lambda: not any(map(running, started)) and not head.processes(), seconds=END_S)
        shutil.rmtree(place, ignore_errors=True)


@pytest.fixture(autouse=True)
def environment(head, monkeypatch) -> None:
    """What somebody sets who uses the cluster."""
    monkeypatch.setenv("RAY_API_SERVER_ADDRESS", head.address)
    monkeypatch.setenv("RAY_AUTH_TOKEN", head.token)
    monkeypatch.setattr(ray_cluster, "_statuses", {})
    monkeypatch.setattr(ray_cluster, "_silent", {})
