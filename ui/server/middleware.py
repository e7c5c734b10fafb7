"""The middleware that every request passes: foreign names and sites are refused, what nobody here needs is closed,
every answer says what a browser may do with it, and what fails behind it is an answer too."""

import asyncio
import logging
import re
import socket
import sqlite3
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import asynccontextmanager, suppress
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Literal
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect, cookie_parser
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ui.access import visitors
from ui.server.index import SCRIPT_HASHES

# What is asked of Streamlit. All else that it answers is closed, and so is what it may come to answer.
ASKED = re.compile(r"/favicon\.png|/manifest\.json|/(static|media|_stcore/upload_file|_stcore/bidi-components)/.+|"
                   r"/_stcore/(health|host-config|stream)", re.DOTALL)
A_YEAR = 365 * 24 * 3600
LOOKS_EVERY = 2  # seconds, whether somebody who is connected has signed out
_log = logging.getLogger(__name__)
# Scripts: Streamlit's own files; components come as blobs, and Vega compiles what a chart says. Pictures of other hosts
# stay out, whatever text asks for them.
POLICY = "; ".join((
    "default-src 'self'", f"script-src 'self' {SCRIPT_HASHES} 'unsafe-eval' blob:", "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data: blob:", "font-src 'self' data:", "media-src 'self' data: blob:", "worker-src 'self' blob:",
    "connect-src 'self' data: blob: ws://{host} wss://{host}", "object-src 'none'", "base-uri 'self'",
    "form-action 'self'", "frame-ancestors 'self'"))
HEADERS = {"X-Content-Type-Options": "nosniff",
           "Referrer-Policy": "same-origin"}  # with no-referrer a form's own Origin would be "null"
_LAX = re.compile(r"; *SameSite=lax", re.IGNORECASE)


def set_cookie(response: Response, scope: Scope, name: str, value: str, *, seconds: int,
               same_site: Literal["lax", "strict"]) -> None:
    """Give the browser a cookie that no script reads, or take it away with 0 seconds."""
    response.set_cookie(name, value, max_age=seconds, httponly=True, samesite=same_site,
                        secure=scope["scheme"] in ("https", "wss"))


