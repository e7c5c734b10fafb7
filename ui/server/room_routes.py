"""Routes of rooms: the page of a phone, which is not Streamlit's, the state of a room since a revision, and messages
from phones and lecturers.

A phone holds the number of the last change that it has seen and asks for what came after; the answer waits until there
is something, and is made once for all who ask. A phone that has missed anything, or comes late, is sent all there is.
The state is read on the event loop's own connection, which never writes: so it sees when anybody else has written.
"""

import asyncio
import gzip
import logging
import sqlite3
import time
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from functools import wraps
from typing import Any
from urllib.parse import quote

import anyio.to_thread
import numpy as np
import orjson
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from transformer.attention_view.message import pack
from transformer.basics.design import document_style, font_style
from transformer.rooms.room import (
    LEAD_SECONDS,
    MOST_JOINING,
    Crowded,
    NoRoom,
    NotIn,
    Room,
    RoomError,
    device_id,
    read_code,
    room_id,
)
from transformer.rooms.store import Store
from ui.access import visitors
from ui.components.scripts import HERE, kept_font, kept_script
from ui.rooms import actions, export, visible_state
from ui.server.compression import Kept, takes_gzip
from ui.server.middleware import set_cookie

WAIT_S = 25.0  # that an answer waits for a change; some proxies cut off after 30
LOOK_S = 0.05  # between looks at whether anybody has written
COUNT_S = 1.0  # between looks at counts, which may change a hundred times a second
SEEN_S = 5.0  # between notes of who is there
FORGET_S = 60.0  # between looks for rooms whose time is over
LARGEST = 20_000  # bytes of a message
MOST_WAITING = 12  # requests of one device
MOST_CACHED = 64  # answers kept for whoever asks next
MOST_KNOWN = 10_000  # pairs of a room and a visitor
_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover">
<title>{title} · Heads Up</title>
<link rel="icon" href="{up}favicon.png"><style>{style}</style></head>
<body><main class="{face}"><noscript>This page needs JavaScript.</noscript></main>
<script type="module" src="{up}scripts/{script}"></script></body></html>
"""
PAGES = ("/r", "phone", "Join", "./"), ("/r/{code}", "phone", "Room", "../"), ("/lead", "remote", "Remote", "./")

_log = logging.getLogger(__name__)

Handler = Callable[[Request, Room], Awaitable[Response]]
Endpoint = Callable[[Request], Awaitable[Response]]


class Watch:
    """Requests that wait for changes of rooms: one look at the file for all of them."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._waiting: dict[str, dict[asyncio.Event, tuple[int, str | None]]] = {}  # room -> event -> revision, tally
        self._task: asyncio.Task | None = None

    async def wait(self, id: str, seconds: float, rev: int, tally: str | None) -> None:
        """Wait until the room is at another revision than that, or its counts at another tally, or so long."""
        event = asyncio.Event()
        self._waiting.setdefault(id, {})[event] = rev, tally
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._look())
        try:
            if self.store.rev(id) == rev:  # and has not changed since it was read
                with suppress(TimeoutError):
                    await asyncio.wait_for(event.wait(), seconds)
        finally:
            del self._waiting[id][event]
            if not self._waiting[id]:
                del self._waiting[id]

    async def _look(self) -> None:
        """Look for changes until nobody waits any more."""
        stamp, counted = None, 0.0
        while self._waiting:
            now, before = time.monotonic(), stamp
            stamp, count = self.store.stamp(), now - counted > COUNT_S
            if count:
                counted = now
            for id in list(self._waiting) if stamp != before or count else ():
                self._wake(id, count)
            await asyncio.sleep(LOOK_S)

    def _wake(self, id: str, count: bool) -> None:
        waiting, now = self._waiting[id], self.store.rev(id)
        counts = self.store.tally(id) if count and any(tally is not None for _, tally in waiting.values()) else None
        for event, (rev, tally) in waiting.items():
            if rev != now or (None not in (counts, tally) and tally != counts):
                event.set()


