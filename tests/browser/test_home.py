"""The front page, and what holds on every page."""

import re

import pytest
from playwright.sync_api import expect

from ui import pages

PAGES = {"Home": "/", "Translate": "/translate", "Write": "/write"}


def there(page, name):
    """Through the navigation."""
    page.get_by_test_id("stTopNavLink").filter(has_text=name).click()
    page.wait_for_url(f"**{PAGES[name]}*")


def stepped(page, index):
    """Waits until the example is at that step."""
    expect(page.locator(".controls > output")).to_have_text(re.compile(rf"^step {index} of \d+$"))


@pytest.mark.own_visitor
def test_it_takes_three_steps_by_itself_and_stops_for_whoever_takes_over(visit, settle, complaints):
    page = visit("/")
    stepped(page, 3)
    expect(page.get_by_text("Click another word to use it instead.")).to_be_visible()
    page.wait_for_timeout(1_600)  # longer than it takes for one more
    stepped(page, 3)
    page.keyboard.press("ArrowRight")
    stepped(page, 4)
    assert complaints == []


@pytest.mark.own_visitor
def test_where_nothing_is_to_move_it_stands_there_at_once(page, app_url, settle):
    page.emulate_media(reduced_motion="reduce")
    page.goto(app_url, wait_until="domcontentloaded")
    stepped(settle(page), 3)
    expect(page.locator(".growing output")).to_contain_text("training step 4,000 of 4,000")


@pytest.mark.own_visitor
def test_one_key_rewrites_the_whole_sentence(visit, settle, chips):
    page = visit("/")
    page.get_by_role("button", name="press 2").click()
    settle(page)
    stepped(page, 0)
    page.keyboard.press("2")
    stepped(page, 1)
    tokens = "".join(chips(settle(page), "target tokens")).replace("␣", " ")
    assert "Il nous faut aller chez nous avant qu'il fasse noir." in tokens
    expect(page.get_by_role("heading", name="Branches · 2")).to_be_attached()


@pytest.mark.own_visitor
def test_a_head_is_seen_through_its_training(visit, settle):
    page = visit("/")
    slider, place = page.get_by_role("slider", name="Training step"), page.locator(".growing output")
    slider.fill("0")
    expect(place).to_contain_text("training step 0 of 4,000")
    page.get_by_role("button", name="Play", exact=True).click()
    expect(place).to_contain_text("training step 4,000 of 4,000")


def test_a_click_anywhere_on_a_card_opens_its_page(visit):
    page = visit("/")
    card = page.locator(".st-key-home_card_masks")
    card.scroll_into_view_if_needed()
    box = card.bounding_box()
    page.mouse.click(box["x"] + box["width"] - 12, box["y"] + box["height"] - 12)
    page.wait_for_url("**/masks*")


@pytest.mark.parametrize("address", ["/translate?text=Go+on.&step=1", "/write?text=KING&step=1"])
def test_a_link_opened_first_shows_the_navigation_and_no_dialog(visit_anew, address):
    page = visit_anew(address)
    for name in PAGES:
        expect(page.get_by_test_id("stTopNavLink").filter(has_text=name)).to_be_visible()
    expect(page.locator(".controls > output")).to_contain_text("step 1")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_text("Page not found")).to_have_count(0)


@pytest.mark.parametrize("width", [1281, 1440, 1501])
def test_every_page_stands_in_the_menu_and_none_in_a_box(visit, width):
    page = visit("/")
    page.set_viewport_size({"width": width, "height": 800})
    for there in pages.PAGES.values():
        link = page.get_by_test_id("stTopNavLink").filter(has_text=there.title)
        expect(link).to_be_in_viewport(ratio=1)
        assert link.evaluate("link => !link.closest('[inert]')"), there.title


def test_a_tour_asks_no_other_host_and_complains_of_nothing(visit, settle, reached, complaints):
    page = visit("/")
    expect(page.get_by_role("slider", name="Training step")).to_be_visible()
    for name in ("Translate", "Write"):
        there(page, name)
        page.wait_for_url("**step=*")
        settle(page).keyboard.press("Home")
        reached(page, step=0)
        for index in (1, 2):
            page.keyboard.press("ArrowRight")
            reached(page, step=index)
        page.keyboard.press("2")
        reached(page, step=3)
        for details in ("Positions", "All numbers", "The mask"):
            page.get_by_test_id("stMain").get_by_role("radio", name=details).click()
            settle(page)
    there(page, "Translate")
    reached(page, step=3)
    there(page, "Home")
    settle(page)
    assert complaints == []


def test_on_a_phone_nothing_scrolls_sideways_and_every_control_is_in_reach(visit_anew):
    for address in PAGES.values():
        page = visit_anew(address, width=390, height=844)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        main = page.get_by_test_id("stMain")
        assert main.evaluate("main => main.scrollWidth") <= 390
        if address == "/":
            continue
        controls = page.locator(".controls button, .controls input")
        for control in controls.all():
            if not control.is_visible():  # the speed
                continue
            box = control.bounding_box()
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= 390


def test_on_a_phone_a_page_chosen_from_the_menu_closes_it(visit_anew, settle):
    page = visit_anew("/", width=390, height=844)
    sidebar = page.get_by_test_id("stSidebar")
    page.get_by_test_id("stExpandSidebarButton").click()
    expect(sidebar).to_be_in_viewport(ratio=0.9)
    page.get_by_test_id("stSidebarNavLink").filter(has_text="Masks").click()
    page.wait_for_url("**/masks*")
    settle(page)
    expect(sidebar).not_to_be_in_viewport()
    expect(page.get_by_role("heading", name="Masks").first).to_be_visible()


@pytest.mark.own_visitor
def test_a_change_of_page_is_one_place_in_the_history(visit, reached, settle):
    page = visit("/")
    before = page.evaluate("history.length")
    for name in ("Translate", "Write"):
        there(page, name)
        page.wait_for_url("**step=*")
        settle(page)
    assert page.evaluate("history.length") == before + 2
    page.keyboard.press("ArrowLeft")
    reached(page, step=39)
    assert page.evaluate("history.length") == before + 3
    page.go_back()
    reached(page, step=40)
    page.go_back()
    page.wait_for_url("**/translate*")
    expect(page.get_by_role("heading", name="Translate")).to_be_visible()
    settle(page)
    page.go_back()
    expect(page.get_by_role("heading", name="What is attention?")).to_be_visible()


@pytest.mark.own_visitor
def test_an_address_that_comes_after_the_page_was_left_does_not_stay(visit, reached, settle, late_messages):
    hold, release = late_messages
    page = visit("/")
    for name in ("Translate", "Write"):
        there(page, name)
        page.wait_for_url("**step=*")
        settle(page)
    page.keyboard.press("ArrowLeft")
    reached(page, step=39)
    settle(page)
    hold()
    page.keyboard.press("ArrowLeft")
    page.wait_for_timeout(2_000)  # for the address of the next step to be on its way
    page.go_back()
    page.go_back()
    page.wait_for_url("**/translate*")
    release()
    settle(page)
    expect(page.get_by_role("heading", name="Translate")).to_be_visible()
    expect(page.get_by_test_id("stAlert")).to_have_count(0)
    page.wait_for_url("**/translate?checkpoint=translate*")
    page.keyboard.press("ArrowLeft")
    reached(page, step=6)
    expect(page.get_by_test_id("stAlert")).to_have_count(0)
