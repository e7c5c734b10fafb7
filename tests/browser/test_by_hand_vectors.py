"""Query and keys in Chromium: arrows dragged by mouse, finger and keys, what follows from it, and the way back."""

import re

import pytest

from tests.waiting import until

from .conftest import address, go, new_tab, reached, settle

LINK = "/by_hand?text=The+house+is+white.&part=vectors&kind=decoder&layer=1&head=1&row=3"
LA, MAISON = "1", "2"  # positions of keys
OWN = "The model's own numbers"


@pytest.fixture
def vectors(visit):
    page = visit(LINK)
    page.locator(".vectors[data-drawn]").wait_for()
    return page


def tip(page, id):
    """The middle of an arrow's tip, in the window."""
    box = page.locator(f".vectors g[data-id='{id}'] .ring").bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def product(page) -> float:
    return float(page.locator(".vectors .result").text_content().replace("−", "-"))


def weight(page, id) -> float:
    said = page.locator(f".vectors tr[data-key='{id}'] .percent").first.text_content()
    return float(said.strip("<%"))


def picture_of(page) -> list[float]:
    """Its width, its top in the window, and its height."""
    return page.locator(".vectors").evaluate("""root => {
      const { width, top, height } = root.querySelector("svg").getBoundingClientRect();
      return [width, top, height];
    }""")


def status(page) -> str:
    return page.locator(".vectors .status").text_content()


def test_an_arrow_dragged_along_the_query_takes_the_weight_and_is_put_back(vectors):
    page = vectors
    assert (weight(page, LA), weight(page, MAISON)) == (92, 4.5)
    assert status(page).startswith(OWN) and page.get_by_role("button", name="Put all back").is_disabled()
    page.locator(f".vectors tr[data-key='{MAISON}']").click()
    products, (x, y) = [product(page)], tip(page, MAISON)
    page.mouse.move(x, y)
    page.mouse.down()
    for far in (40, 90, 160):
        page.mouse.move(x + far, y)
        products.append(product(page))
        assert "moved" not in address(page)  # nothing goes to the server while it is dragged
    assert products == sorted(products) and products[0] == -2.79
    page.mouse.up()
    page.wait_for_function("new URLSearchParams(location.search).has('moved')")
    settle(page)
    assert re.fullmatch(rf"{MAISON}:[-\d.]+:[-\d.]+", address(page)["moved"])
    assert weight(page, MAISON) > 50 > weight(page, LA)
    assert "no longer what the model computes" in status(page)
    there, link = tip(page, MAISON), address(page)["moved"]
    settle(page.reload() and page)
    page.locator(".vectors.changed[data-drawn]").wait_for()
    assert tip(page, MAISON) == pytest.approx(there, abs=1.5) and address(page)["moved"] == link
    page.get_by_role("button", name="Put all back").click()
    reached(page, moved=None)
    assert (weight(page, LA), weight(page, MAISON)) == (92, 4.5)
    assert status(page).startswith(OWN)


@pytest.mark.rare("two other ways to drag")
def test_the_arrow_keys_move_an_arrow_and_not_the_page_and_on_a_projector_it_stays_under_the_pointer(vectors):
    page = vectors
    page.set_viewport_size({"width": 1280, "height": 720})
    key = page.locator(f".vectors g[data-id='{MAISON}']")
    key.focus()
    before = product(page)
    page.keyboard.press("ArrowRight")
    small = product(page) - before
    page.keyboard.press("Shift+ArrowRight")
    assert product(page) - before == pytest.approx(6 * small, rel=0.05)
    page.wait_for_function("new URLSearchParams(location.search).has('moved')")
    settle(page)
    assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollTop") == 0
    assert re.search(r"maison, a key, weight \d+ percent", key.get_attribute("aria-label"))
    page.locator(".vectors g[data-id=q]").focus()
    x, y = tip(page, "q")
    page.keyboard.press("ArrowUp")
    assert tip(page, "q")[0] == pytest.approx(x, abs=0.5) and tip(page, "q")[1] < y - 2
    page.wait_for_function("new URLSearchParams(location.search).get('moved').startsWith('q:')")
    settle(page)
    page.keyboard.press("Escape")
    page.keyboard.press("f")
    page.locator(".vectors.large[data-drawn]").wait_for()
    x, y = tip(page, MAISON)
    before = weight(page, MAISON)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 200, y)
    assert tip(page, MAISON) == pytest.approx((x + 200, y), abs=3)  # under the pointer in large type, too
    page.mouse.up()
    assert weight(page, MAISON) > before


def test_the_temperature_makes_weights_sharp_or_alike_and_a_scrolled_page_no_taller_picture(vectors):
    page = vectors
    slider = page.get_by_role("slider", name="Temperature")
    slider.focus()
    page.keyboard.press("End")
    reached(page, temperature=10)
    assert (weight(page, LA), weight(page, MAISON)) == (33, 24)
    assert slider.get_attribute("aria-valuetext") == "10.0"
    page.keyboard.press("Home")
    reached(page, temperature=0.1)
    assert weight(page, LA) == 100
    page.get_by_role("button", name="Put all back").click()
    reached(page, temperature=None)
    assert weight(page, LA) == 92
    boxes = []
    for width, scrolled in ((1280, 0), (1200, 150)):
        page.get_by_test_id("stMain").evaluate("(main, top) => main.scrollTo(0, top)", scrolled)
        before = picture_of(page)[0]
        page.set_viewport_size({"width": width, "height": 560})
        until(lambda before=before: picture_of(page)[0] < before)  # which is drawn anew
        boxes.append(picture_of(page))
    assert boxes[0][1] > boxes[1][1] + 50 and boxes[0][2] == pytest.approx(boxes[1][2], abs=1)


@pytest.mark.rare("a third way to drag")
def test_a_finger_drags_an_arrow_and_scrolls_beside_it(chromium, app_url):
    page = new_tab(chromium, viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    go(page, app_url + LINK)
    page.locator(".vectors[data-drawn]").wait_for()
    fingers = page.context.new_cdp_session(page)

    def drag(start, to):
        points = [{"x": start[0] + (to[0] - start[0]) * at / 6, "y": start[1] + (to[1] - start[1]) * at / 6}
                  for at in range(7)]
        fingers.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": points[:1]})
        for point in points[1:]:
            fingers.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": [point]})
        fingers.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})

    scrolled = "document.querySelector('[data-testid=stMain]').scrollTop"
    x, y = tip(page, MAISON)
    drag((x, y), (x + 120, y - 60))
    page.wait_for_function("new URLSearchParams(location.search).has('moved')")
    assert page.evaluate(scrolled) == 0
    assert tip(page, MAISON) == pytest.approx((x + 120, y - 60), abs=3)
    box = page.locator(".vectors svg").bounding_box()
    corner = box["x"] + box["width"] - 20, box["y"] + box["height"] - 20
    drag(corner, (corner[0], corner[1] - 200))
    page.wait_for_function(f"{scrolled} > 20")
    page.context.close()
