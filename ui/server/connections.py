"""Connections: timeouts, size limits and compression, as uvicorn protocols and an ASGI middleware.

uvicorn waits without end for clients that send or read nothing, so a few hundred silent connections would keep
everybody else out. The protocol classes here are given to `uvicorn.Config(http=..., ws=...)`.
"""

import asyncio
import socket
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.extensions import Extension
from websockets.extensions.permessage_deflate import PerMessageDeflate, ServerPerMessageDeflateFactory
from websockets.frames import Frame, Opcode
from websockets.typing import ExtensionParameter

from ui.server.upload_limits import PATH

if TYPE_CHECKING:  # one of those that it may be
    from uvicorn.protocols.http.h11_impl import H11Protocol as AutoHTTPProtocol
else:
    from uvicorn.protocols.http.auto import AutoHTTPProtocol

try:
    import resource
except ImportError:  # Windows, which has no such limit
    resource = None

HEAD_SECONDS = 20.0   # for the head of a request, from the start of the connection or the last response
BODY_SECONDS = 30.0   # for the body of a request, unless it is a file, and for a message of a websocket
TAKEN_SECONDS = 30.0  # in which a client has to read something of what it is sent
LOOKS = 5             # at a connection in that time
MOST_TAKEN = 4_000_000   # bytes of a message from a visitor, unpacked; pages send far less
MOST_HELD = 128_000_000  # bytes of unfinished messages of all visitors
MOST_PARTS = 2_000    # frames of a message
LARGE = 65_536        # bytes of a message from which on it is sent uncompressed
MOST_OPEN = 65_536    # connections and files
SPARE = 128           # of them that are kept for files


def raise_open_files() -> None:
    """Raises this process's limit of open connections and files as far as the system allows."""
    if resource is None:
        return
    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_OPEN if most == resource.RLIM_INFINITY else min(MOST_OPEN, most)
    if now != resource.RLIM_INFINITY and now < wanted:
        with suppress(ValueError, OSError):  # macOS has a limit of its own below that
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))


