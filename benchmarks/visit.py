"""How many bytes a first visit takes: Home, then Translate in the same browser, and Home again as on another day.

    python benchmarks/visit.py [--page NAME ...]

Chromium with an empty cache comes to the app as `make app` serves it, by way of a forwarder that counts what passes,
so bytes on the wire are all bytes to the browser: heads of answers and the messages of the websocket as they are sent.
Requests and what they weigh unpacked are the browser's own count; text is there when the page's main part first says
something. Each page is over once its script has ended and the network has been quiet for a second. Goal: the pages of
a first visit together at most 1.5 MB on the wire, and what a browser keeps is not asked for again.
"""

import asyncio
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated
from urllib.parse import urlsplit

import typer
from playwright.sync_api import BrowserContext, CDPSession

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.draw import IDLE, chromium
from tests.raw.client import serving

GOAL = 1_500_000  # bytes on the wire, all pages of a first visit together
PAGES = ("home", "translate")
LARGEST = 10
QUIET_MS = 1_000
TEXT = """() => {
  const look = () => document.querySelector('[data-testid="stMain"]')?.innerText.trim()
    ? (window.textAfter = performance.now()) : requestAnimationFrame(look);
  look();
}"""


class Forwarder:
    """Forwards between browser and server, and counts the bytes that the server sends."""

    def __init__(self, host: str, port: int):
        self.to, self.passed, self._open = (host, port), 0, set()

    async def serve(self, started: asyncio.Future) -> None:
        server = await asyncio.start_server(self._visit, "127.0.0.1", 0)
        started.set_result(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    async def _visit(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection(*self.to)
        await asyncio.gather(self._pass(reader, back, 0), self._pass(there, writer, 1))

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, counts: int) -> None:
        try:
            while part := await reader.read(65_536):
                self.passed += counts * len(part)
                writer.write(part)
                await writer.drain()
        except ConnectionError:
            pass  # either side may disconnect at any time
        finally:
            writer.close()


@contextmanager
def forwarding(url: str) -> Iterator[tuple[Forwarder, str]]:
    """Runs a forwarder to a server in a thread; gives it and its address."""
    where, loop = urlsplit(url), asyncio.new_event_loop()
    forwarder, started = Forwarder(where.hostname or "", where.port or 80), loop.create_future()
    forwarding_it = loop.create_task(forwarder.serve(started))
    port = loop.run_until_complete(started)
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    async def end() -> None:
        forwarding_it.cancel()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    try:
        yield forwarder, f"http://127.0.0.1:{port}"
    finally:
        asyncio.run_coroutine_threadsafe(end(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


class Count:
    """Counts the requests and websocket messages that the browser reports."""

    def __init__(self, tab: CDPSession):
        self.files, self.messages, self.said = {}, 0, 0
        tab.send("Network.enable")
        tab.on("Network.responseReceived", self._answered)
        tab.on("Network.dataReceived", self._came)
        tab.on("Network.loadingFinished", self._ended)
        tab.on("Network.webSocketFrameReceived", self._message)

    def _answered(self, event: dict) -> None:
        answer = event["response"]
        self.files[event["requestId"]] = {
            "url": answer["url"], "status": answer["status"], "wire": 0, "unpacked": 0,
            "kept": bool(answer.get("fromDiskCache") or answer.get("fromPrefetchCache")),
            "packed": {name.lower(): value for name, value in answer["headers"].items()}.get("content-encoding", "")}

    def _came(self, event: dict) -> None:
        if event["requestId"] in self.files:
            self.files[event["requestId"]]["unpacked"] += event["dataLength"]

    def _ended(self, event: dict) -> None:
        if event["requestId"] in self.files:
            self.files[event["requestId"]]["wire"] = event["encodedDataLength"]

    def _message(self, event: dict) -> None:
        self.messages += 1
        text = event["response"]["payloadData"]
        self.said += len(text) * 3 // 4 - text[-2:].count("=")  # binary messages are reported in base64


def visit(context: BrowserContext, forwarder: Forwarder, url: str, name: str) -> dict[str, object]:
    """Opens one page in a new tab, measures it and closes the tab."""
    page = context.new_page()
    page.add_init_script(f"({TEXT})()")
    count, before = Count(context.new_cdp_session(page)), forwarder.passed
    page.goto(url if name == "home" else f"{url}/{name}")
    passed = -1
    while forwarder.passed != passed:
        passed = forwarder.passed
        page.wait_for_function(IDLE, timeout=120_000)
        page.wait_for_timeout(QUIET_MS)
    asked = [file for file in count.files.values() if not file["kept"] and file["url"].startswith("http")]
    text_ms = page.evaluate("window.textAfter")
    page.close()
    largest = sorted(asked, key=lambda file: file["wire"], reverse=True)[:LARGEST]
    return {"page": name, "requests": len(asked), "wire": forwarder.passed - before,
            "unpacked": sum(file["unpacked"] for file in asked) + count.said, "messages": count.messages,
            "message_bytes": count.said, "text_ms": text_ms, "largest": largest}


def measure(pages: list[str]) -> list[dict[str, object]]:
    """Opens each page in turn with the cache of those before, and the first again."""
    with TemporaryDirectory() as folder, serving(Path(folder)) as server, forwarding(server.url) as (forwarder, url), \
            chromium() as browser:
        context = browser.new_context(viewport={"width": 1440, "height": 900})
        return [visit(context, forwarder, url, name) for name in (*pages, pages[0])]


def show(row: dict[str, object], again: bool) -> None:
    print(f"{row['page']}{', again' if again else ''}: {row['requests']} requests, {row['wire'] / 1e6:.2f} MB on the "
          f"wire, {row['unpacked'] / 1e6:.2f} MB unpacked, {row['messages']} messages of "
          f"{row['message_bytes'] / 1e3:.0f} kB, text after {row['text_ms'] / 1e3:.2f} s")
    for file in row["largest"]:
        print(f"{file['wire'] / 1e3:10,.1f} kB {file['packed'] or 'as it is':8} {file['unpacked'] / 1e3:10,.1f} kB  "
              f"{urlsplit(file['url']).path}")


def main(page: Annotated[list[str] | None, typer.Option(help="Pages of the visit, in their order.")] = None) -> None:
    """Measures and prints; exits with 1 if the goal is missed."""
    rows = measure(page or list(PAGES))
    *first, again = rows
    wire = sum(row["wire"] for row in first)
    for row in rows:
        show(row, row is again)
    pages = " and ".join(row["page"] for row in first)
    print(f"a first visit of {pages}: {wire / 1e6:.2f} MB (goal {GOAL / 1e6:g} MB)")
    raise typer.Exit(wire > GOAL)


if __name__ == "__main__":
    typer.run(main)
