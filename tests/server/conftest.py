"""A server as `make app HOST=...` starts it, and clients that are no browser: plain requests, and Streamlit's protobuf
over a websocket."""

import http.client
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import ClientConnection, connect

from tests.waiting import ROOT, start_server
from transformer.jobs import run_files
from ui.access import visitors

ADDRESS = "127.0.0.2"  # leads nowhere but here, and is served as any other that others may come by
ANSWER_S = 60
TEACHES = "Others may start runs"  # which the teacher alone reads on Train
BOUNDARY = "part"
SIGNING = threading.Lock()  # the environment is one for all threads


def need_caddy() -> None:
    """Skip what needs the proxy where it is not; where no browser may be missing, it may not either."""
    if shutil.which("caddy") is None:
        message = "no caddy on the PATH: install it from your system, as `make caddy` does on Debian"
        (pytest.fail if os.environ.get("HEADSUP_REQUIRE_BROWSER", "") not in ("", "0") else pytest.skip)(message)


def form_with_file(size: int) -> bytes:
    """A body with a file of that many bytes, as a browser sends it."""
    head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="a.zip"\r\n\r\n'
    return head.encode() + bytes(size) + f"\r\n--{BOUNDARY}--\r\n".encode()


def ended_run(home: Path, owner: str) -> Path:
    """The folder of a run of theirs that was stopped."""
    folder = home / "runs" / f"run-{owner[:8]}"
    folder.mkdir(parents=True, exist_ok=True)
    run_files.write_json(folder / "config.json", {})
    run_files.write_json(folder / "status.json", {"state": "stopped", "step": 3, "steps": 9})
    run_files.write_json(folder / "launch.json", {"owner": owner, "ticket": 1, "time": 1.0, "devices": []})
    return folder


@dataclass(frozen=True)
class Answer:
    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode("utf-8", "replace")


class Session:
    """One tab of a visitor, as the server sees it."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket, self.id = socket, ""

    def open(self, page: str = "", query: str = "") -> str:
        """Ask for a page and wait until its script has ended; all that there is to see on it, as one text."""
        message = BackMsg()
        message.rerun_script.page_name, message.rerun_script.query_string = page, query
        self.socket.send(message.SerializeToString())
        texts = []
        while True:
            received = ForwardMsg()
            received.ParseFromString(self.socket.recv(timeout=ANSWER_S))
            kind = received.WhichOneof("type")
            if kind == "new_session":
                self.id = received.new_session.initialize.session_id
            elif kind == "delta":
                texts.append(str(received.delta))
            elif kind == "script_finished":
                return "\n".join(texts)


@dataclass(frozen=True)
class Server:
    process: subprocess.Popen
    port: int
    log: Path

    @property
    def host(self) -> str:
        return f"{ADDRESS}:{self.port}"

    def ask(self, method: str, path: str, *, host: str | None = None, body: bytes = b"", **headers: str) -> Answer:
        """One request; host: what it says in Host, "" for none. Underscores in the names of headers are dashes."""
        connection = http.client.HTTPConnection(ADDRESS, self.port, timeout=ANSWER_S)
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        sent = {"Host": self.host if host is None else host, "Content-Length": str(len(body))} if method != "GET" else {
            "Host": self.host if host is None else host}
        for name, value in (sent | {name.replace("_", "-"): value for name, value in headers.items()}).items():
            if value:
                connection.putheader(name, value)
        with suppress(BrokenPipeError, ConnectionResetError):  # refused before it was sent: the answer is there
            connection.endheaders(body or None)
        answer = connection.getresponse()
        found = Answer(answer.status, answer.headers, answer.read())
        connection.close()
        return found

    @contextmanager
    def visit(self, **headers: str) -> Iterator[Session]:
        """A tab that is open for as long as the block runs."""
        with connect(f"ws://{self.host}/_stcore/stream", subprotocols=["streamlit"], open_timeout=ANSWER_S,
                     additional_headers=headers, max_size=None) as socket:
            yield Session(socket)

    def phone(self, name: str) -> str:
        """The cookie of a visitor of that name, as if the server had given it."""
        with SIGNING, patch.dict(os.environ, HEADSUP_HOME=str(self.log.parent / "home")):
            return f"{visitors.VISITOR}={visitors.signed(name)}"

    def teaches(self, **headers: str) -> bool:
        """Whether whoever comes with these headers is the teacher."""
        with self.visit(**headers) as session:
            return TEACHES in session.open("train")

    def connect(self, sent: bytes = b"", *, timeout: float = 20) -> socket.socket:
        """A connection of its own, on which that has been sent."""
        made = socket.create_connection((ADDRESS, self.port), timeout=timeout)
        made.sendall(sent)
        return made

    def teachers_link(self) -> str:
        """The last that was printed."""
        return re.findall(r"http://\S+/teacher#\S+", self.log.read_text())[-1]

    def teachers_code(self) -> bytes:
        """What the page of that link sends."""
        return f"code={self.teachers_link().partition('#')[2]}".encode()

    def sign_in(self) -> str:
        """The teacher's cookie, as a browser sends it."""
        given = self.ask("POST", "/teacher", body=self.teachers_code()).headers.get_all("Set-Cookie")
        return next(cookie.partition(";")[0] for cookie in given if cookie.startswith(visitors.TEACHER))


@contextmanager
def starting(folder_for: Callable[[str], Path]) -> Iterator[Callable[..., Server]]:
    """start() is a new server; before: lines of Python that run in its process first; module: of ui, what is run;
    sign_in: its sign-in.toml; packages: a folder of some that go before those installed. All end with the block."""
    started = []

    def start(*arguments: str, before: str = "", module: str = "serve", sign_in: str = "",
              packages: Path | None = None) -> Server:
        folder = folder_for("server")
        log = folder / "log.txt"
        if sign_in:
            (folder / "home").mkdir()
            (folder / "home" / "sign-in.toml").write_text(sign_in)
        code = f"import sys\nfrom ui.server import {module}\n{before}\n{module}.main()"
        process, found = start_server([sys.executable, "-c", code, "--host", ADDRESS, "--port", "0", *arguments], log,
                                      r"Teacher: http://[\w.]+:(\d+)/\S+ ", cwd=folder,
                                      PYTHONPATH=os.pathsep.join(map(str, filter(None, (packages, ROOT)))),
                                      HEADSUP_HOME=str(folder / "home"))
        started.append(process)
        return Server(process, int(found[1]), log)

    yield start
    for process in started:
        process.kill()
        process.wait()


@pytest.fixture(scope="module")
def start(tmp_path_factory) -> Iterator[Callable[..., Server]]:
    """Starts servers that end with the tests of a module: see `starting`."""
    with starting(tmp_path_factory.mktemp) as start:
        yield start


@pytest.fixture(scope="session")
def server(tmp_path_factory) -> Iterator[Server]:
    """One that others use, for all tests that need nothing of their own."""
    with starting(tmp_path_factory.mktemp) as start:
        yield start()
