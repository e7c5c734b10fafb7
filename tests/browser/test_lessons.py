"""The tour and lessons in the browser: keys, the sign, the bar, and where both are kept."""

import re

import pytest
from playwright.sync_api import expect

from transformer.basics.paths import ROOT
from transformer.lessons.parsing import read_file

from .conftest import SIZES, address, choose, on_cell, reached, settle, windows

LESSON = """---
title: Two pages
minutes: 2
description: From one page to the next.
---

## The end of a sentence
- link: /translate?text=Go on.&step=0&kind=cross&layer=0&head=0&temperature=0
- question: next token

Step to its end.

## Masks
- link: /masks?pair=2
- see: switched

Another page.
"""


# The cards by where they begin: how high each is, and how far its button stands above its foot.
CARDS = """() => {
  const rows = {};
  for (const button of document.querySelectorAll('[class*="st-key-lessons_start"] button')) {
    const card = button.closest('[data-testid="stColumn"] > *').getBoundingClientRect();
    const found = [card.height, card.bottom - button.getBoundingClientRect().bottom];
    (rows[Math.round(card.top)] ??= []).push(found.map(Math.round).join());
  }
  return Object.values(rows);
}"""


def bar(page):
    return page.locator(".lesson-bar")


def sign(page):
    return page.locator(".driver-popover")


def at_stop(page, stop, title):
    """Waits until that stop's page is there, and the bar or the sign shows it."""
    reached(page, stop=stop)
    expect(page.locator(".lesson-bar h2, .driver-popover-title").filter(has_text=title).first).to_be_attached()


def test_the_tour_is_done_by_keyboard_from_the_first_stop_to_the_last(visit):
    page = visit("/?lesson=tour")
    stops = read_file(ROOT / "lessons" / "tour.md").stops
    for stop, title in enumerate((one.title for one in stops), 1):
        at_stop(page, stop, title)
        expect(sign(page)).to_be_focused()
        expect(sign(page)).to_have_attribute("role", "dialog")
        assert page.locator("#driver-popover-title").text_content() == title
        if stops[stop - 1].deed == "step":
            before = int(address(page)["step"])
            page.keyboard.press("ArrowRight")
            reached(page, step=before + 1, stop=stop)
            expect(page.locator(".sign-status")).to_have_text("Done. → to go on")
        elif stops[stop - 1].deed == "pick":
            page.keyboard.press("2")
            expect(page.locator(".sign-status")).to_have_text("Done. → to go on")
        page.keyboard.press("ArrowRight")
    expect(page).to_have_url(re.compile("/lessons$"))
    expect(sign(page)).to_have_count(0)
    assert page.evaluate("localStorage.getItem('headsup-tour')") == "done"
    expect(page.get_by_test_id("stMain")).to_be_focused()
    page.get_by_role("link", name="Now your own sentence").press("Enter")
    page.wait_for_url("**/translate*")
    expect(page.get_by_test_id("stMain").get_by_role("textbox").first).to_be_focused()


TOUCHES = """([sign, part]) => {
  const [one, other] = [sign, part].map((element) => element.getBoundingClientRect());
  return one.right > other.left && other.right > one.left && one.bottom > other.top && other.bottom > one.top;
}"""


@pytest.mark.rare("a second way through the tour, with the place of a sign at two stops in two windows")
def test_the_page_can_be_seen_and_used_while_the_sign_points_and_a_link_goes_on_with_the_tour(page, visit):
    for stop, title, parts in ((7, "Choose another word", (".next-tokens", "[data-part=target]")),
                               (5, "Many heads", ("canvas.grid", "canvas.matrix"))):
        visit(f"/?lesson=tour&stop={stop}")
        for _ in windows(page, [(390, 844), (1280, 720)]):
            at_stop(page, stop, title)
            expect(sign(page)).to_be_in_viewport(ratio=1)
            for part in parts:  # what it points at, and what changes
                page.wait_for_function(f"both => !({TOUCHES})(both)", arg=[
                    sign(page).element_handle(), page.locator(part).first.element_handle()])
    page.emulate_media(reduced_motion="reduce")
    visit("/?lesson=tour&stop=5")
    at_stop(page, 5, "Many heads")
    expect(sign(page)).to_have_css("animation-name", "none")
    expect(page.locator("canvas.grid.driver-active-element")).to_be_visible()
    page.locator("canvas.grid").click(position={"x": 60, "y": 60})
    expect(page.locator(".sign-status")).to_have_text("Done. → to go on")
    link = page.evaluate("location.pathname + location.search")
    page.get_by_test_id("stPopoverButton").first.click()
    expect(page.get_by_test_id("stPopoverBody")).to_be_visible()
    page.keyboard.press("Escape")  # closes what is open over the page, and then the tour
    expect(page.get_by_test_id("stPopoverBody")).to_have_count(0)
    expect(sign(page)).to_have_count(1)
    page.locator(".step-view .row h2").first.click()
    page.keyboard.press("Escape")
    expect(sign(page)).to_have_count(0)
    reached(page, lesson=None, stop=None)
    assert page.evaluate("localStorage.getItem('headsup-tour')") == "4"
    visit(link)
    at_stop(page, 5, "Many heads")


