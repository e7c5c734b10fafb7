"""Counts visitors: one for each open page."""

from starlette.types import ASGIApp, Receive, Scope, Send

from ui.state.event_log import event
from ui.state.worker_counters import counters


class VisitorCounter:
    """ASGI middleware: a visitor is counted for as long as the websocket of their page is open."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "websocket":
            return await self.app(scope, receive, send)
        counters().add("visitors")
        counters().add("visits")
        event("visitor came", here=counters().total("visitors"))
        try:
            await self.app(scope, receive, send)
        finally:
            counters().add("visitors", -1)
            event("visitor left", here=counters().total("visitors"))
