"""Small messages are not held back, large ones not packed, and what comes packed stays small."""

import socket
from collections import deque

import pytest
from streamlit.web.server.starlette import starlette_server
from websockets.exceptions import ConnectionClosed, PayloadTooBig
from websockets.extensions.permessage_deflate import PerMessageDeflate
from websockets.frames import Frame, Opcode
from websockets.sync.client import connect

from ui.server.at_once import LARGE, MOST_TAKEN, send_at_once, send_large_as_they_are, take_no_more_packed


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
def test_what_unpacks_to_too_much_is_refused_in_however_many_frames(monkeypatch, frames):
    for name in ("encode", "decode"):
        monkeypatch.setattr(PerMessageDeflate, name, getattr(PerMessageDeflate, name))  # and back after the test
    take_no_more_packed()

    def sent(size):
        browser, server = (PerMessageDeflate(False, False, 12, 12) for _ in range(2))
        for at in range(frames):
            opcode, fin = Opcode.CONT if at else Opcode.BINARY, at + 1 == frames
            packed = browser.encode(Frame(opcode, bytes(size // frames), fin))
            assert len(packed.data) < size / frames / 100
            server.decode(packed, max_size=200_000_000)
            server.decode(Frame(Opcode.PING, b""), max_size=125)

    sent(MOST_TAKEN)
    with pytest.raises(PayloadTooBig):
        sent(MOST_TAKEN + 1_000)


def test_a_plain_message_that_is_too_large_is_refused_before_it_has_come(server):
    with connect(f"ws://{server.host}/_stcore/stream", subprotocols=["streamlit"], compression=None) as page:
        page.socket.sendall(b"\x82\xff" + (MOST_TAKEN + 1).to_bytes(8, "big") + bytes(4))  # how long it will be
        with pytest.raises(ConnectionClosed, match="1009"):
            deque(iter(lambda: page.recv(timeout=10), None), 0)
