"""A server as a client that is no browser has it: plain requests, and visits over a websocket."""

import http.client
import os
import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from tests.raw.client import ANSWER_S, Client
from tests.waiting import Process
from ui.access import visitors

ADDRESS = "127.0.0.2"  # leads nowhere but here, and is served as any other that others may come by
TEACHES = "Others may start runs"  # which the teacher alone reads on Train
SIGNING = threading.Lock()  # the environment is one for all threads


@dataclass(frozen=True)
class Answer:
    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode("utf-8", "replace")

    @property
    def cookies(self) -> dict[str, str]:
        """What a browser would keep of it, or forget where there is no value."""
        pairs = (given.partition(";")[0].split("=", 1) for given in self.headers.get_all("Set-Cookie") or ())
        return {name: value.strip('"') for name, value in pairs}


@dataclass(frozen=True)
class Server:
    """One that others use, as `make app HOST=...` starts it."""

    process: Process
    port: int
    log: Path
    home: Path

    @property
    def host(self) -> str:
        return f"{ADDRESS}:{self.port}"

    @property
    def url(self) -> str:
        return f"http://{self.host}"

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
    def visit(self, address: str = "", **headers: str) -> Iterator[Client]:
        """A tab that is open for as long as the block runs; address: of this computer, from which they come."""
        client = Client(self, {}, headers=headers, address=address)
        try:
            yield client
        finally:
            client.close()

    def phone(self, name: str) -> str:
        """The cookie of a visitor of that name, as if the server had given it."""
        with SIGNING, patch.dict(os.environ, HEADSUP_HOME=str(self.home)):
            return f"{visitors.VISITOR}={visitors.signed(name)}"

    def teaches(self, **headers: str) -> bool:
        """Whether whoever comes with these headers is the teacher."""
        with self.visit(**headers) as session:
            return TEACHES in session.open("train").text

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
        return f"{visitors.TEACHER}={self.ask('POST', '/teacher', body=self.teachers_code()).cookies[visitors.TEACHER]}"
