"""The diagram of the model and presenting, as somebody with a keyboard and a mouse meets them."""

from playwright.sync_api import expect

TEXT = "She+is+not+as+tall+as+her+brother."
HIDDEN = [".st-key-translate_example", ".st-key-translate_text", ".st-key-translate_details", ".stHeading h1",
          ".st-key-translate_save_page", "[data-testid=stHeader]"]


def block(page, name):
    return page.get_by_role("button", name=name)


def whole(page):
    """The matrix, the candidates and the tokens are in the window, with nothing to scroll."""
    width, height = page.viewport_size["width"], page.viewport_size["height"]
    for part in (".attention-view canvas.matrix", ".next-tokens .others span", ".tokens .predicted"):
        box = page.locator(part).last.bounding_box()
        assert box["y"] + box["height"] <= height, part
        assert box["x"] + box["width"] <= width, part
    expect(page.locator(".attention-view .main h2")).not_to_contain_text("in sight")  # because all of it is
    scroller = page.locator(".attention-view .scroller")
    assert scroller.evaluate("box => box.scrollHeight - box.clientHeight") <= 1
    assert scroller.evaluate("box => box.scrollWidth - box.clientWidth") <= 1


def test_the_model_is_opened_and_a_block_chosen_is_the_attention_shown(visit, reached, settle):
    page = visit(f"/translate?text={TEXT}&step=3&kind=cross&layer=0&head=2")
    expect(page.locator(".model-diagram")).to_have_count(0)
    page.locator(".st-key-translate_model summary").click()
    reached(page, model="open")
    picture, chosen = page.locator(".attention-view h2").first, block(page, "encoder attention of layer 2")
    expect(block(page, "cross attention of layer 0")).to_have_attribute("aria-pressed", "true")
    chosen.click()
    reached(page, kind="encoder", layer=2, head=2, step=3)
    expect(picture).to_contain_text("Encoder attention, layer 2 · head 2")
    expect(chosen).to_have_attribute("aria-pressed", "true")
    expect(block(page, "cross attention of layer 0")).to_have_attribute("aria-pressed", "false")
    expect(picture).to_be_in_viewport()
    block(page, "cross attention of layer 1").press("Enter")
    reached(page, kind="cross", layer=1)
    page.keyboard.press("ArrowRight")
    reached(page, step=4, kind="cross", layer=1)
    expect(block(page, "cross attention of layer 1")).to_contain_text("weights (1, 4, 5, 10)")
    page.set_viewport_size({"width": 390, "height": 844})
    assert settle(page).get_by_test_id("stMain").evaluate("main => main.scrollWidth") <= 390


def test_presenting_hides_the_rest_and_keys_and_a_remote_step_and_darken(visit, reached, settle, address, complaints):
    page = visit(f"/translate?text={TEXT}&step=2&kind=cross&layer=1&head=0")
    back = page.get_by_role("toolbar", name="Steps").get_by_role("button", name="Back")
    page.get_by_role("toolbar", name="Steps").get_by_label("Steps a second").fill("8")
    page.locator(".controls > output").click()
    page.locator(".st-key-translate_details").scroll_into_view_if_needed()
    page.keyboard.press("f")
    reached(page, present=1, step=2)
    main = page.get_by_test_id("stMain")
    assert main.evaluate("main => main.scrollTop") == 0
    for hidden in HIDDEN:
        assert not any(part.is_visible() for part in page.locator(hidden).all()), hidden
    assert main.evaluate("main => main.scrollHeight - main.clientHeight") <= 0
    sizes = page.locator(".tokens span, [data-testid=stText], .st-key-translate_text input").evaluate_all(
        "all => all.map((part) => parseFloat(getComputedStyle(part).fontSize))")
    assert min(sizes) >= 24
    for key, step in (("ArrowRight", 3), ("PageDown", 4), ("Space", 5), ("PageUp", 4)):
        page.keyboard.press(key)
        reached(page, step=step, present=1)
    black = page.locator(".heads-up-black")
    page.keyboard.press(".")
    expect(black).to_be_visible()
    page.keyboard.press("PageDown")  # brings the picture back, and no more
    expect(black).to_have_count(0)
    page.keyboard.press("PageDown")
    reached(page, step=5)
    back.focus()
    page.keyboard.press("Space")  # presses what has the focus
    reached(page, step=4)
    page.keyboard.press("p")
    expect(page.get_by_role("button", name="Replay from the start")).to_be_visible()  # it has come to the end
    page.locator("canvas.matrix").focus()
    page.keyboard.press("Escape")  # leaves the canvas, which uses it
    assert address(settle(page))["present"] == "1"
    page.keyboard.press("Escape")
    expect(page.locator(".stHeading h1")).to_be_visible()
    reached(page, present=None)
    assert complaints == []


def test_the_pointer_finds_cells_heads_and_candidates_in_large_type_on_every_projector(visit, reached, windows):
    page = visit("/translate?text=We+have+to+go+home+before+it+gets+dark.&step=14&kind=cross&layer=1&head=0&present=1")
    for _ in windows(page, [(1024, 768), (1280, 720), (1440, 900)]):
        whole(page)
    page.get_by_role("button", name="All heads").click()
    grid = page.locator("canvas.grid").bounding_box()
    zoom = page.locator(".attention-view").evaluate("view => view.currentCSSZoom")
    assert zoom > 1.5
    across = grid["x"] + zoom * 30 + 1.5 * (grid["width"] - zoom * 32) / 4  # 30, 32, 34: in paintGrid
    page.mouse.click(across, grid["y"] + zoom * 34 + 12)
    reached(page, layer=0, head=1)
    page.get_by_role("button", name="All heads").click()
    rows, columns = page.locator(".attention-view").evaluate(
        "({ view }) => [view.message.kinds.cross.queries.length, view.message.kinds.cross.keys.length]")
    box = page.locator("canvas.matrix").bounding_box()
    page.mouse.click(box["x"] + box["width"] - 12, box["y"] + box["height"] - 12)
    reached(page, pair=f"{rows - 1}:{columns - 1}")
    candidate = page.locator(".next-tokens [data-nth='1'] bdi")
    token = candidate.text_content()
    candidate.click()
    reached(page, step=15)
    expect(page.locator(".tokens .picked bdi")).to_have_text(token)


def test_a_link_presents_and_leave_is_a_button(visit, reached):
    page = visit("/translate?text=I+like+red+wine.&step=0&kind=cross&layer=1&head=0&present=1")
    expect(page.locator('.attention-view[data-drawn="cross,1,0,1"]')).to_have_count(1)  # its one row
    page = visit("/write?text=ROMEO%3A&step=60&present=1")
    whole(page)
    expect(page.locator(".stHeading h1")).to_have_count(0)
    page.get_by_role("button", name="Leave").click()
    expect(page.get_by_role("heading", name="Write", exact=True)).to_be_visible()
    reached(page, present=None, step=60)
