"""A click on a head of the direct effects, and the way from there."""

from playwright.sync_api import expect


def test_a_clicked_head_shows_where_it_looks_and_opens_in_translate(visit, reached, settle, address, complaints):
    page = visit("/heads?view=direct&text=I+like+red+wine.&position=4&effect=decoder-0-0")
    reached(page, effect="decoder-0-0")
    cells = page.locator("[class*=heads_effects_cross] .trace.bars .point path")
    expect(cells).to_have_count(12)
    cell = cells.nth(6)  # layer 1, head 2
    cell.evaluate("cell => cell.scrollIntoView({ block: 'center' })")
    box = settle(page) and cell.bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    reached(page, effect="cross-1-2")
    expect(page.locator(".bar-table figcaption").first).to_contain_text("Where cross layer 1 · head 2 looks")
    page.get_by_role("link", name="Open this head in Translate").click()
    page.wait_for_url("**/translate?*checkpoint=*")
    reached(page, step=4, kind="cross", layer=1, head=2)
    assert address(page)["text"] == "I like red wine."
    expect(page.locator(".controls > output")).to_contain_text("step 4")
    assert complaints == []
