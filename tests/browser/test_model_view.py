"""The picture of the whole model under a wheel, two fingers, a keyboard and a remote, and as it is heard."""

import re

import pytest
from playwright.sync_api import expect

from transformer.attention_view.shared import CHOICES

from .conftest import reached, windows

LOOK = "text=I+like+red+wine.&step=5&kind=cross&layer=1&head=0&view=model"
LEVELS = CHOICES["level"]
PAGES = {"translate": f"/translate?{LOOK}", "write": "/write?text=ROMEO%3A&step=8&view=model&layer=1&head=2",
         "classify": "/classify?view=model&layer=1&head=1"}
AGAIN = pytest.mark.rare("the same on another page, whose picture is made of the same parts")
ONE_VISITOR = True


@pytest.fixture
def look(reach, page):
    """Goes to an address, still, and waits until the picture of the model is there."""
    def look(address=PAGES["translate"], **more):
        page.emulate_media(reduced_motion="reduce")
        reach(address + "".join(f"&{name}={value}" for name, value in more.items()))
        page.locator(".attention-view.modelled[data-level]").wait_for()
        page.evaluate("for (let at = document.activeElement; at; at = at.shadowRoot?.activeElement) at.blur()")
        return page

    return look


def at_level(page, level):
    expect(page.locator(f".attention-view.modelled[data-level={level}]")).to_have_count(1)


def canvas(page):
    return page.locator("canvas.model")


def level_of(page):
    return page.locator(".attention-view").evaluate("({ view }) => view.selection.level")


def on_screen(page, node):
    """The middle of a node of the model, in the window: on_screen(page, "places.layer('decoder', 0)")."""
    return page.locator(".attention-view").evaluate("""({ view: { model } }, node) => {
      const [x, y, w, h] = new Function("places", "path", `return ${node}`)(model.places, model.path).box;
      const [cx, cy, cw, ch] = model.camera;
      const box = model.canvas.getBoundingClientRect();
      return [box.x + ((x + w / 2 - cx) / cw) * box.width, box.y + ((y + h / 2 - cy) / ch) * box.height];
    }""", node)


@pytest.mark.parametrize("name", [
    "translate", pytest.param("write", marks=AGAIN), pytest.param("classify", marks=AGAIN)])
def test_keys_go_from_the_whole_to_a_number_and_back_and_write_the_address(look, name, complaints):
    page = look(PAGES[name])
    canvas(page).focus()
    for key, level in zip(("Enter", "+", "Enter", "+", "Enter"), LEVELS[1:], strict=True):
        page.keyboard.press(key)
        at_level(page, level)
        reached(page, level=level, view="model")
    address = page.url
    for key, level in zip(("Escape", "-", "Escape", "-", "Escape"), LEVELS[-2::-1], strict=True):
        page.keyboard.press(key)
        at_level(page, level)
    reached(page, level=None)
    page.goto(address)  # what was written leads there
    at_level(page, "number")
    assert complaints == []


def test_the_back_button_goes_back_through_the_levels_and_the_keys_of_the_page_step_at_each(look):
    page = look()
    canvas(page).focus()
    for level in LEVELS[1:4]:
        page.keyboard.press("Enter")
        reached(page, level=level)
    for level in LEVELS[2:0:-1]:
        page.go_back()
        reached(page, level=level)
        at_level(page, level)
    page.mouse.click(5, 5)
    for key, step in (("ArrowRight", 6), ("Home", 0)):
        page.keyboard.press(key)
        reached(page, step=step, level="stack")


def test_arrows_move_about_in_the_picture_that_has_the_focus_and_each_part_is_heard(look):
    page = look(level="layer")
    live = page.locator(".attention-view > output.unseen")
    canvas(page).focus()
    said = set()
    for key in ("ArrowRight", "ArrowRight", "ArrowUp", "ArrowUp", "ArrowDown"):
        page.keyboard.press(key)
        said.add(live.text_content())
    assert len(said) >= 3
    assert all(sentence.endswith(".") for sentence in said)
    assert any("head" in sentence for sentence in said)
    assert level_of(page) == "layer"
    reached(page, step=5)


