"""What the other tests wait with: `settle` waits for a run that was asked for, however late the server begins it."""

import signal

import pytest
from playwright.sync_api import TimeoutError

from .conftest import address, settle

pytestmark = pytest.mark.rare("what the tests wait with, which few change")


def test_a_page_is_not_settled_before_a_server_that_answers_late_has_answered(app, visit):
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


@pytest.mark.own_visitor
def test_a_page_is_not_settled_before_a_script_that_draws_nothing_has_come(page, app_url):
    """That of what is round every page, which takes the files dropped on it."""
    held = []
    page.route("**/scripts/shell-*.js", lambda route: held.append(route))
    with page.expect_request("**/scripts/shell-*.js"):
        page.goto(f"{app_url}/positions", wait_until="domcontentloaded")
    page.wait_for_function("/^not drawn: .*st-key-shell/.test(whyUnsettled())", polling=50)
    with pytest.raises(TimeoutError, match="not drawn: .*st-key-shell"):
        settle(page, timeout=1_000)
    assert not page.evaluate("Boolean(window.headsUpViews?.shell)")
    held.pop().continue_()
    settle(page)
    assert page.evaluate("Boolean(window.headsUpViews?.shell)")
