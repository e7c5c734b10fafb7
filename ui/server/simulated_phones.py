"""A class of phones without people: for a rehearsal before the lesson, and to measure with. Each asks as the page of a
phone does; nothing here draws."""

import asyncio
import gzip
import ssl
import struct
import time
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import orjson

ANSWER_S = 60.0
CROWDED_S = 0.5  # until a phone that is not let in, as many others come, asks again


@dataclass
class PhoneFigures:
    """What all of them met with. Times are in seconds."""

    joins: list[float] = field(default_factory=list)
    seen: dict[int, list[float]] = field(default_factory=dict)  # revision -> when each phone had it, by the clock
    votes: list[float] = field(default_factory=list)
    first: list[int] = field(default_factory=list)  # bytes of a first visit: page, script, room and picture
    later: list[int] = field(default_factory=list)  # bytes of each answer after that
    errors: list[str] = field(default_factory=list)


class Wire:
    """One connection that is kept, over which one request goes at a time."""

    def __init__(self, url: str, cookies: dict[str, str]) -> None:
        """cookies: those that are sent, to which those are added that come."""
        self.to, self.cookies, self.came = urlsplit(url), cookies, 0
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, method: str, path: str, content: dict[str, Any] | None = None) -> tuple[int, bytes]:
        """The status and the unpacked body of an answer. Raises OSError where the server does not answer."""
        for again in (True, False):  # a connection that was kept may have been closed meanwhile
            fresh = self._streams is None
            try:
                return await asyncio.wait_for(self._ask(method, path, content), ANSWER_S)
            except (OSError, asyncio.IncompleteReadError) as error:
                self.close()
                if fresh or not again:
                    raise OSError(f"{method} {path}: {error!r}") from error
        raise AssertionError

    async def _ask(self, method: str, path: str, content: dict[str, Any] | None) -> tuple[int, bytes]:
        if self._streams is None:
            safe = self.to.scheme == "https"
            self._streams = await asyncio.open_connection(
                self.to.hostname, self.to.port or (443 if safe else 80),
                ssl=ssl.create_default_context() if safe else None)
        reader, writer = self._streams
        body = b"" if content is None else orjson.dumps(content)
        head = [f"{method} {path} HTTP/1.1", f"Host: {self.to.netloc}", "Accept-Encoding: gzip",
                f"Cookie: {'; '.join(map('='.join, self.cookies.items()))}", f"Content-Length: {len(body)}"]
        writer.write("\r\n".join([*head, "", ""]).encode() + body)
        status, *fields = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        said = [(name.lower(), value.strip()) for name, _, value in (one.partition(":") for one in fields)]
        headers = dict(said)
        for name, value in said:
            if name == "set-cookie":
                key, _, kept = value.partition(";")[0].partition("=")
                self.cookies[key] = kept
        answer = await reader.readexactly(int(headers.get("content-length", 0)))
        self.came += len(answer) + sum(map(len, fields))
        if headers.get("connection") == "close":
            self.close()
        return int(status.split()[1]), gzip.decompress(answer) if headers.get("content-encoding") == "gzip" else answer

    def close(self) -> None:
        if self._streams:
            self._streams[1].close()
        self._streams = None


class Phone:
    """One phone in a room."""

    def __init__(self, url: str, code: str, met: PhoneFigures) -> None:
        cookies: dict[str, str] = {}
        self.wire, self.voting = Wire(url, cookies), Wire(url, cookies)
        self.code, self.met, self.state, self.drawn = code, met, {}, 0

    async def join(self, script: str = "") -> None:
        """Open the page and see the room as it is."""
        began = time.perf_counter()
        for path in (f"/r/{self.code}", *([f"/scripts/{script}"] if script else []), f"/r/{self.code}/mine"):
            until = time.perf_counter() + ANSWER_S
            while (status := (await self.wire.ask("GET", path))[0]) == 503 and time.perf_counter() < until:
                await asyncio.sleep(CROWDED_S)
            if status != 200:
                raise OSError(f"{path} is answered with {status}")
        await self._look(0)
        self.met.joins.append(time.perf_counter() - began)
        self.met.first.append(self.wire.came)

    async def follow(self, until: float) -> None:
        """Ask for what comes next, until that time."""
        while time.perf_counter() < until:
            before = self.wire.came
            try:
                async with asyncio.timeout_at(asyncio.get_running_loop().time() + until - time.perf_counter()):
                    if await self._look(self.state["rev"]):
                        self.met.later.append(self.wire.came - before)
            except TimeoutError:
                self.wire.close()
            except OSError as error:
                self.met.errors.append(str(error))
                await asyncio.sleep(1)

    async def _look(self, rev: int) -> bool:
        status, body = await self.wire.ask("GET", f"/r/{self.code}/state?rev={rev}&picture={self.drawn}")
        if status == 204:
            return False
        if status != 200:
            raise OSError(f"the room is answered with {status}: {body[:200]!r}")
        self.state = orjson.loads(body[4:4 + struct.unpack("<I", body[:4])[0]])
        self.drawn = self.state["picture"]
        self.met.seen.setdefault(self.state["rev"], []).append(time.perf_counter())
        return True

    async def vote(self, question: int, value: object, round: int = 1) -> None:
        began = time.perf_counter()
        status, body = await self.voting.ask("POST", f"/r/{self.code}/answer", {
            "question": question, "round": round, "value": value, "sure": 1})
        if status != 200:
            self.met.errors.append(f"a vote is answered with {status}: {body[:200]!r}")
        self.met.votes.append(time.perf_counter() - began)

    def close(self) -> None:
        self.wire.close()
        self.voting.close()


class Lecturer:
    """What a remote does, by the lecturer's link."""

    def __init__(self, url: str, key: str) -> None:
        self.wire, self.code = Wire(url, {"headsup_room": key}), ""

    async def enter(self) -> None:
        """Raises ValueError where the link opens no room."""
        status, body = await self.wire.ask("POST", "/lead", {})
        if status != 200:
            raise ValueError(f"that link opens no room: {orjson.loads(body)['error'] if body else status}")
        self.code = orjson.loads(body)["code"]

    async def do(self, name: str, **more: object) -> dict[str, Any]:
        """Raises ValueError for what cannot be done."""
        status, body = await self.wire.ask("POST", f"/r/{self.code}/do", {"do": name, **more})
        if status != 200:
            raise ValueError(orjson.loads(body)["error"])
        return orjson.loads(body)

    async def state(self) -> dict[str, Any]:
        return orjson.loads((await self.wire.ask("GET", f"/r/{self.code}/lead?rev=0"))[1])


async def all_join(phones: list[Phone], within: float, script: str = "") -> float:
    """All of them open the page, spread over that many seconds; how long it took until the last had."""
    began = time.perf_counter()

    async def one(at: int, phone: Phone) -> None:
        await asyncio.sleep(within * at / len(phones))
        try:
            await phone.join(script)
        except OSError as error:
            phone.met.errors.append(str(error))

    await asyncio.gather(*(one(at, phone) for at, phone in enumerate(phones)))
    return time.perf_counter() - began


async def all_vote(phones: list[Phone], question: int, choices: int, within: float) -> float:
    """All of them answer, spread over that many seconds, each twice as a double tap does."""
    began = time.perf_counter()

    async def one(at: int, phone: Phone) -> None:
        await asyncio.sleep(within * at / len(phones))
        await phone.vote(question, at % choices)
        await phone.vote(question, at % choices)

    await asyncio.gather(*(one(at, phone) for at, phone in enumerate(phones)))
    return time.perf_counter() - began
