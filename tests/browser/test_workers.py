"""A worker that dies under its visitor: the page comes back to where it was, and goes on."""

import os
import re
import signal

import pytest

from tests.server.conftest import need_caddy

from .conftest import at_step, go, reached, settle, wait_until

pytestmark = pytest.mark.rare("a server of two workers, which are killed")


@pytest.fixture
def workers(serve, tmp_path):
    """The address of a server of two workers, and its log."""
    need_caddy()
    log = tmp_path / "log.txt"
    _, url = serve(log, "ui/server/workers.py", "--workers", "2", "--port", "0", HEADSUP_HOME=str(tmp_path / "home"))
    return url, log


def test_a_page_whose_worker_is_killed_shows_the_same_step_again_and_goes_on(workers, page):
    url, log = workers
    go(page, f"{url}/translate?text=I+like+red+wine.&step=3")
    for step in (4, 5):
        page.keyboard.press("ArrowRight")
        reached(page, step=step)
    at_step(page, 5)
    started = dict(re.findall(r'worker started" worker=(\d) pid=(\d+)', log.read_text()))
    came = log.read_text().count("visitor came")
    for pid in started.values():  # one of them holds the session
        os.kill(int(pid), signal.SIGKILL)
    wait_until(page, lambda: log.read_text().count("visitor came") > came)
    settle(page)
    at_step(page, 5)
    page.keyboard.press("ArrowRight")
    at_step(reached(page, step=6), 6)
    assert "I like red wine" in page.get_by_role("textbox").first.input_value()
