"""Small messages are not held back, large ones not packed, and what comes packed stays small: each limit that stands on
another package's private names is asked for here, of a real server."""

import socket
from collections import deque
from contextlib import suppress

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.web.server.starlette import starlette_server
from websockets.exceptions import ConnectionClosed
from websockets.extensions.permessage_deflate import PerMessageDeflate
from websockets.frames import Frame, Opcode
from websockets.sync.client import connect

from tests.server.conftest import ADDRESS
from ui.server import private_names
from ui.server.websocket_messages import LARGE, MOST_TAKEN, send_at_once, send_large_as_they_are


def test_a_connection_sends_small_messages_without_waiting_for_the_one_before(monkeypatch):
    monkeypatch.setattr(starlette_server, "_bind_socket", starlette_server._bind_socket)  # and back after the test
    send_at_once()
    with starlette_server._bind_socket("127.0.0.1", 0, 1) as port, socket.create_connection(port.getsockname()):
        port.setblocking(True)
        connection, _ = port.accept()
        with connection:
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


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


def test_a_browser_reads_packed_and_unpacked_messages_in_turns(monkeypatch):
    monkeypatch.setattr(PerMessageDeflate, "encode", PerMessageDeflate.encode)  # and back after the test
    send_large_as_they_are()
    server, browser = (PerMessageDeflate(False, False, 12, 12) for _ in range(2))
    for data in (b"a step " * 100, bytes(LARGE + 1), b"a step " * 100):
        sent = server.encode(Frame(Opcode.BINARY, data))
        assert (len(sent.data) < 100) == (len(data) <= LARGE)
        assert bytes(browser.decode(sent).data) == data


@pytest.mark.parametrize("frames", [1, 8])
def test_what_unpacks_to_too_much_is_refused_in_however_many_frames(server, frames):
    with connect(f"ws://{server.host}/_stcore/stream", subprotocols=["streamlit"], max_size=None) as page:
        assert "permessage-deflate" in page.response.headers["Sec-WebSocket-Extensions"]
        part = bytes((MOST_TAKEN + 8_000) // frames)
        page.send(part if frames == 1 else [part] * frames)  # some kilobytes on the wire
        with pytest.raises(ConnectionClosed, match="1009"):
            deque(iter(lambda: page.recv(timeout=30), None), 0)


def test_no_visitor_empties_the_cache_that_all_share(start):
    server = start(before="""
from streamlit.runtime import caching
caching.cache_data.clear = caching.cache_resource.clear = lambda: print("It was emptied.", flush=True)
""")
    with server.visit() as session:
        session.socket.send(BackMsg(clear_cache=True).SerializeToString())  # before any page has run
        session.open("translate")
        session.socket.send(BackMsg(clear_cache=True).SerializeToString())
        session.open("translate")
    assert "It was emptied." not in server.log.read_text()


def test_a_head_without_an_end_is_refused(server):
    with socket.create_connection((ADDRESS, server.port), timeout=30) as made:
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


def test_every_private_name_is_there():
    private_names.check()
    packages = {name.partition(".")[0] for name in (*private_names.NAMES, *private_names.HELD)}
    assert packages == set(private_names.WRITTEN_FOR)


@pytest.mark.parametrize("name", [*private_names.NAMES, *(f"{kind}.{name}" for kind, held in private_names.HELD.items()
                                                    for name in held)])
def test_without_one_of_them_nothing_is_served(monkeypatch, name):
    kind, _, attribute = name.rpartition(".")
    if kind in private_names.HELD:
        monkeypatch.setitem(private_names.HELD, kind, (f"{attribute}_2",))
    else:
        monkeypatch.setitem(private_names.NAMES, f"{name}_2", private_names.NAMES[name])
    with pytest.raises(RuntimeError, match=f"{name.partition('.')[0]} .* has no .*_2 .*pip install"):
        private_names.check()


def test_a_function_that_takes_something_else_is_another(monkeypatch):
    monkeypatch.setattr(starlette_server, "_bind_socket", lambda address, port: None)
    with pytest.raises(RuntimeError, match="_bind_socket"):
        private_names.check()
