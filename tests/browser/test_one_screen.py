"""What a click or a key changes is on the screen, and nothing else moves: on a projector and on a telephone. How a page
lies there before anybody has touched it, tests/browser/test_audit.py says."""

from urllib.parse import urlencode

import pytest
from playwright.sync_api import expect

from tests.browser.test_audit import LONG, PHONE, PROJECTOR, WIDE

from .conftest import reached, settle, windows

PRODUCT = 160  # px, of what is between two tokens


def boxes_of(page, selector="[data-part]", view=".step-view"):
    """Part -> its box, as (left, top, right, bottom), in one go: a step may be drawn meanwhile."""
    return page.locator(view).evaluate("""(view, selector) =>
      Object.fromEntries([...view.querySelectorAll(selector)].map((one) => {
        const { left, top, right, bottom } = one.getBoundingClientRect();
        return [one.dataset.part, [left, top, right, bottom]];
      }))""", selector)


def moved(before, page, *where):
    after = boxes_of(page, *where)
    return {name: (before[name], after[name]) for name in before
            if any(abs(was - now) > 1 for was, now in zip(before[name], after[name], strict=True))}


@pytest.mark.parametrize("name", ["translate", pytest.param("classify", marks=pytest.mark.rare("as on Translate"))])
def test_what_is_chosen_shows_on_one_screen_and_moves_nothing(name, visit):
    page = visit(f"/{name}?{urlencode({'text': LONG, 'step': 0})}")
    for nth, size in enumerate(windows(page, [PROJECTOR, PHONE]), 1):
        first = boxes_of(page)
        if name == "classify":
            other = page.locator(".next-tokens > button").nth(nth)
            chosen = other.locator("bdi").text_content()
            other.click()
            reached(page, **{"class": chosen})
        else:
            page.keyboard.press("ArrowRight")
            assert moved(first, page) == {}  # at once, too
            reached(page, step=1)
        assert moved(first, page) == {}
        page.locator("canvas.matrix").focus()
        page.keyboard.press("ArrowRight")
        page.keyboard.press("Enter")
        page.locator("[data-part=product]").wait_for()
        settle(page)
        left, top, right, bottom = boxes_of(page, "[data-part=product]")["product"]
        assert left >= -0.5 and top >= -0.5 and right <= size[0] + 0.5 and bottom <= size[1] + 0.5
        assert bottom - top >= PRODUCT
        assert moved(first, page).keys() <= {"heads", "product"}  # it stands where the heads were
        page.get_by_role("button", name="Close").click()
        if name != "classify":
            page.keyboard.press("Home")
            reached(page, step=0)


@pytest.mark.rare("test_audit.py has the same page on one screen")
def test_a_step_of_a_training_moves_nothing(visit):
    page = visit("/train?run=checkpoints/translate&forming_step=0")
    page.locator(".forming[data-drawn]").wait_for()
    for _ in windows(page, [WIDE, PROJECTOR]):
        first = boxes_of(page, "[data-part]:not([hidden])", ".forming")
        assert first.keys() >= {"loss", "head", "steps", "events"}
        page.get_by_role("slider", name="Training step").focus()
        for key in ("End", "Home"):
            page.keyboard.press(key)
            settle(page)
            assert moved(first, page, "[data-part]:not([hidden])", ".forming") == {}


@pytest.mark.rare("most of a minute: five views in two windows")
def test_a_view_of_heads_answers_beside_what_is_clicked(visit):
    """view -> what is clicked, at which of the sizes, what the address then says, and where the answer is."""
    clicks = {
        "roles": lambda nth: (f'.head-maps [data-at^="previous/0/cross:0:{nth}"]', {"role_layer": 0, "role_head": nth},
                              ".st-key-heads_role_best .weight-grid"),
        "switch": lambda nth: (f'.head-maps [data-at="switch/0/cross:1:{nth}"]',
                               {"heads": ",".join(["cross:1:3", *(f"cross:1:{one}" for one in range(nth + 1))])},
                               ".st-key-heads_path_after [data-testid=stText]"),
        "lens": lambda nth: (f".st-key-heads_position button >> nth={nth + 1}", {"position": nth + 1},
                             ".st-key-heads_lens_one .box"),
        "direct": lambda nth: (f'.head-maps [data-at="effect/0/cross:1:{nth}"]', {"effect": f"cross-1-{nth}"},
                               ".st-key-heads_effect_head figcaption"),
        "attribution": lambda nth: (f".st-key-heads_position button >> nth={nth + 1}", {"position": nth + 1},
                                    ".st-key-heads_attribution_table .box")}
    for view, click in clicks.items():
        page = visit(f"/heads?{urlencode({'view': view, 'text': LONG, 'steps': 8, 'heads': 'cross:1:3'})}")
        if view == "roles":
            page.locator(".head-maps .list [data-card=previous]").click()
            reached(page, role="previous")
        for nth, _ in enumerate(windows(page, [PROJECTOR, PHONE])):
            clicked, says, answer = click(nth)
            page.locator(clicked).click()
            reached(page, **says)
            if view == "switch":  # the arrows go on from it, and it is the one stop of its map
                page.locator(clicked).focus()
                page.keyboard.press("ArrowUp")
                page.keyboard.press("ArrowDown")
                expect(page.locator(clicked)).to_be_focused()
                expect(page.locator('.head-maps .grid:has([data-kind=cross]) [tabindex="0"]')).to_have_count(1)
            assert page.get_by_test_id("stMain").evaluate("main => main.scrollTop") == 0, view
            expect(page.locator(answer).first).to_be_in_viewport()
