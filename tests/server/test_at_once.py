"""Small messages are not held back."""

import socket

from streamlit.web.server.starlette import starlette_server

from ui.server.at_once import send_at_once


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
