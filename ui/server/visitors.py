"""Counts who is here, each open page for one."""

from starlette.types import ASGIApp, Receive, Scope, Send

from ui.board import board
from ui.server.events import event


class Visitors:
    """ASGI middleware: a visitor is there for as long as the websocket of their page is open."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "websocket":
            return await self.app(scope, receive, send)
        board().add("visitors")
        board().add("visits")
        event("visitor came", here=board().total("visitors"))
        try:
            await self.app(scope, receive, send)
        finally:
            board().add("visitors", -1)
            event("visitor left", here=board().total("visitors"))
