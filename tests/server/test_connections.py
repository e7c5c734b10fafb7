"""Connections: timeouts, limits and compression, asked of a real server."""

import asyncio
import http.client
import resource
import select
import socket
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest
from streamlit.file_util import get_static_dir
from websockets.exceptions import ConnectionClosed
from websockets.extensions.permessage_deflate import PerMessageDeflate
from websockets.frames import Frame, Opcode
from websockets.sync.client import connect

from tests.rows import each_row
from tests.server.client import ADDRESS
from tests.server.test_rooms import Class
from tests.waiting import until
from ui.server import log_limits
from ui.server.connections import LARGE, LOOKS, MOST_PARTS, MOST_TAKEN, _ReadersOnly, _SmallDeflate

FEW = """import resource
from ui.server import connections
resource.setrlimit(resource.RLIMIT_NOFILE, (300, 300))
connections.HEAD_SECONDS = 1.0
"""
FIRST = f"GET /health HTTP/1.1\r\nHost: {ADDRESS}\r\n"


def connected(server, *sent: str) -> socket.socket:
    """A connection on which that has been sent, and each but the last has been answered."""
    made = server.connect()
    for number, part in enumerate(sent):
        if number:
            answer = http.client.HTTPResponse(made)
            answer.begin()
            assert answer.status == 200
            assert answer.read()
        made.sendall(part.encode())
    return made


def ends(made: socket.socket) -> bool:
    """Whether it is closed from the other side."""
    try:
        while made.recv(100_000):
            pass
    except ConnectionResetError:
        pass
    except TimeoutError:
        return False
    return True


def is_open(made: socket.socket) -> bool:
    """Whether nothing has come of it, not even its end."""
    return not select.select([made], [], [], 0)[0]


HEADS = (), ("G",), (FIRST,), (f"{FIRST}\r\n", "G"), (f"{FIRST}\r\n", FIRST)
BODIES = ((f"POST /lead HTTP/1.1\r\nHost: {ADDRESS}\r\nContent-Length: 1000\r\n\r\n{{",),
          (f"POST /teacher HTTP/1.1\r\nHost: {ADDRESS}\r\nTransfer-Encoding: chunked\r\n\r\n",))


def test_a_connection_on_which_no_whole_request_comes_is_closed(watched, later):
    """That of a head after twenty seconds, that of a body after thirty, and no sooner."""
    made = {sent: connected(watched, *sent) for sent in HEADS + BODIES}
    for moved, closed in ((10, ()), (10, HEADS), (10, BODIES)):
        later(moved)
        assert [sent for sent in closed if not ends(made.pop(sent))] == []
        assert [sent for sent, one in made.items() if not is_open(one)] == []
    assert not made


def test_who_is_waiting_for_an_answer_or_says_nothing_on_a_page_is_not_hurried(watched, later):
    here = Class(watched)
    waits = connected(watched, f"GET /r/{here.room.code}/state?rev={here.state()['rev']} HTTP/1.1\r\nHost: {ADDRESS}"
                               f"\r\nCookie: {watched.phone('p')}\r\n\r\n")
    with watched.visit() as session:
        assert session.open("translate").text
        later(50)  # longer than anybody may take to ask
        assert session.open("translate").text
    assert is_open(waits)
    here.lead(do="lock", on=True)
    assert waits.recv(100).startswith(b"HTTP/1.1 200")


UPGRADE = (f"GET /_stcore/stream HTTP/1.1\r\nHost: {ADDRESS}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
           "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
           "Sec-WebSocket-Protocol: streamlit\r\n")


@each_row("more", ["".join(f"X-{number}: x\r\n" for number in range(300)), f"X: {'x' * 9_000}\r\n",
                   "Content-Length: 3\r\n"])
def test_an_upgrade_that_cannot_be_is_refused_at_once(watched, more):
    with watched.connect(f"{UPGRADE}{more}\r\n".encode()) as made:
        assert made.recv(1000).startswith(b"HTTP/1.1 4")
        assert ends(made)


