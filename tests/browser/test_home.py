"""The front page, and what holds on every page."""

import re

import pytest
from playwright.sync_api import expect

import transformer
from ui.page.pages import EVERY_PAGE, HOME, menu

from .conftest import OUTPUT, at_step, chips, choose, reached, settle, windows

LAST = f"{transformer.describe('translate').step:,}"  # of training


def test_it_steps_three_times_by_itself_and_a_head_grows_until_somebody_takes_over(visit, touch, complaints):
    page = visit("/")
    at_step(page, 3)
    page.locator(OUTPUT).evaluate("""shown => {
      window.others = [];
      const three = shown.textContent;
      const look = () => shown.textContent === three || window.others.push(shown.textContent);
      new MutationObserver(look).observe(shown, { childList: true, characterData: true, subtree: true });
    }""")
    slider, place = page.get_by_role("slider", name="Training step"), page.locator(".growing output")
    slider.fill("0")
    expect(place).to_contain_text(f"training step 0 of {LAST}")
    page.get_by_role("button", name="Play", exact=True).click()
    expect(place).to_contain_text(f"training step {LAST} of {LAST}")
    assert page.evaluate("others") == []  # which took longer than one more step would have
    page.keyboard.press("ArrowRight")
    at_step(page, 4)
    page.get_by_role("button", name="press 2").click()  # one key rewrites the whole sentence
    settle(page)
    at_step(page, 0)
    page.keyboard.press("2")
    at_step(page, 1)
    rewritten = "Il nous faut aller chez nous maintenant ."
    assert " ".join(chips(settle(page), "target tokens")[1:-1]) == rewritten
    versions = page.locator(".branches button:disabled")
    touch(True)
    for size in windows(page):
        assert versions.evaluate("one => one.scrollWidth <= one.clientWidth"), size  # read whole
    assert complaints == []


def test_the_picture_answers_a_touch_and_has_a_way_back(page, visit, complaints):
    page.emulate_media(reduced_motion="reduce")
    visit("/")
    at_step(page, 3)
    for _ in windows(page, [(1280, 720), (390, 844)]):
        picture, room = page.locator(".step-view .attention-view.modelled"), page.locator(".model-room")
        expect(picture).to_have_attribute("data-level", "whole")
        way = page.locator(".model-bar nav button")
        expect(way.first).to_be_hidden()
        assert room.evaluate("room => room.getBoundingClientRect().top + room.offsetHeight / 2 < innerHeight")
        box = room.bounding_box()
        page.mouse.click(box["x"] + 0.75 * box["width"], box["y"] + 0.5 * box["height"])  # a part of the decoder
        expect(picture).not_to_have_attribute("data-level", "whole")
        way.first.click()
        expect(picture).to_have_attribute("data-level", "whole")
    link = page.get_by_role("link", name="See all heads at this step")
    assert "step=3" in link.get_attribute("href")
    assert complaints == []


@pytest.mark.rare("a click on every entry of the menu, in two windows and in the drawer")
def test_the_menu_has_seven_entries_at_most_and_leads_to_every_page_by_mouse_and_keyboard(page, visit):
    visit("/lessons")
    entries = page.get_by_test_id("stTopNav").get_by_test_id(re.compile("stTopNav(Link|Section)$"))
    alone, *sections = menu().values()
    for _ in windows(page, [(1280, 720), (860, 720)]):
        expect(entries).to_have_text([*(there.title for there in alone if there is not HOME), *list(menu())[1:]])
        assert entries.count() <= 7
        for entry in entries.all():
            expect(entry).to_be_in_viewport(ratio=1)
    for there in EVERY_PAGE.values():
        choose(page, there.name)
        page.wait_for_url(f"**/{there.name}*" if there is not HOME else re.compile("/$"))
        here = entries.filter(has_text=re.compile(f"^({there.title}|{there.group})$"))
        if there is not HOME:
            assert here.evaluate("entry => getComputedStyle(entry).getPropertyValue('--here')"), there.title
        settle(page)
    page.get_by_test_id("stTopNavSection").last.press("ArrowDown")
    page.get_by_role("menuitem").first.press("Escape")
    expect(page.get_by_test_id("stTopNavSection").last).to_be_focused()
    page.keyboard.press("ArrowUp")  # its last page
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/{sections[-1][-1].name}*")
    for _ in windows(page, [(320, 640), (390, 844)]):
        page.get_by_test_id("stExpandSidebarButton").click()
        page.get_by_test_id("stSidebarCollapseButton").get_by_role("button").click()  # with nothing over it
        expect(page.get_by_test_id("stSidebarNavLink").first).not_to_be_in_viewport()
    page.get_by_test_id("stExpandSidebarButton").click()
    expect(page.get_by_test_id("stSidebarNavLink")).to_have_text([there.title for there in EVERY_PAGE.values()][1:])
    page.get_by_test_id("stSidebarNavLink").filter(has_text="Masks").click()
    page.wait_for_url("**/masks*")
    expect(page.get_by_test_id("stSidebarNavLink").first).not_to_be_in_viewport()


def test_a_click_anywhere_on_a_card_opens_its_page(page, visit):
    page.emulate_media(reduced_motion="reduce")
    visit("/")
    at_step(page, 3)  # at once, where nothing is to move
    expect(page.locator(".growing output")).to_contain_text(f"training step {LAST} of {LAST}")
    card = page.locator(".st-key-home_card_masks")
    card.scroll_into_view_if_needed()
    box = card.bounding_box()
    page.mouse.click(box["x"] + box["width"] - 12, box["y"] + box["height"] - 12)
    page.wait_for_url("**/masks*")


@pytest.mark.rare("the tour is taken in test_lessons.py")
def test_a_tour_leaves_one_place_in_the_history_for_each_page(visit, complaints):
    page = visit("/write?text=KING&step=1")  # a link opened first
    expect(page.locator(OUTPUT)).to_contain_text("step 1")
    expect(page.get_by_role("dialog")).to_have_count(0)
    choose(page, "home")
    expect(settle(page).get_by_role("slider", name="Training step")).to_be_visible()
    before = page.evaluate("history.length")
    for name in ("translate", "write"):
        choose(page, name)
        page.wait_for_url(f"**/{name}?**step=*")
        settle(page)
    assert page.evaluate("history.length") == before + 2
    reached(page, text="KING", step=1)  # where it was left
    page.keyboard.press("ArrowRight")
    reached(page, step=2)
    assert page.evaluate("history.length") == before + 3
    page.go_back()
    reached(page, step=1)
    page.go_back()
    page.wait_for_url("**/translate*")
    expect(page.get_by_role("heading", name="Translate")).to_be_visible()
    settle(page)
    page.go_back()
    expect(page.get_by_role("heading", name="See where a transformer looks")).to_be_visible()
    settle(page)
    assert complaints == []
