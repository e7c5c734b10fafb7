"""Counts who is here, each open page for one, and how long they wait for what a page computes."""

import time

from starlette.types import ASGIApp, Receive, Scope, Send
from streamlit.runtime.scriptrunner.script_runner import ScriptRunner
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData

from ui.state.event_log import event
from ui.state.worker_counters import board


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


def time_answers() -> None:
    """Have every run of a page's script counted by how long it took."""
    run = ScriptRunner._run_script

    def timed(runner: ScriptRunner, data: RerunData) -> None:
        began = time.monotonic()
        try:
            run(runner, data)
        finally:
            board().took(1_000 * (time.monotonic() - began))

    ScriptRunner._run_script = timed
