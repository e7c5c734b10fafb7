"""A client that speaks to the real server without a browser: Streamlit's own messages, of any widget, drawn for it or
not, disabled or not, with any value."""

import http.client
import re
import socket
import subprocess
import sys
import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit

from google.protobuf.message import Message
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import connect

from tests.waiting import start_server

ANSWER_S = 60  # at most
WIDGET = re.compile(r"\$\$ID-[0-9a-f]+-(.+)", re.DOTALL)
ENDS = (ForwardMsg.FINISHED_SUCCESSFULLY, ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY)


FORM = "multipart/form-data; boundary=part"


def form(name: str, content: bytes) -> bytes:
    """A body with a file, as a browser sends it."""
    head = f'--part\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'
    return head.encode() + content + b"\r\n--part--\r\n"


@dataclass(frozen=True)
class Server:
    url: str
    home: Path
    pid: int


class Client:
    """Somebody at the other end of the websocket: what they were last sent, and what they send."""

    def __init__(self, server: Server, cookies: dict[str, str], *, headers: dict[str, str] | None = None,
                 address: str = ""):
        """address: of this computer, from which they come."""
        self.server, self.page, self.ids, self.text = server, "", {}, ""
        self.kinds: dict[str, str] = {}  # of the widgets on the page, by their keys
        self.sizes: Counter[str] = Counter()  # bytes of the last answer, by what they are of
        self._cookies = "; ".join(f"{name}={value}" for name, value in cookies.items())
        self._open = ExitStack()
        where = urlsplit(server.url)
        self.socket = self._open.enter_context(connect(
            f"ws://{where.netloc}/_stcore/stream", subprotocols=["streamlit"], max_size=None, open_timeout=ANSWER_S,
            sock=socket.create_connection((where.hostname, where.port), source_address=(address, 0)),
            additional_headers=({"Cookie": self._cookies} if cookies else {}) | (headers or {})))
        self._hash = self.session = ""
        self._query: dict[str, str] = {}
        self._fragments: dict[str, str] = {}  # a widget's id -> that of the fragment in which it was drawn, "" for none

    def close(self) -> None:
        self._open.close()

    def open(self, page: str = "", **params: str) -> "Client":
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
        connection.request("PUT", path, form(name, content), {
            "Content-Type": FORM, "Cookie": f"{cookie}; {self._cookies}", "Origin": self.server.url,
            "X-Xsrftoken": cookie.partition("=")[2]})
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
                getattr(state, field).SetInParent()
                getattr(state, field).data.extend(value)
            else:
                setattr(state, field, value)
        drawn_in = {self._fragments.get(state.id, "") for state in rerun.widget_states.widgets}
        rerun.fragment_id = drawn_in.pop() if len(drawn_in) == 1 else ""  # as a browser does: the rest stays as it is
        self.socket.send(message.SerializeToString())
        self._read()
        return self

    def _read(self) -> None:
        """Take in what the server sends until its script has ended, with those that it starts again itself."""
        texts, kinds = [], {}
        while True:
            answer = self.socket.recv(ANSWER_S)
            message = ForwardMsg.FromString(answer)
            kind = message.WhichOneof("type")
            if kind == "new_session":
                self.session = message.new_session.initialize.session_id or self.session
                texts.clear()
                kinds.clear()
                self.sizes.clear()
            elif kind == "navigation":
                self._hash = message.navigation.page_script_hash
            elif kind == "page_info_changed":
                self._query = dict(parse_qsl(message.page_info_changed.query_string))
            elif kind == "delta":
                found = list(strings(message.delta))
                texts += found
                if kind_of := message.delta.new_element.WhichOneof("type"):
                    kinds[getattr(getattr(message.delta.new_element, kind_of), "id", "")] = kind_of
                self._fragments.update(dict.fromkeys(filter(WIDGET.fullmatch, found), message.delta.fragment_id))
            elif kind == "script_finished" and message.script_finished in ENDS:
                break
            self.sizes[(kind == "delta" and message.delta.new_element.WhichOneof("type")) or kind] += len(answer)
        self.ids.update({found[1]: text for text in texts if (found := WIDGET.fullmatch(text))})
        self.kinds = {found[1]: kind for id, kind in kinds.items() if (found := WIDGET.fullmatch(id))}
        self.text = "\n".join(texts)


def strings(message: Message) -> Iterator[str]:
    """Every text in a message."""
    for field, value in message.ListFields():
        for one in value if field.is_repeated else [value]:
            if isinstance(one, Message):
                yield from strings(one)
            elif isinstance(one, str):
                yield one


@contextmanager
def serving(folder: Path, *, workers: int = 0) -> Iterator[Server]:
    """The app as others use it, on an address of this computer that is not its usual one; with workers, so many of them
    behind a proxy."""
    script = ["ui/server/workers.py", "--workers", str(workers)] if workers else ["ui/server/serve.py"]
    log, home = folder / "log.txt", folder / "home"
    process, found = start_server([sys.executable, *script, "--host", "127.0.0.2", "--port", "0"], log,
                                  r"(http://[\w.:]+), until.*\nTeacher: ", HEADSUP_HOME=str(home), PYTHONUNBUFFERED="1")
    try:
        yield Server(found[1], home, process.pid)
    finally:
        process.terminate()
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
