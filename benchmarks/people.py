"""Many people on Translate: each opens a sentence of their own over a websocket, as a browser does, and presses an
arrow every few seconds. All of them are one process that unpacks no more than it must, so as to leave the processor to
the server; what it takes itself is printed."""

import asyncio
import os
import random
import re
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from urllib.parse import urlencode, urlsplit

import orjson
import psutil
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.asyncio.client import ClientConnection, connect

from tests.raw.client import ENDS, WIDGET, Server, strings
from ui.server import rehearsal

ANSWER_S = 120  # after which an answer is given up
ARRIVING = 10   # at a time
CONTROLS = "translate_screen"
SENTENCE = "The man in room {number} likes red wine."
NAMED = re.compile(rb"The(?: |\+|%20)man(?: |\+|%20)in(?: |\+|%20)room(?: |\+|%20)(\d+)")


@dataclass
class Found:
    """Everything that the people of a crowd measured."""
    first: list[float] = field(default_factory=list)  # milliseconds until each had their first picture
    steps: list[float] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)    # bytes received for each step, compressed
    messages: list[int] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    mixed: int = 0
    memory: float = 0.0    # MB of all processes of the server with everybody connected (PSS)
    resident: float = 0.0  # the same with shared pages counted for each process (RSS)


class Wire(ClientConnection):
    """A connection that counts the bytes it receives."""
    came = 0  # bytes

    def data_received(self, data: bytes) -> None:
        self.came += len(data)
        super().data_received(data)


class Person:
    """One browser tab, reduced to what a step needs."""

    def __init__(self, number: int, found: Found, cookie: str = "", *, own: bool = True):
        """own: types a sentence of their own; otherwise the page's first sentence stays."""
        self.number, self.found, self.pressed, self.cookie, self.own = number, found, 0, cookie, own
        self.ids: dict[str, str] = {}  # of widgets, by key
        self._page = self._query = self._controls = self._fragment = ""

    async def open(self, server: Server, stack: AsyncExitStack) -> None:
        """Opens the page and waits for the picture."""
        began = time.perf_counter()
        self._socket: Wire = await stack.enter_async_context(connect(
            f"ws://{urlsplit(server.url).netloc}/_stcore/stream", subprotocols=["streamlit"], max_size=None,
            origin=server.url, create_connection=Wire, ping_interval=None, open_timeout=ANSWER_S,
            additional_headers={"Cookie": self.cookie} if self.cookie else {}))
        self._query = urlencode({"text": SENTENCE.format(number=self.number)}) if self.own else ""
        message = BackMsg()
        message.rerun_script.page_name, message.rerun_script.query_string = "translate", self._query
        async for answer in self._answers(message):
            kind = answer.WhichOneof("type")
            if kind == "navigation":
                self._page = answer.navigation.page_script_hash
            elif kind == "delta":
                for text in strings(answer.delta):
                    if widget := WIDGET.fullmatch(text):
                        self.ids[widget[1]] = text
                        if widget[1] == CONTROLS:
                            self._controls, self._fragment = text, answer.delta.fragment_id
        self.found.first.append(1_000 * (time.perf_counter() - began))
        assert self._controls, f"the page of {self.number} has no {CONTROLS}"

    async def step(self) -> None:
        """Presses an arrow: forward to the fifth step, then back."""
        self.pressed += 1
        at, message = self.pressed % 10, BackMsg()
        rerun = message.rerun_script
        rerun.query_string, rerun.page_script_hash, rerun.fragment_id = self._query, self._page, self._fragment
        move = {"move": {"index": min(at, 10 - at), "number": self.pressed, "choices": []}}
        rerun.widget_states.widgets.add(id=self._controls, json_value=orjson.dumps(move).decode())
        began, before = time.perf_counter(), self._socket.came
        async for _ in self._answers(message):
            pass
        self.found.steps.append(1_000 * (time.perf_counter() - began))
        self.found.sizes.append(self._socket.came - before)
        self.found.messages.append(self._count)

    async def send(self, **values: object) -> None:
        """Sends component values by key, as their scripts would, and waits for the page."""
        message = BackMsg()
        rerun = message.rerun_script
        rerun.query_string, rerun.page_script_hash = self._query, self._page
        for key, value in values.items():
            rerun.widget_states.widgets.add(id=self.ids[key], json_value=orjson.dumps(value).decode())
        async for _ in self._answers(message):
            pass

    async def _answers(self, message: BackMsg) -> AsyncIterator[ForwardMsg]:
        """Receives messages until the script ends, and checks in all of them whose sentence they contain."""
        await self._socket.send(message.SerializeToString())
        self._count = 0
        named: set[bytes] = set()
        async with asyncio.timeout(ANSWER_S):
            while True:
                sent = await self._socket.recv()
                self._count += 1
                named.update(NAMED.findall(sent))
                answer = ForwardMsg.FromString(sent)
                kind = answer.WhichOneof("type")
                if kind == "page_info_changed":
                    self._query = answer.page_info_changed.query_string
                elif kind == "delta" and answer.delta.new_element.WhichOneof("type") == "exception":
                    self.found.errors.append(answer.delta.new_element.exception.message)
                elif kind == "script_finished" and answer.script_finished in ENDS:
                    break
                yield answer
        self.found.mixed += named != ({b"%d" % self.number} if self.own else set())

    async def keep_stepping(self, every: float, until: float, chance: random.Random) -> None:
        """Presses once every `every` seconds on average, however long the last answer took."""
        planned = time.perf_counter() + chance.uniform(0, every)
        while planned < until:
            await asyncio.sleep(max(0, planned - time.perf_counter()))
            await self.step()
            planned += chance.uniform(0, 2 * every)


