"""The diagram of the model and presenting, as somebody with a keyboard and a mouse meets them."""

import pytest
from playwright.sync_api import expect

TEXT = "She+is+not+as+tall+as+her+brother."
HIDDEN = [".st-key-translate_checkpoint", ".st-key-translate_example", ".st-key-translate_details", "h1",
          ".st-key-translate_temperature", ".st-key-translate_save_page", ".st-key-translate_references",
          "[data-testid=stHeader]"]


def block(page, name):
    return page.get_by_role("button", name=name)


@pytest.mark.parametrize("press", ["click", "Enter"])
def test_a_block_chosen_is_the_attention_shown(visit, reached, press):
    page = visit(f"/translate?text={TEXT}&step=3&kind=cross&layer=0&head=2&model=open")
    picture, chosen = page.locator(".attention-view h4").first, block(page, "encoder attention of layer 2")
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
    page.keyboard.press("f")
    reached(page, present=1, step=2)
    for hidden in HIDDEN:
        assert not any(part.is_visible() for part in page.locator(hidden).all()), hidden
    for index in (3, 4):
        page.keyboard.press("ArrowRight")
        reached(page, step=index, present=1)
    main = page.get_by_test_id("stMain")
    assert main.evaluate("main => main.scrollHeight - main.clientHeight") <= 0
    sizes = page.locator(".chips span, [data-testid=stText], .st-key-translate_text input").evaluate_all(
        "all => all.map((part) => parseFloat(getComputedStyle(part).fontSize))")
    assert min(sizes) >= 24
    page.get_by_role("toolbar", name="Steps").get_by_label("Steps a second").fill("8")
    page.keyboard.press("Tab")
    page.keyboard.press("p")
    expect(page.locator(".controls > output")).to_contain_text("the last")
    page.locator("canvas.grid").focus()
    page.keyboard.press("Escape")  # leaves the canvas, which uses it
    assert address(settle(page))["present"] == "1"
    page.keyboard.press("Escape")
    expect(page.locator("h1")).to_be_visible()
    assert "present" not in address(settle(page))
    assert complaints == []


def test_the_pointer_finds_cells_and_heads_in_large_type(visit, reached):
    page = visit(f"/translate?text={TEXT}&step=4&kind=cross&layer=1&head=3&present=1")
    grid = page.locator("canvas.grid").bounding_box()
    page.mouse.click(grid["x"] + 60 + 1.5 * (grid["width"] - 64) / 4, grid["y"] + 68 + 12)  # 30, 34: in paintGrid
    reached(page, layer=0, head=1)
    box = page.locator("canvas.matrix").bounding_box()
    page.mouse.click(box["x"] + box["width"] - 12, box["y"] + box["height"] - 12)
    reached(page, pair="4:9")


def test_a_link_presents_and_leave_is_a_button(visit, reached, address, settle):
    page = visit("/write?text=KING+&step=2&present=1")
    expect(page.get_by_role("toolbar", name="Steps")).to_be_visible()
    expect(page.get_by_role("heading", name="Write")).to_have_count(0)
    page.get_by_role("button", name="Leave").click()
    expect(page.get_by_role("heading", name="Write")).to_be_visible()
    assert "present" not in address(settle(page))
    assert address(page)["step"] == "2"
