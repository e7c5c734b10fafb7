"""The walk and lessons in the browser: keys, the sign, the bar, and where both are kept."""

import re

import pytest
from playwright.sync_api import expect

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


def bar(page):
    return page.locator(".lesson-bar")


def sign(page):
    return page.locator(".driver-popover")


def at_stop(page, reached, stop, title):
    """Waits until that stop's page is there, and the bar or the sign shows it."""
    reached(page, stop=stop)
    expect(page.locator(".lesson-bar h2, .driver-popover-title").filter(has_text=title).first).to_be_attached()


@pytest.fixture
def own_lesson(visit, settle):
    """A page on which a file of the visitor's own has been opened and started."""
    page = visit("/lessons")
    page.locator("input[type=file]").set_input_files(
        {"name": "two pages.md", "mimeType": "text/markdown", "buffer": LESSON.encode()})
    card = page.locator("[class*=st-key-lessons_own]").filter(has_text="Two pages")
    card.get_by_role("button", name="Start", exact=True).click()
    expect(bar(page).locator("h2")).to_contain_text("The end of a sentence")
    return settle(page)


def test_the_walk_is_done_by_keyboard_from_the_first_stop_to_the_last(visit, reached, settle, address):
    page = visit("/?lesson=walk")
    titles = ["Text is split into tokens", "A head looks somewhere", "Query and key", "Softmax", "Many heads", "Masks",
              "Choose another word", "A head switched off"]
    for stop, title in enumerate(titles, 1):
        at_stop(page, reached, stop, title)
        expect(sign(page)).to_be_focused()
        expect(sign(page)).to_have_attribute("role", "dialog")
        assert page.locator("#driver-popover-title").text_content() == title
        if stop <= 2:
            before = int(address(page)["step"])
            page.keyboard.press("ArrowRight")
            reached(page, step=before + 1, stop=stop)
            expect(page.locator(".sign-status")).to_have_text("Done. → to go on")
        elif stop == 7:
            page.keyboard.press("2")
            expect(page.locator(".sign-status")).to_have_text("Done. → to go on")
        page.keyboard.press("ArrowRight")
    expect(page).to_have_url(re.compile("/lessons$"))
    expect(sign(page)).to_have_count(0)
    assert page.evaluate("localStorage.getItem('headsup-walk')") == "done"


def test_the_page_can_be_used_while_the_sign_points_at_it(visit, reached, settle):
    page = visit("/?lesson=walk&stop=5")
    at_stop(page, reached, 5, "Many heads")
    expect(page.locator("canvas.grid.driver-active-element")).to_be_visible()
    page.locator("canvas.grid").click(position={"x": 60, "y": 60})
    expect(page.locator(".sign-status")).to_have_text("Done. → to go on")


def test_escape_leaves_the_walk_and_its_link_goes_on_with_it(visit, reached, address, page):
    visit("/?lesson=walk&stop=2")
    at_stop(page, reached, 2, "A head looks somewhere")
    link = page.evaluate("location.pathname + location.search")
    expect(sign(page)).to_be_focused()
    page.keyboard.press("Escape")
    expect(sign(page)).to_have_count(0)
    reached(page, lesson=None, stop=None)
    assert page.evaluate("localStorage.getItem('headsup-walk')") == "1"
    visit(link)
    at_stop(page, reached, 2, "A head looks somewhere")
    assert address(page)["step"] == "4"


def test_a_remote_walks_a_lesson_over_two_pages(own_lesson, reached, address):
    page = own_lesson
    at_stop(page, reached, 1, "The end of a sentence")
    picture = page.locator(".attention-view")
    assert picture.evaluate("view => view.view.message.kinds.cross.makes") is None  # which would tell the answer
    page.keyboard.press("PageDown")
    at_stop(page, reached, 2, "Masks")
    assert address(page)["pair"] == "2"
    heading = page.get_by_role("heading", name="Switch a mask off")
    expect(heading).to_be_in_viewport()
    assert heading.bounding_box()["y"] < 200
    page.keyboard.press("PageUp")
    at_stop(page, reached, 1, "The end of a sentence")
    assert address(page)["step"] == "0"


def test_a_cell_is_answered_with_a_click_on_it(visit, settle):
    page = visit("/lessons?lesson=query-and-key&stop=3")
    place = page.locator(".attention-view").evaluate("""({ view }) => {
      const { gutter, cell } = view.made;
      const row = view.message.kinds.cross.queries.length - 1;
      return { x: gutter.left + 2.5 * cell[0], y: gutter.top + (row + 0.5) * cell[1] };
    }""")
    page.locator("canvas.matrix").click(position=place)
    expect(bar(page).get_by_role("status")).to_contain_text("Right: ")


def test_the_keys_are_the_lessons_again_after_an_answer_is_typed(visit, reached):
    page = visit("/lessons?lesson=query-and-key&stop=8")
    at_stop(page, reached, 8, "Divide")
    field = bar(page).locator("input")
    field.fill("2")
    field.press("Enter")
    expect(bar(page).get_by_role("status")).to_contain_text("Right")
    page.keyboard.press("PageDown")
    at_stop(page, reached, 9, "Softmax")


def test_an_answer_is_judged_kept_and_told_at_the_end(own_lesson, reached, settle):
    page = own_lesson
    bar(page).locator("button.choice").first.click()
    expect(bar(page).get_by_role("status")).to_contain_text("%")
    verdict = bar(page).get_by_role("status").text_content()
    bar(page).get_by_role("button", name="Next").click()
    at_stop(page, reached, 2, "Masks")
    bar(page).get_by_role("button", name="Back").click()
    at_stop(page, reached, 1, "The end of a sentence")
    expect(bar(page).get_by_role("status")).to_have_text(verdict)
    bar(page).get_by_role("button", name="Next").click()
    at_stop(page, reached, 2, "Masks")
    bar(page).get_by_role("button", name="Finish").click()
    expect(page.get_by_text(re.compile("of 1 right, 1 of 1 questions answered"))).to_be_visible()
    expect(bar(page)).to_have_count(0)


def test_the_page_has_room_below_for_the_bar(own_lesson, settle):
    page = own_lesson
    height = bar(page).bounding_box()["height"]
    assert 40 < height < 250
    padding = "getComputedStyle(document.querySelector('[data-testid=stMainBlockContainer]')).paddingBottom"
    assert float(page.evaluate(padding).removesuffix("px")) >= height
    bar(page).get_by_role("button", name="Leave").click()
    expect(bar(page)).to_have_count(0)
    expect(page.locator("html.foot-on")).to_have_count(0)


def test_the_bar_stays_on_pages_that_are_no_stop(own_lesson, settle, reached):
    page = own_lesson
    page.get_by_role("link", name="Positions").first.click()
    reached(page, lesson="own/two-pages", stop=1)
    expect(bar(page).locator("h2")).to_contain_text("The end of a sentence")
    bar(page).get_by_role("button", name="Next").click()
    at_stop(page, reached, 2, "Masks")


def test_the_sign_keeps_still_where_motion_is_unwanted(page, visit, reached):
    page.emulate_media(reduced_motion="reduce")
    visit("/?lesson=walk")
    at_stop(page, reached, 1, "Text is split into tokens")
    expect(sign(page)).to_have_css("animation-name", "none")
