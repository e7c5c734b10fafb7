"""The real server without a browser: `visitor(key="a student").open("train").send("train_start")`.

A client of this kind sends Streamlit's own messages, of any widget, drawn for it or not, disabled or not, with any
value.
"""

import http.client
import os
import re
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest
from google.protobuf.message import Message
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import connect

from transformer.training import metrics
from transformer.training.process import identify
from ui import keys

ROOT = Path(__file__).resolve().parents[2]
START_S, ANSWER_S = 120, 60  # at most; importing torch and streamlit on two busy cores takes many seconds
WIDGET = re.compile(r"\$\$ID-[0-9a-f]+-(.+)", re.DOTALL)


@dataclass(frozen=True)
class Server:
    url: str
    home: Path


class Client:
    """Somebody at the other end of the websocket: what they were last sent, and what they send."""

    def __init__(self, server: Server, cookies: dict[str, str]):
        self.server, self.page, self.ids, self.text = server, "", {}, ""
        self._cookies = "; ".join(f"{name}={value}" for name, value in cookies.items())
        self._open = ExitStack()
        self._socket = self._open.enter_context(connect(
            f"ws://{urlsplit(server.url).netloc}/_stcore/stream", subprotocols=["streamlit"], max_size=None,
            origin=server.url, additional_headers={"Cookie": self._cookies} if cookies else {}))
        self._hash = self.session = ""
        self._query: dict[str, str] = {}

    def close(self) -> None:
        self._open.close()

    def open(self, page: str, **params: str) -> "Client":
        """Come to a page by its address."""
        self.page, self._query, self._hash = page, params, ""
        return self._run()

    def send(self, *triggers: str, **values: tuple[str, object]) -> "Client":
        """Press buttons, and set widgets to (field of the message, value), all by key; ids that this visitor was never
        sent are taken from `ids`, where a test may have put them."""
        return self._run(triggers, values)

    def upload(self, widget: str, name: str, content: bytes) -> "Client":
        """Give a file to an uploader."""
        where, file = urlsplit(self.server.url), str(uuid.uuid4())
        path = f"/_stcore/upload_file/{self.session}/{file}"
        connection = http.client.HTTPConnection(where.netloc, timeout=ANSWER_S)
        connection.request("GET", "/_stcore/health")
        answer = connection.getresponse()
        answer.read()
        cookie = answer.getheader("set-cookie", "").partition(";")[0]
        boundary = uuid.uuid4().hex
        head = (f'--{boundary}\r\nContent-Disposition: form-data; name="file"; '
                f'filename="{name}"\r\n\r\n').encode()
        body = head + content + f"\r\n--{boundary}--\r\n".encode()
        connection.request("PUT", path, body, {
            "Content-Type": f"multipart/form-data; boundary={boundary}", "Cookie": f"{cookie}; {self._cookies}",
            "Origin": self.server.url, "X-Xsrftoken": cookie.partition("=")[2]})
        connection.getresponse().read()
        connection.close()
        return self._run((), {widget: ("file_uploader_state_value", (file, name, len(content), path))})

    def _run(self, triggers: tuple[str, ...] = (), values: dict[str, tuple[str, object]] = {}) -> "Client":  # noqa: B006
        message = BackMsg()
        rerun = message.rerun_script
        rerun.query_string, rerun.page_script_hash = urlencode(self._query), self._hash
        rerun.page_name = "" if self._hash else self.page
        for key in triggers:
            rerun.widget_states.widgets.add(id=self.ids[key], trigger_value=True)
        for key, (field, value) in values.items():
            state = rerun.widget_states.widgets.add(id=self.ids[key])
            if field == "file_uploader_state_value":
                file, name, size, path = value
                info = state.file_uploader_state_value.uploaded_file_info.add(file_id=file, name=name, size=size)
                info.file_urls.file_id, info.file_urls.upload_url = file, path
            elif field.endswith("array_value"):
                getattr(state, field).data.extend(value)
            else:
                setattr(state, field, value)
        self._socket.send(message.SerializeToString())
        self._read()
        return self

    def _read(self) -> None:
        """Take in what the server sends until its script has ended, with those that it starts again itself."""
        texts = []
        while True:
            message = ForwardMsg.FromString(self._socket.recv(ANSWER_S))
            kind = message.WhichOneof("type")
            if kind == "new_session":
                self.session = message.new_session.initialize.session_id or self.session
                texts.clear()
            elif kind == "navigation":
                self._hash = message.navigation.page_script_hash
            elif kind == "page_info_changed":
                self._query = dict(parse_qsl(message.page_info_changed.query_string))
            elif kind == "delta":
                texts += strings(message.delta)
            elif kind == "script_finished" and message.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY:
                break
        self.ids.update({found[1]: text for text in texts if (found := WIDGET.fullmatch(text))})
        self.text = "\n".join(texts)


