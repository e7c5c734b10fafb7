"""The diagram of the model and presenting, as somebody with a keyboard and a mouse meets them."""


import pytest
from playwright.sync_api import expect

TEXT = "She+is+not+as+tall+as+her+brother."
HIDDEN = [".st-key-translate_example", ".st-key-translate_text", ".st-key-translate_details", ".stHeading h1",
          ".st-key-translate_save_page", "[data-testid=stHeader]"]


def block(page, name):
    return page.get_by_role("button", name=name)


@pytest.mark.parametrize("press", ["click", "Enter"])
def test_a_block_chosen_is_the_attention_shown(visit, reached, press):
    page = visit(f"/translate?text={TEXT}&step=3&kind=cross&layer=0&head=2&model=open")
    picture, chosen = page.locator(".attention-view h2").first, block(page, "encoder attention of layer 2")
    expect(picture).to_contain_text("Cross attention, layer 0 · head 2")
    expect(block(page, "cross attention of layer 0")).to_have_attribute("aria-pressed", "true")
    chosen.click() if press == "click" else chosen.press("Enter")
    reached(page, kind="encoder", layer=2, head=2, step=3)
    expect(picture).to_contain_text("Encoder attention, layer 2 · head 2")
    expect(chosen).to_have_attribute("aria-pressed", "true")
    expect(block(page, "cross attention of layer 0")).to_have_attribute("aria-pressed", "false")
    expect(picture).to_be_in_viewport()
    page.keyboard.press("ArrowRight")
    reached(page, step=4, kind="encoder", layer=2)
    expect(block(page, "cross attention of layer 1")).to_contain_text("weights (1, 4, 5, 10)")


def test_the_model_is_opened_by_a_click_and_fits_a_phone(visit_anew, reached):
    page = visit_anew("/write", width=390, height=844)
    expect(page.locator(".model-diagram")).to_have_count(0)
    page.locator(".st-key-write_model summary").click()
    reached(page, model="open")
    expect(block(page, "decoder attention of layer 3")).to_have_count(1)
    assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth") <= 390


def test_presenting_hides_the_rest_and_the_keys_still_step(visit, reached, settle, address, complaints):
    page = visit(f"/translate?text={TEXT}&step=2&kind=cross&layer=1&head=3")
    expect(page.locator("h1")).to_be_visible()
    page.get_by_role("toolbar", name="Steps").get_by_label("Steps a second").fill("8")
    page.locator(".controls > output").click()
    page.keyboard.press("f")
    reached(page, present=1, step=2)
    for hidden in HIDDEN:
        assert not any(part.is_visible() for part in page.locator(hidden).all()), hidden
    for index in (3, 4):
        page.keyboard.press("ArrowRight")
        reached(page, step=index, present=1)
    main = page.get_by_test_id("stMain")
    assert main.evaluate("main => main.scrollHeight - main.clientHeight") <= 0
    sizes = page.locator(".tokens span, [data-testid=stText], .st-key-translate_text input").evaluate_all(
        "all => all.map((part) => parseFloat(getComputedStyle(part).fontSize))")
    assert min(sizes) >= 24
    page.get_by_role("toolbar", name="Steps").get_by_role("button", name="Back").focus()
    page.keyboard.press("p")
    expect(page.locator(".controls > output")).to_contain_text(" of ")
    page.locator("canvas.matrix").focus()
    page.keyboard.press("Escape")  # leaves the canvas, which uses it
    assert address(settle(page))["present"] == "1"
    page.keyboard.press("Escape")
    expect(page.locator("h1")).to_be_visible()
    reached(page, present=None)
    assert complaints == []


def test_presenter_remotes_step_and_darken(visit, reached):
    page = visit(f"/translate?text={TEXT}&step=2&present=1")
    for key, step in (("PageDown", 3), ("Space", 4), ("PageUp", 3)):
        page.keyboard.press(key)
        reached(page, step=step)
    black = page.locator(".heads-up-black")
    page.keyboard.press(".")
    expect(black).to_be_visible()
    page.keyboard.press("PageDown")  # brings the picture back, and no more
    expect(black).to_have_count(0)
    page.keyboard.press("PageDown")
    reached(page, step=4)
    page.get_by_role("toolbar", name="Steps").get_by_role("button", name="Back").focus()
    page.keyboard.press("Space")  # presses what has the focus
    reached(page, step=3)


