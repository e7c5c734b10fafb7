"""What a page shows of an exception, and the log of it: nothing that is not for visitors, and little."""

import pytest

from tests.server.client import Server
from ui.server import log_limits


@pytest.fixture(scope="module")
def server(start, tmp_path_factory) -> Server:
    """One whose only page ends in an exception."""
    page = tmp_path_factory.mktemp("pages") / "raises.py"
    page.write_text("import streamlit as st\nst.write('so far')\nraise KeyError('a-secret-path')\n")
    return start(before=f"serve.APP = serve.Path({str(page)!r})")


def test_no_exceptions_text_reaches_a_page(server):
    with server.visit() as session:
        text = session.open().text
    assert "so far" in text and session.sizes["exception"]
    for secret in ("a-secret-path", "KeyError", "Traceback", "raises.py", "/pages"):
        assert secret not in text
    assert "a-secret-path" in server.log.read_text()


def test_one_exception_of_a_page_is_in_the_log_ten_times_a_minute_at_most(server):
    before = len(server.log.read_text())
    with server.visit() as session:
        for _ in range(log_limits.MOST + 2):
            session.open()
    written = server.log.read_text()[before:]
    assert 0 < written.count("Traceback") <= log_limits.MOST
    assert len(written) < log_limits.MOST * log_limits.LONGEST and "\x1b" not in written
