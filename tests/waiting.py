"""Waiting for what another process does, without taking the processor from it."""

import socket
import time
from collections.abc import Callable


def until(condition: Callable[[], object], explain: Callable[[], str] = lambda: "it did not happen", *,
          seconds: float = 300) -> None:
    """Returns once the condition holds; the limit is for a machine ten times slower, and measures nothing."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, explain()
        time.sleep(0.02)


def listens(port: int) -> bool:
    """Whether anybody listens on a port of this computer."""
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0
