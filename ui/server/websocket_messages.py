"""Messages of the websocket: what the server has to say leaves at once, and what comes packed stays small.

Streamlit answers a step with a handful of small messages. It opens its port in a way by which asyncio does not see that
connections are TCP, so their sockets hold a small message back until the one before it has been received, which a
browser says after 40 ms: most of what a step takes. And it would spend 100 ms of the processor on making the picture of
a thousand tokens, which is numbers, 7% smaller.
"""

import socket

from streamlit.web.server.starlette import starlette_server
from websockets.extensions.permessage_deflate import PerMessageDeflate
from websockets.frames import Frame, Opcode

LARGE = 65_536  # bytes of a message
MOST_TAKEN = 4_000_000  # bytes of a message from a visitor, unpacked; pages send far less


def send_at_once() -> None:
    """Have every connection to the port that Streamlit will open send small messages without waiting."""
    bind = starlette_server._bind_socket

    def bind_at_once(address: str, port: int, backlog: int) -> socket.socket:
        bound = bind(address, port, backlog)
        bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # which connections to it take over
        return bound

    starlette_server._bind_socket = bind_at_once


def take_over(bound: socket.socket) -> None:
    """Have Streamlit serve on a socket that is open already, whatever port it would choose."""
    def hand_over(address: str, port: int, backlog: int) -> socket.socket:
        bound.setblocking(False)
        return bound

    starlette_server._bind_socket = hand_over


def send_large_as_they_are() -> None:
    """Have messages of the websocket packed only where that gains more than it takes."""
    pack = PerMessageDeflate.encode

    def pack_small(packing: PerMessageDeflate, frame: Frame) -> Frame:
        whole = frame.fin and frame.opcode is not Opcode.CONT
        return frame if whole and len(frame.data) > LARGE else pack(packing, frame)

    PerMessageDeflate.encode = pack_small


def take_no_more() -> None:
    """Have larger messages refused before they have come, or have been unpacked: Streamlit takes what it may send,
    which is two hundred megabytes."""
    starlette_server.get_max_message_size_bytes = lambda: MOST_TAKEN