def test_a_lesson_of_ones_own_is_stepped_by_a_remote_answered_left_for_another_page_and_finished(visit):
    page = visit("/lessons")
    for width, _ in windows(page, SIZES[::-1]):
        cards = page.evaluate(CARDS)
        assert {len(row) for row in cards} == {1 if width == 390 else 3}
        assert all(len({*row}) == 1 for row in cards), cards  # as high as those beside them
    page.locator("input[type=file]").set_input_files(
        {"name": "two pages.md", "mimeType": "text/markdown", "buffer": LESSON.encode()})
    card = page.locator("[class*=st-key-lessons_own]").filter(has_text="Two pages")
    card.get_by_role("button", name="Start", exact=True).click()
    at_stop(page, 1, "The end of a sentence")
    settle(page)
    picture = page.locator(".attention-view")
    assert picture.evaluate("view => view.view.message.kinds.cross.makes") is None  # which would tell the answer
    height = bar(page).bounding_box()["height"]
    assert 40 < height < 250
    padding = "getComputedStyle(document.querySelector('[data-testid=stMainBlockContainer]')).paddingBottom"
    assert float(page.evaluate(padding).removesuffix("px")) >= height  # the page has room below for the bar
    bar(page).locator("button.choice").first.click()
    expect(bar(page).get_by_role("status")).to_contain_text("%")
    verdict = bar(page).get_by_role("status").text_content()
    page.keyboard.press("PageDown")
    at_stop(page, 2, "Masks")
    assert address(page)["pair"] == "2"
    heading = page.get_by_role("heading", name="Switch a mask off")
    expect(heading).to_be_in_viewport()
    assert heading.bounding_box()["y"] < 200
    page.keyboard.press("PageUp")
    at_stop(page, 1, "The end of a sentence")
    assert address(page)["step"] == "0"
    expect(bar(page).get_by_role("status")).to_have_text(verdict)
    choose(page, "library")
    reached(page, lesson="own/two-pages", stop=1)  # the bar stays on pages that are no stop
    expect(bar(page).locator("h2")).to_contain_text("The end of a sentence")
    bar(page).get_by_role("button", name="Next").click()
    at_stop(page, 2, "Masks")
    bar(page).get_by_role("button", name="Finish").click()
    expect(page.get_by_text(re.compile("of 1 right, 1 of 1 questions answered"))).to_be_visible()
    expect(bar(page)).to_have_count(0)


def test_a_cell_is_answered_by_a_click_and_after_a_number_typed_the_keys_are_the_lessons(visit):
    page = visit("/lessons?lesson=query-and-key&stop=3")
    view = page.locator(".attention-view")
    row = view.evaluate("({ view }) => view.message.kinds.cross.queries.length - 1")
    page.locator("canvas.matrix").click(position=on_cell(view, row, 2))
    expect(bar(page).get_by_role("status")).to_contain_text("Right: ")
    visit("/lessons?lesson=query-and-key&stop=8")
    at_stop(page, 8, "Divide")
    field = bar(page).locator("input")
    field.fill("2")
    for _ in windows(page, [(390, 844), (1280, 720)]):  # the strip is drawn anew, and keeps what was typed
        expect(field).to_have_value("2")
    field.press("Enter")
    expect(bar(page).get_by_role("status")).to_contain_text("Right")
    page.keyboard.press("PageDown")
    at_stop(page, 9, "Softmax")
    bar(page).get_by_role("button", name="Leave").click()
    expect(bar(page)).to_have_count(0)
    expect(page.locator("html.foot-on")).to_have_count(0)
