"""Firefox without a window, spoken to by WebDriver BiDi over the websocket that it opens itself."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from websockets.sync.client import ClientConnection, connect

from tests.waiting import start_server

from .webdriver import WAIT_S, Tab

NAMES = ("firefox-esr", "firefox")
# Nothing but what the pages ask for, and no page of its own at the first start.
PREFERENCES = {"app.update.auto": False, "app.normandy.enabled": False,
               "datareporting.policy.dataSubmissionEnabled": False,
               "toolkit.telemetry.enabled": False, "browser.safebrowsing.update.enabled": False,
               "network.captive-portal-service.enabled": False, "network.connectivity-service.enabled": False,
               "browser.aboutConfig.showWarning": False, "browser.shell.checkDefaultBrowser": False,
               "datareporting.policy.dataSubmissionPolicyBypassNotification": True}


class Firefox(Tab):
    name = "firefox"

    def __init__(self, socket: ClientConnection):
        self._socket, self._numbers, self.asked, self.errors = socket, count(1), [], []
        self._say("session.new", capabilities={})
        (there, *_) = self._say("browsingContext.getTree")["contexts"]
        self._context = there["context"]
        self._say("session.subscribe", events=["network.beforeRequestSent", "log.entryAdded"])

    def _say(self, method: str, **params: object) -> dict:
        number = next(self._numbers)
        self._socket.send(json.dumps({"id": number, "method": method, "params": params}))
        while True:
            heard = json.loads(self._socket.recv(timeout=WAIT_S))
            if heard.get("id") == number:
                assert heard["type"] == "success", f"{method}: {heard}"
                return heard["result"]
            if heard.get("method") == "network.beforeRequestSent":
                self.asked.append(heard["params"]["request"]["url"])
            if heard.get("method") == "log.entryAdded" and heard["params"]["level"] == "error":
                self.errors.append(heard["params"]["text"])

    def go(self, url: str) -> None:
        self._say("browsingContext.navigate", context=self._context, url=url, wait="interactive")

    def run(self, body: str) -> object:
        found = self._say("script.callFunction", target={"context": self._context}, awaitPromise=True,
                          functionDeclaration=f"() => JSON.stringify((() => {{ {body} }})() ?? null)")
        assert found["type"] == "success", found
        return json.loads(found["result"]["value"])

    def perform(self, actions: list[dict]) -> None:
        self._say("input.performActions", context=self._context, actions=actions)

    def resize(self, width: int, height: int) -> None:
        self._say("browsingContext.setViewport", context=self._context, viewport={"width": width, "height": height})


@contextmanager
def opened(executable: str, folder: Path) -> Iterator[Firefox]:
    """With a profile of its own in that folder."""
    profile, log = folder / "profile", folder / "log.txt"
    profile.mkdir()
    (profile / "user.js").write_text("".join(
        f"user_pref({json.dumps(name)}, {json.dumps(value)});\n" for name, value in PREFERENCES.items()))
    process, found = start_server([executable, "--headless", "--no-remote", "--profile", str(profile),
                                   "--remote-debugging-port", "0"], log, r"WebDriver BiDi listening on (ws://\S+)")
    try:
        with connect(f"{found[1]}/session", max_size=None) as socket:
            yield Firefox(socket)
    finally:
        process.terminate()
        process.wait(30)
