"""How long the server waits for who has connected to say what they want. Neither the server nor the library below it
has an end to that by itself, and a few hundred connections that say nothing would keep everybody else out."""

import asyncio
import logging
import resource
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.auto import AutoHTTPProtocol

from ui.server.uploads import PATH

HEAD_SECONDS = 20.0   # for a request's first lines, from when a connection is made, or has had its last answer
BODY_SECONDS = 30.0   # for all that is sent with them, unless it is a file
MOST_OPEN = 65_536    # connections and files
SPARE = 128           # of them that are kept for files
QUIET_SECONDS = 60.0


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

    logging.getLogger("asyncio").addFilter(_once_a_minute())
    AutoHTTPProtocol.connection_made, AutoHTTPProtocol.connection_lost = connection_made, connection_lost
    AutoHTTPProtocol.on_response_complete = on_response_complete


def _once_a_minute() -> Callable[[logging.LogRecord], bool]:
    """Of what asyncio says, two thousand times a second, where not one connection more can be taken."""
    said = -QUIET_SECONDS

    def lets_by(record: logging.LogRecord) -> bool:
        nonlocal said
        if "accept() out of system resource" not in record.getMessage():
            return True
        if time.monotonic() - said < QUIET_SECONDS:
            return False
        said = time.monotonic()
        return True

    return lets_by


class Patience:
    """ASGI middleware: whoever sends something, other than a file, has sent it after a while, or is taken to have gone.
    Of files see ui/server/uploads.py."""

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
