"""What several tests of the server need: a file to send, a run of somebody's, the proxy, a clock."""

import os
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.raw.client import FORM, form
from tests.server.client import Answer, Server
from tests.serving import starting
from tests.waiting import until
from transformer.jobs import run_files


def need_caddy() -> None:
    """Skip what needs the proxy where it is not; where no browser may be missing, it may not either."""
    if shutil.which("caddy") is None:
        message = "no caddy on the PATH: install it from your system, as `make caddy` does on Debian"
        (pytest.fail if os.environ.get("HEADSUP_REQUIRE_BROWSER", "") not in ("", "0") else pytest.skip)(message)


def put(server: Server, session: str, size: int, *, name: str = "0", cookie: str = "", claimed: str | None = None,
        token_from: str = "") -> Answer:
    """Send a file of that size from a session as a browser does; claimed: what is said of its length; token_from: the
    cookie of the worker that gives the token."""
    token = server.ask("GET", "/_stcore/health", Cookie=token_from).cookies["_streamlit_xsrf"]
    body, headers = form("a.zip", bytes(size)), {}
    if claimed is not None:
        body, headers = b"", {"Content_Length": claimed}
    return server.ask("PUT", f"/_stcore/upload_file/{session}/{name}", body=body, X_Xsrftoken=token, Content_Type=FORM,
                      Cookie=f"_streamlit_xsrf={token}; {cookie}", **headers)


def may_delete(server: Server, folder: Path, address: str = "", **headers: str) -> bool:
    """Whether a run is deleted by whoever comes from that address with these headers."""
    with server.visit(address, **headers) as client:
        client.open("train", view="watch", run=folder.name).send(**{f"train_{folder.name}_sure": ("bool_value", True)})
        client.send("train_delete")
    return not folder.exists()


def ended_run(home: Path, owner: str) -> Path:
    """The folder of a run of theirs that was stopped."""
    folder = home / "runs" / f"run-{owner[:8]}"
    folder.mkdir(parents=True, exist_ok=True)
    run_files.write_json(folder / "config.json", {})
    run_files.write_json(folder / "status.json", {"state": "stopped", "step": 3, "steps": 9})
    run_files.write_json(folder / "launch.json", {"owner": owner, "ticket": 1, "time": 1.0, "devices": []})
    return folder


# What the server of `watched` does before it is one: its loop's clock moves on by ten seconds at a signal, so that no
# test waits for a time-out of the product; and it says what nobody outside would see.
WATCHED = """
import asyncio, os, signal, socket, time
from streamlit.runtime import caching
from ui.server import connections, upload_limits

clock = {"ahead": 0.0}

def now(loop):
    clock["loop"] = loop
    return time.monotonic() + clock["ahead"]

def in_turns(turn):
    if turn == 100:  # all that was sent before has been read, and what can be done of it now is done
        clock["ahead"] += 10.0
    if turn == 200:  # so is all that was due
        os.write(1, b"Moved on.\\n")
    else:
        clock["loop"].call_soon(in_turns, turn + 1)

def move_on(*_):
    clock["loop"].call_soon_threadsafe(in_turns, 0)

asyncio.BaseEventLoop.time = now
signal.signal(signal.SIGUSR1, move_on)
serving = asyncio.BaseEventLoop.create_server

async def looked_at(loop, *arguments, sock, **options):
    print("Sends at once:", sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY), flush=True)
    return await serving(loop, *arguments, sock=sock, **options)

asyncio.BaseEventLoop.create_server = looked_at
caching.cache_data.clear = caching.cache_resource.clear = lambda: print("It was emptied.", flush=True)
connections.MOST_HELD = 100_000
upload_limits.AWAY_SECONDS = 1
"""


@pytest.fixture(scope="session")
def watched(importer, tmp_path_factory) -> Iterator[Server]:
    """A server whose clock is moved on by `later`, for the tests of what happens after a while."""
    with starting(importer, tmp_path_factory.mktemp) as start:
        yield start(before=WATCHED)


@pytest.fixture
def later(watched) -> Callable[[int], None]:
    """Moves the clock of that server on, ten seconds at a time."""
    def later(seconds: int) -> None:
        assert seconds % 10 == 0
        for _ in range(seconds // 10):
            before = watched.log.read_text().count("Moved on.")
            watched.process.send_signal(signal.SIGUSR1)
            until(lambda: watched.log.read_text().count("Moved on.") > before)  # noqa: B023

    return later