def frame(kind: int, content: bytes, *, whole: bool) -> bytes:
    """As a browser sends it, hidden by a key of zeros."""
    return bytes([kind | whole << 7, 0x80 | 126]) + len(content).to_bytes(2, "big") + bytes(4) + content


PARTS = {"a frame": frame(2, b"x" * 1_000, whole=True)[:500], "a first part": frame(2, b"x" * 1_000, whole=False)}


def page_connected(server) -> socket.socket:
    """A websocket by hand."""
    made = server.connect(f"{UPGRADE}\r\n".encode())
    assert made.recv(1000).startswith(b"HTTP/1.1 101")
    return made


def test_a_message_that_has_begun_is_not_awaited_for_long(watched, later):
    made = {name: page_connected(watched) for name in PARTS}
    for name, one in made.items():
        one.sendall(PARTS[name])
    later(20)
    assert [name for name, one in made.items() if not is_open(one)] == []
    later(10)
    assert [name for name, one in made.items() if not ends(one)] == []


def test_messages_that_have_begun_have_so_many_parts_at_most_and_are_held_up_to_a_limit_for_all_together(watched):
    """On this server one of 100,000 bytes."""
    with page_connected(watched) as made:
        made.sendall(frame(2, b"", whole=False) + frame(0, b"", whole=False) * MOST_PARTS)
        assert ends(made)
    made = [page_connected(watched) for _ in range(4)]
    for one in made:
        one.sendall(frame(2, b"x" * 30_000, whole=False))
    (ended,) = select.select(made, [], [], 20)[0]
    assert ends(ended)
    for one in made:
        one.close()
    with watched.visit() as session:
        assert session.open("translate").text


LARGEST = max(Path(get_static_dir()).rglob("*.js"), key=lambda path: path.stat().st_size)


def test_who_takes_nothing_of_what_they_are_sent_is_let_go(watched, later):
    def is_refused(made: socket.socket) -> bool:
        """Whether nobody is at the other end any more."""
        try:
            made.sendall(b"G")
        except (ConnectionResetError, BrokenPipeError):
            return True
        return False

    path = LARGEST.relative_to(get_static_dir()).as_posix()
    with socket.socket() as made:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        made.connect((ADDRESS, watched.port))
        made.sendall(f"GET /{path} HTTP/1.1\r\nHost: {ADDRESS}\r\n\r\n".encode() * 10)  # more than all buffers take
        for _ in range(LOOKS):  # the first of which finds nothing to compare with
            later(10)
        assert not is_refused(made)
        until(lambda: later(10) or is_refused(made), seconds=60)


RESUMED = -1  # in what waits at each look: uvicorn has been told that it may write again


class Looked(_ReadersOnly, asyncio.Protocol):
    """A connection and its own transport. Of what it is sent, a client has taken so much that there is as much left as
    is given, look by look."""

    def __init__(self, waiting: Sequence[int], monkeypatch) -> None:
        self.waits, self.let_go, looks = deque(waiting), False, []
        monkeypatch.setattr(asyncio, "get_running_loop", lambda: SimpleNamespace(
            call_later=lambda seconds, look, *about: looks.append((look, *about))))
        self.connection_made(self)
        while self.waits and looks:
            look, *about = looks.pop()
            look(*about)

    def get_protocol(self) -> asyncio.Protocol:
        return self

    def get_write_buffer_size(self) -> int:
        if self.waits[0] == RESUMED:
            self.waits.popleft()
            self.resume_writing()
        return self.waits.popleft()

    def is_closing(self) -> bool:
        return self.let_go

    def abort(self) -> None:
        self.let_go = True


def test_who_takes_what_they_are_sent_however_slowly_is_not_let_go(monkeypatch):
    """Who has taken something since one of the last looks stays, though what waits is more than before now and then."""
    vain = [9] * LOOKS
    for waiting, let_go in (([0, 9, *vain], True), ([0, 9, *vain[1:]], False), ([0, 9, *vain[1:], 8, *vain[1:]], False),
                            ([0, *[8, 9] * 3 * LOOKS], False), ([0, *range(99, 9, -1)], False), ([0] * 40, False),
                            ([0, 9, *vain[1:], RESUMED, *vain[1:]], False),
                            ([0, *range(9, 9 + 2 * LOOKS)], True), ([0, 9, *vain[1:], 0, 9, *vain[1:]], False)):
        assert Looked(waiting, monkeypatch).let_go == let_go, waiting