def test_the_pointer_finds_cells_and_heads_in_large_type(visit, reached):
    page = visit(f"/translate?text={TEXT}&step=11&kind=cross&layer=1&head=3&present=1")
    page.get_by_role("button", name="All heads").click()
    grid = page.locator("canvas.grid").bounding_box()
    zoom = page.locator(".attention-view").evaluate("view => view.currentCSSZoom")
    assert zoom > 1.5
    across = grid["x"] + zoom * 30 + 1.5 * (grid["width"] - zoom * 32) / 4  # 30, 32, 34: in paintGrid
    page.mouse.click(across, grid["y"] + zoom * 34 + 12)
    reached(page, layer=0, head=1)
    page.get_by_role("button", name="All heads").click()
    box = page.locator("canvas.matrix").bounding_box()
    page.mouse.click(box["x"] + box["width"] - 12, box["y"] + box["height"] - 12)
    reached(page, pair="11:9")


@pytest.mark.parametrize(("width", "height"), [(1024, 768), (1280, 720), (1440, 900)])
def test_a_projectors_whole_picture_is_in_its_window(visit_anew, width, height):
    page = visit_anew("/translate?text=We+have+to+go+home+before+it+gets+dark.&step=15&kind=cross&present=1",
                      width=width, height=height)
    for part in (".attention-view canvas.matrix", ".next-tokens .others span", ".tokens .predicted"):
        box = page.locator(part).last.bounding_box()
        assert box["y"] + box["height"] <= height, part
        assert box["x"] + box["width"] <= width, part
    expect(page.locator(".attention-view .main h2")).not_to_contain_text("in sight")  # because all of it is
    scroller = page.locator(".attention-view .scroller")
    assert scroller.evaluate("box => box.scrollHeight - box.clientHeight") <= 1
    assert scroller.evaluate("box => box.scrollWidth - box.clientWidth") <= 1


def test_presenting_begins_at_the_top_and_a_candidate_clicked_is_said(visit, reached):
    page = visit(f"/translate?text={TEXT}&step=2")
    page.locator(".st-key-translate_details").scroll_into_view_if_needed()
    page.keyboard.press("f")
    reached(page, present=1)
    assert page.get_by_test_id("stMain").evaluate("main => main.scrollTop") == 0
    said = page.locator(".next-tokens [data-nth='1'] bdi")
    token = said.text_content()
    said.click()
    reached(page, step=3)
    expect(page.locator(".tokens .picked bdi")).to_have_text(token)


def test_a_long_text_on_a_projector_is_made_to_fit(visit):
    page = visit("/write?text=ROMEO%3A&step=60&present=1")
    expect(page.locator(".attention-view .main h2")).not_to_contain_text("in sight")
    scroller = page.locator(".attention-view .scroller")
    assert scroller.evaluate("box => box.scrollHeight - box.clientHeight") <= 1
    assert scroller.evaluate("box => box.scrollWidth - box.clientWidth") <= 1


@pytest.mark.parametrize("step", [0, 1])
def test_a_link_to_the_first_steps_presents_their_few_rows(step, visit_anew):
    page = visit_anew(f"/translate?text=I+like+red+wine.&step={step}&kind=cross&layer=1&head=3&present=1",
                      width=1280, height=800)
    expect(page.locator(f'.attention-view[data-drawn="cross,1,3,{step + 1}"]')).to_have_count(1)


def test_a_link_presents_and_leave_is_a_button(visit, reached):
    page = visit("/write?text=KING+&step=2&present=1")
    expect(page.get_by_role("toolbar", name="Steps")).to_be_visible()
    expect(page.locator(".stHeading h1")).to_have_count(0)
    page.get_by_role("button", name="Leave").click()
    expect(page.get_by_role("heading", name="Write", exact=True)).to_be_visible()
    reached(page, present=None, step=2)
