"""Limits of uploads, which are in memory until a page has copied them: how much, from whom, and their removal when
visitors leave."""

import asyncio
import gc
import re
from collections import Counter
from contextlib import suppress
from functools import partial
from typing import Any, cast

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit.runtime import Runtime, get_instance

from transformer.basics.formatting import size
from transformer.basics.resource_errors import give_back
from ui.state.worker_counters import counters

PATH = re.compile(r"/_stcore/upload_file/([^/]+)/[^/]+")
MOST_OF_ONE, MOST_OF_ALL = 400_000_000, 1_200_000_000  # bytes
DRAIN_SECONDS, MOST_DRAINED = 1.0, 1_000_000  # how long, and how many bytes, of a refused file are read
SILENT_SECONDS = 20  # without data, after which a file is given up
coming: Counter[str] = Counter()  # session -> bytes on their way to this process
AWAY_SECONDS = 30  # without a connection, after which a visitor has left


class UploadLimits:
    """ASGI middleware: refuses files that are too large or not expected, and cleans up after visitors who have left."""

    def __init__(self, app: ASGIApp, *, most_of_one: int = MOST_OF_ONE, most_of_all: int = MOST_OF_ALL) -> None:
        self.app, self.most_of_one, self.most_of_all = app, most_of_one, most_of_all
        self._cleaning: asyncio.TimerHandle | None = None
        self._again = False  # somebody has left since the timer was started

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            try:
                return await self.app(scope, receive, send)
            finally:
                self._clean_later()
        sent = PATH.fullmatch(scope["path"]) if scope["type"] == "http" and scope["method"] == "PUT" else None
        if sent is None:
            return await self.app(scope, receive, send)
        session, length = sent[1], Headers(scope=scope).get("content-length", "")
        if not length.isdecimal():
            return await PlainTextResponse("The request does not say how long the file is.", 411)(scope, receive, send)
        with counters().locked():  # so that the other workers count this file before they accept another
            refusal = self._refusal(session, int(length))
            if refusal is None:
                coming[session] += int(length)
                counters().set("held", held_here())
        if refusal is not None:
            counters().add("refused_uploads")
            await _drain(receive)
            return await refusal(scope, receive, send)
        try:
            await self.app(scope, partial(_more, receive), send)
        finally:
            coming[session] -= int(length)
            if not coming[session]:
                del coming[session]

    def _refusal(self, session: str, length: int) -> PlainTextResponse | None:
        if not _shows_uploader(get_instance(), session):
            return PlainTextResponse("None of your pages is waiting for a file now.", 403)
        held = _held(get_instance())
        if held[session] + coming[session] + length > self.most_of_one:
            return PlainTextResponse(f"One visitor's files can take {size(self.most_of_one)} in all; remove one, or "
                                     "load the page again.", 413)
        others = counters().total("held") - counters().get("held")
        if held.total() + coming.total() + length + others > self.most_of_all:
            return PlainTextResponse(f"All visitors together can send {size(self.most_of_all)} at a time; try "
                                     "again in a minute.", 413)
        return None

    def _clean_later(self) -> None:
        """Clean when somebody who left can no longer come back. One timer serves all who leave before that; it is
        started again for those who left in the meantime."""
        if self._cleaning:
            self._again = True
            return
        with suppress(RuntimeError):  # the server is ending
            self._cleaning = asyncio.get_running_loop().call_later(AWAY_SECONDS + 1, self._clean)

    def _clean(self) -> None:
        clean()
        again, self._again, self._cleaning = self._again, False, None
        if again:
            self._clean_later()


async def _drain(receive: Receive) -> None:
    """Reads a refused file for a moment. A connection that is closed with unread data is reset, and the answer may be
    lost."""
    taken, more = 0, True
    with suppress(TimeoutError):
        async with asyncio.timeout(DRAIN_SECONDS):
            while more and taken < MOST_DRAINED:
                message = await receive()
                taken += len(message.get("body", b""))
                more = message.get("more_body", False)


async def _more(receive: Receive) -> Message:
    """The next part of a file; a disconnect if none comes."""
    try:
        return await asyncio.wait_for(receive(), SILENT_SECONDS)
    except TimeoutError:
        return {"type": "http.disconnect"}


def clean() -> None:
    """Drop ended sessions with their files, and return the memory to the system.

    Streamlit drops them only when the next session ends, and its loop keeps the last one.
    """
    with suppress(RuntimeError):  # the server has ended
        ended = cast("Any", get_instance()._session_mgr)._session_storage._cache
        for name, info in list(ended._data.items()):
            if name not in ended:
                with suppress(Exception):  # a failure of one must not keep the others
                    info.session.shutdown()
                    info.session.session_state.clear()
        ended.expire()
    gc.collect()  # sessions have reference cycles; objects from before the first visitor are frozen, so this is fast
    give_back()


def held_here() -> int:
    """Bytes of files that this process has or has accepted."""
    with suppress(RuntimeError):  # before the server starts and after it ends
        return _held(get_instance()).total() + coming.total()
    return 0


def _held(runtime: Runtime) -> Counter[str]:
    """Session -> bytes of its files in this process."""
    return Counter({session: sum(len(file.data) for file in list(files.values()))
                    for session, files in list(cast("Any", runtime.uploaded_file_mgr).file_storage.items())})


def _shows_uploader(runtime: Runtime, session: str) -> bool:
    """Whether a session's page has an uploader, which is drawn only for those who may send files."""
    info = runtime._session_mgr.get_active_session_info(session)
    if info is None:
        return False
    state = info.session.session_state
    return any(about.value_type == "file_uploader_state_value" and
               (name in state._new_widget_state.states or name in state._old_state)
               for name, about in list(state._new_widget_state.widget_metadata.items()))
