"""A server as `make app HOST=...` starts it, and clients that are no browser: plain requests, and Streamlit's protobuf
over a websocket."""

import http.client
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import ClientConnection, connect

from ui.access import visitors

ROOT = Path(__file__).resolve().parents[2]
ADDRESS = "127.0.0.2"  # leads nowhere but here, and is served as any other that others may come by
START_S = 120  # importing torch and streamlit on two busy cores
ANSWER_S = 60
SIGNING = threading.Lock()  # the environment is one for all threads


def need_caddy() -> None:
    """Skip what needs the proxy where it is not; where no browser may be missing, it may not either."""
    if shutil.which("caddy") is None:
        said = "no caddy on the PATH: install it from your system, as `make caddy` does on Debian"
        (pytest.fail if os.environ.get("HEADSUP_REQUIRE_BROWSER", "") not in ("", "0") else pytest.skip)(said)


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
        said = []
        while True:
            received = ForwardMsg()
            received.ParseFromString(self.socket.recv(timeout=ANSWER_S))
            kind = received.WhichOneof("type")
            if kind == "new_session":
                self.id = received.new_session.initialize.session_id
            elif kind == "delta":
                said.append(str(received.delta))
            elif kind == "script_finished":
                return "\n".join(said)


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

    def teachers_link(self) -> str:
        """The last that was printed."""
        return re.findall(r"http://\S+/teacher#\S+", self.log.read_text())[-1]

    def sign_in(self) -> str:
        """The teacher's cookie, as a browser sends it."""
        code = self.teachers_link().partition("#")[2]
        return self.ask("POST", "/teacher", body=f"code={code}".encode()).headers["Set-Cookie"].partition(";")[0]


@contextmanager
def starting(folder_for: Callable[[str], Path]) -> Iterator[Callable[..., Server]]:
    """start() is a new server; before: lines of Python that run in its process first; module: of ui, what is run;
    sign_in: its sign-in.toml. All of them end with the block."""
    started = []

    def start(*arguments: str, before: str = "", module: str = "serve", sign_in: str = "") -> Server:
        folder = folder_for("server")
        log = folder / "log.txt"
        if sign_in:
            (folder / "home").mkdir()
            (folder / "home" / "sign-in.toml").write_text(sign_in)
        environment = os.environ | {"STREAMLIT_SERVER_HEADLESS": "true", "HEADSUP_HOME": str(folder / "home"),
                                    "PYTHONPATH": str(ROOT)}
        code = f"import sys\nfrom ui.server import {module}\n{before}\n{module}.main()"
        with log.open("w") as output:
            process = subprocess.Popen([sys.executable, "-c", code, "--host", ADDRESS, "--port", "0", *arguments],
                                       cwd=folder, env=environment, stdout=output, stderr=subprocess.STDOUT)
        started.append(process)
        deadline = time.monotonic() + START_S
        while not (found := re.search(r"Teacher: http://[\w.]+:(\d+)/\S+ ", log.read_text())):
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.1)
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
