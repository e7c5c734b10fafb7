"""The door that every request passes: foreign names and sites are refused, what nobody here needs is closed, and every
answer says what a browser may do with it."""

import socket
from ipaddress import IPv4Address, IPv6Address, ip_address
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ui.access import keys
from ui.server.index import SCRIPT_HASHES

CLOSED = ("/_stcore/metrics", "/_stcore/agent")
A_YEAR = 365 * 24 * 3600
# Scripts: Streamlit's own files; components come as blobs, and Vega compiles what a chart says. Pictures of other hosts
# stay out, whatever text asks for them.
POLICY = "; ".join((
    "default-src 'self'", f"script-src 'self' {SCRIPT_HASHES} 'unsafe-eval' blob:", "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data: blob:", "font-src 'self' data:", "media-src 'self' data: blob:", "worker-src 'self' blob:",
    "connect-src 'self' data: blob: ws://{host} wss://{host}", "object-src 'none'", "base-uri 'self'",
    "form-action 'self'", "frame-ancestors 'self'"))
HEADERS = {"X-Frame-Options": "SAMEORIGIN", "X-Content-Type-Options": "nosniff",
           "Referrer-Policy": "same-origin"}  # with no-referrer a form's own Origin would be "null"


def set_cookie(response: Response, scope: Scope, name: str, value: str, *, seconds: int, same_site: str) -> None:
    """Give the browser a cookie that no script reads, or take it away with 0 seconds."""
    response.set_cookie(name, value, max_age=seconds, httponly=True, samesite=same_site,
                        secure=scope["scheme"] in ("https", "wss"))


class Door:
    """ASGI middleware. `names`: what this server is called, besides the address that a request came to; `public`: those
    of them by which a proxy is reached, whose own Host may be another."""

    def __init__(self, app: ASGIApp, *, names: set[str], public: set[str]) -> None:
        self.app, self.names, self.public = app, names | public, public

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
        if scope["path"].startswith(CLOSED):
            return await PlainTextResponse("Not Found", 404)(scope, receive, sending)
        if origin and origin.partition("://")[2] != host:  # one that is allowed: Streamlit knows nothing of proxies
            MutableHeaders(scope=scope)["origin"] = f"http://{host}"
        await self.app(scope, receive, sending)

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
                headers["Content-Security-Policy"] = POLICY.format(host=host)
                headers.update(HEADERS)
                page = headers.get("content-type", "").startswith("text/html")
                if page and keys.VISITOR not in cookie_parser(Headers(scope=scope).get("cookie", "")):
                    given = Response()
                    set_cookie(given, scope, keys.VISITOR, keys.new_key(), seconds=A_YEAR, same_site="lax")
                    headers.append("set-cookie", given.headers["set-cookie"])
            await send(message)

        return dressed


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