@pytest.mark.slow
def test_a_server_starts_without_a_warning_and_ends_in_good_order_whoever_is_connected(start):
    server = start(anew=True)
    known = ("Heads Up", "Shared", "Teacher")
    assert [line for line in server.log.read_text().splitlines() if not line.startswith(known)] == []
    with server.visit() as session, server.connect() as made, server.connect() as other:
        assert session.open("translate").text
        made.sendall(f"{UPGRADE}\r\n".encode())
        other.sendall(f"{UPGRADE}Content-Length: 3\r\n\r\n".encode())
        server.process.terminate()
        with pytest.raises(ConnectionClosed) as closed:
            deque(iter(lambda: session.socket.recv(timeout=20), None), 0)
        assert closed.value.rcvd.code == 1012
        assert server.process.wait(20) == 0
        assert "Traceback" not in server.log.read_text()


@pytest.mark.rare("400 connections, of which each is awaited for a second")
def test_a_server_that_may_hold_few_connections_stays_open_and_quiet(start):
    server = start(before=FEW)
    silent = [server.connect() for _ in range(400)]
    assert all(map(ends, silent))
    assert server.ask("GET", "/health").status == 200
    assert server.log.read_text().count("Too many open files") <= log_limits.MOST


@pytest.mark.rare("a server of its own, for a limit that the system gives")
def test_a_server_takes_as_many_connections_as_the_system_lets_it(start):
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    server = start(before=f"import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (200, {most}))\n")
    made = [connected(server, FIRST) for _ in range(300)]
    assert server.ask("GET", "/health").status == 200
    for one in made:
        one.close()


@pytest.mark.parametrize("frames", [1, 8])
def test_what_unpacks_to_or_announces_too_much_is_refused_in_however_many_frames(server, frames):
    with connect(f"ws://{server.host}/_stcore/stream", subprotocols=["streamlit"], max_size=None) as page:
        assert "permessage-deflate" in page.response.headers["Sec-WebSocket-Extensions"]
        part = bytes((MOST_TAKEN + 8_000) // frames)
        with suppress(ConnectionClosed):  # it may be before all of it has gone
            page.send(part if frames == 1 else [part] * frames)  # some kilobytes on the wire
        with pytest.raises(ConnectionClosed, match="1009"):
            deque(iter(lambda: page.recv(timeout=30), None), 0)
    with connect(f"ws://{server.host}/_stcore/stream", subprotocols=["streamlit"], compression=None) as page:
        page.socket.sendall(b"\x82\xff" + (MOST_TAKEN + 1).to_bytes(8, "big") + bytes(4))  # how long it will be
        with pytest.raises(ConnectionClosed, match="1009"):
            deque(iter(lambda: page.recv(timeout=10), None), 0)


def test_a_head_without_an_end_is_refused(server):
    with server.connect(timeout=30) as made:
        made.sendall(f"GET / HTTP/1.1\r\nHost: {server.host}\r\n".encode())
        with suppress(ConnectionError):  # it may be closed before all of it has gone
            for _ in range(40):
                made.sendall(b"X-Long: " + b"x" * 8_000 + b"\r\n")
        assert made.recv(100).startswith(b"HTTP/1.1 4")


def test_a_browser_reads_compressed_and_plain_messages_in_turns_which_are_sent_at_once(watched):
    assert "Sends at once: 1" in watched.log.read_text()
    server, browser = _SmallDeflate(False, False, 12, 12), PerMessageDeflate(False, False, 12, 12)
    for data in (b"a step " * 100, bytes(LARGE + 1), b"a step " * 100):
        sent = server.encode(Frame(Opcode.BINARY, data))
        assert (len(sent.data) < 100) == (len(data) <= LARGE)
        assert bytes(browser.decode(sent).data) == data