def listen(host: str, port: int) -> socket.socket:
    """Opens a port whose connections send small messages at once.

    Without TCP_NODELAY, which they inherit, the second of a step's small messages would wait until the browser has
    acknowledged the first, 40 ms later. Raises OSError if the address cannot be used.
    """
    bound = socket.create_server((host, port), backlog=2_048,
                                 family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return bound


class _ReadersOnly(asyncio.Protocol):
    """Mixin for a protocol: aborts connections whose client reads nothing for TAKEN_SECONDS.

    Less is waiting than before, or uvicorn was told to resume writing: then something has been read, however much has
    been added meanwhile.
    """

    transport: asyncio.Transport
    _looks_in_vain = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._look(cast("asyncio.Transport", transport), 0)

    def resume_writing(self) -> None:
        self._looks_in_vain = 0
        super().resume_writing()

    def _look(self, transport: asyncio.Transport, before: int) -> None:
        waiting = transport.get_write_buffer_size()
        self._looks_in_vain = self._looks_in_vain + 1 if 0 < before <= waiting else 0
        if self._looks_in_vain >= LOOKS:
            transport.abort()
        elif waiting or not transport.is_closing():
            asyncio.get_running_loop().call_later(TAKEN_SECONDS / LOOKS, self._look_again, transport, waiting)

    def _look_again(self, transport: asyncio.Transport, before: int) -> None:
        if transport.get_protocol() is self:  # the connection has not become a websocket
            self._look(transport, before)


class HttpConnection(_ReadersOnly, AutoHTTPProtocol):
    """An HTTP connection that ends if no whole request head comes within HEAD_SECONDS, and at once if too many are
    open."""

    _head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        # file descriptors are numbered from the lowest free one, so this one tells how many are open
        number = transport.get_extra_info("socket").fileno()
        if resource is not None and number >= resource.getrlimit(resource.RLIMIT_NOFILE)[0] - SPARE:
            return self.transport.abort()
        self._await_request()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._await_request()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._head_timer:
            self._head_timer.cancel()
        super().connection_lost(exc)

    def _await_request(self) -> None:
        if self._head_timer:
            self._head_timer.cancel()
        self._head_timer = asyncio.get_running_loop().call_later(HEAD_SECONDS, self._give_up)

    def _give_up(self) -> None:
        answering = self.cycle is not None and not self.cycle.response_complete
        if not answering and self.transport.get_protocol() is self:  # a websocket has another protocol by now
            self.transport.abort()


class _SmallDeflate(PerMessageDeflate):
    """Compresses small messages only. The picture of a thousand tokens is numbers: 100 ms of the processor would make
    it 7% smaller."""

    def encode(self, frame: Frame) -> Frame:
        whole = frame.fin and frame.opcode is not Opcode.CONT
        return frame if whole and len(frame.data) > LARGE else super().encode(frame)


class _SmallDeflateFactory(ServerPerMessageDeflateFactory):
    def process_request_params(self, params: Sequence[ExtensionParameter], accepted_extensions: Sequence[Extension],
                               ) -> tuple[list[ExtensionParameter], PerMessageDeflate]:
        answer, chosen = super().process_request_params(params, accepted_extensions)
        return answer, _SmallDeflate(
            chosen.remote_no_context_takeover, chosen.local_no_context_takeover, chosen.remote_max_window_bits,
            chosen.local_max_window_bits, chosen.compress_settings)


class WebsocketConnection(_ReadersOnly, WebSocketsSansIOProtocol):
    """A websocket that ends if a message is begun and not finished within BODY_SECONDS, has too many frames, or too
    much is unfinished in all; and that answers a handshake which cannot succeed."""

    _unfinished: dict["WebsocketConnection", int] = {}  # noqa: RUF012 -- of the whole process: bytes of each
    _message_timer: asyncio.TimerHandle | None = None

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.conn.available_extensions = [_SmallDeflateFactory(
            server_max_window_bits=12, client_max_window_bits=12, compress_settings={"memLevel": 5})]

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.handshake_exc and not self.close_sent:  # uvicorn sends no response in this case
            self.handshake_complete = self.close_sent = True
            response = b"".join(self.conn.data_to_send()) or b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n"
            self.transport.write(response)
            return self.transport.close()
        size = len(self.conn.reader.buffer) + (self.conn.current_size or 0) + len(self.frames)  # frames may be empty
        if not size:
            self._finish()
            return
        self._unfinished[self] = size
        if len(self.frames) > MOST_PARTS or sum(self._unfinished.values()) > MOST_HELD:
            self.transport.abort()
        elif self._message_timer is None:
            self._message_timer = self.loop.call_later(BODY_SECONDS, self.transport.abort)

    def send_receive_event_to_app(self) -> None:
        super().send_receive_event_to_app()
        self._stop_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self._finish()
        super().connection_lost(exc)

    def _finish(self) -> None:
        self._unfinished.pop(self, None)
        self._stop_timer()

    def _stop_timer(self) -> None:
        if self._message_timer:
            self._message_timer.cancel()
            self._message_timer = None


class BodyTimeout:
    """ASGI middleware: a request whose body has not come within BODY_SECONDS counts as disconnected. Files have limits
    of their own in `upload_limits.py`."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or PATH.fullmatch(scope["path"]):
            return await self.app(scope, receive, send)
        until, more = time.monotonic() + BODY_SECONDS, True

        async def receive_in_time() -> Message:
            nonlocal more
            if not more:  # the body is complete; the next message is the disconnect
                return await receive()
            try:
                message = await asyncio.wait_for(receive(), max(0.0, until - time.monotonic()))
            except TimeoutError:
                message = {"type": "http.disconnect"}
            more = message.get("more_body", False)
            return message

        await self.app(scope, receive_in_time, send)
