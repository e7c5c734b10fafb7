"""What the other tests wait with: `settle` waits for a run that was asked for, however late the server begins it."""

import signal

import pytest
from playwright.sync_api import TimeoutError, expect
from streamlit.proto.BackMsg_pb2 import BackMsg

pytestmark = pytest.mark.rare("what the tests wait with, which few change")


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


@pytest.mark.own_visitor
def test_a_run_that_never_begins_is_not_waited_for_without_end(visit, page, settle):
    """A step of the front page that is asked for while another page comes, whose fragment is gone by then."""
    page.add_init_script("window.WebSocket = class extends WebSocket {"
                         "  constructor(...args) { super(...args); window.socket = this; } }")
    visit("/masks")
    request = BackMsg()
    request.rerun_script.fragment_id = "of another page"
    page.evaluate("bytes => socket.send(new Uint8Array(bytes))", list(request.SerializeToString()))
    with pytest.raises(TimeoutError, match="not begun"):
        settle(page, timeout=2_000)
    settle(page, timeout=100_000)


@pytest.mark.own_visitor
def test_a_page_is_not_settled_before_a_script_that_draws_nothing_has_come(page, app_url, settle):
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
