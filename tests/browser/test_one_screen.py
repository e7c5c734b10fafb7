"""All that a click changes is on one screen: the controls, the tokens, the head in focus and what may come next."""

from itertools import combinations
from urllib.parse import urlencode

import pytest

LEAST = 120  # px, of the head in focus
PRODUCT = 160  # px, of what is between two tokens
ROWS = 4  # candidates
SOME = 4  # steps
PARTS = {"translate": ["controls", "source", "target", "head", "candidates"],
         "write": ["controls", "target", "head", "candidates"], "classify": ["source", "head", "candidates"]}
SENTENCE = ("She told me that she was going to the old house near the river, but I did not know when her brother would "
            "come back from his work in the city.")
TEXTS = {"translate": {"short": "I am cold.", "long": SENTENCE}, "write": {"short": "KING ", "long": SENTENCE[:40]},
         "classify": {"short": "Good Kate", "long": SENTENCE}}
CASES = [(page, length) for page, texts in TEXTS.items() for length in texts]


@pytest.fixture
def opened(visit):
    """A page at its first step: `opened("write", "long")`."""
    return lambda name, length: visit(f"/{name}?{urlencode({'text': TEXTS[name][length], 'step': 0})}")


def boxes_of(page, selector):
    """(part, box) of each, as (left, top, right, bottom), in one go: a step may be drawn meanwhile."""
    return page.locator(".stage").evaluate("""(stage, selector) => [...stage.querySelectorAll(selector)].map((one) => {
      const { left, top, right, bottom } = one.getBoundingClientRect();
      return [one.dataset.part, [left, top, right, bottom]];
    })""", selector)


def in_window(box, size):
    left, top, right, bottom = box
    return left >= -0.5 and top >= -0.5 and right <= size[0] + 0.5 and bottom <= size[1] + 0.5


def overlap(one, other):
    """By more than what rounding makes of two that touch."""
    return all(min(one[at + 2], other[at + 2]) - max(one[at], other[at]) > 1 for at in (0, 1))


def moved(before, after):
    return {name: (before[name], box) for name, box in after.items()
            if any(abs(was - now) > 1 for was, now in zip(before[name], box, strict=True))}


@pytest.fixture
def seen(page):
    """The boxes of all parts, which lie in the window without scrolling and beside each other."""

    def seen(name, size):
        found = dict(boxes_of(page, "[data-part]"))
        boxes = {one: found[one] for one in PARTS[name]}
        assert page.get_by_test_id("stMain").evaluate("main => main.scrollTop") == 0
        assert {one: box for one, box in boxes.items() if not in_window(box, size)} == {}
        assert [pair for pair in combinations(boxes, 2) if overlap(*map(boxes.get, pair))] == []
        assert boxes["head"][3] - boxes["head"][1] >= LEAST
        rows = [box for _, box in boxes_of(page, ".next-tokens > button:not(.others)")]
        assert len(rows) >= ROWS
        assert [row for row in rows[:ROWS] if not in_window(row, size)] == []
        buttons = [box for _, box in boxes_of(page, ".controls > button")]
        assert [box for box in buttons if not in_window(box, size)] == []
        assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
        assert page.get_by_test_id("stMain").evaluate("main => main.scrollWidth") <= size[0]
        return boxes

    return seen


@pytest.mark.parametrize(("name", "length"), [case for case in CASES if case[0] != "classify"])
def test_every_step_is_on_one_screen_and_stepping_moves_nothing(opened, windows, seen, reached, address, name, length):
    page = opened(name, length)
    for size in windows(page):
        first = seen(name, size)
        for index in range(1, SOME + 1):
            page.keyboard.press("ArrowRight")
            assert moved(first, seen(name, size)) == {}  # at once, too
            reached(page, step=index)
            assert moved(first, seen(name, size)) == {}
        page.keyboard.press("End")
        page.wait_for_function("some => Number(new URLSearchParams(location.search).get('step')) > some", arg=SOME)
        assert int(address(reached(page))["step"]) > SOME
        assert moved(first, seen(name, size)) == {}
        page.keyboard.press("Home")
        reached(page, step=0)
        assert moved(first, seen(name, size)) == {}


@pytest.mark.parametrize("length", TEXTS["classify"])
def test_a_text_and_its_classes_are_on_one_screen_and_a_click_moves_nothing(opened, windows, seen, reached, length):
    page = opened("classify", length)
    for nth, size in enumerate(windows(page), 1):
        first = seen("classify", size)
        other = page.locator(".next-tokens > button").nth(nth)
        name = other.locator("bdi").text_content()
        other.click()
        reached(page, **{"class": name})
        assert moved(first, seen("classify", size)) == {}


@pytest.mark.parametrize(("name", "length"), CASES)
def test_the_product_of_a_clicked_cell_is_on_the_screen(opened, windows, seen, settle, name, length):
    page = opened(name, length)
    for size in windows(page):
        first = seen(name, size)
        page.locator("canvas.matrix").focus()
        page.keyboard.press("ArrowRight")
        page.keyboard.press("Enter")
        page.locator("[data-part=product]").wait_for()
        settle(page)
        ((_, box),) = boxes_of(page, "[data-part=product]")
        assert in_window(box, size)
        assert box[3] - box[1] >= PRODUCT
        assert moved(first, seen(name, size)) == {}
        page.get_by_role("button", name="Close").click()
        page.locator("[data-part=product]").wait_for(state="hidden")
        assert moved(first, seen(name, size)) == {}