async def crowd(server: Server, count: int, seconds: float, every: float) -> tuple[Found, float]:
    """Runs a crowd; returns its figures and the processor seconds that the server took for the steps."""
    found, chance, arriving = Found(), random.Random(count), asyncio.Semaphore(ARRIVING)
    async with AsyncExitStack() as stack:
        people = [Person(number, found) for number in range(100, 100 + count)]

        async def arrive(person: Person) -> None:
            async with arriving:
                await person.open(server, stack)

        await asyncio.gather(*(arrive(person) for person in people))
        before, until = total(cpu_seconds, server.pid), time.perf_counter() + seconds
        ended = await asyncio.gather(*(person.keep_stepping(every, until, random.Random(chance.random()))
                                       for person in people), return_exceptions=True)
        found.errors += [repr(error) for error in ended if error is not None]
        found.memory, found.resident = (total(of, server.pid) for of in (proportional_mb, resident_mb))
        return found, total(cpu_seconds, server.pid) - before


async def arrive(server: Server, count: int, within: float, own: bool) -> Found:
    """Runs a crowd whose visits begin evenly within some seconds, without waiting for each other."""
    found = Found()
    async with AsyncExitStack() as stack:
        async def come(at: int) -> None:
            await asyncio.sleep(within * at / count)
            await Person(100 + at, found, own=own).open(server, stack)

        came = await asyncio.gather(*map(come, range(count)), return_exceptions=True)
        found.errors += [repr(error) for error in came if error is not None]
    return found


def measure_arrivals(server: Server, count: int, within: float, *, own: bool) -> dict[str, object]:
    """Measures how long each visitor waits for the first picture, and what it costs the server."""
    load, before = os.getloadavg()[0], total(cpu_seconds, server.pid)
    found = asyncio.run(arrive(server, count, within, own))
    busy = total(cpu_seconds, server.pid) - before
    return {"people": count, "within": within, "own": own, "first_ms": spread(found.first), "errors": len(found.errors),
            "first_error": next(iter(found.errors), None), "mixed_up": found.mixed,
            "cpu_ms_a_visit": 1_000 * busy / count, "load_before": load}


def measure(server: Server, count: int, seconds: float, every: float) -> dict[str, object]:
    """Measures one crowd."""
    load, own = os.getloadavg()[0], time.process_time()
    found, busy = asyncio.run(crowd(server, count, seconds, every))
    steps = len(found.steps)
    return {"people": count, "seconds": seconds, "every": every, "first_ms": spread(found.first),
            "step_ms": spread(found.steps), "steps": steps, "bytes_a_step": sum(found.sizes) / max(1, steps),
            "messages_a_step": sum(found.messages) / max(1, steps), "errors": len(found.errors),
            "first_error": next(iter(found.errors), None), "mixed_up": found.mixed, "memory_mb": found.memory,
            "resident_mb": found.resident,
            "server_cpu_s": busy, "cpu_ms_a_step": 1_000 * busy / max(1, steps),
            "own_cpu_s": time.process_time() - own, "load_before": load}


def spread(taken: list[float]) -> dict[str, float]:
    """Median and 95th percentile in milliseconds; 0 for no values."""
    return {f"{name}_ms": value for name, value in rehearsal.spread(taken).items()}


def with_children(pid: int) -> list[psutil.Process]:
    """A process and all its descendants; none for pid 0 or a process that has ended."""
    try:
        root = psutil.Process(pid)
        return [root, *root.children(recursive=True)] if pid else []
    except psutil.NoSuchProcess:
        return []


def total(of: Callable[[psutil.Process], float], pid: int) -> float:
    """The sum of a figure over a process and its descendants, leaving out those that end meanwhile."""
    figures = []
    for process in with_children(pid):
        try:
            figures.append(of(process))
        except psutil.NoSuchProcess:
            continue
    return sum(figures)


def proportional_mb(process: psutil.Process) -> float:
    """Memory in use with shared pages divided among the processes that share them (PSS)."""
    return process.memory_full_info().pss / 1e6


def resident_mb(process: psutil.Process) -> float:
    """Memory in use, shared pages included (RSS)."""
    return process.memory_info().rss / 1e6


def cpu_seconds(process: psutil.Process) -> float:
    """Processor time, of user and system."""
    times = process.cpu_times()
    return times.user + times.system
