"""What the other tests wait with: `settle` waits for a run that was asked for, however late the server begins it."""

import signal

import pytest
from playwright.sync_api import TimeoutError, expect


def test_a_page_is_not_settled_before_a_server_that_answers_late_has_answered(app, visit, settle, address):
    page = visit("/translate?text=I+am+cold.&step=1")
    server, *_ = app
    server.send_signal(signal.SIGSTOP)
    try:
        page.keyboard.press("ArrowRight")
        with pytest.raises(TimeoutError):
            settle(page, timeout=2_000)
    finally:
        server.send_signal(signal.SIGCONT)
    assert address(settle(page))["step"] == "2"


def test_a_page_is_settled_where_nothing_was_asked_for(visit, settle):
    page = visit("/masks")
    page.keyboard.press("Shift")
    expect(settle(page).get_by_role("heading", name="Masks").first).to_be_visible()
