"""A click on a head of the direct effects, and the way from there."""

from playwright.sync_api import expect


def test_a_clicked_head_shows_where_it_looks_and_opens_in_translate(visit, reached, address, complaints):
    page = visit("/heads?view=direct&text=I+like+red+wine.&position=4&effect=decoder-0-0")
    reached(page, effect="decoder-0-0")
    page.locator('.head-maps [data-at="effect/0/cross:1:2"]').click()
    reached(page, effect="cross-1-2")
    expect(page.locator(".bar-table figcaption").first).to_contain_text("Where cross layer 1 · head 2 looks")
    page.get_by_role("link", name="Open this head in Translate").click()
    page.wait_for_url("**/translate?*checkpoint=*")
    reached(page, step=4, kind="cross", layer=1, head=2)
    assert address(page)["text"] == "I like red wine."
    expect(page.locator(".controls > output")).to_contain_text("step 4")
    assert complaints == []