class RoomRoutes:
    """The routes, for one process; the rooms themselves are in the store."""

    def __init__(self, store: Store | None = None) -> None:
        self.store = store or Store()
        self.watch = Watch(self.store)
        self._cache: OrderedDict[tuple, tuple[bytes, bytes]] = OrderedDict()
        self._seen: set[tuple[str, str]] = set()
        self._waits: Counter[str] = Counter()
        self._note_task: asyncio.Task | None = None
        self._wrong_codes, self._turns = WrongCodes(), Turns()
        self._known: OrderedDict[tuple[str, str], None] = OrderedDict()  # rooms, and who has waited for them

    def routes(self) -> list[Route]:
        of_room = {"state": (self._state, "GET"), "mine": (self._mine, "GET"), "answer": (self._answer, "POST"),
                   "found": (self._hand_in, "POST"), "forget": (self._forget, "POST"), "lead": (self._lead, "GET"),
                   "do": (self._do, "POST"), "answers.csv": (self._csv, "GET"), "lesson.md": (self._lesson, "GET")}
        return [*_pages(), Route("/lead", _with_errors(self._enter), methods=["POST"]),
                *(Route(f"/r/{{code}}/{name}", _with_errors(self._of_room(handler)), methods=[method])
                  for name, (handler, method) in of_room.items())]

    def _of_room(self, handler: Handler) -> Endpoint:
        """Give a handler the room of the address. A wrong code is answered late, and later the more of them
        come; a right one too, to whoever has not been here before, or the first moments would tell which it is."""
        @wraps(handler)
        async def answer(request: Request) -> Response:
            address = _address(request)
            try:
                room = self.store.with_code(read_code(request.path_params["code"]))
            except NoRoom:
                await asyncio.sleep(self._wrong_codes.count(address))
                raise
            if (wait := self._wrong_codes.wait(address)) and not self._knows(request, room):
                await asyncio.sleep(wait)
                self._known[room.id, request.cookies.get(visitors.VISITOR, "")] = None
                while len(self._known) > MOST_KNOWN:
                    self._known.popitem(last=False)
            return await handler(request, room)

        return answer

    def _knows(self, request: Request, room: Room) -> bool:
        """Whether the visitor has known the code before."""
        visitor = request.cookies.get(visitors.VISITOR, "")
        if room_id(request.cookies.get(visitors.LECTURER, "")) == room.id:
            return True
        return visitors.is_signed(visitor) and ((room.id, visitor) in self._known or
                                            self.store.is_in(room.id, device_id(room.id, visitor)))

    # What phones ask

    async def _state(self, request: Request, room: Room) -> Response:
        """The room since revision `rev`: 204 where nothing has come in time. With `picture`, the number of the last one
        seen, a newer picture of the view goes along; with `tally`, counts do. A wall asks with `watch` and is no device
        of the room."""
        watches = "watch" in request.query_params
        device = self._device(request, room) if watches else await self._enter_room(request, room)
        rev, tally = _number(request, "rev"), request.query_params.get("tally")
        if not await self._until(room, device, rev, tally):
            return Response(status_code=204)
        room = self.store.room(room.id)
        if tally is not None:
            tally = self.store.tally(room.id)
            return self._cached(request, ("counts", room.id, room.rev, tally), lambda: orjson.dumps(
                visible_state.of_room(self.store, room) | visible_state.counts(self.store, room)), "application/json")
        picture = 0 if visible_state.hides_view(self.store, room) else room.picture
        seen = _number(request, "picture") == picture
        return self._cached(request, ("phone", room.id, room.rev, seen), lambda: self._packed(room, picture, seen))

    def _packed(self, room: Room, picture: int, seen: bool) -> bytes:
        """The message to a phone: the room, and the picture of its view unless that has been seen."""
        drawn = self.store.picture(room.id) if picture else None
        pictures = {} if seen else {"picture": np.frombuffer(drawn or b"", np.uint8)}
        return pack(visible_state.of_room(self.store, room), pictures)

    async def _mine(self, request: Request, room: Room) -> Response:
        """The answers of this device, and the part of a question that it alone is asked."""
        device = await self._enter_room(request, room)
        number = await anyio.to_thread.run_sync(self.store.join, room.id, device)  # which writes where it is new
        return _json({"number": number, "answers": self.store.own_answers(room.id, device),
                      "own": visible_state.own_part(self.store, room, number)})

    async def _answer(self, request: Request, room: Room) -> Response:
        device, message = await self._enter_room(request, room), await _message(request)
        value = await anyio.to_thread.run_sync(lambda: actions.take_answer(self.store, room, device, message))
        return _json({"value": value})

    async def _hand_in(self, request: Request, room: Room) -> Response:
        device, message = await self._enter_room(request, room), await _message(request)
        await anyio.to_thread.run_sync(lambda: actions.take_view(self.store, room, device, message))
        return _json({})

    async def _forget(self, request: Request, room: Room) -> Response:
        device = await self._enter_room(request, room)
        await anyio.to_thread.run_sync(lambda: self.store.forget_device(room.id, device))
        return _json({})

    @staticmethod
    def _device(request: Request, room: Room) -> str:
        """The id of the device that asks. Raises NotIn for a browser without a cookie of this server's own."""
        visitor = request.cookies.get(visitors.VISITOR, "")
        if not visitors.is_signed(visitor):
            raise NotIn("this browser blocks this server's cookies, so it cannot be told from other browsers; allow "
                        "them and load the page again")
        return device_id(room.id, visitor)

    async def _enter_room(self, request: Request, room: Room) -> str:
        """Let the device into the room that asks -> its id. Raises NotIn and Crowded."""
        device = self._device(request, room)
        if not self.store.is_in(room.id, device):
            if not room.locked and not self._turns.may_come(room.id, _address(request)):
                raise Crowded("many are joining at this moment; trying again")
            await anyio.to_thread.run_sync(self.store.join, room.id, device)
        self._seen.add((room.id, device))
        if self._note_task is None or self._note_task.done():
            self._note_task = asyncio.create_task(self._note())
        return device

    async def _note(self) -> None:
        """Write down which devices have asked, all at once."""
        await asyncio.sleep(SEEN_S)
        seen, self._seen = self._seen, set()
        try:
            await anyio.to_thread.run_sync(self.store.mark_seen, seen)
        except (sqlite3.Error, OSError) as error:  # they ask again in a moment
            _log.error("Who is in a room was not written down: %s", error)

    @asynccontextmanager
    async def forgetting(self) -> AsyncIterator[None]:
        """Delete rooms whose time is over for as long as a worker serves, though nobody asks for them."""
        async def forget() -> None:
            while True:
                with suppress(sqlite3.Error, OSError):  # somebody else writes; the next look does it
                    await anyio.to_thread.run_sync(self.store.forget_ended)
                await asyncio.sleep(FORGET_S)

        task = asyncio.create_task(forget())
        try:
            yield
        finally:
            task.cancel()

    async def _until(self, room: Room, device: str, rev: int, tally: str | None) -> bool:
        """Wait until the room is at another revision than that, or at another tally; False if it is not in time. Raises
        RoomError for a device that waits too often at once."""
        ends = time.monotonic() + WAIT_S
        if self._waits[device] >= MOST_WAITING:
            raise RoomError("too many pages in this browser are waiting for the room; close some of them")
        self._waits[device] += 1
        try:
            while room.rev == rev and (tally is None or self.store.tally(room.id) == tally):
                if (left := ends - time.monotonic()) <= 0:
                    return False
                await self.watch.wait(room.id, left, rev, tally)
                room = self.store.room(room.id)
            return True
        finally:
            self._waits[device] -= 1
            if not self._waits[device]:
                del self._waits[device]

    def _cached(self, request: Request, name: tuple, make: Callable[[], bytes],
              media_type: str = "application/octet-stream") -> Response:
        """The answer to all who ask the same."""
        if name not in self._cache:
            plain = make()
            self._cache[name] = plain, gzip.compress(plain, 6, mtime=0)
            while len(self._cache) > MOST_CACHED:
                self._cache.popitem(last=False)
        plain, packed = self._cache[name]
        zipped = takes_gzip(request.headers.get("accept-encoding", ""))
        return Response(packed if zipped else plain, media_type=media_type, headers={
            "Cache-Control": "no-store", **({"Content-Encoding": "gzip"} if zipped else {})})

    # What lecturers ask

    async def _enter(self, request: Request) -> Response:
        """Make the lecturer's key a cookie of this browser, or take it away."""
        message = await _message(request)
        if message.get("leave") is True:
            response = _json({})
            set_cookie(response, request.scope, visitors.LECTURER, "", seconds=0, same_site="lax")
            return response
        key = message.get("key", request.cookies.get(visitors.LECTURER))
        try:
            room = self.store.room(room_id(key if isinstance(key, str) else ""))
        except NoRoom as error:
            return _json({"error": str(error)}, 404)
        response = _json({"code": room.code})
        set_cookie(response, request.scope, visitors.LECTURER, key, seconds=LEAD_SECONDS, same_site="lax")
        return response

    async def _lead(self, request: Request, room: Room) -> Response:
        """The state for a lecturer, since revision `rev` or counts `tally`."""
        _check_lecturer(request, room)
        rev, tally = _number(request, "rev"), request.query_params.get("tally", "")
        device = f"lecturer of {room.id}"
        if not await self._until(room, device, rev, tally):
            return Response(status_code=204)
        room = self.store.room(room.id)
        return self._cached(request, ("lead", room.id, room.rev, self.store.tally(room.id)), lambda: orjson.dumps(
            visible_state.to_lecturer(self.store, room)), "application/json")

    async def _do(self, request: Request, room: Room) -> Response:
        _check_lecturer(request, room)
        message = await _message(request)
        return _json(await anyio.to_thread.run_sync(lambda: actions.do(self.store, room, message)))

    async def _csv(self, request: Request, room: Room) -> Response:
        _check_lecturer(request, room)
        table = await anyio.to_thread.run_sync(export.answers, self.store, room)
        return _file(table, "text/csv", f"room-{room.code}.csv")

    async def _lesson(self, request: Request, room: Room) -> Response:
        _check_lecturer(request, room)
        text = await anyio.to_thread.run_sync(export.lesson, self.store, room)
        return _file(text, "text/markdown", f"room-{room.code}.md")


