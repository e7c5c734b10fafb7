"""Messages of the websocket: what the server has to say leaves at once, and what comes packed stays small.

Streamlit answers a step with a handful of small messages. It opens its port in a way by which asyncio does not see that
connections are TCP, so their sockets hold a small message back until the one before it has been received, which a
browser says after 40 ms: most of what a step takes. And it would spend 100 ms of the processor on making the picture of
a thousand tokens, which is numbers, 7% smaller.
"""

import socket

from streamlit.web.server.starlette import starlette_server
from websockets.extensions.permessage_deflate import PerMessageDeflate
from websockets.frames import CTRL_OPCODES, Frame, Opcode

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


def take_no_more_packed() -> None:
    """Have packed messages that unpack to more refused, in however many frames they come: a few bytes would be
    hundreds of megabytes."""
    unpack = PerMessageDeflate.decode

    def unpack_some(packing: PerMessageDeflate, frame: Frame, *, max_size: int | None = None) -> Frame:
        if frame.opcode in CTRL_OPCODES:
            return frame
        held = getattr(packing, "held", 0) if frame.opcode is Opcode.CONT else 0
        room = max(1, MOST_TAKEN - held)
        found = unpack(packing, frame, max_size=room if max_size is None else min(room, max_size))
        packing.held = held + len(found.data)
        return found

    PerMessageDeflate.decode = unpack_some


def take_no_more_plain() -> None:
    """Have other messages refused that are as large, before they have come: Streamlit takes what it may send, which is
    two hundred megabytes."""
    starlette_server.get_max_message_size_bytes = lambda: MOST_TAKEN
