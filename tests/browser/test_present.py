"""Pages shown to a room: a presenter's keys, and terms explained. How each looks, tests/browser/test_audit.py says."""

import re

import pytest
from playwright.sync_api import expect

from .conftest import address, reached, settle, windows

TEXT = "She+is+not+as+tall+as+her+brother."
HIDDEN = [".st-key-translate_example", ".st-key-translate_text", ".st-key-translate_details", ".stHeading h1",
          ".st-key-translate_save_page", "[data-testid=stHeader]"]


def whole(page):
    """The matrix, the likeliest candidate and the text are in the window, with nothing to scroll."""
    width, height = page.viewport_size["width"], page.viewport_size["height"]
    for part in (".attention-view canvas.matrix", ".next-tokens [data-nth='0'] span", ".output"):
        box = page.locator(part).last.bounding_box()
        assert box["y"] + box["height"] <= height, part
        assert box["x"] + box["width"] <= width, part
    expect(page.locator(".attention-view .main h2")).not_to_contain_text("in sight")  # because all of it is
    scroller = page.locator(".attention-view .scroller")
    assert scroller.evaluate("box => box.scrollHeight - box.clientHeight") <= 1
    assert scroller.evaluate("box => box.scrollWidth - box.clientWidth") <= 1


@pytest.mark.rare("the same keys on a page without steps")
def test_a_presenter_walks_down_a_page_darkens_it_and_leaves_the_keys_at_its_ends_to_others(visit, page):
    page.set_viewport_size({"width": 1280, "height": 720})
    visit("/train?view=runs&present=1")  # fits on a screen
    page.evaluate("""() => {
      window.left = [];
      window.addEventListener("keydown", (event) => event.defaultPrevented || window.left.push(event.key));
    }""")
    page.keyboard.press("PageDown")
    page.keyboard.press("PageUp")
    assert page.evaluate("window.left") == ["PageDown", "PageUp"]
    visit("/positions?view=Sinusoidal&present=1")
    top = "document.querySelector('[data-testid=stMain]').scrollTop"
    page.keyboard.press("PageDown")
    page.wait_for_function(f"{top} > 100")
    page.keyboard.press("b")
    expect(page.locator(".heads-up-black")).to_be_visible()
    page.keyboard.press("PageUp")  # brings the picture back, and no more
    expect(page.locator(".heads-up-black")).to_have_count(0)
    assert page.evaluate(top) > 100
    page.keyboard.press("PageUp")
    page.wait_for_function(f"{top} === 0")
    page.keyboard.press("Escape")
    reached(page, present=None)
    expect(page.get_by_role("heading", name="Positions", level=1)).to_be_visible()
    page.keyboard.press("f")
    reached(page, present=1)


@pytest.mark.rare("two choosers that a presentation hides")
@pytest.mark.parametrize(("link", "chosen"), [
    ("/train?run=checkpoints/translate", ["checkpoints/translate"]),
    ("/classify?show=toy", ["Train one in three seconds"])])
def test_what_was_chosen_beside_the_title_stays_chosen(link, chosen, visit, theirs):
    """theirs: a run, which comes first in the list of runs."""
    page = visit(link)

    def now():
        return page.locator("[class*=_title]").evaluate("""line => [
          ...[...line.querySelectorAll("input[role=combobox]")].map((field) => field.value),
          ...[...line.querySelectorAll("[role=radio][aria-checked=true]")].map((radio) => radio.innerText)]""")

    assert now() == chosen
    page.keyboard.press("f")
    reached(page, present=1)
    settle(page)
    expect(page.get_by_role("combobox", name="Run")).to_be_hidden()
    page.keyboard.press("Escape")
    reached(page, present=None)
    settle(page)
    assert now() == chosen


@pytest.mark.rare("every term of one page on a phone")
def test_a_term_is_explained_inside_the_window_by_hover_focus_and_tap(visit_anew):
    page = visit_anew("/positions", width=390, height=844)
    explanation = page.locator(".heads-up-term")
    for term in page.locator("dfn.term").all():
        term.focus()
        expect(explanation).to_have_text(re.compile(r"\.$"))
        box = explanation.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390
    page.keyboard.press("Escape")
    expect(explanation).to_have_count(0)
    page.locator("dfn.term").first.click()
    expect(explanation).to_be_visible()
    page.locator("h1").click()
    expect(explanation).to_have_count(0)


def test_presenting_hides_the_rest_and_keys_and_a_remote_step_and_darken(visit, complaints):
    page = visit(f"/translate?text={TEXT}&step=2&kind=cross&layer=1&head=0")
    back = page.get_by_role("toolbar", name="Steps").get_by_role("button", name="Back")
    speed = page.get_by_role("toolbar", name="Steps").locator("input[type=range]")  # seen while it plays
    speed.evaluate("input => { input.value = 8; input.dispatchEvent(new Event('input')); }")
    page.locator(".controls > output").click()
    page.locator(".st-key-translate_details").scroll_into_view_if_needed()
    page.keyboard.press("f")
    reached(page, present=1, step=2)
    expect(page.locator(".presenter-keys")).to_contain_text("Esc: leave")
    main = page.get_by_test_id("stMain")
    assert main.evaluate("main => main.scrollTop") == 0
    for hidden in HIDDEN:
        assert not any(part.is_visible() for part in page.locator(hidden).all()), hidden
    assert main.evaluate("main => main.scrollHeight - main.clientHeight") <= 0
    sizes = page.locator(".output, .bars h2, .next-tokens button").evaluate_all(
        "all => all.map((part) => parseFloat(getComputedStyle(part).fontSize))")
    assert min(sizes) >= 24
    for key, step in (("ArrowRight", 3), ("PageDown", 4), ("Space", 5), ("PageUp", 4)):
        page.keyboard.press(key)
        reached(page, step=step, present=1)
    black = page.locator(".heads-up-black")
    for key in (".", "b"):
        page.keyboard.press(key)
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


def test_the_pointer_finds_cells_heads_and_candidates_in_large_type_on_every_projector(visit):
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


def test_a_link_presents_and_leave_is_a_button(visit):
    page = visit("/translate?text=I+like+red+wine.&step=0&kind=cross&layer=1&head=0&present=1")
    expect(page.locator('.attention-view[data-drawn="cross,1,0,1"]')).to_have_count(1)  # its one row
    page = visit("/write?text=ROMEO%3A&step=60&present=1")
    whole(page)
    expect(page.locator(".stHeading h1")).to_have_count(0)
    page.get_by_role("button", name="Leave").click()
    expect(page.get_by_role("heading", name="Write", exact=True)).to_be_visible()
    reached(page, present=None, step=60)


def test_by_hand_presents_one_step_and_the_next_key_goes_on(visit):
    page = visit("/by_hand?part=steps")
    page.keyboard.press("f")
    reached(page, present=1)
    settle(page)
    for step, name in (("7 · Softmax", "weights"), ("8 · Context vectors", "context = weights v")):
        expect(page.get_by_role("button", name="Next")).to_be_in_viewport(ratio=1)
        expect(page.get_by_role("combobox", name="Step")).to_have_value(step)
        expect(page.locator(".st-key-by_hand_one figure")).to_have_count(1)
        expect(page.locator(".st-key-by_hand_one figcaption")).to_contain_text(name)
        page.keyboard.press("PageDown")