def test_a_double_click_and_the_wheel_go_to_what_is_under_the_pointer_and_keys_zoom_without_the_focus(look):
    page = look()
    x, _ = on_screen(page, "places.partsOf(places.layer('decoder', 1)).find(({ type }) => type === 'sum')")
    _, y = on_screen(page, "places.layer('decoder', 1)")
    page.mouse.move(x, y - 6)
    expect(page.locator(".model-words")).to_contain_text(re.compile(
        r"residual stream.*as wide as the vector is long: after .* of layer \d that of .*vin.* is [\d.]+ long"))
    page.mouse.dblclick(*on_screen(page, "places.layer('decoder', 0)"))
    at_level(page, "stack")
    for key, level in (("+", "layer"), ("-", "stack"), ("Escape", "whole")):
        page.keyboard.press(key)
        at_level(page, level)
    page = look(level="layer")
    page.mouse.dblclick(*on_screen(page, "places.head(places.attention('decoder', 1), 2)"))
    at_level(page, "head")
    reached(page, kind="decoder", layer=1, head=2, level="head")
    page.mouse.move(*on_screen(page, "places.cell(path[3], [3, 1], [6, 6])"))
    for _ in range(4):
        page.mouse.wheel(0, -120)
    reached(page, pair="3:1", level="cell")
    page.get_by_role("button", name="Zoom out").click()
    page.get_by_role("navigation", name="Where you are").get_by_role("button").first.click()
    at_level(page, "whole")


def test_two_fingers_pull_the_picture_nearer(look, page, touch):
    look(level="stack")
    touch(True)
    session = page.context.new_cdp_session(page)
    x, y = on_screen(page, "places.layer('decoder', 0)")

    def fingers(kind, apart):
        points = [] if apart is None else [{"x": x - apart, "y": y}, {"x": x + apart, "y": y}]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    fingers("touchStart", 20)
    for apart in (30, 45, 70, 100):
        fingers("touchMove", apart)
    fingers("touchEnd", None)
    reached(page, level="layer", layer=0)
    fingers("touchStart", 100)
    for apart in (70, 45, 30, 20):
        fingers("touchMove", apart)
    fingers("touchEnd", None)
    reached(page, level="stack")


@pytest.mark.parametrize("name", ["translate", pytest.param("write", marks=AGAIN), "classify"])
def test_a_remote_walks_through_the_levels_on_the_whole_page_and_the_arrows_step(look, name):
    page = look(PAGES[name], present=1)
    step = re.search(r"step=(\d+)", PAGES[name])
    for key, level in zip(("PageDown", "Space", "PageDown", "Space", "PageDown"), LEVELS[1:], strict=True):
        page.keyboard.press(key)
        at_level(page, level)
    page.evaluate("""() => {
      window.left = [];
      window.addEventListener("keydown", (event) => event.defaultPrevented || window.left.push(event.key));
    }""")
    page.keyboard.press("PageDown")  # there is nothing nearer: it is for what comes after
    assert page.evaluate("window.left") == (["PageDown"] if step else [])  # Classify has more below
    at_level(page, "number")
    if step:
        page.keyboard.press("ArrowLeft")
        reached(page, step=int(step[1]) - 1, level="number")
    for level in LEVELS[-2::-1]:
        page.keyboard.press("PageUp")
        at_level(page, level)
    if step:
        page.keyboard.press("PageUp")
        assert page.evaluate("window.left") == ["PageDown", "PageUp"]
        reached(page, step=int(step[1]) - 1, level=None)