def _with_errors(handler: Endpoint) -> Endpoint:
    """Turn errors of a handler into answers with the status that fits."""
    @wraps(handler)
    async def answer(request: Request) -> Response:
        try:
            return await handler(request)
        except NoRoom as error:
            return _json({"error": str(error)}, 404)
        except NotIn as error:
            return _json({"error": str(error)}, 403)
        except Crowded as error:
            return _json({"error": str(error)}, 503)
        except ValueError as error:
            return _json({"error": str(error)}, 409)
        except sqlite3.IntegrityError:  # the room has ended meanwhile
            return _json({"error": "the room has ended"}, 404)
        except (sqlite3.Error, OSError) as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY:  # others write, and for long
                return _json({"error": "the server is busy; trying again"}, 503)
            _log.error("Rooms cannot be read or written: %s", error)  # a disk that is full, or damaged
            return _json({"error": "the server cannot keep rooms now; its log says why"}, 503)

    return answer


class WrongCodes:
    """Counts of wrong codes by the address that they come from: newcomers from there wait for an answer."""

    MOST_S, MORE_S = 10.0, 0.05  # seconds that anybody waits, and for each wrong code of late
    FORGET_S = 60.0              # until a count of any size is forgotten
    MOST = 10_000                # addresses

    def __init__(self) -> None:
        self._counts: OrderedDict[str, tuple[float, float]] = OrderedDict()  # address -> how many, and when the last

    def count(self, address: str) -> float:
        """Count one more -> for how many seconds it is to wait."""
        waits = self.wait(address)
        self._counts.pop(address, None)
        self._counts[address] = min(waits + self.MORE_S, self.MOST_S) / self.MORE_S, time.monotonic()
        while len(self._counts) > self.MOST:
            self._counts.popitem(last=False)
        return waits

    def wait(self, address: str) -> float:
        """The seconds that the next one has to wait."""
        many, last = self._counts.get(address, (0.0, 0.0))
        return max(0.0, many * self.MORE_S - (time.monotonic() - last) * self.MOST_S / self.FORGET_S)


