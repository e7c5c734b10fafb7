"""Connections: timeouts, limits and compression, asked of a real server."""

import resource
import socket
import time
from collections import deque
from contextlib import suppress
from pathlib import Path

import pytest
from streamlit.file_util import get_static_dir
from websockets.exceptions import ConnectionClosed
from websockets.extensions.permessage_deflate import PerMessageDeflate
from websockets.frames import Frame, Opcode
from websockets.sync.client import connect

from tests.server.conftest import ADDRESS
from tests.server.test_rooms import Class
from ui.server import log_limits
from ui.server.connections import LARGE, MOST_TAKEN, _SmallDeflate

SOON = """from ui.server import connections
connections.HEAD_SECONDS = connections.BODY_SECONDS = connections.TAKEN_SECONDS = 1.0
"""
FEW = f"""import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (300, 300))
{SOON}"""
FIRST = f"GET /health HTTP/1.1\r\nHost: {ADDRESS}\r\n"


@pytest.fixture(scope="module")
def hasty(start):
    """A server that waits for a second only."""
    return start(before=SOON)


def connected(server, *sent: str) -> socket.socket:
    """A connection on which that has been sent, and each but the last has been answered."""
    made = server.connect()
    for number, part in enumerate(sent):
        if number:
            assert made.recv(100_000).startswith(b"HTTP/1.1 200")
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


@pytest.mark.parametrize("sent", [
    (), ("G",), (FIRST,), (f"{FIRST}\r\n", "G"), (f"{FIRST}\r\n", FIRST),
    (f"POST /lead HTTP/1.1\r\nHost: {ADDRESS}\r\nContent-Length: 1000\r\n\r\n{{",),
    (f"POST /teacher HTTP/1.1\r\nHost: {ADDRESS}\r\nTransfer-Encoding: chunked\r\n\r\n",)])
def test_a_connection_on_which_no_whole_request_comes_is_closed(hasty, sent):
    assert ends(connected(hasty, *sent))


def test_who_is_waiting_for_an_answer_is_not_hurried(hasty):
    here = Class(hasty)
    waits = connected(hasty, f"GET /r/{here.room.code}/state?rev={here.state()['rev']} HTTP/1.1\r\nHost: {ADDRESS}\r\n"
                             f"Cookie: {hasty.phone('p')}\r\n\r\n")
    waits.settimeout(2.5)  # longer than anybody may take to ask
    with pytest.raises(TimeoutError):
        waits.recv(1)
    waits.settimeout(20)
    here.lead(do="lock", on=True)
    assert waits.recv(100).startswith(b"HTTP/1.1 200")


def test_a_page_stays_connected_though_nothing_is_said(hasty):
    with hasty.visit() as session:
        assert session.open("translate")
        with pytest.raises(TimeoutError):  # after whatever else there was to say
            deque(iter(lambda: session.socket.recv(timeout=2.5), None), 0)
        assert session.open("translate")


UPGRADE = (f"GET /_stcore/stream HTTP/1.1\r\nHost: {ADDRESS}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
           "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
           "Sec-WebSocket-Protocol: streamlit\r\n")


@pytest.mark.parametrize("more", ["".join(f"X-{number}: x\r\n" for number in range(300)), f"X: {'x' * 9_000}\r\n",
                                  "Content-Length: 3\r\n"], ids=["many headers", "a long one", "a body"])
def test_an_upgrade_that_cannot_be_is_refused_at_once(hasty, more):
    with hasty.connect(f"{UPGRADE}{more}\r\n".encode()) as made:
        assert made.recv(1000).startswith(b"HTTP/1.1 4")
        assert ends(made)


def frame(kind: int, content: bytes, *, whole: bool) -> bytes:
    """As a browser sends it, hidden by a key of zeros."""
    return bytes([kind | whole << 7, 0x80 | 126]) + len(content).to_bytes(2, "big") + bytes(4) + content


PARTS = {"a frame": frame(2, b"x" * 1_000, whole=True)[:500], "a first part": frame(2, b"x" * 1_000, whole=False),
         "many parts": frame(2, b"", whole=False) + frame(0, b"", whole=False) * 3_000}


@pytest.mark.parametrize("part", PARTS.values(), ids=list(PARTS))
def test_a_message_that_has_begun_is_not_awaited_for_long(hasty, part):
    with hasty.connect(f"{UPGRADE}\r\n".encode()) as made:
        assert made.recv(1000).startswith(b"HTTP/1.1 101")
        made.sendall(part)
        assert ends(made)


def test_messages_that_have_begun_are_held_up_to_a_limit_for_all_together(start):
    server = start(before="from ui.server import connections\nconnections.MOST_HELD = 100_000")
    made = [server.connect() for _ in range(4)]
    for one in made:
        one.sendall(f"{UPGRADE}\r\n".encode())
        one.recv(1000)
        one.sendall(frame(2, b"x" * 30_000, whole=False))
        time.sleep(0.2)
    assert ends(made[-1])
    for one in made:
        one.close()
    with server.visit() as session:
        assert session.open("translate")


