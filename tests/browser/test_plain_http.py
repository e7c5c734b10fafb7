"""A class opens the pages by the name of the teacher's computer, over plain http, where browsers allow less."""

import socket
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from .conftest import CLOSED, go, launched, new_tab, saved

pytestmark = pytest.mark.rare("a browser of its own, for a class that has no https")
NAME = f"{socket.gethostname().lower()}.local"  # one that the server answers to


@pytest.fixture(scope="module")
def classroom(chromium):
    """A tab of a browser for which that name is this computer."""
    browser = launched(chromium.browser_type, f"--host-resolver-rules=MAP {NAME} 127.0.0.1, {CLOSED}")
    yield new_tab(browser, permissions=[])
    browser.close()


@pytest.fixture
def visit_by_name(classroom, app_url):
    def visit_by_name(address):
        page = go(classroom, f"http://{NAME}:{urlsplit(app_url).port}{address}")
        assert not page.evaluate("isSecureContext")
        return page

    return visit_by_name


def pasted(page):
    """What a paste into an empty field brings."""
    page.evaluate("document.body.append(document.createElement('textarea'))")
    field = page.locator("body > textarea")
    field.focus()
    page.keyboard.press("Control+V")
    return field.input_value()


def test_a_link_is_copied(visit_by_name):
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
    assert saved(page, lambda: saves.select_option("gif"))[1].startswith(b"GIF89a")


def test_code_is_copied_by_its_button(visit_by_name):
    page = visit_by_name("/library")
    code = page.get_by_test_id("stCode").first
    code.hover()
    code.get_by_role("button", name="Copy to clipboard").click()
    assert pasted(page) == code.locator("code").inner_text().rstrip()


def test_a_picture_and_a_page_are_saved(visit_by_name):
    page = visit_by_name("/translate?text=Go+on.&step=1")
    page.get_by_role("button", name="Options").click()
    saves = page.get_by_label("Save", exact=True)
    for kind, begins in (("svg", b"<svg"), ("pdf", b"%PDF"), ("csv", b"")):
        _, data = saved(page, lambda kind=kind: saves.select_option(kind))
        assert data.lstrip().startswith(begins)
