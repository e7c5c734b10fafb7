"""WebKitGTK's MiniBrowser, spoken to by WebDriver over HTTP, on a screen of its own that nobody sees."""

import http.client
import json
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ui.server.workers import hold

from .webdriver import WAIT_S, Tab

NAMES = ("WebKitWebDriver",)
SCREEN = "Xvfb"
START_S = 60
WAYS = {"pointer": "mouse", "key": "keyboard"}


class WebKit(Tab):
    name = "webkit"

    def __init__(self, port: int):
        self._port, self._session = port, ""
        self._session = self._say("POST", "/session", {"capabilities": {"alwaysMatch": {}}})["sessionId"]
        self._say("POST", "/timeouts", {"script": 1_000 * WAIT_S, "pageLoad": 1_000 * WAIT_S})

    def _say(self, method: str, path: str, body: dict | None = None) -> object:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=WAIT_S)
        at = f"/session/{self._session}" if self._session else ""
        connection.request(method, at + path, None if body is None else json.dumps(body))
        answer = connection.getresponse()
        value = json.loads(answer.read())["value"]
        connection.close()
        assert answer.status == 200, f"{method} {path}: {value}"
        return value

    def go(self, url: str) -> None:
        self._say("POST", "/url", {"url": url})

    def run(self, body: str) -> object:
        return json.loads(self._say("POST", "/execute/sync", {
            "script": f"return JSON.stringify((() => {{ {body} }})() ?? null)", "args": []}))

    def perform(self, actions: list[dict]) -> None:
        self._say("POST", "/actions", {"actions": actions})

    def resize(self, width: int, height: int) -> None:
        for _ in range(2):  # the first time tells how much the window's frame takes
            inner = self.run("return [innerWidth, innerHeight]")
            outer = self._say("GET", "/window/rect")
            self._say("POST", "/window/rect", {"width": outer["width"] + width - inner[0],
                                               "height": outer["height"] + height - inner[1]})

    def leave(self) -> None:
        with suppress(OSError, AssertionError):
            self._say("DELETE", "")


@contextmanager
def opened(executable: str, folder: Path) -> Iterator[WebKit]:
    """With a home of its own in that folder."""
    seen, held = os.pipe(), hold("127.0.0.1", [0])
    port = held.getsockname()[1]
    screen = subprocess.Popen([shutil.which(SCREEN), "-displayfd", str(seen[1]), "-screen", "0", "1600x1100x24",
                               "-nolisten", "tcp"], pass_fds=(seen[1],), stderr=subprocess.DEVNULL)
    os.close(seen[1])
    with os.fdopen(seen[0]) as output:
        display = output.readline().strip()
    environment = os.environ | {"DISPLAY": f":{display}", "HOME": str(folder), "XDG_RUNTIME_DIR": str(folder),
                                "GDK_BACKEND": "x11", "LIBGL_ALWAYS_SOFTWARE": "1"}
    driver = subprocess.Popen([executable, f"--port={port}", "--host=127.0.0.1"], env=environment,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    tab = None
    try:
        _answering(port, driver)
        tab = WebKit(port)
        yield tab
    finally:
        if tab:
            tab.leave()
        for process in (driver, screen):
            process.terminate()
            process.wait(30)
        held.close()


def _answering(port: int, driver: subprocess.Popen) -> None:
    deadline = time.monotonic() + START_S
    while True:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return
        assert driver.poll() is None and time.monotonic() < deadline, "WebKitWebDriver does not answer"
        time.sleep(0.1)
