"""A class opens the pages by the name of the teacher's computer, over plain http, where browsers allow less, and in a
network that leads nowhere else."""

import json
import shutil
import socket
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from ui.pages import PAGES

from .conftest import CLOSED, FLAGS, NAMES, OURS, SETTLED, WAIT_MS, listen_for_others

NAME = f"{socket.gethostname().lower()}.local"  # one that the server answers to

BY_ITSELF = "not an origin"  # whoever asked for something that no page asked for: Chromium's own services


def host_of(url):
    """Of an address, or of a name and its port."""
    return urlsplit(url if "://" in url else f"//{url}").hostname


@pytest.fixture(scope="module")
def classroom(chromium):
    """A browser for which that name is this computer."""
    executable = next(filter(None, map(shutil.which, NAMES)))
    rules = f"--host-resolver-rules=MAP {NAME} 127.0.0.1, {CLOSED}"
    browser = chromium.browser_type.launch(executable_path=executable, args=[*FLAGS, rules])
    yield browser
    browser.close()


@pytest.fixture
def visit_by_name(classroom, app_url, settle):
    context = classroom.new_context(viewport={"width": 1440, "height": 900})
    context.add_init_script(SETTLED)
    context.set_default_timeout(WAIT_MS)
    listen_for_others(context)

    def visit_by_name(address):
        page = context.new_page()
        page.goto(f"http://{NAME}:{urlsplit(app_url).port}{address}", wait_until="domcontentloaded")
        assert not page.evaluate("isSecureContext")
        return settle(page)

    yield visit_by_name
    context.close()


def pasted(page):
    """What a paste into an empty field brings."""
    page.evaluate("document.body.append(document.createElement('textarea'))")
    field = page.locator("body > textarea")
    field.focus()
    page.keyboard.press("Control+V")
    return field.input_value()


def test_a_link_is_copied(visit_by_name, settle):
    page = visit_by_name("/translate?text=Go+on.&step=2")
    page.get_by_role("button", name="Copy link").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert pasted(page) == page.url
    assert "step=2" in page.url and NAME in page.url


def test_a_film_is_a_gif_and_the_menu_says_why(visit_by_name):
    page = visit_by_name("/train?view=watch&run=checkpoints/translate")
    saves = page.locator(".forming[data-drawn]").get_by_label("Save", exact=True)
    why = saves.locator("option[disabled]")
    expect(why).to_have_text("WebM and MP4 need https: over plain http a browser makes no video.")
    assert [option for option in saves.locator("option").all_inner_texts() if "film" in option] == ["film, GIF"]
    with page.expect_download() as download:
        saves.select_option("gif")
    assert download.value.path().read_bytes().startswith(b"GIF89a")


def test_code_is_copied_by_its_button(visit_by_name):
    page = visit_by_name("/library")
    code = page.get_by_test_id("stCode").first
    code.hover()
    code.get_by_role("button", name="Copy to clipboard").click()
    assert pasted(page) == code.locator("code").inner_text().rstrip()


def test_a_picture_and_a_page_are_saved(visit_by_name, settle):
    page = visit_by_name("/translate?text=Go+on.&step=1")
    page.get_by_role("button", name="Options").click()
    for kind, begins in (("svg", b"<svg"), ("pdf", b"%PDF"), ("csv", b"")):
        with page.expect_download() as download:
            page.get_by_label("Save", exact=True).select_option(kind)
        assert download.value.path().read_bytes().lstrip().startswith(begins)


def test_no_page_knows_of_another_host(chromium, app_url, settle, tmp_path):
    """By the log of the browser's network itself: whatever is asked or connected, by fonts and workers too."""
    executable = next(filter(None, map(shutil.which, NAMES)))
    log = tmp_path / "net.json"
    browser = chromium.browser_type.launch(executable_path=executable, args=[
        *FLAGS, f"--host-resolver-rules=MAP {NAME} 127.0.0.1, {CLOSED}", f"--log-net-log={log}"])
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.add_init_script(SETTLED)
    page.set_default_timeout(WAIT_MS)
    page.goto(f"http://{NAME}:{urlsplit(app_url).port}/", wait_until="domcontentloaded")
    for there in PAGES.values():
        settle(page).get_by_test_id("stTopNavLink").filter(has_text=there.title).click()
        page.wait_for_url(f"**/{there.name}*")
    settle(page)
    browser.close()
    found = json.loads(log.read_text())
    kinds = {number: kind for kind, number in found["constants"]["logEventTypes"].items()}
    said = [(kinds[event["type"]], event.get("params", {})) for event in found["events"]]
    started = [params for kind, params in said if kind == "URL_REQUEST_START_JOB" and "url" in params]
    by_pages = {host_of(one["url"]) for one in started if one.get("initiator", BY_ITSELF) != BY_ITSELF}
    by_itself = {host_of(one["url"]) for one in started} - by_pages
    connected = {host_of(params["url"]) for kind, params in said
                 if kind == "HTTP_STREAM_JOB_CONTROLLER" and "url" in params}
    assert NAME in by_pages
    assert by_pages - OURS == set()
    assert connected - by_itself - OURS == set()  # ahead of a request, too
