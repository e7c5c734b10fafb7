"""Connections on which nothing comes: they end, and keep nobody out."""

import resource
import socket
import time
from collections import deque

import pytest

from tests.server.conftest import ADDRESS
from tests.server.test_rooms import Class

SOON = """from ui.server import patience
patience.HEAD_SECONDS = patience.BODY_SECONDS = 1.0
"""
FEW = f"""import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (300, 300))
{SOON}"""
FIRST = f"GET /health HTTP/1.1\r\nHost: {ADDRESS}\r\n"


@pytest.fixture(scope="module")
def hasty(start):
    """A server that waits for a second only."""
    return start(before=SOON)


def connected(server, *sent: str) -> socket.socket:
    """A connection on which that has been sent, and each but the last has been answered."""
    made = socket.create_connection((ADDRESS, server.port), timeout=20)
    for number, part in enumerate(sent):
        if number:
            assert made.recv(100_000).startswith(b"HTTP/1.1 200")
        made.sendall(part.encode())
    return made


def ends(made: socket.socket) -> bool:
    """Whether it is closed from the other side."""
    try:
        while made.recv(100_000):
            pass
    except ConnectionResetError:
        pass
    except TimeoutError:
        return False
    return True


@pytest.mark.parametrize("sent", [
    (), ("G",), (FIRST,), (f"{FIRST}\r\n", "G"), (f"{FIRST}\r\n", FIRST),
    (f"POST /lead HTTP/1.1\r\nHost: {ADDRESS}\r\nContent-Length: 1000\r\n\r\n{{",),
    (f"POST /teacher HTTP/1.1\r\nHost: {ADDRESS}\r\nTransfer-Encoding: chunked\r\n\r\n",)])
def test_a_connection_on_which_no_whole_request_comes_is_closed(hasty, sent):
    assert ends(connected(hasty, *sent))


def test_who_is_waiting_for_an_answer_is_not_hurried(hasty):
    here = Class(hasty)
    waits = connected(hasty, f"GET /r/{here.room.code}/state?rev={here.state()['rev']} HTTP/1.1\r\nHost: {ADDRESS}\r\n"
                             f"Cookie: {hasty.phone('p')}\r\n\r\n")
    waits.settimeout(2.5)  # longer than anybody may take to ask
    with pytest.raises(TimeoutError):
        waits.recv(1)
    waits.settimeout(20)
    here.lead(do="lock", on=True)
    assert waits.recv(100).startswith(b"HTTP/1.1 200")


def test_a_page_stays_connected_though_nothing_is_said(hasty):
    with hasty.visit() as session:
        assert session.open("translate")
        with pytest.raises(TimeoutError):  # after whatever else there was to say
            deque(iter(lambda: session.socket.recv(timeout=2.5), None), 0)
        assert session.open("translate")


@pytest.mark.rare
def test_a_server_that_may_hold_few_connections_stays_open_and_quiet(start):
    server = start(before=FEW)
    silent = [socket.create_connection((ADDRESS, server.port), timeout=20) for _ in range(400)]
    assert all(map(ends, silent))
    assert server.ask("GET", "/health").status == 200
    assert server.log.read_text().count("Too many open files") <= 1


@pytest.mark.rare
def test_a_server_takes_as_many_connections_as_the_system_lets_it(start):
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    server = start(before=f"import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (200, {most}))\n")
    made = [connected(server, FIRST) for _ in range(300)]
    began = time.monotonic()
    assert server.ask("GET", "/health").status == 200
    assert time.monotonic() - began < 10
    for one in made:
        one.close()
