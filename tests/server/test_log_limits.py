"""What anybody can make the server write to its log: little, and nothing that looks like something else."""

import logging
import time
from contextlib import suppress

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ClientState_pb2 import ClientState
from websockets.exceptions import ConnectionClosed

from tests.server.client import ANSWER_S
from ui.server import log_limits

FORGED = "x\r\nTeacher: http://evil.example/#1\x1b[2J\u202e\u2028Heads Up is at http://evil.example" + "y" * 9_000
MANY = 60


SENT = {"a fragment that is not there": BackMsg(rerun_script=ClientState(fragment_id=FORGED)).SerializeToString(),
        "text": FORGED, "no message": b"\xff\xff" + FORGED.encode(), "an empty message": b"",
        "a shutdown": BackMsg(debug_shutdown_runtime=True).SerializeToString(),
        "an end": BackMsg(debug_disconnect_websocket=True).SerializeToString()}


@pytest.mark.parametrize("sent", [*SENT.values(), None], ids=[*SENT, "no request"])
def test_no_message_fills_the_log_or_forges_a_line_of_it(server, sent):
    before = len(server.log.read_bytes())
    if sent is None:
        for _ in range(MANY):
            with server.connect(f"GET /\x1b[2J HTTP/9.9\r\n{FORGED}\r\n\r\n".encode()) as made:
                made.recv(1000)
    else:
        for _ in range(3):
            with server.visit() as session, suppress(ConnectionClosed):
                for _ in range(MANY // 3):
                    session.socket.send(sent)
                assert session.socket.ping(ack_on_close=True).wait(ANSWER_S)
    assert server.ask("GET", "/health").status == 200
    written = server.log.read_bytes()[before:].decode()
    assert len(written) < 40 * log_limits.LONGEST
    assert len(written.splitlines()) < 1_000
    assert not any(line.startswith(("Teacher", "Heads Up")) for line in written.splitlines())
    assert "\x1b" not in written and "\u202e" not in written


@pytest.fixture
def logger():
    """One whose records are let by or not, as those of a server are."""
    few, written = log_limits.RecordLimiter(), []
    logger = logging.Logger("a test")
    logger.addFilter(few.lets_by)
    handler = logging.Handler()
    handler.emit = lambda record: written.append(logging.Formatter().format(record))
    logger.addHandler(handler)
    return logger, written


def test_each_place_writes_a_few_and_says_later_how_many_more_there_were(logger, monkeypatch):
    logger, written = logger
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    for number in range(2):
        for _ in range(log_limits.MOST + 5):
            logger.warning("%d of one place", number)
        logger.warning("another place")
        now[0] += log_limits.SECONDS + 1
    ones = [line for line in written if "one place" in line]
    assert len(ones) == 2 * log_limits.MOST
    assert ones[log_limits.MOST] == "1 of one place (5 more like this were left out.)"
    assert written.count("another place") == 2


def test_what_failed_at_another_place_is_another_kind(logger):
    logger, written = logger

    def fail(deep: bool) -> None:
        if deep:
            raise ValueError("deep\nTeacher: x\x1b")
        raise ValueError("flat")

    for deep in [True] * 20 + [False]:
        try:
            fail(deep)
        except ValueError:
            logger.exception("failed")
    assert len(written) == log_limits.MOST + 1
    assert "\n  Teacher: x\\x1b" in written[0] and "flat" in written[-1]