class RequestChecks:
    """ASGI middleware. `routes`: what is answered here, and not by Streamlit; `names`: what this server is called,
    besides the address that a request came to; `public`: those of them by which a proxy is reached, whose own Host may
    be another; `framed_by`: the sites whose pages may show this one in a frame."""

    def __init__(self, app: ASGIApp, *, names: set[str], public: set[str], routes: Sequence[BaseRoute] = (),
                 framed_by: Collection[str] = ()) -> None:
        self.app, self.names, self.public, self.routes = app, names | public, public, routes
        self.framed = bool(framed_by)
        self.policy = " ".join((POLICY, *sorted(framed_by)))  # which ends with who may frame

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            return await self.app(scope, receive, send)
        headers = Headers(scope=scope)
        host, origin = headers.get("host", ""), headers.get("origin")
        why = self._refusal(scope, host, origin)
        if why and scope["type"] == "websocket":
            return await send({"type": "websocket.close", "code": 1008, "reason": why[:100]})
        sending = self._dressed(scope, send, host if not why else "localhost")
        if why:
            return await PlainTextResponse(f"{why}\n", 403)(scope, receive, sending)
        if not (ASKED.fullmatch(scope["path"]) or any(route.matches(scope)[0] != Match.NONE for route in self.routes)):
            if scope["type"] == "websocket":
                return await send({"type": "websocket.close", "code": 1008, "reason": "Not Found"})
            return await PlainTextResponse("Not Found", 404)(scope, receive, sending)
        if origin and origin.partition("://")[2] != host:  # one that is allowed: Streamlit knows nothing of proxies
            MutableHeaders(scope=scope)["origin"] = f"http://{host}"
        if scope["type"] == "websocket":
            return await self._talk(scope, receive, sending)
        await self._answer(scope, receive, sending)

    async def _talk(self, scope: Scope, receive: Receive, send: Send) -> None:
        """A websocket, the teacher's for as long as they are signed in."""
        given = cookies(scope)

        async def receive_bytes() -> Message:
            message = await receive()
            if message["type"] == "websocket.receive" and not message.get("bytes"):  # text, which no page sends
                with suppress(Exception):  # it may have gone by itself
                    await send({"type": "websocket.close", "code": 1003, "reason": "Binary messages alone."})
                return {"type": "websocket.disconnect", "code": 1003}
            return message

        if visitors.teachers_sign_in(given) is None:
            return await self.app(scope, receive_bytes, send)
        async with watching(lambda: visitors.teachers_sign_in(given) is not None, receive_bytes, send) as ends:
            await self.app(scope, *ends)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Whatever fails is answered: of a failure that it hears of, the server closes the connection, which a proxy
        may be about to use for somebody else."""
        begun = False

        async def sending(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self.app(scope, receive, sending)
        except ClientDisconnect:  # or all that was announced has not come in time: what comes is no request
            answer = PlainTextResponse("The request was incomplete.\n", 408, {"Connection": "close"})
        except (sqlite3.Error, OSError):
            _log.exception("A request has failed.")
            answer = PlainTextResponse("The server cannot read or write its files now; its log says why.\n", 503)
        except Exception:
            _log.exception("A request has failed.")
            answer = PlainTextResponse("Something went wrong; the server's log says why.\n", 500)
        else:
            return
        if begun:
            raise ConnectionAbortedError("half an answer")
        await answer(scope, receive, send)

    def _refusal(self, scope: Scope, host: str, origin: str | None) -> str | None:
        """Why a request is refused. One without an Origin is not: every browser sends it with a websocket and with
        whatever changes something, and what is no browser carries nobody's cookies but its own."""
        name = _name(f"//{host}")
        if not name or not (name in self.names or _is_address(name, scope)):
            return f"This server does not answer to the name {host[:100]}; its operator can add it with --name."
        if origin and not (origin in (f"http://{host}", f"https://{host}") or
                           (origin.startswith(("http://", "https://")) and _name(origin) in self.public)):
            return f"Pages of {origin[:100]} may not use this server."
        return None

    def _dressed(self, scope: Scope, send: Send, host: str) -> Send:
        async def dressed(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers["Content-Security-Policy"] = self.policy.format(host=host)
                headers.update(HEADERS)
                if not self.framed:  # it knows no sites but this one
                    headers["X-Frame-Options"] = "SAMEORIGIN"
                if headers.get("content-type", "").startswith("text/html"):
                    with suppress(OSError):  # a home that cannot be written to has nothing that could be theirs
                        _give_key(scope, headers)
                if self.framed:
                    message = {**message, "headers": [(name, _for_frames(value) if name == b"set-cookie" else value)
                                                      for name, value in message["headers"]]}
            await send(message)

        return dressed


def _give_key(scope: Scope, headers: MutableHeaders) -> None:
    """With a page, to who has no key that is signed. One that is not yet, from an older server, stays theirs."""
    given = cookies(scope).get(visitors.VISITOR, "")
    if not visitors.is_signed(given):
        key = given if visitors.KEY.fullmatch(given) else visitors.new_key()
        answer = Response()
        set_cookie(answer, scope, visitors.VISITOR, visitors.signed(key), seconds=A_YEAR, same_site="lax")
        headers.append("set-cookie", answer.headers["set-cookie"])


def _for_frames(cookie: bytes) -> bytes:
    """A cookie that a browser sends from a frame as well, each site's frames having their own. A strict one, the
    teacher's, stays what it is: it is for a window of its own."""
    text, lax = _LAX.subn("", cookie.decode("latin-1"))
    if not lax:
        return cookie
    return f"{re.sub('; *Secure', '', text, flags=re.IGNORECASE)}; SameSite=None; Secure; Partitioned".encode("latin-1")


def cookies(scope: Scope) -> dict[str, str]:
    """What a browser has sent."""
    return cookie_parser("; ".join(Headers(scope=scope).getlist("cookie")))


@asynccontextmanager
async def watching(still: Callable[[], bool], receive: Receive, send: Send) -> AsyncIterator[tuple[Receive, Send]]:
    """A websocket's two ends, closed as soon as its person is signed out, whichever process that was done in."""
    closed = False
    next_one: asyncio.Future | None = None

    async def watched_receive() -> Message:
        nonlocal closed, next_one
        while still():
            next_one = next_one or asyncio.ensure_future(receive())
            done, _ = await asyncio.wait([next_one], timeout=LOOKS_EVERY)
            if done and still():
                message, next_one = next_one.result(), None
                return message
        if not closed:
            closed = True
            with suppress(Exception):  # it may have gone by itself
                await send({"type": "websocket.close", "code": 1008, "reason": "Signed out."})
        return {"type": "websocket.disconnect", "code": 1008}

    async def watched_send(message: Message) -> None:
        if not closed:
            await send(message)

    try:
        yield watched_receive, watched_send
    finally:
        if next_one:
            next_one.cancel()


def _name(url: str) -> str | None:
    """The host's name in lower letters; None where there is none or it is broken."""
    try:
        parts = urlsplit(url)
        _ = parts.port  # which is checked with it
        if "@" in url or parts.path or parts.query or parts.fragment:
            return None
        return (parts.hostname or "").rstrip(".") or None
    except ValueError:
        return None


def _is_address(name: str, scope: Scope) -> bool:
    """Whether a name is the address at which this request arrived, or one of this computer, which a proxy on it hands
    on."""
    try:
        address = ip_address(name)
    except ValueError:
        return False
    return address.is_loopback or str(address) == (scope.get("server") or [""])[0] or _is_of_this_computer(address)


def _is_of_this_computer(address: IPv4Address | IPv6Address) -> bool:
    """Whether one could listen there; asked anew each time, for networks change."""
    if address.is_unspecified or address.is_multicast:
        return False
    with socket.socket(socket.AF_INET6 if address.version == 6 else socket.AF_INET) as probe:
        try:
            probe.bind((str(address), 0))
        except OSError:
            return False
    return True
