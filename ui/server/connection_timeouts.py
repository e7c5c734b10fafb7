"""How long the server waits for who has connected to say what they want. Neither the server nor the library below it
has an end to that by itself, and a few hundred connections that say nothing would keep everybody else out."""

import asyncio
import resource
import time
from contextlib import suppress
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.auto import AutoHTTPProtocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from ui.server.upload_limits import PATH

HEAD_SECONDS = 20.0   # for a request's first lines, from when a connection is made, or has had its last answer
BODY_SECONDS = 30.0   # for all that is sent with them, unless it is a file, and for a message
TAKEN_SECONDS = 30.0  # in which something of what somebody is sent has to be taken
LOOKS = 5             # at a connection in that time
MOST_HELD = 128_000_000  # bytes of messages that have begun to come, all together
MOST_PARTS = 2_000    # of a message
MOST_OPEN = 65_536    # connections and files
SPARE = 128           # of them that are kept for files


def allow_many() -> None:
    """Have this process hold as many connections as the system lets it: often it may hold many times of what it is
    given at first."""
    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_OPEN if most == resource.RLIM_INFINITY else min(MOST_OPEN, most)
    if now != resource.RLIM_INFINITY and now < wanted:
        with suppress(ValueError, OSError):  # macOS has a limit of its own below that
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))


def give_up_on_silence() -> None:
    """Have connections closed on which no whole request comes, and new ones where there are too many to serve."""
    made, answered, lost = (getattr(AutoHTTPProtocol, name) for name in
                            ("connection_made", "on_response_complete", "connection_lost"))

    def await_request(protocol: Any) -> None:
        if waiting := getattr(protocol, "waiting", None):
            waiting.cancel()
        protocol.waiting = asyncio.get_running_loop().call_later(HEAD_SECONDS, give_up, protocol)

    def give_up(protocol: Any) -> None:
        asked = protocol.cycle is not None and not protocol.cycle.response_complete
        if not asked and protocol.transport.get_protocol() is protocol:  # which a websocket's is no more
            protocol.transport.abort()

    def connection_made(protocol: Any, transport: asyncio.Transport) -> None:
        made(protocol, transport)
        # the lowest number that is free: so it tells how many there are
        if transport.get_extra_info("socket").fileno() >= resource.getrlimit(resource.RLIMIT_NOFILE)[0] - SPARE:
            return transport.abort()
        await_request(protocol)

    def on_response_complete(protocol: Any) -> None:
        answered(protocol)
        await_request(protocol)

    def connection_lost(protocol: Any, error: Exception | None) -> None:
        if waiting := getattr(protocol, "waiting", None):
            waiting.cancel()
        lost(protocol, error)

    AutoHTTPProtocol.connection_made, AutoHTTPProtocol.connection_lost = connection_made, connection_lost
    AutoHTTPProtocol.on_response_complete = on_response_complete


def give_up_halfway() -> None:
    """Have connections closed of whoever takes nothing of what they are sent, however long it is kept for them, or
    begins a message and does not end it; and those that turn into no websocket, though they have asked for one."""
    for kind in (AutoHTTPProtocol, WebSocketsSansIOProtocol):
        _watch_what_is_taken(kind)
    received, whole, lost = (getattr(WebSocketsSansIOProtocol, name) for name in
                             ("data_received", "send_receive_event_to_app", "connection_lost"))
    held: dict[Any, int] = {}  # connection -> bytes of its message that has begun

    def data_received(protocol: Any, data: bytes) -> None:
        received(protocol, data)
        talk = protocol.conn
        if talk.handshake_exc and not protocol.close_sent:  # the answer, which the server does not send by itself
            protocol.handshake_complete = protocol.close_sent = True
            answer = b"".join(talk.data_to_send()) or b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n"
            protocol.transport.write(answer)
            return protocol.transport.close()
        held[protocol] = len(talk.reader.buffer) + (talk.current_size or 0) + len(protocol.frames)  # which may be empty
        if not held[protocol]:
            del held[protocol]
        elif len(protocol.frames) > MOST_PARTS or sum(held.values()) > MOST_HELD:
            protocol.transport.abort()
        elif getattr(protocol, "unfinished", None) is None:
            protocol.unfinished = protocol.loop.call_later(BODY_SECONDS, protocol.transport.abort)
        if protocol not in held:
            forget(protocol)

    def send_receive_event_to_app(protocol: Any) -> None:
        whole(protocol)
        forget(protocol)

    def connection_lost(protocol: Any, error: Exception | None) -> None:
        held.pop(protocol, None)
        forget(protocol)
        lost(protocol, error)

    def forget(protocol: Any) -> None:
        if unfinished := getattr(protocol, "unfinished", None):
            unfinished.cancel()
            protocol.unfinished = None

    WebSocketsSansIOProtocol.data_received, WebSocketsSansIOProtocol.connection_lost = data_received, connection_lost
    WebSocketsSansIOProtocol.send_receive_event_to_app = send_receive_event_to_app


def _watch_what_is_taken(kind: Any) -> None:
    """Less waits than at the look before, or there has been room for more since: something has been taken, however much
    has been added to it."""
    made, resumed = kind.connection_made, kind.resume_writing

    def connection_made(protocol: Any, transport: asyncio.Transport) -> None:
        made(protocol, transport)
        protocol.looked_in_vain = 0
        look(protocol, transport, 0)

    def resume_writing(protocol: Any) -> None:
        protocol.looked_in_vain = 0
        resumed(protocol)

    def look(protocol: Any, transport: asyncio.Transport, before: int) -> None:
        waits = transport.get_write_buffer_size()
        protocol.looked_in_vain = protocol.looked_in_vain + 1 if 0 < before <= waits else 0
        if protocol.looked_in_vain >= LOOKS:
            return transport.abort()
        if waits or not transport.is_closing():
            asyncio.get_running_loop().call_later(TAKEN_SECONDS / LOOKS, again, protocol, transport, waits)

    def again(protocol: Any, transport: asyncio.Transport, before: int) -> None:
        if transport.get_protocol() is protocol:  # and not the websocket that it has become
            look(protocol, transport, before)

    kind.connection_made, kind.resume_writing = connection_made, resume_writing


class Patience:
    """ASGI middleware: whoever sends something, other than a file, has sent it after a while, or is taken to have gone.
    Of files see ui/server/upload_limits.py."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or PATH.fullmatch(scope["path"]):
            return await self.app(scope, receive, send)
        until, more = time.monotonic() + BODY_SECONDS, True

        async def receive_in_time() -> Message:
            nonlocal more
            if not more:  # all has come: what is waited for now is that they go
                return await receive()
            try:
                message = await asyncio.wait_for(receive(), max(0.0, until - time.monotonic()))
            except TimeoutError:
                message = {"type": "http.disconnect"}
            more = message.get("more_body", False)
            return message

        await self.app(scope, receive_in_time, send)
