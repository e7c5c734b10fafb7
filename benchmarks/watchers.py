"""People who watch a run that is being trained: each has its page open over a websocket, as a browser does, and asks
for what is new as often as the page says. All of them are one process, which unpacks only what tells it when to ask."""

import asyncio
import os
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from statistics import median
from urllib.parse import urlencode, urlsplit

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.asyncio.client import connect

from benchmarks.people import ANSWER_S, ARRIVING, Wire, spread
from benchmarks.processes import cpu_seconds, total
from tests.raw.client import ENDS, Server
from transformer.jobs import launch, run_files

RUN = "watched"
WARM_UP = 10.0  # seconds of training that are left out
SETTLED = 12.0  # seconds until the page has told all how often to ask
SETTINGS = {"steps": 1_000_000, "d_model": 64, "n_heads": 4, "decoder_layers": 2, "d_ff": 256, "max_len": 64,
            "batch_tokens": 1_024, "eval_every": 1_000, "save_every": 5_000}  # a small one, which logs often


@dataclass
class Watched:
    """What watching has cost."""

    ticks: list[float] = field(default_factory=list)  # milliseconds of each answer
    errors: list[str] = field(default_factory=list)


class Watcher:
    """One browser tab with a run that is under way."""

    def __init__(self, found: Watched):
        self.found = found
        self._page = self._fragment = ""
        self._every = 1.0

    async def open(self, server: Server, stack: AsyncExitStack) -> None:
        """Opens the page of the run."""
        self._socket: Wire = await stack.enter_async_context(connect(
            f"ws://{urlsplit(server.url).netloc}/_stcore/stream", subprotocols=["streamlit"], max_size=None,
            origin=server.url, create_connection=Wire, ping_interval=None, open_timeout=ANSWER_S))
        self._query = urlencode({"view": "watch", "run": RUN})
        message = BackMsg()
        message.rerun_script.page_name, message.rerun_script.query_string = "train", self._query
        await self._answer(message)
        assert self._fragment, "the page of the run does not look for what is new"

    @property
    def came(self) -> int:
        """Bytes received so far, as they came over the wire."""
        return self._socket.came

    async def watch(self, until: float) -> None:
        """Asks for what is new as often as the page wants to, until a moment of the monotonic clock."""
        while (due := time.perf_counter() + self._every) < until:
            await asyncio.sleep(due - time.perf_counter())
            message = BackMsg()
            rerun = message.rerun_script
            rerun.query_string, rerun.page_script_hash, rerun.fragment_id = self._query, self._page, self._fragment
            rerun.is_auto_rerun = True
            began = time.perf_counter()
            await self._answer(message)
            self.found.ticks.append(1_000 * (time.perf_counter() - began))

    async def _answer(self, message: BackMsg) -> None:
        await self._socket.send(message.SerializeToString())
        async with asyncio.timeout(ANSWER_S):
            while True:
                answer = ForwardMsg.FromString(await self._socket.recv(decode=False))
                kind = answer.WhichOneof("type")
                if kind == "auto_rerun":
                    self._every, self._fragment = answer.auto_rerun.interval, answer.auto_rerun.fragment_id
                elif kind == "navigation":
                    self._page = answer.navigation.page_script_hash
                elif kind == "delta" and answer.delta.new_element.WhichOneof("type") == "exception":
                    self.found.errors.append(answer.delta.new_element.exception.message)
                elif kind == "script_finished" and answer.script_finished in ENDS:
                    return


@contextmanager
def training(server: Server) -> Iterator[Path]:
    """A small run of the server's, being trained meanwhile."""
    folder = server.home / "runs" / RUN
    words = [word for name, value in SETTINGS.items() for word in ("--set", f"{name}={value}")]
    launch.launch(folder, ["--preset", "shakespeare", "--device", "cpu", *words])
    try:
        began = None
        while began is None or time.time() < began + WARM_UP:
            now = launch.progress(folder)
            if not now.under_way:
                raise SystemExit(f"the run {now.state}: {now.why}\n{launch.log_tail(folder)}")
            if began is None and now.step:
                began = time.time()
            time.sleep(0.1)
        yield folder
    finally:
        launch.stop(folder)
        while launch.alive(folder):
            time.sleep(0.1)


def speed(folder: Path, began: float, ended: float) -> float:
    """Steps a second of a run between two moments, the median over what it has logged."""
    rows = [row for row in run_files.read(folder / "metrics.jsonl") if "loss" in row and began <= row["time"] <= ended]
    return median((b["step"] - a["step"]) / (b["time"] - a["time"]) for a, b in pairwise(rows))


async def _crowd(server: Server, folder: Path, count: int, seconds: float) -> dict[str, object]:
    found = Watched()
    async with AsyncExitStack() as stack:
        people, arriving = [Watcher(found) for _ in range(count)], asyncio.Semaphore(ARRIVING)

        async def arrive(watcher: Watcher) -> None:
            async with arriving:
                await watcher.open(server, stack)

        await asyncio.gather(*map(arrive, people))
        await _all_watch(people, SETTLED)
        found.ticks.clear()
        before, came = total(cpu_seconds, server.pid), sum(one.came for one in people)
        own, began = time.process_time(), time.time()
        await _all_watch(people, seconds)
        taken = time.time() - began
        return {"people": count, "steps_a_second": speed(folder, began, time.time()), "cpu_s": (
                    total(cpu_seconds, server.pid) - before) / taken, "own_cpu_s": (time.process_time() - own) / taken,
                "bytes": (sum(one.came for one in people) - came) / taken / max(1, count),
                "ticks": len(found.ticks) / taken, "tick_ms": spread(found.ticks), "errors": len(found.errors),
                "first_error": next(iter(found.errors), None), "load": os.getloadavg()[0]}


async def _all_watch(people: list[Watcher], seconds: float) -> None:
    until = time.perf_counter() + seconds
    await asyncio.gather(asyncio.sleep(seconds), *(watcher.watch(until) for watcher in people))


def watched(server: Server, folder: Path, count: int, seconds: float) -> dict[str, object]:
    """What so many who watch a run for some seconds cost, a second: `cpu_s` of the server, `bytes` for each of them,
    and the speed of the run meanwhile. None of them: how it is without."""
    return asyncio.run(_crowd(server, folder, count, seconds))