def test_a_projector_shows_the_picture_whole_in_large_type(look, page):
    for level in LEVELS:
        look(present=1, level=level)
        for size in windows(page, ((1280, 720), (1024, 768))):
            at_level(page, level)
            where = f"{level} at {size}"
            assert page.get_by_test_id("stMain").evaluate("main => main.scrollHeight - main.clientHeight") <= 0, where
            box = canvas(page).bounding_box()
            assert box["y"] + box["height"] <= size[1], where
            assert box["height"] >= 0.45 * size[1], where
            assert box["width"] >= 0.9 * size[0], where
            sizes = page.locator(".model-words, .model-bar nav button").evaluate_all(
                "all => all.map((one) => parseFloat(getComputedStyle(one).fontSize) * one.currentCSSZoom)")
            assert min(sizes) >= 1 / 30 * size[1] * 0.99, where
            last = page.locator(".model-bar nav [aria-current]").bounding_box()
            assert last["x"] >= 0 and last["x"] + last["width"] <= size[0], where


HEARD = {
    "whole": "The whole model: 4 encoder layers and 2 decoder layers", "stack": "Decoder: 2 layers",
    "layer": "Layer 1 of the decoder: masked self-attention, then cross-attention, then feed-forward",
    "head": "Cross, layer 1, head 0", "cell": r"The query of \W*vin\W* times the key of \W*red\W*: 64 products",
    "number": r"Number 0 of the 64 of the query of \W*vin"}


def test_each_level_is_heard_as_a_sentence_with_the_way_to_it_and_its_keys(look):
    for level in LEVELS:
        page = look(level=level)
        picture = page.get_by_role("application", name=re.compile(f"^{HEARD[level]}"))
        expect(picture).to_have_count(1)
        assert picture.get_attribute("aria-label").endswith("Enter and plus zoom in, Escape and minus zoom out.")
        way = page.get_by_role("navigation", name="Where you are in the model").get_by_role("button")
        assert way.count() == 1 + LEVELS.index(level), level
        assert way.first.text_content() == "Model"
        expect(page.locator(".model-bar nav [aria-current=true]")).to_have_text(way.last.text_content())
        nearer, back = (page.get_by_role("button", name=name) for name in ("Zoom in", "Zoom out"))
        assert (nearer.is_visible(), back.is_visible()) == (level != "number", level != "whole"), level


def test_a_head_that_is_off_is_crossed_out_and_said(look):
    change = "%5B%7B%22how%22%3A%22scale%22%2C%22site%22%3A%22X1H0%22%2C%22factor%22%3A0%7D%5D"
    page = look(change=change, level="head")
    expect(page.get_by_role("application", name=re.compile("It was switched off"))).to_have_count(1)
    page.get_by_role("navigation", name="Where you are").get_by_role("button").first.click()
    expect(page.get_by_role("application", name=re.compile("was changed in one place"))).to_have_count(1)


def test_presented_what_is_hidden_is_not_in_the_picture_and_a_remote_steps_again_in_the_other_views(look):
    page = look(present=1)
    page.keyboard.press("h")
    expect(page.locator(".bars.covered")).to_have_count(1)
    view = page.locator(".attention-view")
    assert view.evaluate("({ view }) => view.message.model.effectOf") == "?"
    assert "rouge" not in view.aria_snapshot()
    page.keyboard.press("h")
    expect(page.locator(".bars.covered")).to_have_count(0)
    reached(page, step=5)
    view.evaluate("({ view }) => { view.selection.view = 'matrix'; view.redraw(); }")
    page.keyboard.press("PageDown")
    reached(page, step=6)


def test_a_text_of_more_tokens_than_are_drawn_is_stepped_and_zoomed(look, complaints):
    page = look("/write?text=" + "To+be+or+not+" * 30 + "&step=12&view=model&layer=1&head=2")  # 398 characters and 12
    last, all_keys, drawn = page.locator(".attention-view").evaluate("""({ view: { message } }) => {
      const { model, shapes, kinds } = message;
      return [model.position - kinds.decoder.first[0], shapes["seen/decoder"].at(-1), kinds.decoder.keys.length];
    }""")
    assert last == drawn - 1 and all_keys > drawn  # it is the last of those drawn, and looks at all
    canvas(page).focus()
    for level in LEVELS[1:]:
        page.keyboard.press("+")
        at_level(page, level)
    page.mouse.click(5, 5)
    page.keyboard.press("ArrowRight")
    reached(page, step=13, level="number")
    assert complaints == []
