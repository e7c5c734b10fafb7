"""What the server has to say leaves at once.

Streamlit answers a step with a handful of small messages. It opens its port in a way by which asyncio does not see that
connections are TCP, so their sockets hold a small message back until the one before it has been received, which a
browser says after 40 ms: most of what a step takes.
"""

import socket

from streamlit.web.server.starlette import starlette_server


def send_at_once() -> None:
    """Have every connection to the port that Streamlit will open send small messages without waiting."""
    bind = starlette_server._bind_socket

    def bind_at_once(address: str, port: int, backlog: int) -> socket.socket:
        bound = bind(address, port, backlog)
        bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # which connections to it take over
        return bound

    starlette_server._bind_socket = bind_at_once
