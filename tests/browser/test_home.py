"""The front page, and what holds on every page."""

import pytest
from playwright.sync_api import expect

PAGES = {"Home": "/", "Translate": "/translate", "Write": "/write"}


def there(page, name):
    """Through the navigation."""
    page.get_by_test_id("stTopNavLink").filter(has_text=name).click()
    page.wait_for_url(f"**{PAGES[name]}*")


@pytest.mark.parametrize("which", range(3))
def test_an_example_opens_what_it_promises(visit, reached, complaints, which):
    page = visit("/")
    links = page.get_by_test_id("stMain").locator("a[href*='text=']:visible")
    expect(links).to_have_count(3)
    link = links.nth(which)
    promised = dict(link.evaluate("link => [...new URL(link.href).searchParams]"))
    assert promised.keys() >= {"text", "step", "kind", "layer", "head"}
    path = link.evaluate("link => new URL(link.href).pathname")
    link.click()
    page.wait_for_url(f"**{path}?*checkpoint=*")
    reached(page, **promised)
    expect(page.get_by_role("textbox").first).to_have_value(promised["text"])
    expect(page.locator(".controls > output")).to_contain_text(f"step {promised['step']}")
    expect(page.locator(".attention-view .main h4").first).to_contain_text(
        f"{promised['kind'].capitalize()} attention, layer {promised['layer']} · head {promised['head']}")
    expect(page.get_by_test_id("stException")).to_have_count(0)
    expect(page.get_by_test_id("stAlert")).to_have_count(0)
    assert complaints == []


def test_a_click_anywhere_on_an_examples_card_opens_it(visit):
    page = visit("/")
    box = page.get_by_test_id("stMain").get_by_text("French puts the colour after the noun.").first.bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.wait_for_url("**/translate?*text=I+like+red+wine*")


@pytest.mark.parametrize("address", ["/translate?text=Go+on.&step=1", "/write?text=KING&step=1"])
def test_a_link_opened_first_shows_the_navigation_and_no_dialog(visit_anew, address):
    page = visit_anew(address)
    for name in PAGES:
        expect(page.get_by_test_id("stTopNavLink").filter(has_text=name)).to_be_visible()
    expect(page.locator(".controls > output")).to_contain_text("step 1")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_text("Page not found")).to_have_count(0)


def test_a_tour_asks_no_other_host_and_complains_of_nothing(visit, settle, reached, complaints):
    page = visit("/")
    expect(page.get_by_test_id("stPlotlyChart")).to_be_visible()
    page.get_by_text("How to read an attention picture").click()
    for name in ("Translate", "Write"):
        there(page, name)
        reached(page, step=0)
        for index in (1, 2):
            page.keyboard.press("ArrowRight")
            reached(page, step=index)
        page.keyboard.press("2")
        reached(page, step=3)
        for tab in ("Positions", "Numbers", "Mask"):
            page.get_by_role("tab", name=tab).click()
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
        expect(controls).to_have_count(7)
        for control in controls.all():
            expect(control).to_be_visible()
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
        reached(page, step=0)
    assert page.evaluate("history.length") == before + 2
    page.keyboard.press("ArrowRight")
    reached(page, step=1)
    assert page.evaluate("history.length") == before + 3
    page.go_back()
    reached(page, step=0)
    page.go_back()
    page.wait_for_url("**/translate*")
    expect(page.get_by_role("heading", name="Translate")).to_be_visible()
    settle(page)
    page.go_back()
    expect(page.get_by_role("heading", name="See what every attention head does")).to_be_visible()


@pytest.mark.own_visitor
def test_an_address_that_comes_after_the_page_was_left_does_not_stay(visit, reached, settle, late_messages):
    hold, release = late_messages
    page = visit("/")
    for name in ("Translate", "Write"):
        there(page, name)
        reached(page, step=0)
        settle(page)
    page.keyboard.press("ArrowRight")
    reached(page, step=1)
    settle(page)
    hold()
    page.keyboard.press("ArrowRight")
    page.wait_for_timeout(2_000)  # for the address of the next step to be on its way
    page.go_back()
    page.go_back()
    page.wait_for_url("**/translate*")
    release()
    settle(page)
    expect(page.get_by_role("heading", name="Translate")).to_be_visible()
    expect(page.get_by_test_id("stAlert")).to_have_count(0)
    page.wait_for_url("**/translate?checkpoint=translate*")
    page.keyboard.press("ArrowRight")
    reached(page, step=1)
    expect(page.get_by_test_id("stAlert")).to_have_count(0)