def test_who_takes_nothing_of_what_they_are_sent_is_let_go(hasty):
    asks = f"GET /static/index.html HTTP/1.1\r\nHost: {ADDRESS}\r\n\r\n"
    with socket.socket() as made:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        made.connect((ADDRESS, hasty.port))
        made.settimeout(20)
        with pytest.raises((ConnectionResetError, BrokenPipeError)):
            deque(iter(lambda: made.sendall(asks.encode() * 100), 0), 0)  # the answers fill all that is between


def test_who_takes_what_they_are_sent_slowly_is_not_let_go(start):
    """Looked at so often that what waits is more than before now and then, though it is all taken."""
    server = start(before=f"{SOON}connections.LOOKS = 2\n")
    largest = max(Path(get_static_dir()).rglob("*.js"), key=lambda path: path.stat().st_size)
    path = f"/{largest.relative_to(get_static_dir()).as_posix()}"
    with socket.socket() as made:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        made.connect((ADDRESS, server.port))
        made.settimeout(20)
        made.sendall(f"GET {path} HTTP/1.1\r\nHost: {ADDRESS}\r\n\r\n".encode() * 10)  # one after another
        for _ in range(80):
            assert made.recv(100_000)
            time.sleep(0.05)


@pytest.mark.parametrize("halfway", ["", "Content-Length: 3\r\n"])
def test_a_server_ends_in_good_order_whoever_is_connected(start, halfway):
    server = start()
    with server.visit() as session, server.connect() as made:
        assert session.open("translate")
        made.sendall(f"{UPGRADE}{halfway}\r\n".encode())
        server.process.terminate()
        with pytest.raises(ConnectionClosed) as closed:
            deque(iter(lambda: session.socket.recv(timeout=20), None), 0)
        assert closed.value.rcvd.code == 1012
        assert server.process.wait(20) == 0
        assert "Traceback" not in server.log.read_text()


@pytest.mark.rare
def test_a_server_that_may_hold_few_connections_stays_open_and_quiet(start):
    server = start(before=FEW)
    silent = [server.connect() for _ in range(400)]
    assert all(map(ends, silent))
    assert server.ask("GET", "/health").status == 200
    assert server.log.read_text().count("Too many open files") <= log_limits.MOST


@pytest.mark.rare
def test_a_server_takes_as_many_connections_as_the_system_lets_it(start):
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    server = start(before=f"import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (200, {most}))\n")
    made = [connected(server, FIRST) for _ in range(300)]
    began = time.monotonic()
    assert server.ask("GET", "/health").status == 200
    assert time.monotonic() - began < 10
    for one in made:
        one.close()


def test_the_port_of_the_app_is_opened_so(start):
    server = start(before="""
import asyncio, socket
serving = asyncio.BaseEventLoop.create_server
async def looked_at(loop, *arguments, sock, **options):
    print("Sends at once:", sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY), flush=True)
    return await serving(loop, *arguments, sock=sock, **options)
asyncio.BaseEventLoop.create_server = looked_at
""")
    assert server.ask("GET", "/_stcore/health").status == 200
    assert "Sends at once: 1" in server.log.read_text()


@pytest.mark.parametrize("frames", [1, 8])
def test_what_unpacks_to_too_much_is_refused_in_however_many_frames(server, frames):
    with connect(f"ws://{server.host}/_stcore/stream", subprotocols=["streamlit"], max_size=None) as page:
        assert "permessage-deflate" in page.response.headers["Sec-WebSocket-Extensions"]
        part = bytes((MOST_TAKEN + 8_000) // frames)
        page.send(part if frames == 1 else [part] * frames)  # some kilobytes on the wire
        with pytest.raises(ConnectionClosed, match="1009"):
            deque(iter(lambda: page.recv(timeout=30), None), 0)


def test_a_head_without_an_end_is_refused(server):
    with server.connect(timeout=30) as made:
        made.sendall(f"GET / HTTP/1.1\r\nHost: {server.host}\r\n".encode())
        with suppress(ConnectionError):  # it may be closed before all of it has gone
            for _ in range(40):
                made.sendall(b"X-Long: " + b"x" * 8_000 + b"\r\n")
        assert made.recv(100).startswith(b"HTTP/1.1 4")


def test_a_plain_message_that_is_too_large_is_refused_before_it_has_come(server):
    with connect(f"ws://{server.host}/_stcore/stream", subprotocols=["streamlit"], compression=None) as page:
        page.socket.sendall(b"\x82\xff" + (MOST_TAKEN + 1).to_bytes(8, "big") + bytes(4))  # how long it will be
        with pytest.raises(ConnectionClosed, match="1009"):
            deque(iter(lambda: page.recv(timeout=10), None), 0)


def test_a_browser_reads_compressed_and_plain_messages_in_turns():
    server, browser = _SmallDeflate(False, False, 12, 12), PerMessageDeflate(False, False, 12, 12)
    for data in (b"a step " * 100, bytes(LARGE + 1), b"a step " * 100):
        sent = server.encode(Frame(Opcode.BINARY, data))
        assert (len(sent.data) < 100) == (len(data) <= LARGE)
        assert bytes(browser.decode(sent).data) == data
