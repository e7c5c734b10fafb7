"""The address `/health`: whether the server does its work, for a proxy, a container or a person who looks."""

import asyncio
import os
import shutil
import sqlite3
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing, suppress
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from transformer.basics.paths import home, places, version
from transformer.rooms import clock
from ui.server import upload_limits
from ui.state.worker_counters import counters

KEPT = 1.0          # seconds for which an answer is given again
BEAT = 1.0          # seconds between two words of a worker to the others
LEAST_FREE = 20_000_000  # bytes of the disk; rooms, runs and keys need them
MEMORY_EVERY = 10   # beats between two looks at its memory, which walk all of it


def routes() -> list[Route]:
    """One that answers 200, or 503 with what is wrong."""
    last: tuple[float, dict[str, Any]] = -KEPT, {}

    async def health(request: Request) -> Response:
        nonlocal last
        if time.monotonic() - last[0] >= KEPT:
            last = time.monotonic(), await asyncio.to_thread(look)
        return JSONResponse(last[1], 503 if last[1]["wrong"] else 200, {"Cache-Control": "no-store"})

    return [Route("/health", health)]


def look() -> dict[str, Any]:
    """The state of the server, in numbers that tell nothing of any visitor."""
    found = sum(len(list(place.glob("*/config.json"))) for place in places())
    wrong = [] if found else ["no checkpoints"]
    if home().exists() and not os.access(home(), os.W_OK):
        wrong.append("the home cannot be written to")
    elif home().exists() and shutil.disk_usage(home()).free < LEAST_FREE:
        wrong.append("the disk of the home is full")
    return {"wrong": wrong, "version": version(), "checkpoints": found, "workers": counters().total("ready"),
            "workers_wanted": counters().workers, "visitors": counters().total("visitors"), "rooms": rooms(),
            "memory_mb": round(memory() / 1e3)}


def rooms() -> int:
    """The number of rooms, those of other processes too."""
    with suppress(sqlite3.Error, OSError), closing(
            sqlite3.connect(f"{(home() / 'rooms.sqlite').resolve().as_uri()}?mode=ro", uri=True, timeout=0.2)) as file:
        return file.execute("select count(*) from room where ends >= ?", [clock.now()]).fetchone()[0]
    return 0


def memory() -> int:
    """Kilobytes of all processes, what several share counted once."""
    return counters().total("kilobytes") + counters().get("kilobytes", counters().workers)


def in_use(pid: int | str = "self") -> int:
    """Kilobytes of a process, its part of what it shares with others; 0 where the system does not say."""
    with suppress(OSError, StopIteration):
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text("utf-8").splitlines()
        return int(next(line for line in lines if line.startswith("Pss:")).split()[1])
    return 0


@asynccontextmanager
async def beating() -> AsyncIterator[None]:
    """While a worker serves: its worker counters say so, once a second."""
    async def beat() -> None:
        beats = 0
        while True:
            counters().look_alive()
            counters().set("held", upload_limits.held_here())
            if beats % MEMORY_EVERY == 0:
                counters().set("kilobytes", await asyncio.to_thread(in_use))
            beats += 1
            await asyncio.sleep(BEAT)

    counters().set("pid", os.getpid())
    task = asyncio.create_task(beat())
    counters().set("ready", 1)
    try:
        yield
    finally:
        counters().set("ready", 0)
        task.cancel()
