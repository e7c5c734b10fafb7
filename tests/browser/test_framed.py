"""A page of another site shows the app in a frame, as a Hugging Face Space does, in a browser that sends no site's
cookies from another's frames."""

import shutil

import pytest
from playwright.sync_api import expect

from .conftest import FLAGS, NAMES, RULES, SETTLED, WAIT_MS, listen_for_others

SITE = "http://127.0.0.1:7000"  # for which "localhost" is another site
LESSON = """---
title: Framed
---

## One

[Open](/masks)
"""


@pytest.fixture
def framed(chromium, serve, tmp_path):
    """The page of that site, and what it shows of the app."""
    _, url = serve(tmp_path / "log.txt", "ui/server/serve.py", "--port", "0", "--framed-by", SITE,
                   HEADSUP_HOME=str(tmp_path / "home"))
    executable = next(filter(None, map(shutil.which, NAMES)))
    browser = chromium.browser_type.launch(executable_path=executable,
                                           args=[*FLAGS, RULES, "--test-third-party-cookie-phaseout"])
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    context.add_init_script(SETTLED)
    context.set_default_timeout(WAIT_MS)
    listen_for_others(context)
    page = context.new_page()
    page.route(f"{SITE}/**", lambda route: route.fulfill(
        content_type="text/html", body=f"<iframe src='{url}/lessons?__theme=light' width=1400 height=850></iframe>"))
    page.goto(SITE)
    yield page, page.frame_locator("iframe")
    browser.close()


def test_a_file_is_taken_and_a_step_is_drawn(framed):
    page, frame = framed
    frame.locator("input[type=file]").set_input_files({"name": "framed.md", "mimeType": "text/markdown",
                                                       "buffer": LESSON.encode()})
    expect(frame.get_by_text("Framed").first).to_be_visible()
    cookies = {cookie["name"]: cookie for cookie in page.context.cookies()}
    assert {"headsup_visitor", "_streamlit_xsrf"} <= cookies.keys()
    assert all(cookie["partitionKey"] == SITE.rpartition(":")[0] for cookie in cookies.values())
    frame.get_by_role("link", name="Translate").click()
    frame.get_by_role("button", name="Step", exact=True).click()
    expect(frame.locator("[data-part=target]")).to_contain_text("J'")
