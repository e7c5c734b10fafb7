"""Identity: who each request comes from, on a server on which people sign in. Headers that only pretend to say so are
removed, those who must sign in are sent to the page for it, and what is still open is closed when somebody has signed
out."""

import os
import time
from contextlib import suppress
from ipaddress import ip_network
from urllib.parse import quote

from starlette.datastructures import Headers
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from ui.access import accounts, visitors
from ui.access.sign_in_settings import SignIn, in_force, within
from ui.server.middleware import cookies, watching
from ui.server.sign_in_routes import html

PEER = "headsup.peer"
BEHIND = "HEADSUP_OWN_PROXY"  # in the environment: the addresses of the server's own proxy, where one leads to it
A_HEADER_HOLDS = 3600  # seconds that a connection stays whose it was when a proxy said so
# The way in, and what tells nothing: phones of a room hold its code, and have neither account nor name.
OPEN = ("/sign-in", "/sign-in/start", "/sign-out", "/oauth2callback", "/teacher", "/teacher.js", "/favicon.png",
        "/health", "/_stcore/health", "/r", "/lead")
OPEN_BELOW = ("/r/", "/scripts/")


class PeerAddress:
    """ASGI middleware: keeps the address at the other end of the connection, which uvicorn's middleware for proxies
    replaces by the one that a proxy names."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope[PEER] = (scope.get("client") or [None])[0]
        await self.app(scope, receive, send)


class IdentityMiddleware:
    """ASGI middleware: the identity of each request."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            return await self.app(scope, receive, send)
        settings = in_force()
        headers = Headers(scope=scope)
        sent = headers.getlist(settings.header) if settings.header else []
        scope = {**scope, "headers": [(name, value) for name, value in scope["headers"]
                                      if name.decode("latin-1") not in (accounts.CONNECTION, settings.header)]}
        if len(sent) > 1:
            return await _refuse(scope, receive, send, PlainTextResponse("One name is enough.\n", 400))
        person = self._person(settings, scope, sent[0] if sent else "")
        if person is None:
            if self._must_sign_in(settings, scope):
                return await _refuse(scope, receive, send, _page(settings, scope))
            return await self.app(scope, receive, send)
        connection = accounts.connect(person)
        scope["headers"].append((accounts.CONNECTION.encode(), connection.encode()))
        try:
            if scope["type"] == "http":
                return await self.app(scope, receive, send)
            async with watching(lambda: accounts.is_valid(person), receive, send) as (receive, send):
                await self.app(scope, receive, send)
        finally:
            accounts.disconnect(connection)

    def _person(self, settings: SignIn, scope: Scope, sent: str) -> accounts.Person | None:
        if settings.header:
            name = _text(sent)
            if not name or not settings.trusts(_who_sent(scope)):
                return None
            return accounts.Person(f"header {settings.header}", name, name, name, "", time.time() + A_HEADER_HOLDS)
        cookie = cookies(scope).get(accounts.COOKIE)
        return accounts.from_cookie(visitors.cookie_secret(), cookie, hours=settings.hours) if cookie else None

    def _must_sign_in(self, settings: SignIn, scope: Scope) -> bool:
        return (settings.required and not (scope["path"] in OPEN or scope["path"].startswith(OPEN_BELOW))
                and visitors.teachers_sign_in(cookies(scope)) is None)


def _who_sent(scope: Scope) -> str | None:
    """The address that a request comes from: of whoever is connected, or whom the server's own proxy says."""
    peer, own = scope.get(PEER), os.environ.get(BEHIND, "")
    if not (own and within(peer, [ip_network(one.strip()) for one in own.split(",")])):
        return peer
    through = ",".join(Headers(scope=scope).getlist("x-forwarded-for"))
    return through.rpartition(",")[2].strip()  # what stands before, anybody may have written


def _text(sent: str) -> str:
    """The name in a header; "" where there is none that is valid."""
    with suppress(UnicodeError):
        sent = sent.encode("latin-1").decode("utf-8")
    sent = sent.strip()
    return sent if sent.isprintable() and len(sent) <= accounts.NAME_LETTERS else ""


def _page(settings: SignIn, scope: Scope) -> Response:
    """The answer to somebody who must sign in first."""
    accepted = Headers(scope=scope).get("accept", "")
    if scope["type"] == "websocket" or scope["method"] != "GET" or "text/html" not in accepted:
        return PlainTextResponse("Sign in first.\n", 401)
    to = scope["path"] + (f"?{scope['query_string'].decode('latin-1')}" if scope["query_string"] else "")
    return sign_in_page(settings, to=to, status=401)


def sign_in_page(settings: SignIn, *, to: str = "/", message: str = "", status: int = 200) -> HTMLResponse:
    """The page that leads to whoever signs people in, and from there to `to`."""
    if settings.header:
        ways = ("<p>Your organisation signs you in. Open this page by the address that it gave you; here, nobody "
                "said who you are.</p>")
    else:
        ways = "".join(
            f'<p><a class="button" href="/sign-in/start?with={name}&amp;to={quote(to, safe="")}">Sign in'
            f'{"" if len(settings.providers) == 1 else f" with {name.capitalize()}"}</a></p>'
            for name in settings.providers)
    why = ("On this server, Heads Up is for people who sign in." if settings.required else
           "You can look and step without signing in. Once you sign in, the runs that you start are yours in every "
           "browser.")
    return html("Sign in", f"{message}<p>{why}</p>{ways}", status)


async def _refuse(scope: Scope, receive: Receive, send: Send, response: Response) -> None:
    if scope["type"] == "websocket":
        return await send({"type": "websocket.close", "code": 1008, "reason": "Sign in first."})
    await response(scope, receive, send)