def strings(message: Message) -> Iterator[str]:
    """Every text in a message."""
    for field, value in message.ListFields():
        for one in value if field.is_repeated else [value]:
            if isinstance(one, Message):
                yield from strings(one)
            elif isinstance(one, str):
                yield one


@pytest.fixture(scope="session")
def server(tmp_path_factory) -> Iterator[Server]:
    """A server that others use, on an address of this computer that is not its usual one."""
    folder = tmp_path_factory.mktemp("shared")
    log, home = folder / "log.txt", folder / "home"
    environment = os.environ | {"STREAMLIT_SERVER_HEADLESS": "true", "HEADSUP_HOME": str(home),
                                "PYTHONUNBUFFERED": "1"}
    with log.open("w") as output:
        process = subprocess.Popen([sys.executable, "ui/serve.py", "--host", "127.0.0.2", "--port", "0"], cwd=ROOT,
                                   env=environment, stdout=output, stderr=subprocess.STDOUT)
    try:
        end = time.monotonic() + START_S
        while not (found := re.search(r"(http://[\w.:]+), until.*\nTeacher: ", log.read_text(), re.DOTALL)):
            assert process.poll() is None, f"the app ended with {process.returncode}:\n{log.read_text()}"
            assert time.monotonic() < end, f"the app did not start in {START_S} s:\n{log.read_text()}"
            time.sleep(0.1)
        yield Server(found[1], home)
    finally:
        process.terminate()
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@pytest.fixture
def visitor(server, monkeypatch) -> Iterator[Callable[..., Client]]:
    """Makes visitors: a stranger without a cookie, `visitor(key="a student")`, `visitor(teacher=True)`."""
    made = []
    monkeypatch.setenv("HEADSUP_HOME", str(server.home))  # where the teacher's key is

    def visitor(*, key: str | None = None, teacher: bool = False) -> Client:
        cookies = {keys.VISITOR: key} if key else {}
        made.append(Client(server, cookies | ({keys.TEACHER: keys.teacher_cookie()} if teacher else {})))
        return made[-1]

    yield visitor
    for client in made:
        client.close()


@pytest.fixture
def give() -> Callable[..., None]:
    """Makes a run or a measurement somebody's, by their key: `give(folder, "a student")`, `give(folder, None)`; and
    under way as the process of that pid."""
    def give(folder: Path, owner: str | None, *, running: int | None = None) -> None:
        about = {"owner": owner and keys.digest(owner), "ticket": 1, "time": 1.0, "devices": []}
        metrics.write_json(folder / "launch.json", about | (identify(running) if running else {}))

    return give


@pytest.fixture
def process() -> Iterator[subprocess.Popen]:
    """A process that stands for a training."""
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    yield child
    child.kill()
    child.communicate()


@pytest.fixture(autouse=True)
def others_may_start(server) -> Iterator[Callable[[bool | None], None]]:
    """As the teacher has allowed, so that nothing is refused for another reason; gone after the test."""
    def allow(allowed: bool | None) -> None:
        switch.unlink(missing_ok=True)
        if allowed is not None:
            switch.write_text("yes" if allowed else "no")

    switch = server.home / "others-may-start"
    allow(True)
    yield allow
    allow(None)
