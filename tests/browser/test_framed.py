"""A page of another site shows the app in a frame, as a Hugging Face Space does, in a browser that sends no site's
cookies from another's frames."""

import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from playwright.sync_api import expect

from .conftest import RULES, launched, new_tab

LESSON = """---
title: Framed
---

## One

[Open](/masks)
"""


@pytest.fixture
def framing():
    """A site for which "localhost" is another: its address, and what its page is to say. It is served, since Chromium
    lets no page of elsewhere, as one that Playwright makes up is, frame a server of this computer."""
    class Site(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(self.server.page)

        def log_message(self, *_):
            pass

    site = HTTPServer(("127.0.0.1", 0), Site)
    threading.Thread(target=site.serve_forever, daemon=True).start()
    yield site, f"http://127.0.0.1:{site.server_port}"
    site.shutdown()
    site.server_close()


@pytest.fixture
def framed(chromium, serve, framing, tmp_path):
    """The page of that site, and what it shows of the app."""
    site, address = framing
    _, url = serve(tmp_path / "log.txt", "ui/server/serve.py", "--port", "0", "--framed-by", address,
                   HEADSUP_HOME=str(tmp_path / "home"))
    there = f"{url.replace('127.0.0.1', 'localhost')}/lessons?__theme=light"
    site.page = f"<iframe src='{there}' width=1400 height=850></iframe>".encode()
    browser = launched(chromium.browser_type, RULES, "--test-third-party-cookie-phaseout")
    page = new_tab(browser)
    page.goto(address)
    yield page, page.frame_locator("iframe")
    browser.close()


@pytest.mark.rare("a browser and a server of its own, for a frame of another site")
def test_a_file_is_taken_and_attention_is_drawn(framed):
    page, frame = framed
    frame.locator("input[type=file]").set_input_files({"name": "framed.md", "mimeType": "text/markdown",
                                                       "buffer": LESSON.encode()})
    expect(frame.get_by_text("Framed").first).to_be_visible()
    cookies = {cookie["name"]: cookie for cookie in page.context.cookies()}
    assert {"headsup_visitor", "_streamlit_xsrf"} <= cookies.keys()
    assert all(cookie["partitionKey"] == "http://127.0.0.1" for cookie in cookies.values())
    frame.get_by_role("link", name="Translate").click()
    expect(frame.locator("[data-part=target]")).to_contain_text("J'")
    expect(frame.locator("[data-part=head] canvas").first).to_be_visible()