class Turns:
    """Turns to join a room where more want to than it takes within a second: each address gets as many as another, so
    that one laptop with many cookies keeps nobody else out."""

    WANTED_S = 3.0  # since an address has last asked: it still wants to come in

    def __init__(self) -> None:
        self._addresses: dict[str, dict[str, tuple[float, float, int]]] = {}  # room -> address -> last, since, come

    def may_come(self, room: str, address: str) -> bool:
        now = time.monotonic()
        others = {one: times for one, times in self._addresses.get(room, {}).items() if now - times[0] < self.WANTED_S}
        _, since, come = others.pop(address, (now, now, 0))
        if now - since >= 1:
            since, come = now, 0
        may = not others or come < max(1, MOST_JOINING // (1 + len(others)))
        self._addresses = {one: them for one, them in self._addresses.items() if one == room or any(
            now - last < self.WANTED_S for last, _, _ in them.values())}
        self._addresses[room] = others | {address: (now, since, come + may)}
        return may


def _pages() -> list[Route]:
    """Routes of pages that are not Streamlit's, with one script each: a phone in a room, and a lecturer's remote."""
    def route(path: str, face: str, title: str, up: str) -> Route:
        script = kept_script(face, HERE / "room" / face / f"{face}.js")
        style = document_style() + font_style(f"{up}scripts/{kept_font()}")
        kept = Kept(_PAGE.format(title=title, style=style, face=face, up=up, script=script),
                    "text/html", "no-cache")

        async def page(request: Request) -> Response:
            code = request.path_params.get("code", "")
            if code != code.upper():  # a proxy sends all of a room to one worker, by its code as it is written
                return RedirectResponse(f"./{quote(code.upper())}", 303)
            return kept.answer(request)

        return Route(path, page)

    return [route(*row) for row in PAGES]


def _address(request: Request) -> str:
    return request.client.host if request.client else ""


def _check_lecturer(request: Request, room: Room) -> None:
    """Raises NotIn for anybody who does not hold this room's key."""
    if room_id(request.cookies.get(visitors.LECTURER, "")) != room.id:
        raise NotIn("only the lecturer of this room can do that; open the lecturer's link")


def _number(request: Request, name: str) -> int:
    value = request.query_params.get(name, "")
    return int(value) if value.isascii() and value.isdigit() and len(value) < 10 else -1


async def _message(request: Request) -> dict[str, Any]:
    """The JSON object that was sent. Raises RoomError for anything else, and for a large one."""
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > LARGEST:
            raise RoomError(f"at most {LARGEST:,} bytes are accepted")
    with suppress(orjson.JSONDecodeError):
        if isinstance(message := orjson.loads(body), dict):
            return message
    raise RoomError("this is not a request that the page sends")


def _json(content: dict[str, Any], status: int = 200) -> Response:
    return Response(orjson.dumps(content), status, media_type="application/json",
                    headers={"Cache-Control": "no-store"})


def _file(text: str, media_type: str, name: str) -> Response:
    return Response(text, media_type=media_type, headers={
        "Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"})
